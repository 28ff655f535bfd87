#include "reports/html_payload.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cmath>

#include "core/base/check.h"

namespace assay {
namespace {

std::string_view name(Unit unit) {
  switch (unit) {
    case Unit::text:
      return "text";
    case Unit::number:
      return "number";
    case Unit::count:
      return "count";
    case Unit::seconds:
      return "seconds";
    case Unit::joules:
      return "joules";
    case Unit::watts:
      return "watts";
    case Unit::bytes:
      return "bytes";
    case Unit::capacity:
      return "capacity";
    case Unit::bytes_per_second:
      return "bytes_per_second";
    case Unit::ops_per_second:
      return "ops_per_second";
    case Unit::ops_per_byte:
      return "ops_per_byte";
    case Unit::mm2:
      return "mm2";
    case Unit::ratio:
      return "ratio";
    case Unit::joule_seconds:
      return "joule_seconds";
  }
  ASSAY_CHECK(false, "unit without a name");
}

/// JSON has no infinity and no NaN: both become null, which draws nothing.
std::string json_number(double v, int digits = 6) {
  if (!std::isfinite(v)) return "null";
  if (v == 0) return "0";
  return fmt::format("{:.{}g}", v, digits);
}

/// Texts numbered in order of appearance.
class Dictionary {
 public:
  std::size_t index(const std::string& text) {
    const auto [it, is_new] = indices_.emplace(text, indices_.size());
    if (is_new) texts_.push_back(text);
    return it->second;
  }
  std::string json() const {
    std::string out = "[";
    for (std::size_t i = 0; i < texts_.size(); ++i) out += (i ? "," : "") + escape_json(texts_[i]);
    return out + "]";
  }

 private:
  std::map<std::string, std::size_t> indices_;
  std::vector<std::string> texts_;
};

std::string json_list(const std::vector<std::string>& items) {
  std::string out = "[";
  for (std::size_t i = 0; i < items.size(); ++i) out += (i ? "," : "") + escape_json(items[i]);
  return out + "]";
}

std::string json_axis(const Axis& axis) {
  std::string out = fmt::format("{{\"title\":{},\"unit\":\"{}\"", escape_json(axis.title), name(axis.unit));
  if (axis.log) out += ",\"log\":true";
  if (!axis.categories.empty()) out += ",\"categories\":" + json_list(axis.categories);
  return out + "}";
}

std::string join_entries(const std::vector<std::string>& entries, char letter) {
  std::string out = "{";
  for (std::size_t i = 0; i < entries.size(); ++i) {
    out += fmt::format("{}\"{}{}\":", i ? "," : "", letter, i + 1);
    out += entries[i];
  }
  return out + "}";
}

}  // namespace

std::string_view name(ChartKind kind) {
  switch (kind) {
    case ChartKind::scatter:
      return "scatter";
    case ChartKind::line:
      return "line";
    case ChartKind::bar:
      return "bar";
    case ChartKind::stacked_bar:
      return "stacked_bar";
    case ChartKind::parallel:
      return "parallel";
    case ChartKind::heatmap:
      return "heatmap";
    case ChartKind::timeline:
      return "timeline";
    case ChartKind::waterfall:
      return "waterfall";
    case ChartKind::memory_map:
      return "memory_map";
    case ChartKind::roofline:
      return "roofline";
  }
  ASSAY_CHECK(false, "chart kind without a name");
}

std::string HtmlPayload::add(const Chart& chart) {
  Dictionary labels, targets;
  targets.index("");
  const auto mark = [&](const Mark& m) {
    // Times need enough digits to tell neighbours at the end of a long timeline apart.
    const auto number = [](double v) { return json_number(v, 9); };
    switch (chart.kind) {
      case ChartKind::scatter:
      case ChartKind::roofline:
        return fmt::format("[{},{},{},{},{}]", json_number(m.x), json_number(m.y), json_number(m.size),
                           labels.index(m.label), targets.index(m.target));
      case ChartKind::heatmap:
        return fmt::format("[{},{},{}]", json_number(m.x), json_number(m.y), json_number(m.size, 3));
      case ChartKind::timeline:
        return fmt::format("[{},{},{},{}]", number(m.x), number(m.x2), number(m.y), labels.index(m.label));
      case ChartKind::memory_map:
        return fmt::format("[{},{},{},{},{}]", number(m.x), number(m.x2), json_number(m.y, 15), json_number(m.y2, 15),
                           labels.index(m.label));
      case ChartKind::line:
      case ChartKind::bar:
      case ChartKind::stacked_bar:
      case ChartKind::waterfall:
      case ChartKind::parallel:
        break;
    }
    return fmt::format("[{},{}]", json_number(m.x), json_number(m.y));
  };
  std::string out = fmt::format("{{\"kind\":\"{}\",\"title\":{},\"x\":{},\"y\":{}", name(chart.kind),
                                escape_json(chart.title), json_axis(chart.x), json_axis(chart.y));
  if (!chart.size_title.empty())
    out +=
        fmt::format(",\"size\":{{\"title\":{},\"unit\":\"{}\"}}", escape_json(chart.size_title), name(chart.size_unit));
  if (chart.limit > 0) out += ",\"limit\":" + json_number(chart.limit, 15);
  out += ",\"series\":[";
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const Series& series = chart.series[s];
    out += fmt::format("{}{{\"name\":{}{},\"d\":[", s ? "," : "", escape_json(series.name),
                       series.line ? ",\"line\":true" : "");
    for (std::size_t i = 0; i < series.marks.size(); ++i) {
      if (i) out += ',';
      out += mark(series.marks[i]);
    }
    out += "]}";
  }
  out += "]";
  if (chart.kind == ChartKind::parallel) {
    out += ",\"dimensions\":[";
    for (std::size_t d = 0; d < chart.dimensions.size(); ++d) out += (d ? "," : "") + json_axis(chart.dimensions[d]);
    out += "],\"rows\":[";
    for (std::size_t r = 0; r < chart.rows.size(); ++r) {
      const ParallelRow& row = chart.rows[r];
      ASSAY_CHECK(row.values.size() == chart.dimensions.size(),
                  fmt::format("chart '{}': a row of {} values for {} dimensions", chart.title, row.values.size(),
                              chart.dimensions.size()));
      out += fmt::format("{}[{},{}", r ? "," : "", labels.index(row.name), labels.index(row.group));
      for (double v : row.values) out += "," + json_number(v);
      out += "]";
    }
    out += "]";
  }
  out += ",\"labels\":" + labels.json() + ",\"targets\":" + targets.json() + "}";
  charts_.push_back(std::move(out));
  return fmt::format("c{}", charts_.size());
}

