#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/mapping/search.h"

// A kernel and its environment compiled into flat tables: what the search's inner loop (tile_evaluator.h) reads.

namespace assay {

inline constexpr std::size_t kMaxDims = 12;  ///< tiled dimensions of one kernel
inline constexpr std::size_t kMaxTensors = 24;
inline constexpr std::size_t kMaxMemories = 64;

/// A mapping in the form that the search changes cheaply.
struct FlatMapping {
  std::array<std::int64_t, kMaxDims> chunk{}, tile{};
  std::array<int, kMaxDims> order{};  ///< dimensions with a loop, outermost first
  int loops = 0;
  std::array<int, kMaxTensors> depth{};
  std::array<std::int8_t, kMaxTensors> buffers{};
};

enum class TensorUse : std::uint8_t { main_in0, main_in1, side_input, psum, output, temp };

struct TensorPlan {
  TensorUse use = TensorUse::temp;
  bool resident = false;
  bool gathered = false;  ///< a table: only the elements asked for are moved
  MemoryId memory;        ///< of the tile (or the home, where resident)
  MemoryId home;
  PathRate path;  ///< load of inputs, store of outputs
  std::int64_t element_bytes = 1;
  std::uint32_t relevant = 0;       ///< mask of kernel dimensions it depends on
  std::uint32_t main_relevant = 0;  ///< mask by the contraction's accesses only
};

class Evaluator {
 public:
  /// Throws Infeasible when a tensor has no memory or no path at all, naming both.
  Evaluator(const Kernel& k, const KernelHomes& homes, const MapEnvironment& env);

  const std::vector<TensorPlan>& tensors() const { return plans_; }
  const Kernel& kernel() const { return k_; }
  const MapEnvironment& environment() const { return env_; }
  std::uint32_t reduction_dims() const { return reduction_; }
  bool dma_only() const { return dma_only_; }

  void set_spatial(const std::vector<SpatialSplit>& splits);
  void set_array(const ArrayPlan& plan, std::uint32_t unit);
  /// Depth of each tensor for the loops of `m`: as deep as relevance allows; retained operands one reuse loop higher.
  void place(FlatMapping& m, bool retain_in0, bool retain_in1) const;
  /// Compute at the array's best and compulsory traffic: no mapping with this split beats it.
  double lower_bound() const;
  std::string shortfall(const FlatMapping& m) const;  ///< which memory is exceeded, and by how much
  FlatMapping flatten(const Mapping& m) const;        ///< of a mapping with one loop per dimension at most
  Mapping expand(const FlatMapping& m) const;

 private:
  friend class TileEvaluator;
  struct Axis {                             ///< one tensor dimension of one access
    std::int64_t lo = 0, hi = 0, step = 0;  ///< from the dimensions that are not tiled
    std::vector<std::pair<int, std::int64_t>> terms;
  };
  struct TensorShape {
    std::vector<std::vector<Axis>> accesses;  ///< [access][tensor dimension]
    std::vector<std::int64_t> shape;
  };
  static std::uint32_t outside(const FlatMapping& m, int depth);  ///< dimensions of the loops outside a depth
  struct Reach {                                                  ///< coordinates lo, lo + step, … hi along one axis
    std::int64_t lo = 0, hi = 0, step = 0;
    std::int64_t extent() const { return (hi - lo) / (step > 1 ? step : 1) + 1; }
  };
  Reach reach(std::size_t tensor, std::size_t axis, const FlatMapping& m, std::uint32_t outside) const;
  struct Box {
    std::int64_t elements = 1, run = 1;  ///< run: contiguous elements in the home
  };
  /// What a storage node holds that stands inside loops over the dimensions of `outside`: their tile, else the share.
  Box box(std::size_t tensor, const FlatMapping& m, std::uint32_t outside) const;
  Axes shared_axes(const TensorPlan& p) const;   ///< along which one load may serve all cores
  std::int64_t whole(std::size_t tensor) const;  ///< elements of a tensor that the kernel touches

  const Kernel& k_;
  const MapEnvironment& env_;
  std::vector<TensorPlan> plans_;
  std::vector<TensorShape> shapes_;
  std::vector<int> classes_;
  std::vector<double> nest_cost_;  ///< vector cycles per point, by nest (0 for the contraction)
  std::uint32_t reduction_ = 0;
  bool dma_only_ = false;
  std::vector<SpatialSplit> splits_;
  double active_cores_ = 1;
  ArrayPlan array_;
  std::uint32_t unit_ = 0;
};

/// The environment may be asked for a drain: contraction results leave the accumulators through the vector unit. Adds
/// the identity (or converting) nest where the kernel has no epilogue, and keeps partial sums in the accumulator's type.
Kernel with_drain(Kernel k, const MapEnvironment& env);

}  // namespace assay
