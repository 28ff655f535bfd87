#pragma once

#include <cstdint>
#include <string>

#include "core/ops/op.h"

// Tensors in files (NumPy's .npy, ONNX TensorProto .pb) and made-up inputs for a graph.

namespace assay {

/// .npy versions 1 to 3, C order, little or big endian, of bool, (u)int8 … (u)int64, float16, float32 and float64.
/// InputError on anything else (Fortran order, objects, truncated data, more than 2^40 elements).
Tensor read_npy(const std::string& path);
/// Version 1. bfloat16 is written as float32, 4-bit integers as 8-bit ones (NumPy has neither).
void write_npy(const std::string& path, const Tensor& t);

/// One TensorProto (`input_0.pb` of ONNX test cases). External data is looked for beside the file.
Tensor read_tensor_pb(const std::string& path);

/// A value for every input, depending on (seed, input name, type) and on what reads it: floats are normal with
/// deviation 1 (0 or 1 where the name says mask), indices of Gather stay inside the table, other integers are small,
/// 8-bit ones use their range, booleans are mostly true. O(elements + nodes).
/// InputError when all of them together reach 4 GiB.
TensorMap seeded_inputs(const Graph& g, std::uint64_t seed);

}  // namespace assay
