#pragma once

#include <string>

#include "core/base/random.h"

namespace assay {

/// Breaks a model as a faulty exporter would: the bytes stay a message of the format, but fields are dropped, doubled,
/// emptied, swapped with others of their kind, or hold absurd numbers, unknown types and names of other values.
/// Bytes that are no model come back unchanged.
std::string mutate_onnx(const std::string& bytes, Random& random);

}  // namespace assay
