#pragma once

#include "core/passes/pass.h"

namespace assay {

/// T'(f(T(x))) -> f(x)                     f a chain of elementwise nodes, T' undoing T (transposes or reshapes)
/// T(MatMul(T(x), w)) -> MatMul(Tw, x)     T swapping the last two axes, w constant or transposed too
///
/// What moves data twice to no effect moves it no more. Transposes of constants, pairs of transposes and transposes
/// that are reshapes are dealt with by folding and canonicalisation, which follow. Legal where nothing else reads
/// the values in between and the other operands of the chain are single elements.
/// Tolerance of the second rule: the same products are summed, perhaps in another order.
std::size_t eliminate_transposes(Graph& g, PassContext& context);

}  // namespace assay
