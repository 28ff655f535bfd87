#pragma once

#include "core/passes/pass.h"

namespace assay {

/// Identity(x) -> x                        Dropout(x) -> x                  Cast(x) to its type -> x
/// Transpose(Transpose(x)) -> Transpose(x) Transpose by 0, 1, 2, … -> x     Transpose of extents 1 -> Reshape
/// Reshape(Squeeze(x)) -> Reshape(x)       Reshape(x) to its shape -> x     Slice, Pad, Expand, Tile of all -> x
/// Concat(x) -> x                          Concat(Split(x)) -> x            Split(Concat(x, y)) -> x, y
/// x · 1, x / 1, x − 0 -> x                x + 0 -> x for integers          −(−x) -> x
///
/// Stands before the passes that look for patterns, so that they need to know one form of each thing; and again
/// after them. Exact: x + 0 is kept for floats (it turns −0 into +0), and casts are never merged (0.3 → int32 →
/// bool is false). Rules are tried until none applies; each removes a node or makes one simpler.
std::size_t canonicalise(Graph& g, PassContext& context);

}  // namespace assay
