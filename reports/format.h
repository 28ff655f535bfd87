#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/document.h"

// Numbers and texts as people and machines read them. Everything is independent of the locale.

namespace assay {

/// With its own prefix and four significant digits, for sentences: `1.234 ms`, `12.3 %`, `128 KiB`, `3 mm²`.
/// Not-a-number is `unknown`.
std::string format_quantity(double value, Unit unit);

/// How one column of numbers is printed: one prefix for all, so that they can be compared at a glance.
struct ColumnFormat {
  double scale = 1;  ///< printed = value × scale
  int decimals = 0;
  std::string unit;  ///< `ms`; stands in the heading
  /// Without the unit. A value that rounds to nothing is `<0.001`.
  std::string operator()(double value) const;
};
ColumnFormat column_format(std::span<const double> values, Unit unit);
/// The format of column `c` of a table, from its numbers.
ColumnFormat column_format(const Table& table, std::size_t c);
/// `Latency (ms)`.
std::string column_title(const Column& column, const ColumnFormat& format);
/// A cell as text: number by `format`, unknown as `–`.
std::string cell_text(const Cell& cell, const ColumnFormat& format);

/// Shares of the sum, with `decimals` digits, rounded so that they add up to exactly 1 (largest remainder).
/// Values must be >= 0; all zero gives zeros.
std::vector<double> rounded_shares(std::span<const double> values, int decimals = 1);

/// Shortest decimal form that reads back as the same double (for CSV and JSON); `precise` false: 6 digits.
std::string exact_number(double value);

/// Replaces bytes that are not UTF-8 and control characters (except \n and \t) by U+FFFD.
std::string clean_utf8(std::string_view text);
std::string escape_html(std::string_view text);      ///< for text and for double-quoted attributes
std::string escape_markdown(std::string_view text);  ///< on one line, also inside tables
std::string escape_json(std::string_view text);      ///< with quotes; safe inside <script>
std::string escape_csv(std::string_view text);       ///< quoted where needed (RFC 4180)
std::string escape_terminal(std::string_view text);  ///< one line, no control characters
/// Columns on a terminal, counting one per code point.
std::size_t display_width(std::string_view text);

/// `1 design`, `3 designs`.
std::string counted(std::size_t n, std::string_view singular, std::string_view plural = {});
/// `a, b and c`.
std::string join_and(const std::vector<std::string>& items);

}  // namespace assay
