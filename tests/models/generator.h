#pragma once

#include <string>

#include "core/base/random.h"
#include "core/isa/program.h"

// Machines and programs for the tests of the models: small, complete, built in code so that a test's numbers can be
// followed by hand.

namespace assay::testing {

/// One core or a grid: dram (chip) ── dma ── ls, acc (core), mxu (systolic ws 4 × 4), vpu (4 lanes). 1 GHz.
/// dram 16 B/cycle, ls 64 B/cycle, acc 64 B/cycle, dma 16 B/cycle each way; no latencies.
Machine small_machine(std::int64_t grid_rows = 1, std::int64_t grid_cols = 1);

/// C[M, N] = relu(A[M, K] · B[K, N]) on int8 with int32 accumulation, tiled and double-buffered.
struct GemmSpec {
  std::int64_t m = 8, n = 8, k = 8;  ///< of the whole grid
  std::int64_t tile_m = 4, tile_n = 4, tile_k = 4;
  int depth = 2;  ///< ring depth of the operand tiles
  int acc_depth = 1;
  bool multicast_b = false;  ///< the cores of a column share one load of B
  bool barrier = false;      ///< all cores meet after each tile of rows
  bool bias = false;         ///< the epilogue adds a vector over n
  int groups = 1;            ///< the same GEMM this many times, one group each
};
/// M is split over the grid's rows and N over its columns, in whole tiles where possible; edges are clipped.
Program gemm_program(const Machine& machine, const GemmSpec& spec);

/// Random sizes, tiles, depths, options; always a legal program for `machine`.
GemmSpec random_gemm(Random& random, const Machine& machine);
/// Random rates, latencies, array shapes, dataflows and fidelities around small_machine.
Machine random_machine(Random& random);
std::string describe(const GemmSpec& spec);

}  // namespace assay::testing
