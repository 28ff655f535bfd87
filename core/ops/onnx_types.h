#pragma once

#include <cstdint>
#include <optional>

#include "core/ops/op.h"

namespace assay {

/// The element type of a number in ONNX's TensorProto.DataType; nothing for those that are not supported (strings,
/// complex numbers, 8-bit floats). The one table of the project.
std::optional<DType> dtype_from_onnx(std::int64_t number);

/// The same for an attribute of an operation, which is rejected by name where the type is not supported.
DType onnx_dtype(const OpContext& ctx, std::int64_t number);

}  // namespace assay
