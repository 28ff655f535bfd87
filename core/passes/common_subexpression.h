#pragma once

#include "core/passes/pass.h"

namespace assay {

/// Add(Exp(x), Exp(x)') -> t = Exp(x), Add(t, t)
///
/// Same operation, version, attributes and operands. Equal constants are merged first (small ones by content, large
/// ones if they share their value), or nodes that differ only in a copied constant would not be found. Stands after
/// canonicalisation, which makes equal things look equal. Nodes that draw random numbers or hold graphs are left
/// alone. Exact.
std::size_t merge_common_subexpressions(Graph& g, PassContext& context);

}  // namespace assay
