#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "core/base/check.h"
#include "core/base/dtype.h"

// Conversions of single elements, and the way from a dtype to the C++ types that hold it.

namespace assay {

/// Float → integer saturates after truncation toward zero and NaN becomes 0; integer → integer wraps; anything else
/// is the language's conversion (one rounding to nearest even).
template <class To, class From>
To convert_scalar(From v) {
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    if (std::isnan(v)) return To{0};
    // The limits as floats: the upper one may round up to 2^n, which is already out of range.
    constexpr auto lo = static_cast<double>(std::numeric_limits<To>::min());
    constexpr auto hi = static_cast<double>(std::numeric_limits<To>::max());
    const double t = std::trunc(static_cast<double>(v));
    if (t <= lo) return std::numeric_limits<To>::min();
    if (t >= hi) return std::numeric_limits<To>::max();
    return static_cast<To>(t);
  } else {
    return static_cast<To>(v);
  }
}

/// Integer of a 4-bit type from a wider one: `wrap` keeps the low four bits.
inline std::int8_t wrap_i4(std::int64_t v) {
  const auto low = static_cast<std::uint8_t>(static_cast<std::uint64_t>(v) & 15U);
  return static_cast<std::int8_t>(low >= 8 ? low - 16 : low);
}
inline std::uint8_t wrap_u4(std::int64_t v) { return static_cast<std::uint8_t>(static_cast<std::uint64_t>(v) & 15U); }

/// Calls `f(T{})` with the C++ type in which elements of `t` are stored. fp16 and bf16 are std::uint16_t there.
template <class F>
decltype(auto) visit_storage(DType t, F&& f) {
  switch (t) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::i4:
    case DType::i8:
      return f(std::int8_t{});
    case DType::u4:
    case DType::u8:
    case DType::boolean:
      return f(std::uint8_t{});
    case DType::i16:
      return f(std::int16_t{});
    case DType::f16:
    case DType::bf16:
    case DType::u16:
      return f(std::uint16_t{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::u32:
      return f(std::uint32_t{});
    case DType::i64:
      return f(std::int64_t{});
    case DType::u64:
      return f(std::uint64_t{});
  }
  fail_check(__FILE__, __LINE__, "dtype", std::to_string(static_cast<int>(t)));
}

}  // namespace assay
