#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/isa/program.h"
#include "core/mapping/kernel.h"

// Where and when a kernel's work happens. The loops around one kernel, outermost first, with each tensor's storage
// node at its own depth:
//
//   spatial  k over grid columns, 64 each                     spatial:    [k: cols 64]
//   for p in 0..56 by 14                                      loops:      [p 14, c 64]
//     load x[.., p-1 .. p+15, ..]      (input at depth 1)     x: {ub, depth 1, buffers 2}
//     for c in 0..256 by 64
//       load w[.., c .. c+64, ..]      (weight at depth 2)    w: {wfifo, depth 2, buffers 2}
//       contract                                              acc: {acc, depth 1}
//     epilogue, store y                (output at depth 1)    y: {ub, depth 1, buffers 2}

namespace assay {

/// One dimension divided over a grid axis (or over the whole grid, row-major, when both are set).
struct SpatialSplit {
  int dim = 0;
  Axes axes;
  std::int64_t chunk = 1;  ///< extent per core, a multiple of the dimension's tile
  friend bool operator==(const SpatialSplit&, const SpatialSplit&) = default;
};

struct TemporalLoop {
  int dim = 0;
  std::int64_t tile = 1;
  friend bool operator==(const TemporalLoop&, const TemporalLoop&) = default;
};

/// A storage node: the tensor's tile stands in `memory` while the loops inside `depth` run.
struct Placement {
  int tensor = 0;
  MemoryId memory;
  int depth = 0;             ///< number of loops outside
  std::int64_t buffers = 1;  ///< 2: double buffering
  bool resident = false;     ///< the whole tensor lives there already (its home): nothing is copied
  Axes multicast;            ///< loaded once along these axes and delivered to all
  friend bool operator==(const Placement&, const Placement&) = default;
};

struct Mapping {
  std::vector<SpatialSplit> spatial;
  std::vector<TemporalLoop> loops;    ///< a dimension may have several; each tile divides the one outside it
  std::vector<Placement> placements;  ///< parallel to Kernel::tensors
  ArrayPlan array;                    ///< of the contraction
  std::uint32_t matrix_unit = 0, vector_unit = 0;
  bool dma_only = false;  ///< data movement without a compute unit: home → tile → home
  friend bool operator==(const Mapping&, const Mapping&) = default;
};

/// InputError naming the loop, split or placement that breaks a rule: dimensions and memories that exist, tiles that
/// divide the range outside them (the outermost one of a dimension that is not split over cores may be ragged), shares
/// that cover the extent, one tiled dimension per coordinate of a tensor, depths within the loops, partial sums outside the reduction's loops, no holes in tiles
/// that are written, one buffer where no loop stands outside.
void check_mapping(const Kernel& k, const Mapping& m, const Grid& grid);

/// Extents as the mapping makes them.
class TileShape {
 public:
  TileShape(const Kernel& k, const Mapping& m);
  std::int64_t chunk(int dim) const { return chunk_[static_cast<std::size_t>(dim)]; }  ///< per core
  /// Extent that a storage node at `depth` covers.
  std::int64_t range(int dim, int depth) const;
  std::int64_t tile(int dim) const { return range(dim, static_cast<int>(loops_.size())); }  ///< inside all loops
  std::int64_t trip(int loop) const;                                                        ///< iterations of a loop
  const std::vector<TemporalLoop>& loops() const { return loops_; }

 private:
  std::vector<std::int64_t> chunk_;
  std::vector<TemporalLoop> loops_;
};

/// The bounding box of what a kernel's nests touch of a tensor in one tile at `depth`. Along each tensor dimension it
/// covers coordinates lo, lo + step, … (extent of them), relative to Σ coefficient · (start of the tile).
struct TensorBox {
  std::vector<std::int64_t> lo, extent, step;
  std::int64_t elements() const;
};
TensorBox tensor_box(const Kernel& k, const TileShape& shape, int tensor, int depth);

/// Canonical text of every field: part of content keys.
std::string mapping_key(const Mapping& m);
std::string print_mapping(const Kernel& k, const Mapping& m, const Machine& machine);

}  // namespace assay
