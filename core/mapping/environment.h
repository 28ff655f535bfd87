#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/isa/engines.h"
#include "core/mapping/mapping.h"

// Everything of a Machine that mapping one kernel depends on, as a plain table: what the search receives, and
// nothing else. The hash of (kernel, table) is therefore the key under which a mapping may be shared.

namespace assay {

/// A copy path between a home memory and a core's memory. Times in cycles of the core clock.
struct PathRate {
  bool exists = false;
  EngineId engine;
  double cycles_per_byte = 0;         ///< one core alone
  double shared_cycles_per_byte = 0;  ///< the far memory or carrier, all cores together
  double latency = 0;                 ///< of one request
  std::int64_t max_request = 64;
  std::int64_t outstanding = 16;
  bool multicast = false;
  bool overlaps = true;  ///< may run while units compute
};

struct MatrixRate {
  MatrixUnit unit;
  double clock_ratio = 1;  ///< core cycles per unit cycle
};

struct MapEnvironment {
  Grid grid;
  std::vector<Engine> engines;
  std::vector<std::int64_t> available;             ///< by MemoryId: bytes that tiles may use
  std::vector<std::vector<PathRate>> load, store;  ///< [home][local]
  std::vector<double> port_cycles_per_byte;        ///< by MemoryId: reads of a core's memory
  std::vector<MatrixUnit> matrix;
  std::vector<double> matrix_clock_ratio;  ///< core cycles per unit cycle
  std::vector<VectorUnit> vector;
  std::vector<double> vector_clock_ratio;
  std::vector<Memory> memories;  ///< roles, kinds and scopes
  double core_hz = 1;
};
MapEnvironment map_environment(const Machine& machine);

/// The memory of the core in which tiles of a role stand, for a unit that must be able to read it from `home`.
/// Invalid id if there is none. The largest that qualifies.
MemoryId tile_memory(const MapEnvironment& env, Role role, MemoryId home);
/// Where partial sums stand: the accumulators if the core has any, else the largest memory holding outputs.
MemoryId accumulator_memory(const MapEnvironment& env);

/// Cycles (of the unit) of one contraction of the given flattened extents: fold by fold, fill and drain at the ends.
/// Formulas: docs/models.md. `plan` is needed for pe_array units.
double contraction_cycles(const MatrixUnit& unit, DType operand, const ArrayPlan& plan,
                          const std::vector<std::int64_t>& extents, const std::vector<int>& dim_class);

/// Classes of a contraction's nest dimensions: 0 G (in all three), 1 M (in0 and out), 2 N (in1 and out), 3 K (reduction).
std::vector<int> dim_classes(const KernelNest& contraction);

/// Lane operations of a body per point, weighted by 1 / throughput; throws Infeasible naming an operation that the
/// unit does not execute.
double body_cost(const VectorUnit& unit, const Body& body);

}  // namespace assay
