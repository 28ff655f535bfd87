#pragma once

#include "core/passes/pass.h"

namespace assay {

/// Transpose(DQ(q))    -> DQ(Transpose(q))        also Reshape, Flatten, Squeeze, Unsqueeze, Slice, Gather, Split, …
/// MaxPool(DQ(q))      -> DQ(MaxPool(q))          scales positive, no window of padding only
/// Concat(DQ(a),DQ(b)) -> DQ(Concat(a, b))        same scale and zero point
/// Q(DQ(q))            -> q                       same scale and zero point
///
/// Data moves as bytes instead of floats, and a dequantised operand comes to stand directly before the contraction
/// that QDQ absorption, which follows, looks for. Per-channel scales pass a Transpose (their axis moves along), no
/// other node. Exact: moving does not compute, and the maximum commutes with an increasing function.
std::size_t sink_dequantise(Graph& g, PassContext& context);

}  // namespace assay
