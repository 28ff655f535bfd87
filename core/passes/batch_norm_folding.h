#pragma once

#include "core/passes/pass.h"

namespace assay {

/// BatchNormalization(Conv(x, w, b)) -> Conv(x, w·a, b·a + c)     also after ConvTranspose and Gemm
/// BatchNormalization(x)             -> Add(Mul(x, a), c)
///     a = scale / √(var + ε)     c = bias − mean·a     per channel, computed in fp64
///
/// Stands after canonicalisation (nothing is left between the two nodes) and before Gemm becomes MatMul and Add.
/// Not folded into the producer, with a remark: its result has another use, its weights or bias are not constant,
/// its bias does not have one element per channel. Left alone: training mode, statistics that are not constant,
/// spatial = 0. Weights without values stay weights without values.
std::size_t fold_batch_norm(Graph& g, PassContext& context);

}  // namespace assay
