#pragma once

#include <cstdint>
#include <span>

#include "hwmodels/timing/gemm.h"

// How long one command takes on its unit, as pure functions of sizes. Two numbers matter:
//
//   start ├──────── occupancy ────────┤             the unit can start the next command
//         ├──────────── latency ────────────────┤   the last result is there: signals fire
//
// so the fill and drain of consecutive commands on a systolic array overlap, as those of consecutive folds do.
//
// Systolic (R rows, C columns, T streamed points per fold, F folds):
//   ws, is   one fold: load R, stream T, skew R + C − 2:                      2R + C + T − 2      (SCALE-Sim [1])
//            F folds:  R + (F − 1)·step + T + R + C − 2, where the next stationary tile loads while this one
//                      streams, step = max(T, R) (double-buffered weights), else step = T + R
//   os       one fold: stream T, skew R + C − 2, drain R through the bottom edge, one register: 2R + C + T − 1
//            (measured on RTL, reference/scalesim/rtl_os_cycles.csv);
//            F folds:  (F − 1)·step + 2R + C + T − 1 with the same step (double buffering: results drain while the
//                      next fold streams)
//   A type of relative rate r streams ceil(T / r).
//   Occupancy: F·step (+ issue); the load of the first and the skew and drain of the last fold are covered by the
//   neighbouring commands'.
// Intrinsic (m × k × n every c cycles): ceil(M/m)·ceil(K/k)·ceil(N/n)·G issues of c / rate cycles.
// pe_array: the product of the temporal trips, / rate.
// [1] Samajdar et al., A systematic methodology for characterizing scalability of DNN accelerators, ISPASS 2020.

namespace assay {

/// Cycles of the unit's own clock.
struct Cycles {
  std::int64_t occupancy = 0;
  std::int64_t latency = 0;
  friend bool operator==(const Cycles&, const Cycles&) = default;
};

/// `folds` folds of `stream` points; issue and pipeline cycles are not included.
Cycles systolic_cycles(Dataflow dataflow, std::int64_t rows, std::int64_t cols, std::int64_t folds, std::int64_t stream,
                       bool double_buffered, double rate = 1.0);
Cycles intrinsic_cycles(std::int64_t issues, std::int64_t every, double rate = 1.0);
Cycles pe_array_cycles(std::int64_t steps, double rate = 1.0);

/// A contraction instance on a unit: the slowest of its `count` instances, issue and pipeline cycles included.
/// InputError if the unit does not multiply the operands' type.
Cycles contract_cycles(const Command& c, const MatrixUnit& unit, std::span<const std::int64_t> extents);

/// ceil(points / (lanes · count)) · Σ over the body's operations of 1 / (throughput · type rate), and one more for
/// the fold of a reduction; a body without operations moves data at one result per lane and cycle. Issue and pipeline
/// cycles included: a vector command is finished before the next one starts (they usually depend on each other).
/// InputError if the unit does not execute an operation. Types the unit does not list (booleans, indices) run at its
/// slowest listed rate.
Cycles vector_cycles(const Command& c, const VectorUnit& unit, std::int64_t points);

/// ceil(bytes · ticks_per_second / bytes_per_second), exact. 0 bytes take 0; the rate must be positive.
std::int64_t transfer_ticks(std::int64_t bytes, std::int64_t bytes_per_second, std::int64_t ticks_per_second);
/// ceil(seconds · ticks_per_second) with a tolerance of 10^-6 ticks against the rounding of the description's decimals.
std::int64_t latency_ticks(double seconds, std::int64_t ticks_per_second);

}  // namespace assay
