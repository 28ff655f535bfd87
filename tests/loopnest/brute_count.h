#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/loopnest/counting.h"

// Counting as a child would do it: every step of every instance with the set of words it has, one word at a time. Shares
// nothing with the counters but the notation.

namespace assay {

struct BruteTensor {
  bool held = false;
  std::int64_t reads = 0, fills = 0, updates = 0, reductions = 0, links = 0, spatial_reductions = 0;
  std::map<std::int64_t, std::int64_t> network;  ///< children that share → accesses of all instances
  std::int64_t met = 0;                          ///< different words of the first instance's tiles
};

struct BruteCounts {
  std::int64_t macs = 0, cycles = 0;
  std::vector<std::vector<BruteTensor>> levels;                  ///< [level][tensor]
  std::vector<std::int64_t> instances;                           ///< used, by level
  std::vector<std::int64_t> most_reads, most_writes, most_both;  ///< of one instance, by level
};

/// Under the assay convention with any of shared_overlaps (without links), neighbour_links, drain_reads, first_read_elision, reduce_in_place, one_fetch.
BruteCounts brute_count(const LoopNest& nest, const Einsum& e, const Hierarchy& h, const CountingConvention& c);

/// What differs between a cost and the brute count, one line each.
std::vector<std::string> brute_differences(const NestCost& cost, const BruteCounts& brute, const Hierarchy& h);

}  // namespace assay
