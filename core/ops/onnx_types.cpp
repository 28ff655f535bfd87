#include "core/ops/onnx_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace assay {
namespace {

constexpr std::array<std::pair<int, DType>, 15> kNumbers{{
    {1, DType::f32},
    {2, DType::u8},
    {3, DType::i8},
    {4, DType::u16},
    {5, DType::i16},
    {6, DType::i32},
    {7, DType::i64},
    {9, DType::boolean},
    {10, DType::f16},
    {11, DType::f64},
    {12, DType::u32},
    {13, DType::u64},
    {16, DType::bf16},
    {21, DType::u4},  // since ONNX 1.16
    {22, DType::i4},
}};

}  // namespace

std::optional<DType> dtype_from_onnx(std::int64_t number) {
  const auto* it = std::find_if(kNumbers.begin(), kNumbers.end(), [&](const auto& n) { return n.first == number; });
  return it == kNumbers.end() ? std::nullopt : std::optional(it->second);
}

DType onnx_dtype(const OpContext& ctx, std::int64_t number) {
  if (const auto t = dtype_from_onnx(number)) return *t;
  ctx.reject(fmt::format("element type {} of ONNX is not supported", number));
}

}  // namespace assay
