#pragma once

#include "core/ops/build_nest.h"

namespace assay {

/// Which axes of a tensor are folded.
struct Reduction {
  std::vector<bool> folded;                    ///< per axis
  Shape kept_shape(const Shape& in) const;     ///< extent 1 at folded axes
  Shape dropped_shape(const Shape& in) const;  ///< without the folded axes
  std::int64_t count(const Shape& in) const;   ///< elements per fold
};

/// Dims d0 … over `in`, of which the folded ones are reductions.
Nest reduction_dims(const Shape& in, const Reduction& r);
/// Accesses in those dims: to a tensor of shape kept_shape (or dropped_shape).
Access kept_access(Slot slot, const Reduction& r);
Access dropped_access(Slot slot, const Reduction& r);
/// out = fold of body(in0) with combine; `out` is accessed with kept_access. `write` maps the operand's value.
Nest fold_nest(const Shape& in_shape, const Reduction& r, Slot in, DType in_type, Slot out, DType work, Combine combine,
               const std::function<int(BodyWriter&, int)>& write);

/// The value of an empty fold, which is also where it starts: 0, 1, the lowest or the highest of the type.
double neutral(Combine c, DType t);

}  // namespace assay
