#pragma once

#include "hwmodels/functional/bind.h"
#include "hwmodels/functional/lanes.h"

// Executes copies and vector commands: every iteration point, by runs of the innermost dimension.

namespace assay {

/// The iteration space with its operands, simplified: extents of 1 dropped, neighbouring dimensions that every
/// operand walks evenly merged. `origin` is what the body's `index` adds.
struct PointSpace {
  std::vector<std::int64_t> parallel, reduction;   ///< extents, outermost first
  std::vector<int> parallel_dims, reduction_dims;  ///< their slots in Steps
  std::vector<std::int64_t> origin;                ///< by slot
};
/// Rewrites `operands`' steps along with the space; `keep` forbids merging (the body asks for indices).
PointSpace simplify(const Command& command, std::span<const std::int64_t> extents, std::span<const std::int64_t> origin,
                    std::span<BoundOperand* const> operands, bool keep);

/// Copies `in[0]` to `out` for every point; in[1..] are index operands. Returns the points whose source is in bounds
/// (an index, which depends on data, counts as in bounds).
std::int64_t run_copy(const PointSpace& space, std::vector<BoundOperand>& in, BoundOperand& out);

/// out (combine)= body(in…). `accumulate`: adds to what the output holds.
class VectorRunner {
 public:
  void run(const Command& command, const PointSpace& space, std::vector<BoundOperand>& in, BoundOperand& out,
           bool accumulate);

 private:
  std::vector<Lanes> values_;
  Lanes acc_, spare_;
};

}  // namespace assay
