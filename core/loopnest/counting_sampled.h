#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "core/loopnest/counting.h"
#include "core/loopnest/flat_nest.h"

// Counting by the first child: every child below a fan-out is taken to do what its first one does, shifted. That is how
// loop-nest simulators of the Timeloop family count (Parashar et al., ISPASS 2019; imperfect factors: Ruby, Horeni et
// al., ISPASS 2022), and it holds the conventions that depend on the order of steps: extrapolated iterations, halos kept
// along one direction only, links that hand on whole deltas.
//
// The walk over the temporal loops is collapsed: what happens inside a loop depends only on the extents there and on the
// tile before, seen from where the loop stands. Equal situations are counted once, and a loop whose situation recurs
// is skipped by whole periods. Cost: O(loops² × situations), whatever the trip counts.

namespace assay {

/// (multicast, scatter) → accesses of the parent. Doubles, as in the tools this reproduces.
using SignatureCounts = std::map<std::pair<std::int64_t, std::int64_t>, double>;

struct SampledTraffic {
  SignatureCounts accesses;
  double links = 0;
};

/// Traffic below one instance of `level` for a tensor, before levels that do not hold it are taken out.
SampledTraffic sample_network(const FlatNest& f, const Einsum& e, const Hierarchy& h, int tensor, int level,
                              const CountingConvention& c);

/// Every level's counts. Called by count_accesses.
NestCost count_sampled(const FlatNest& f, const Einsum& e, const Hierarchy& h, const CountingConvention& c);

}  // namespace assay
