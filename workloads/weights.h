#pragma once

#include <cstdint>
#include <string>

#include "core/ir/tensor.h"

// Values for weights that a model does not bring along. They depend on (seed, tensor name, type, role) only, so adding
// a tensor to a model does not change the others.

namespace assay {

enum class WeightMode : std::uint8_t {
  as_in_file,  ///< the values that the file holds (importers only)
  seeded,      ///< drawn: He-scaled for matrices, near 1 or near 0 for the parameters of normalisations
  absent,      ///< types only: for models that would not fit
};

/// What a tensor is to the operation that reads it; it decides how it is drawn.
enum class WeightRole : std::uint8_t {
  none,      ///< not a weight: shapes, constants of formulas, masks
  matrix,    ///< mean 0, variance 2 / fan_in (He et al. 2015)
  table,     ///< embeddings and other rows that are looked up or added: mean 0, deviation 0.5
  bias,      ///< mean 0, deviation 0.1; also running means
  scale,     ///< mean 1, deviation 0.1
  variance,  ///< uniform in [0.5, 1.5): positive
};

/// Deviations are drawn as the sum of four uniform 16-bit numbers (Irwin-Hall, bounded at 3.46 deviations): integer
/// arithmetic and one multiplication, so every machine draws the same values, at a few ns each. `type` must be a float
/// type; `fan_in` counts for `matrix` only.
Tensor seeded_weight(const std::string& name, const TensorType& type, WeightRole role, std::int64_t fan_in,
                     std::uint64_t seed);

}  // namespace assay
