#pragma once

#include <string>
#include <vector>

#include "core/loopnest/counting.h"

// A case of reference/timeloop: machine, problem and mapping, with another model's counts.

namespace assay {

struct ReferenceCounts {
  int level = 0, tensor = 0;
  std::int64_t tile = 0, partition = 0, instances = 0, reads = 0, fills = 0, updates = 0, temporal_reductions = 0;
  double energy = 0;
};

struct ReferenceNetwork {
  int below = 0, tensor = 0;
  std::vector<NetworkSignature> signatures;
  std::int64_t links = 0, reductions = 0;
};

struct ReferenceCase {
  std::string name;
  Einsum einsum;
  Hierarchy machine;
  LoopNest nest;
  CountingConvention convention;  ///< Timeloop's, with the switches that the case names
  bool macs_exact = true;
  std::int64_t macs = 0;
  double compute_cycles = 0, cycles = 0, utilisation = 0, energy = 0, mac_energy = 0;
  std::vector<double> level_cycles, level_slowdown, level_energy;
  std::vector<ReferenceCounts> counts;
  std::vector<ReferenceNetwork> networks;
};

/// One case per file (.json) or per line (.jsonl).
std::vector<ReferenceCase> load_reference_cases(const std::string& path);
/// From the text of one case; `result` may be absent.
ReferenceCase parse_reference_case(const std::string& text);

/// What differs, one line each; empty if all counts are equal.
std::vector<std::string> reference_differences(const ReferenceCase& c);

}  // namespace assay
