#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "hwmodels/activity.h"
#include "hwmodels/timing/view.h"

// The counts of one command instance in closed form (law 2): what the functional machine counts by executing.
//
//   copy      Each point in bounds reads its element at the source; every point writes one element at the
//             destination (filled ones too). Multicast: read once, written at each receiver.
//   vector    Each distinct element in bounds of an operand is read once (broadcasts stay in registers, the overlap
//             of windows is read once); the output is written once per element and read once per element when the
//             instance accumulates onto what is there.
//   contract  With M, N, K, G of gemm.h, an array of R × C and folds F(x, s) = ceil(x / s) (times what the plan
//             walks in time):
//               ws   A: M·K·F(N,C)·G   B: K·N·G         out: writes M·N·F(K,R)·G, reads M·N·(F(K,R) − 1)·G
//               os   A: M·K·F(N,C)·G   B: K·N·F(M,R)·G  out: writes M·N·G
//               is   A: M·K·G          B: K·N·F(M,C)·G  out: as ws
//             plus M·N·G reads of the output when the instance accumulates. Intrinsic units count as ws with R = k,
//             C = n. Padding (filled) elements of A and B are not read. `count` instances of a unit split N as evenly
//             as possible and each reads its own operands.
//             pe_array: an operand is read from the core's memory once per change of its index tuple while the
//             temporal loops are walked (loops that do not concern it and stand inside its innermost own loop are
//             reuse); one read feeds every PE that needs the element. Register files: one read of each operand per
//             MAC, one read and one write of the partial sum, one write per element delivered to a PE. Overlap of
//             sliding windows (p + r) between steps is not exploited: each (p, r) pair is its own index tuple.
//   gather    an element addressed through an index operand counts as in bounds, and as distinct per index element.

namespace assay {

/// One command instance: extents, offsets of the views and whether it accumulates.
struct ConcreteCommand {
  const Command* command = nullptr;
  std::vector<std::int64_t> extents;
  std::vector<ConcreteView> in;  ///< their spans point into `extents`
  ConcreteView out;
  bool accumulating = false;
  std::int64_t receivers = 1;  ///< of a multicast copy
  bool empty() const;
};

struct InstanceCounts {
  std::int64_t points = 0;
  std::vector<std::pair<std::uint32_t, AccessCount>> buffers;  ///< per operand; a buffer may appear twice
  std::vector<std::pair<std::uint32_t, AccessCount>> pe_memories;
  std::int64_t link_bytes = 0;  ///< copy: bytes that leave the source
  std::int64_t link_bytes_delivered = 0;
  std::int64_t macs = 0, padded_macs = 0;
  std::vector<std::pair<std::string_view, std::int64_t>> lane_ops;
};
InstanceCounts count_instance(const Program& program, const Machine& machine, const ConcreteCommand& instance);

/// Host command: every present input is read in DRAM and every output written, whole.
InstanceCounts count_host(const Program& program, const HostCommand& command);

/// Adds `times` instances to a group's activity; `link` is the copy's link, `part` the unit's index.
void add_counts(GroupActivity& group, const Program& program, const Machine& machine, const Engine& engine,
                const InstanceCounts& counts, std::int64_t times);

}  // namespace assay
