#include "core/ops/onnx_types.h"

#include <fmt/format.h>

namespace assay {

DType onnx_dtype(const OpContext& ctx, std::int64_t number) {
  switch (number) {
    case 1:
      return DType::f32;
    case 2:
      return DType::u8;
    case 3:
      return DType::i8;
    case 4:
      return DType::u16;
    case 5:
      return DType::i16;
    case 6:
      return DType::i32;
    case 7:
      return DType::i64;
    case 9:
      return DType::boolean;
    case 10:
      return DType::f16;
    case 11:
      return DType::f64;
    case 12:
      return DType::u32;
    case 13:
      return DType::u64;
    case 16:
      return DType::bf16;
    case 21:
      return DType::u4;
    case 22:
      return DType::i4;
    default:
      break;
  }
  ctx.reject(fmt::format("element type {} of ONNX is not supported", number));
}

}  // namespace assay
