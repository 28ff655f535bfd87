#pragma once

#include "core/passes/pass.h"

namespace assay {

/// Gemm(a, b, c) -> Add(MatMul(a, b), c)
///     transA, transB: a transposed constant, or a Transpose in front
///     alpha: into a constant b, or a Mul behind          beta: into a constant c, or a Mul of c
///
/// Stands after batch-norm folding (which adds to Gemm's bias) and before everything that looks for a matrix
/// product, so that there is one form of it. Add stays a node: it becomes the product's epilogue when loop nests
/// are fused, not here. Integer Gemm with alpha or beta other than 1 is left alone, with a remark.
std::size_t lower_gemm(Graph& g, PassContext& context);

}  // namespace assay
