#pragma once

#include "core/passes/pass.h"

namespace assay {

/// d = Sub(x, ReduceMean(x)); Mul(Div(d, Sqrt(Add(ReduceMean(Pow(d, 2)), ε))), γ) (+ β) -> LayerNormalization(x, γ, β)
/// Mul(Div(x, Sqrt(Add(ReduceMean(Pow(x, 2)), ε))), γ)     -> RMSNormalization(x, γ)   (also x · 1/Sqrt(…))
/// e = Exp(Sub(x, ReduceMax(x))); Div(e, ReduceSum(e))       -> Softmax(x)
///
/// Exporters below opset 17 write these in pieces; whole, they are one group for the mapper. Stands after
/// common-subexpression (each piece appears once) and before anything rewrites the pieces. Legal where the reduced
/// axes are the last ones (Softmax: one axis), dimensions are kept, γ and β have exactly the normalised shape, all
/// is fp32, and no piece has a use outside. A decomposed GELU stays: it is an elementwise chain and fuses as such.
std::size_t recognise_composites(Graph& g, PassContext& context);

}  // namespace assay
