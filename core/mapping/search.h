#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/mapping/environment.h"

namespace assay {

/// Where each of a kernel's tensors lives outside the kernel.
struct KernelHomes {
  std::vector<MemoryId> home;  ///< by kernel tensor; invalid for internal tensors
};

/// The model's answer for one mapping, in cycles of the core clock, of the busiest core.
struct MappingCost {
  double cycles = 0;  ///< max of the engines plus the first fill and the last drain
  double matrix = 0, vector = 0, load = 0, store = 0;
  double shared = 0;  ///< busiest shared carrier, all cores
  double bytes = 0;   ///< moved from and to homes, all cores
  friend bool operator<(const MappingCost& a, const MappingCost& b) {
    return a.cycles != b.cycles ? a.cycles < b.cycles : a.bytes < b.bytes;
  }
};

struct SearchResult {
  Mapping mapping;
  MappingCost cost;
  double lower_bound = 0;  ///< cycles no mapping of the space can beat: compute and compulsory traffic
  std::int64_t evaluated = 0;
};

/// Best mapping of the space described in docs/mapper.md: spatial splits of one dimension per grid axis, one tile
/// size per dimension (halvings of the extent, aligned to the unit), loop orders by operand class, each tensor at its
/// own depth, double buffering where the memory allows it. Deterministic. Throws Infeasible naming the memory that is
/// too small for the smallest tile, and by how much.
SearchResult search_mapping(const Kernel& k, const KernelHomes& homes, const MapEnvironment& env);

}  // namespace assay
