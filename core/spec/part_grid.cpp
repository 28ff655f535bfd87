#include "core/spec/parts.h"

namespace assay {

const Table<Grid>& grid_table() {
  static const Table<Grid> table = [] {
    Field<Grid> f;
    f.spec = {.name = "size",
              .kind = FieldKind::size_pair,
              .doc = "Rows and columns of identical cores.",
              .required = true,
              .low = 1,
              .high = 4096,
              .choices = {}};
    f.set = [](Grid& g, const FieldValue& v, const Names&) {
      const auto& pair = std::get<std::vector<Real>>(v);
      g.rows = static_cast<std::int64_t>(pair.at(0));
      g.cols = static_cast<std::int64_t>(pair.at(1));
    };
    f.get = [](const Grid& g, const Names&) -> FieldValue {
      return std::vector<Real>{static_cast<Real>(g.rows), static_cast<Real>(g.cols)};
    };
    return Table<Grid>{f};
  }();
  return table;
}

}  // namespace assay
