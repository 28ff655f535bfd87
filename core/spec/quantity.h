#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// Numbers with units, as values: `176 GB/s`, `${256 MiB - lls}`, and the intervals that unknown values carry.

namespace assay {

/// Wide enough that sizes up to 2^60 and times given in ns survive conversion to the base unit and back exactly.
using Real = long double;

/// Exponents of the base dimensions. A frequency is cycle/s, so `64 B/cycle` times a clock is a bandwidth.
struct Dimension {
  int byte = 0, second = 0, cycle = 0, joule = 0, metre = 0, volt = 0, op = 0;
  friend bool operator==(const Dimension&, const Dimension&) = default;
  Dimension operator+(const Dimension& o) const;  ///< of a product
  Dimension operator-(const Dimension& o) const;  ///< of a quotient
  bool plain() const { return *this == Dimension{}; }
};

/// In base units (B, s, cycle, J, m, V, operations). `low` and `high` bound the value where it is not published.
struct Quantity {
  Real value = 0, low = 0, high = 0;
  Dimension dim;
  static Quantity exact(Real v, Dimension d = {}) { return {v, v, v, d}; }
  bool interval() const { return low != high; }
};

struct Unit {
  Real numerator = 1, denominator = 1;  ///< to the base unit; kept apart so that 45 ns is the double nearest to 45e-9
  Dimension dim;
};
/// `GB/s`, `KiB`, `bit/cycle`. Nothing if unknown. Decimal prefixes are powers of 1000, KiB … TiB powers of 1024.
std::optional<Unit> find_unit(std::string_view text);
/// The units without `/`, for suggestions.
const std::vector<std::string>& unit_names();
/// `a size`, `a bandwidth`, `a plain number`, … for messages.
std::string dimension_name(const Dimension& d);

/// What is wrong with a value's text; the loader turns it into a Diagnostic.
struct ValueError : std::runtime_error {
  ValueError(std::string message, std::size_t at, std::string suggested = {})
      : std::runtime_error(std::move(message)), offset(at), suggestion(std::move(suggested)) {}
  std::size_t offset;  ///< character in the text
  std::string suggestion;
  bool reported = false;  ///< follows from an error in a parameter that is reported there
};

using Value = std::variant<Quantity, std::string, bool>;
/// The value of a parameter; throws ValueError if there is none of that name.
using ParamLookup = std::function<Value(std::string_view name, std::size_t offset)>;

/// A plain scalar: a number with an optional unit, `true`, `false`, `${expression}` with an optional unit behind it,
/// else text. Expressions: + - * /, parentheses, min, max, ceil, floor, log2, unit literals (`256 MiB`), parameters.
/// Intervals are carried through (interval arithmetic). Throws ValueError. O(length).
Value evaluate_scalar(const std::string& text, bool quoted, const ParamLookup& params);

}  // namespace assay
