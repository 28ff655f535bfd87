#include "reports/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "core/base/check.h"

namespace assay {
namespace {

struct UnitStyle {
  const char* symbol;
  int smallest, largest;  ///< range of prefixes, as powers of the base
  double base = 1000;
};

UnitStyle style(Unit unit) {
  switch (unit) {
    case Unit::seconds:
      return {"s", -4, 0};
    case Unit::joules:
      return {"J", -4, 2};
    case Unit::watts:
      return {"W", -3, 2};
    case Unit::bytes:
      return {"B", 0, 5};
    case Unit::capacity:
      return {"B", 0, 5, 1024};
    case Unit::bytes_per_second:
      return {"B/s", 0, 5};
    case Unit::ops_per_second:
      return {"OP/s", 0, 5};
    case Unit::ops_per_byte:
      return {"OP/B", 0, 0};
    case Unit::mm2:
      return {"mm²", 0, 0};
    case Unit::joule_seconds:
      return {"J·s", -5, 2};
    case Unit::count:
      return {"", 0, 4};
    case Unit::text:
    case Unit::number:
    case Unit::ratio:
      return {"", 0, 0};
  }
  ASSAY_CHECK(false, "unit without a style");
}

constexpr int kSmallestPower = -5;
constexpr const char* kDecimal[] = {"f", "p", "n", "µ", "m", "", "k", "M", "G", "T", "P"};
constexpr const char* kBinary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};

struct Prefix {
  double scale = 1;
  std::string unit;
};

/// The prefix under which `magnitude` stands between 1 and the base.
Prefix prefix_for(double magnitude, Unit unit) {
  if (unit == Unit::ratio) return {100, "%"};
  const UnitStyle s = style(unit);
  int power = s.smallest < 0 || s.largest > 0 ? s.smallest : 0;
  if (magnitude == 0 || !std::isfinite(magnitude)) {
    power = std::max(0, s.smallest);
  } else {
    while (power < s.largest && magnitude >= 0.99995 * std::pow(s.base, power + 1)) ++power;
  }
  const char* letter = s.base == 1024 ? kBinary[power] : kDecimal[power - kSmallestPower];
  return {std::pow(s.base, -power), std::string(letter) + s.symbol};
}

bool is_whole(double v) { return std::abs(v) < 9e15 && v == std::nearbyint(v); }

std::string trim_zeros(std::string text) {
  if (text.find('.') == text.npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::string format_quantity(double value, Unit unit) {
  if (std::isnan(value)) return "unknown";
  if (unit == Unit::count && std::abs(value) < 1e5 && is_whole(value)) return fmt::format("{:.0f}", value);
  const Prefix p = prefix_for(std::abs(value), unit);
  const double scaled = value * p.scale;
  const double size = std::abs(scaled);
  std::string digits;
  if (unit == Unit::ratio) {
    digits = trim_zeros(fmt::format("{:.{}f}", scaled, size < 0.95 && size > 0 ? 2 : 1));
  } else if (size != 0 && (size < 1e-3 || size >= 1e6)) {
    digits = fmt::format("{:.4g}", scaled);
  } else {
    digits = trim_zeros(fmt::format("{:.{}f}", scaled,
                                    size >= 999.95   ? 0
                                    : size >= 99.995 ? 1
                                    : size >= 9.9995 ? 2
                                                     : 3));
  }
  if (p.unit.empty()) return digits;
  return digits + " " + p.unit;
}

std::string ColumnFormat::operator()(double value) const {
  if (std::isnan(value)) return "–";
  const double scaled = value * scale;
  if (std::abs(scaled) >= 1e9) return fmt::format("{:.4g}", scaled);
  std::string text = fmt::format("{:.{}f}", scaled, decimals);
  if (text.find_first_not_of("-0.") == text.npos) {
    const double least = std::pow(10, -decimals);
    if (scaled == 0) return fmt::format("{:.{}f}", 0.0, decimals);
    return fmt::format("{}{:.{}f}", scaled < 0 ? ">-" : "<", least, decimals);
  }
  return text;
}

ColumnFormat column_format(std::span<const double> values, Unit unit) {
  std::vector<double> sizes;
  bool whole = true;
  for (double v : values) {
    if (!std::isfinite(v)) continue;
    if (v != 0) sizes.push_back(std::abs(v));
    whole = whole && is_whole(v);
  }
  const double largest = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  ColumnFormat f;
  if (unit == Unit::count && whole && largest < 1e6) return f;
  double small = 0;  // all but the smallest tenth should be readable, not only the largest
  if (!sizes.empty()) {
    const auto nth = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 10);
    std::nth_element(sizes.begin(), nth, sizes.end());
    small = *nth;
  }
  Prefix p = prefix_for(largest, unit);
  for (double reference = largest / 1000; small > 0 && small * p.scale < 0.1; reference /= 1000) {
    const Prefix smaller = prefix_for(reference, unit);
    if (smaller.scale <= p.scale || largest * smaller.scale >= 1e6) break;
    p = smaller;
  }
  f.scale = p.scale;
  f.unit = p.unit;
  if (unit == Unit::ratio) {
    f.decimals = 1;
    return f;
  }
  const double top = largest * p.scale;
  const bool whole_units = std::all_of(sizes.begin(), sizes.end(), [&](double v) { return is_whole(v * p.scale); });
  if (whole_units && (unit == Unit::capacity || unit == Unit::count || unit == Unit::number || unit == Unit::bytes))
    return f;
  f.decimals = top >= 99.995 ? 1 : top >= 9.9995 ? 2 : 3;
  // Four digits for all but the smallest tenth, as long as three decimals give them; three beyond.
  const auto wants_more = [&](int digits) { return small * p.scale < 0.9995 * std::pow(10, digits - 1 - f.decimals); };
  while (small > 0 && f.decimals < 4 && wants_more(f.decimals < 3 ? 4 : 3)) ++f.decimals;
  return f;
}

ColumnFormat column_format(const Table& table, std::size_t c) {
  std::vector<double> values;
  values.reserve(table.rows.size());
  for (const auto& row : table.rows) {
    ASSAY_CHECK(row.size() == table.columns.size(), fmt::format("table '{}': a row of {} cells under {} columns",
                                                                table.caption, row.size(), table.columns.size()));
    if (const double* v = row[c].number()) values.push_back(*v);
  }
  return column_format(values, table.columns[c].unit);
}

std::string column_title(const Column& column, const ColumnFormat& format) {
  if (format.unit.empty()) return column.title;
  return column.title.empty() ? format.unit : column.title + " (" + format.unit + ")";
}

std::string cell_text(const Cell& cell, const ColumnFormat& format) {
  if (const double* v = cell.number()) return format(*v);
  if (const std::string* s = cell.text()) return *s;
  return "–";
}

std::vector<double> rounded_shares(std::span<const double> values, int decimals) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  std::vector<double> out(values.size(), 0.0);
  if (!(sum > 0) || !std::isfinite(sum)) return out;
  const auto units = static_cast<std::int64_t>(std::llround(100 * std::pow(10, decimals)));
  std::vector<std::int64_t> parts(values.size());
  std::vector<std::pair<double, std::size_t>> remainders;
  std::int64_t given = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double exact = values[i] / sum * static_cast<double>(units);
    parts[i] = static_cast<std::int64_t>(std::floor(exact));
    given += parts[i];
    remainders.push_back({static_cast<double>(parts[i]) - exact, i});
  }
  std::sort(remainders.begin(), remainders.end());
  for (std::size_t i = 0; given < units && i < remainders.size(); ++i, ++given) ++parts[remainders[i].second];
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(parts[i]) / static_cast<double>(units);
  return out;
}

std::string exact_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return fmt::format("{}", value);
}

std::string counted(std::size_t n, std::string_view singular, std::string_view plural) {
  if (n == 1) return fmt::format("1 {}", singular);
  return plural.empty() ? fmt::format("{} {}s", n, singular) : fmt::format("{} {}", n, plural);
}

std::string join_and(const std::vector<std::string>& items) {
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i) out += i + 1 == items.size() ? " and " : ", ";
    out += items[i];
  }
  return out;
}

}  // namespace assay
