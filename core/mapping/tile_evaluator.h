#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/mapping/evaluator.h"

namespace assay {

/// Evaluates mappings that share their tile sizes: what depends on the tiles alone is computed once, what depends on
/// the set of loops outside a storage node once per set. Keeps scratch space: one per thread.
///
///   start(m)      tiles and shares of m hold until the next start
///   evaluate(m)   for any loop order and depths over these tiles
class TileEvaluator {
 public:
  /// For the split and the array plan that `tables` has now.
  explicit TileEvaluator(const Evaluator& tables);

  /// The tile sizes that will be tried for each dimension (largest first, the first being the core's whole share):
  /// what `floor` and `may_fit` are about.
  void set_candidates(const std::vector<std::vector<std::int64_t>>& candidates);
  /// Cycles that no mapping beats whose first `fixed` dimensions have the tiles (and shares) of `m`, whatever the other
  /// tiles, the order and the depths.
  ///
  /// Why it is a bound: the iterations of a loop times the array's cycles of one tile never fall when a dimension is
  /// cut (⌈D/t⌉·⌈t/s⌉ ≥ ⌈D/s⌉, and the fixed part is paid more often); every tensor is moved at least once, each of its
  /// axes as a whole or tile by tile; the vector unit sees every point.
  double floor(const FlatMapping& m, std::size_t fixed);
  /// False when even the deepest placement of every tensor, with the smallest tiles in the dimensions from `fixed` on,
  /// exceeds a memory: boxes grow with the tiles, so no choice of the others can mend it.
  bool may_fit(const FlatMapping& m, std::size_t fixed);

  void start(const FlatMapping& m);
  /// Chooses buffers (2 where it fits); nothing when even single buffers do not fit.
  std::optional<MappingCost> evaluate(FlatMapping& m);
  /// With the buffers as they stand, without looking at capacities.
  MappingCost cost(const FlatMapping& m);

 private:
  struct Moved {  ///< one tensor's tile for one set of loops outside it
    std::uint32_t mask = 0;
    std::int64_t elements = 0;
    double bytes = 0, one = 0;  ///< one: cycles of one transfer
  };
  void set_loops(const FlatMapping& m);
  bool fit(FlatMapping& m);
  MappingCost cost_of_loops(const FlatMapping& m);
  const Moved& moved(std::size_t tensor, const FlatMapping& m, int depth);
  Moved gathered(std::size_t table, const FlatMapping& m);
  Moved as_moved(const TensorPlan& p, const Evaluator::Box& b) const;
  double vector_once(const FlatMapping& m, std::uint32_t outside);
  double matrix_cycles(const FlatMapping& m, std::size_t fixed);

  double least_traffic(std::size_t tensor, const std::vector<std::vector<std::int64_t>>& candidates) const;

  const Evaluator& e_;
  std::size_t dims_, tensors_;
  std::vector<double> served_;  ///< by tensor: cores that one load serves
  std::vector<char> stored_;
  bool overlap_ = true;
  // Per candidates.
  std::vector<std::int64_t> share_, least_;
  double vector_floor_ = 0, load_floor_ = 0, store_floor_ = 0, shared_floor_ = 0;
  // Per tiles.
  double matrix_ = 0;
  std::vector<std::vector<Moved>> memo_;  ///< by tensor
  std::vector<std::pair<std::uint32_t, double>> vector_memo_;
  // Per order.
  std::array<std::uint32_t, kMaxDims + 1> prefix_{};  ///< dimensions of the loops outside depth i
  std::array<double, kMaxDims + 1> outside_{};        ///< Π trips of these loops
  std::vector<std::int64_t> extents_;                 ///< scratch
};

}  // namespace assay
