#pragma once

#include "core/passes/pass.h"

namespace assay {

/// y = Relu(x), z = Exp(x), output y  ->  y = Relu(x), output y
///
/// Stands before the rewriting passes: they ask whether a value has a single use, and a dead node is a use. They
/// remove what they make dead themselves. Inputs of the graph stay, used or not: they are its interface.
std::size_t remove_dead_code(Graph& g, PassContext& context);

}  // namespace assay
