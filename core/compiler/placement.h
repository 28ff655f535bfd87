#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/compiler/compiler.h"
#include "core/lowering/lower.h"

namespace assay {

/// Where every tensor lives and how every kernel is mapped, with addresses: the memory plan of a model.
struct ModelPlan {
  std::vector<Mapping> mappings;
  std::vector<SearchResult> searches;
  std::map<TensorId, MemoryId> home;  ///< root tensors
  std::vector<Buffer> buffers;
  std::map<TensorId, BufferId> home_buffer;
  std::map<std::pair<std::size_t, int>, BufferId> tile;
  std::vector<std::string> remarks;  ///< what stays on chip, what was spilled and why
};

/// Chooses homes (intermediates on chip where they fit, by first use), maps every kernel for what is left of the
/// memories, and plans addresses by live range. Tensors are sent to DRAM one by one until everything fits.
ModelPlan plan_model(const Graph& g, const KernelGraph& kg, const std::vector<Kernel>& kernels, const Machine& machine,
                     const MapEnvironment& env, const CompileOptions& options, MappingCache& cache);

}  // namespace assay
