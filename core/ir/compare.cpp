#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/ir/tensor.h"

namespace assay {

std::string Comparison::to_string() const {
  if (equal && max_abs_error == 0) return "equal";
  return fmt::format("{}: max abs error {:.3g}, max rel error {:.3g}, SQNR {:.1f} dB, {} mismatches{}",
                     equal ? "within tolerance" : "different", max_abs_error, max_rel_error, sqnr_db, mismatches,
                     first_mismatch < 0 ? "" : fmt::format(", first at element {}", first_mismatch));
}

Comparison compare(const Tensor& got, const Tensor& expected, double abs, double rel) {
  if (got.type() != expected.type())
    throw InputError("compare", fmt::format("got {}, expected {}", to_string(got.type()), to_string(expected.type())));
  const std::int64_t n = got.size();
  double largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double e = std::abs(expected.get(i));
    if (std::isfinite(e)) largest = std::max(largest, e);
  }
  Comparison c;
  double signal = 0, noise = 0;
  const bool exact = !is_float(got.dtype());
  for (std::int64_t i = 0; i < n; ++i) {
    const double g = got.get(i), e = expected.get(i);
    const bool same = exact ? got.get_int(i) == expected.get_int(i) : g == e || (std::isnan(g) && std::isnan(e));
    if (std::isfinite(e)) signal += e * e;
    if (same) continue;
    double error = std::abs(g - e);
    if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
    noise += error * error;
    c.max_abs_error = std::max(c.max_abs_error, error);
    const double scale = std::max(std::abs(e), 1e-6 * largest);
    c.max_rel_error = std::max(c.max_rel_error, scale > 0 ? error / scale : error);
    if (std::isfinite(error) && error <= abs + rel * std::abs(e)) continue;
    if (c.first_mismatch < 0) c.first_mismatch = i;
    ++c.mismatches;
  }
  c.equal = c.mismatches == 0;
  c.sqnr_db = noise > 0 ? 10 * std::log10(signal / noise) : std::numeric_limits<double>::infinity();
  return c;
}

}  // namespace assay
