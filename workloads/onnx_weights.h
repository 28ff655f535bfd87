#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/ir/tensor.h"
#include "workloads/onnx_flat.h"
#include "workloads/weights.h"

namespace assay {

/// What a constant of a model is used for.
struct WeightUse {
  WeightRole role = WeightRole::none;
  std::int64_t fan_in = 1;
  /// Read by Add, Mul or Concat only: it may be a parameter or a constant of a formula (a mask). Redrawn only if its
  /// values in the file look like a parameter's.
  bool weak = false;
};

/// The use of every constant in `constants` (float types only), found by following it through operations that only
/// rearrange it. A use as a matrix wins over others, then the first reader in `nodes`. O(nodes + constants).
std::map<std::string, WeightUse> weight_uses(const std::vector<FlatNode>& nodes,
                                             const std::map<std::string, TensorType>& constants);

/// Do the file's values look like a parameter's: finite, below 1000, and not a block of zeros of rank 2 or more?
bool looks_like_parameter(const Tensor& t);

}  // namespace assay
