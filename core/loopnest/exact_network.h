#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/loopnest/counting.h"
#include "core/loopnest/exact_axis.h"

// The traffic of one tensor below one instance of a level, word by word. See counting_exact.h for what counts.

namespace assay {

struct ExactTraffic {
  std::map<std::int64_t, Int128> accesses;  ///< children that share one → accesses
  Int128 links = 0;                         ///< words that a child takes from (or leaves to) a neighbour
  Int128 all() const;                       ///< accesses
  Int128 requests() const;                  ///< accesses × children
  void add(const ExactTraffic& o, Int128 times);
};

/// A tensor between a level and the next place inside that holds it (or the MACs).
class ExactNetwork {
 public:
  /// Network below `level`. `alone`: no children, one instance of `level` that holds the tensor, and what enters (or
  /// leaves) it.
  ExactNetwork(const FlatNest& f, const Einsum& e, const Hierarchy& h, int tensor, int level, bool alone,
               const CountingConvention& c);

  /// Below the instance at `place` (slots by index in FlatNest::loops), all steps.
  ExactTraffic traffic(std::vector<std::int64_t>& place, StepBudget& budget) const;
  /// Different words that cross it.
  Int128 distinct(std::vector<std::int64_t>& place, StepBudget& budget) const;

 private:
  ExactTraffic moment(const StepChoice& choice, std::vector<std::int64_t>& place, StepBudget& budget) const;

  const FlatNest& f_;
  bool output_ = false, mac_ = false, linked_ = false;
  std::size_t boundary_ = 0;
  std::vector<bool> shares_;     ///< by slot
  std::vector<ExactAxis> axes_;  ///< of the tensor, then a narrow one per other dimension
  std::size_t wide_ = 0;         ///< how many are of the tensor
  MeshExtent radix_;             ///< children along x and y in a full step
};

}  // namespace assay
