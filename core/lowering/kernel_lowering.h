#pragma once

#include <vector>

#include "core/lowering/lower.h"

namespace assay {

/// Bytes that one kernel touches on one engine: what synchronisation between kernels is derived from.
struct KernelAccessRange {
  EngineId engine;
  BufferId buffer;
  bool write = false;
  bool remote = false;  ///< written in other cores' memories too (multicast)
};

struct LoweredKernel {
  std::vector<Stmt> body;
  std::vector<KernelAccessRange> accesses;
};

/// Emits one kernel into its own statement list; semaphores and variables are added to `program`.
LoweredKernel lower_kernel(const LoweringInput& input, std::size_t index, Program& program);

/// Joins the kernels: waits in front of and signals behind the bodies wherever two engines (or two cores) touch the
/// same bytes and at least one writes.
void synchronise(std::vector<LoweredKernel>& kernels, const Machine& machine, Program& program);

}  // namespace assay
