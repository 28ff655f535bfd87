#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay {

enum class DType : std::uint8_t { f32, f16, bf16, f64, i4, u4, i8, u8, i16, u16, i32, u32, i64, u64, boolean };

/// Bits of one element in memory (4 for i4/u4, 8 for boolean).
int bits(DType t);
/// Bytes of `count` elements, rounded up to whole bytes (only the 4-bit types need rounding).
std::int64_t byte_size(DType t, std::int64_t count);
bool is_float(DType t);
bool is_integer(DType t);  ///< i4 … u64; not boolean
bool is_signed(DType t);   ///< floats and signed integers
/// Canonical names: fp32 fp16 bf16 fp64 int4 uint4 int8 uint8 int16 uint16 int32 uint32 int64 uint64 bool.
std::string_view name(DType t);
std::optional<DType> parse_dtype(std::string_view text);

/// IEEE 754 binary16 and bfloat16 conversions, round to nearest even, subnormals and NaN kept.
std::uint16_t to_f16(float v);
float from_f16(std::uint16_t v);
std::uint16_t to_bf16(float v);
float from_bf16(std::uint16_t v);

}  // namespace assay
