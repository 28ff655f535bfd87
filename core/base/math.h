#pragma once

#include <cstdint>
#include <span>

#include "core/base/check.h"

namespace assay {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }
constexpr std::int64_t floor_mod(std::int64_t a, std::int64_t b) { return ((a % b) + b) % b; }

/// a × b, and an InputError-free way to know that it did not fit: returns false on overflow.
inline bool mul_overflows(std::int64_t a, std::int64_t b, std::int64_t& out) {
  return __builtin_mul_overflow(a, b, &out);
}
/// a × b where sizes multiply; throws InputError("size", …) when the product does not fit 64 bits.
std::int64_t checked_mul(std::int64_t a, std::int64_t b);
std::int64_t checked_product(std::span<const std::int64_t> factors);

}  // namespace assay
