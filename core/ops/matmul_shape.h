#pragma once

#include <optional>

#include "core/ops/nest.h"
#include "core/ops/op.h"

namespace assay {

/// MatMul's reading of two shapes: batch dimensions and the matrix in the last two; a 1-D operand is a row (left)
/// or a column (right) whose dimension vanishes from the result.
struct MatMulShape {
  Shape a_batch, b_batch, batch;
  std::int64_t m = 1, k = 1, n = 1, k_right = 1;
  bool row = false, column = false;  ///< the left (right) operand is 1-D
  Shape result() const;
};
/// The batch shapes must broadcast; k and k_right are left to compare.
MatMulShape matmul_shape(const Shape& a, const Shape& b);
/// Rejects scalars, batches that do not broadcast and different inner dimensions.
MatMulShape checked_matmul_shape(const OpContext& ctx, std::size_t a, std::size_t b);

/// out = a · b with dims b0 …, m, n | k.
Nest matmul_nest(const MatMulShape& s, Slot a, Slot b, Slot out, DType accumulator);

/// A constant zero point that is the same everywhere (or absent: 0); nothing if it is not constant or varies.
std::optional<double> uniform_zero(const OpContext& ctx, std::size_t operand);

}  // namespace assay
