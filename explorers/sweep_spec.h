#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/spec/load.h"

// A sweep file: which machines with which parameter values, on which workloads, judged how.
//
//   sweep: quickstart
//   objective: latency                     # latency, energy or edp
//   precision: int8
//   workloads:
//   - {workload: ../workloads/resnet50.yaml, weight: 1}
//   constraints: {area_mm2: 600, average_w: 90}
//   machines:
//   - machine: ../machines/tpu_v1_like.yaml
//     axes:
//       params.array: [128, 256]
//       params.ub: {powers_of_two: [8 MiB, 32 MiB]}

namespace assay {

struct SweepAxis {
  std::string path;                 ///< key path of the description, `params.rows`
  std::vector<std::string> values;  ///< as they would be written in the file
};

struct SweepMachine {
  std::string path;             ///< of the description, resolved against the sweep file
  std::vector<SweepAxis> axes;  ///< its own, then those common to all machines
};

struct SweepWorkload {
  std::string path;
  double weight = 1;
};

/// A limit on a result of a point; points beyond it are listed, never ranked.
struct Constraint {
  std::string quantity;  ///< area_mm2, average_w, peak_w, latency_s, energy_j
  double limit = 0;
};

struct SweepSpec {
  std::string name;
  std::string objective = "latency";
  std::optional<std::string> precision;
  std::string strategy = "exhaustive";
  std::int64_t samples = 0;  ///< random: points to draw
  std::uint64_t seed = 1;
  std::string check = "twin";       ///< none, static, twin, full
  std::int64_t cycle_points = 64;   ///< the cycle model runs on this many of the best (and all within their error)
  std::int64_t detail_points = 10;  ///< layer tables, timelines, what-ifs
  std::int64_t full_check_macs = 6'000'000'000;  ///< family winners execute phases of up to this many MACs in full
  std::vector<SweepWorkload> workloads;
  std::vector<SweepMachine> machines;
  std::vector<Constraint> constraints;
  std::string source_path, source_sha256;
};

/// Throws InputError with every problem: unknown keys, missing files (found before anything runs), empty spaces,
/// weights that are negative or all zero, axes that name no parameter (nearest match shown).
SweepSpec load_sweep(const std::string& path);

/// One candidate: a description with overrides.
struct DesignPoint {
  std::int64_t index = 0;   ///< in the enumeration of the whole space
  std::size_t machine = 0;  ///< of SweepSpec::machines
  std::vector<Override> overrides;
  std::string label() const;  ///< `rows=128 ub=12 MiB`; empty for the file as it is
};

/// Number of points, saturating at INT64_MAX.
std::int64_t space_size(const SweepSpec& spec);
/// Mixed-radix decoding: machines in order, the last axis fastest. O(axes).
DesignPoint point_at(const SweepSpec& spec, std::int64_t index);

}  // namespace assay
