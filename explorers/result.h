#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

// What evaluating a design point gives: plain data with a JSON form (explorers/result_json.h). The store keeps it,
// reports read it; nothing here depends on how it was computed. Times in seconds, energies in picojoules.

namespace assay {

struct NamedValue {
  std::string name;
  double value = 0;
};

/// The time of a span, taken apart; the parts sum to it (hwmodels/timing.h, LossBreakdown, in seconds).
struct Waterfall {
  double ideal_compute = 0, padding = 0, fill_drain = 0, vector = 0, exposed_memory = 0, contention = 0, sync = 0,
         launch = 0;
};

struct LayerResult {
  std::string name;                ///< fused group
  std::string kind;                ///< operation of its main node
  std::vector<std::string> nodes;  ///< source nodes
  std::string engine;              ///< where its main work runs: `matrix`, `vector`, `dma`, `host`, `free`
  double seconds = 0;              ///< share of the critical time (cycle model if run, else analytical)
  double analytical_seconds = 0;
  std::int64_t macs = 0;
  double utilisation = 0;           ///< useful MACs / (peak × seconds), of the matrix units
  double arithmetic_intensity = 0;  ///< useful operations / DRAM byte
  std::int64_t dram_read_bytes = 0, dram_write_bytes = 0;
  std::string binding;           ///< binding resource
  double gain_same_program = 0;  ///< seconds saved in the whole model if that resource were twice as fast
  double gain_recompiled = 0;    ///< the same, compiled again for that machine; < 0: not computed
  double energy_pj = 0;
  double mapping_gap = -1;            ///< (time − lower bound)/lower bound over the searched space; < 0: unknown
  std::string mapping;                ///< text form
  std::vector<NamedValue> resources;  ///< busy seconds of each resource
  Waterfall waterfall;
};

struct MemoryUse {
  std::string memory;
  std::int64_t capacity = 0, peak = 0;
  /// Buffers as rectangles: name, first and last step (half-open), address, bytes.
  struct Block {
    std::string name;
    std::string kind;
    std::int64_t first = 0, last = 0, address = 0, bytes = 0;
  };
  std::vector<Block> blocks;
};

struct TimelineSpan {
  std::string lane;           ///< `core 0 / dma.load`
  std::string name;           ///< group
  double start = 0, end = 0;  ///< seconds
};

struct CheckResult {
  std::string level = "none";  ///< `none`, `static`, `twin` (functional on the twin), `full`
  bool passed = false;
  bool static_ok = false;
  std::string static_note;  ///< command instances walked, sampled or not
  double max_rel_error = 0;
  double sqnr_db = 0;  ///< against the float graph, where quantised
  std::string detail;  ///< first differing tensor, node, command on a mismatch
};

/// One workload phase on one design point.
struct WorkloadResult {
  std::string workload, phase;
  double weight = 1;        ///< in the suite
  std::int64_t repeat = 1;  ///< times the phase is run per query
  std::string precision;
  double seconds = 0;  ///< of one run of the phase: cycle model if run, else analytical
  double analytical_seconds = 0;
  double cycle_seconds = -1;  ///< < 0: the cycle model was not run
  double lower_bound_seconds = 0;
  double energy_pj = 0, average_w = 0, peak_w = 0;
  std::int64_t macs = 0, dram_bytes = 0;
  double utilisation = 0;
  double mapping_gap = -1;
  std::string mapper_tier;  ///< `exhaustive in the stated space`, `heuristic`, …
  std::string binding;
  CheckResult check;
  std::vector<NamedValue> resources;  ///< busy seconds
  Waterfall waterfall;
  std::vector<LayerResult> layers;
  std::vector<MemoryUse> memories;
  std::vector<TimelineSpan> timeline;
  bool timeline_truncated = false;
  std::vector<NamedValue> energy_by_part;
  std::vector<std::pair<std::string, std::int64_t>> free_ops;  ///< operations that cost nothing (views): name, count
  std::vector<std::pair<std::string, std::int64_t>> host_ops;  ///< operations that fell back to the host
  std::string graph_dot;                                       ///< compiled (fused) graph
  /// Analytical time with one stage of the compiler off, relative to the time with all of them, less 1.
  std::vector<NamedValue> ablation;
  std::string program_sha256;
  std::vector<std::string> remarks, notes;
};

struct PartResult {
  std::string part;
  std::int64_t instances = 1;
  double area_mm2 = 0;  ///< all instances
  double leakage_w = 0;
  std::string source;
};

struct PointResult {
  std::int64_t index = 0;  ///< position in the sweep's enumeration
  std::string key;         ///< content hash of machine, workloads, options, model version
  std::string design;      ///< short name, unique in the sweep: `tpu_v1_like rows=128 ub=12 MiB`
  std::string machine, family;
  std::vector<std::pair<std::string, std::string>> parameters;  ///< axis → value
  std::string status = "ok";                                    ///< ok, invalid, infeasible, failed, timeout, mismatch
  std::string reason;                                           ///< for everything but ok
  double area_mm2 = 0;
  double peak_tops = 0;
  double tdp_w = 0;
  std::vector<PartResult> parts;
  std::vector<WorkloadResult> workloads;
  // Over the suite: Σ weight · repeat · phase.
  double latency_s = 0;
  double energy_pj = 0;
  double average_w = 0, peak_w = 0;
  double edp = 0;              ///< J·s
  double model_error = 0;      ///< relative: |analytical − cycle| / cycle where both ran, weighted
  double mapping_gap = -1;     ///< weighted; < 0 unknown
  bool fully_checked = false;  ///< cycle model run and functional check passed
  std::vector<std::string> constraint_violations;
};

/// A neighbour comparison in the ranking.
struct RankRow {
  std::size_t point = 0;          ///< index into SweepResult::points
  double score = 0;               ///< the objective (smaller is better)
  double p_better_than_next = 1;  ///< probability under the error bars; 0.5 = coin toss
  bool tied_with_next = false;
};

struct SweepResult {
  std::string name;
  std::string objective;  ///< `latency`, `energy`, `edp`
  std::vector<std::string> axes;
  std::vector<PointResult> points;                            ///< by index
  std::vector<RankRow> ranking;                               ///< feasible points, best first
  std::vector<std::size_t> frontier;                          ///< Pareto: latency, energy, area
  std::vector<std::pair<std::string, std::string>> manifest;  ///< inputs by hash, options, versions, seed
  std::vector<std::string> assumptions, not_modelled;
};

}  // namespace assay
