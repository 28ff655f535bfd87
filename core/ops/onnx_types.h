#pragma once

#include <cstdint>

#include "core/ops/op.h"

namespace assay {

/// The element type that an attribute names by its number in ONNX's TensorProto.DataType; rejects the ones that
/// are not supported (strings, complex numbers, 8-bit floats).
DType onnx_dtype(const OpContext& ctx, std::int64_t number);

}  // namespace assay
