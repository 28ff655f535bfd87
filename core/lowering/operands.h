#pragma once

#include <vector>

#include "core/lowering/lower.h"

// Index arithmetic of one kernel's lowering: extents, views of tile buffers and homes.

namespace assay {

class OperandBuilder {
 public:
  /// `loop_vars` are the variables of the mapping's loops, outermost first.
  OperandBuilder(const LoweringInput& input, std::size_t kernel, std::vector<VarId> loop_vars);

  const TileShape& shape() const { return shape_; }
  int loop_count() const { return static_cast<int>(m_.loops.size()); }
  /// Iteration dimension of a kernel dimension (or a nest's own) for a command that stands at `depth`.
  Extent extent(int dim, int depth) const;
  std::vector<IterDim> iteration(const KernelNest& nest, int depth) const;
  /// What a nest of a command at `depth` sees of a tensor: its tile buffer, or its home where resident.
  Operand operand(const KernelNest& nest, const KernelAccess& access, int depth) const;
  /// The nest's access straight to the home (data movement by the DMA engine).
  Operand home_operand(const KernelNest& nest, const KernelAccess& access, int depth) const;
  /// Number of the tile that a storage node at `depth` holds, counted over the loops outside it: which slot of a ring.
  Affine sequence(int depth) const;
  /// Copy between a tensor's home and its tile buffer, over the tensor's box.
  Command box_copy(int tensor, bool load, EngineId engine) const;

 private:
  std::int64_t element_bytes(int tensor) const;
  Affine start(int dim, int depth) const;               ///< first coordinate of a storage node at `depth`
  Affine inner_start(int dim, int from, int to) const;  ///< contribution of loops with from <= position < to
  std::int64_t covered(int dim) const;                  ///< extent of all cores' tiles together, ragged ends included
  bool may_clip(int dim) const;                         ///< the tiles do not divide the extent
  bool may_be_empty(int dim) const;                     ///< some core's tile lies wholly outside the extent
  std::vector<ViewDim> home_dims(int tensor) const;
  Ring ring(int depth, std::int64_t buffers, std::int64_t slot_bytes) const;
  std::int64_t slot_bytes(int tensor) const;

  const LoweringInput& in_;
  const Kernel& k_;
  const Mapping& m_;
  std::size_t index_;
  std::vector<VarId> vars_;
  TileShape shape_;
};

}  // namespace assay