std::string HtmlPayload::add(const Table& table, const std::vector<ColumnFormat>& formats) {
  Dictionary strings;
  strings.index("");
  std::string out = fmt::format("{{\"rows\":{},\"sortable\":{},\"hint\":{},\"columns\":[", table.rows.size(),
                                table.sortable, escape_json(table.search_hint));
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    const bool text = column.unit == Unit::text;
    out += fmt::format(
        "{}{{\"title\":{},\"help\":{},\"text\":{},\"bar\":{},\"keep\":{},\"scale\":{},\"decimals\":{},\"values\":[",
        c ? "," : "", escape_json(column_title(column, formats[c])), escape_json(column.help), text, column.bar,
        column.keep, json_number(formats[c].scale, 17), formats[c].decimals);
    bool links = false;
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      const Cell& cell = table.rows[r][c];
      if (r) out += ',';
      if (text) {
        out += fmt::format("{}", strings.index(cell_text(cell, formats[c])));
      } else if (const double* v = cell.number()) {
        out += json_number(*v);
      } else {
        out += cell.text() ? escape_json(*cell.text()) : "null";
      }
      links = links || !cell.target.empty();
    }
    out += "]";
    if (links) {
      out += ",\"targets\":[";
      for (std::size_t r = 0; r < table.rows.size(); ++r)
        out += fmt::format("{}{}", r ? "," : "", strings.index(table.rows[r][c].target));
      out += "]";
    }
    out += "}";
  }
  out += "]";
  if (!table.keywords.empty()) {
    out += ",\"keywords\":[";
    for (std::size_t r = 0; r < table.keywords.size(); ++r)
      out += fmt::format("{}{}", r ? "," : "", strings.index(table.keywords[r]));
    out += "]";
  }
  out += ",\"strings\":" + strings.json() + "}";
  tables_.push_back(std::move(out));
  return fmt::format("t{}", tables_.size());
}

std::string HtmlPayload::add_drawing(const std::string& svg) {
  const auto [it, is_new] = drawing_ids_.emplace(svg, fmt::format("g{}", drawings_.size() + 1));
  if (is_new) drawings_.push_back(escape_json(svg));
  return it->second;
}

std::string HtmlPayload::json() const {
  return "{\"charts\":" + join_entries(charts_, 'c') + ",\"tables\":" + join_entries(tables_, 't') +
         ",\"drawings\":" + join_entries(drawings_, 'g') + "}";
}

std::string deflate_base64(std::string_view text) {
  uLongf size = compressBound(text.size());
  std::string packed(size, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                             reinterpret_cast<const Bytef*>(text.data()), text.size(), 9);
  ASSAY_CHECK(code == Z_OK, fmt::format("zlib gave {}", code));
  packed.resize(size);
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((packed.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < packed.size(); i += 3) {
    unsigned v = 0;
    for (std::size_t j = 0; j < 3; ++j)
      v = v << 8 | (i + j < packed.size() ? static_cast<unsigned char>(packed[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j) out += i + j <= packed.size() ? kDigits[v >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

}  // namespace assay
