#pragma once

#include <map>
#include <string>
#include <vector>

#include "reports/document.h"
#include "reports/format.h"

// What the script of the HTML report reads: charts, large tables and drawings as JSON.
//   {"charts":{"c1":{"kind":"scatter","title":…,"x":{axis},"y":{axis},"series":[{"name":…,"line":1,"d":[[…],…]}],
//              "labels":[…],"targets":[…]}},
//    "tables":{"t1":{"rows":n,"columns":[{"title":…,"values":[…]}],"strings":[…]}}, "drawings":{"g1":"<svg …"}}
// A mark is a list: x, y, x2, y2, size, label, target as far as its kind needs them; labels and targets are indices.

namespace assay {

class HtmlPayload {
 public:
  std::string add(const Chart& chart);  ///< returns the id
  std::string add(const Table& table, const std::vector<ColumnFormat>& formats);
  std::string add_drawing(const std::string& svg);  ///< equal drawings share an id
  bool empty() const { return charts_.empty() && tables_.empty() && drawings_.empty(); }
  std::string json() const;

 private:
  std::vector<std::string> charts_, tables_, drawings_;
  std::map<std::string, std::string> drawing_ids_;
};

std::string_view name(ChartKind kind);

/// zlib-deflated and in base64: what `DecompressionStream("deflate")` reads after atob.
std::string deflate_base64(std::string_view text);

}  // namespace assay
