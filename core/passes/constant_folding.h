#pragma once

#include "core/passes/pass.h"

namespace assay {

struct FoldOptions {
  /// Leave DequantizeLinear of integers of at most 16 bits alone, so that QDQ absorption still sees the pattern.
  bool keep_quantised_weights = false;
  std::int64_t max_bytes = std::int64_t{64} << 20;  ///< a larger result is left to the machine, with a remark
};

/// Add(2, 3) -> 5; Shape(x) -> [1, 3, 224, 224]; Transpose(weight without a value) -> weight without a value.
///
/// Stands first because exporters write shapes as arithmetic (Shape, Gather, Concat, Reshape by the result): only
/// after it do the other passes see constants. Stands again near the end for what the other passes made constant.
/// Exact: the reference semantics of the operation are executed.
std::size_t fold_constants(Graph& g, PassContext& context, const FoldOptions& options);

}  // namespace assay
