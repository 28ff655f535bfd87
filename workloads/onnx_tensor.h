#pragma once

#include <cstdint>
#include <string>

#include "core/ir/tensor.h"

namespace onnx {
class TensorProto;
}

namespace assay {

/// More elements than any tensor of a model has; products of sizes stay far from overflow below it.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

std::string onnx_type_name(int data_type);  ///< `string`, `float8e4m3fn`, `type 99`

/// Where external data may be read from, and how much of everything.
struct TensorSource {
  std::string file;                ///< for messages
  std::string folder;              ///< of the model; external data must lie inside
  std::int64_t* budget = nullptr;  ///< bytes that may still be read; decreased
};

/// Type of an initialiser; InputError on unknown types and absurd sizes.
TensorType tensor_type(const onnx::TensorProto& proto, const TensorSource& source);
/// Value from raw_data, the typed fields or external data. InputError when the amount of data does not fit the shape.
Tensor tensor_value(const onnx::TensorProto& proto, const TensorSource& source);

}  // namespace assay
