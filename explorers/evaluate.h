#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/compiler/compiler.h"
#include "explorers/prepared.h"
#include "explorers/result.h"

// One design point: compile every phase, time it, cost it, check it.

namespace assay {

enum class CheckLevel : std::uint8_t { none, statically, twin, full };

struct PointOptions {
  CompileOptions compile;
  bool cycle = true;             ///< run the cycle model
  bool detail = true;            ///< layer tables, memory maps, timeline, what-ifs
  bool recompile_gains = false;  ///< what-ifs compiled again for the changed machine
  bool ablate = false;           ///< with `detail`: what each stage of the compiler brings
  CheckLevel check = CheckLevel::twin;
  std::int64_t full_check_macs = INT64_MAX;  ///< CheckLevel::full: larger phases are checked on their twin
  std::size_t timeline_events = 4000;
  /// The same point at an earlier stage: its programs are the same, so its checks are not repeated; phases that are
  /// now to be executed in full are.
  const PointResult* earlier = nullptr;
};

/// A machine with its weighted phases.
struct WeightedPhase {
  std::shared_ptr<const PreparedPhase> phase;
  double weight = 1;
};

/// Never throws for a design's own fault: infeasible, unsupported and mismatching points come back with a status and
/// a reason. `machine` is loaded.
PointResult evaluate_point(const Machine& machine, const std::vector<WeightedPhase>& phases,
                           const PointOptions& options, MappingCache& cache);

/// Compiles and checks one phase functionally, in full or on its twin.
CheckResult check_phase(const Machine& machine, const PreparedPhase& phase, bool full, const CompileOptions& options,
                        MappingCache& cache);

/// Bounds of the static proof: beyond this many command instances long loops are cut, and the result says so.
inline constexpr std::int64_t kVerifiedInstances = 200'000;

/// The version of everything that can change a result without an input changing: part of every content key.
std::string model_version();

}  // namespace assay
