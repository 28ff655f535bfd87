#include "core/base/dtype.h"

#include <array>
#include <bit>
#include <cmath>

#include "core/base/math.h"

namespace assay {
namespace {

struct TypeInfo {
  DType type;
  std::string_view name;
  int bits;
  bool floating, integer, is_signed;
};

constexpr std::array<TypeInfo, 15> kTypes{{
    {DType::f32, "fp32", 32, true, false, true},
    {DType::f16, "fp16", 16, true, false, true},
    {DType::bf16, "bf16", 16, true, false, true},
    {DType::f64, "fp64", 64, true, false, true},
    {DType::i4, "int4", 4, false, true, true},
    {DType::u4, "uint4", 4, false, true, false},
    {DType::i8, "int8", 8, false, true, true},
    {DType::u8, "uint8", 8, false, true, false},
    {DType::i16, "int16", 16, false, true, true},
    {DType::u16, "uint16", 16, false, true, false},
    {DType::i32, "int32", 32, false, true, true},
    {DType::u32, "uint32", 32, false, true, false},
    {DType::i64, "int64", 64, false, true, true},
    {DType::u64, "uint64", 64, false, true, false},
    {DType::boolean, "bool", 8, false, false, false},
}};

const TypeInfo& info(DType t) { return kTypes[static_cast<std::size_t>(t)]; }

}  // namespace

int bits(DType t) { return info(t).bits; }
std::int64_t byte_size(DType t, std::int64_t count) { return ceil_div(checked_mul(count, bits(t)), 8); }
bool is_float(DType t) { return info(t).floating; }
bool is_integer(DType t) { return info(t).integer; }
bool is_signed(DType t) { return info(t).is_signed; }
std::string_view name(DType t) { return info(t).name; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (const TypeInfo& t : kTypes) {
    if (t.name == text) return t.type;
  }
  return std::nullopt;
}

std::uint16_t to_f16(float v) {
  const std::uint32_t u = std::bit_cast<std::uint32_t>(v);
  const auto sign = static_cast<std::uint16_t>((u >> 16) & 0x8000U);
  const std::uint32_t magnitude = u & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U);   // NaN
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // rounds to infinity
  if (magnitude < 0x38800000U) {
    // Subnormal half (or zero): adding 0.5 lets the FPU round the 24-bit significand at the right place.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U));
  }
  const std::uint32_t odd = (magnitude >> 13) & 1U;  // ties to even
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000U + 0xfffU + odd) >> 13));
}

float from_f16(std::uint16_t v) {
  const std::uint32_t sign = static_cast<std::uint32_t>(v & 0x8000U) << 16;
  const std::uint32_t exponent = (v >> 10) & 0x1fU;
  const std::uint32_t mantissa = v & 0x3ffU;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t to_bf16(float v) {
  const std::uint32_t u = std::bit_cast<std::uint32_t>(v);
  if ((u & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((u >> 16) | 0x0040U);  // quiet NaN
  return static_cast<std::uint16_t>((u + 0x7fffU + ((u >> 16) & 1U)) >> 16);
}

float from_bf16(std::uint16_t v) { return std::bit_cast<float>(static_cast<std::uint32_t>(v) << 16); }

}  // namespace assay
