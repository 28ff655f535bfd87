#include "core/base/math.h"

#include <fmt/format.h>

#include "core/base/error.h"

namespace assay {

std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (mul_overflows(a, b, out)) throw InputError("size", fmt::format("{} x {} does not fit 64 bits", a, b));
  return out;
}

std::int64_t checked_product(std::span<const std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t f : factors) product = checked_mul(product, f);
  return product;
}

}  // namespace assay
