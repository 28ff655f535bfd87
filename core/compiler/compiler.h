#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/mapping/kernel.h"
#include "core/mapping/search.h"
#include "core/passes/pass.h"

// Graph + Machine → Program, every stage in order in compiler.cpp.

namespace assay {

struct CompileOptions {
  PassOptions passes;
  bool fuse_epilogues = true;
  bool weight_prefetch = true;  ///< tiles of a kernel may be filled while the one before still runs
  bool residency = true;        ///< intermediates may stay in on-chip memories
  bool multicast = true;        ///< tiles that several cores need are loaded once
  /// Mappings given by hand, by kernel name: lowered as they stand, never searched. A name that no kernel has is an
  /// InputError.
  std::map<std::string, Mapping> fixed_mappings;
  double resident_share = 0.6;   ///< of a core memory, at most, for whole resident tensors
  std::string describe() const;  ///< canonical text: part of content keys
};

/// Results of mapping searches, shared between layers, models and design points. The key is the hash of everything
/// the search reads (kernel, homes, environment). Thread-safe.
class MappingCache {
 public:
  MappingCache();
  ~MappingCache();
  /// Finds or computes. Infeasible results are remembered too and thrown again.
  SearchResult get(const Kernel& k, const KernelHomes& homes, const MapEnvironment& env);
  std::int64_t hits() const;
  std::int64_t searches() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct CompiledKernel {
  std::string mapping;  ///< text
  MappingCost cost;
  double lower_bound = 0;  ///< cycles
  std::int64_t macs = 0;
  bool host = false;
  bool dma_only = false;
  bool contraction = false;
  DType operand = DType::f32;  ///< of the contraction
};

struct CompiledModel {
  Graph graph;  ///< after the passes
  Program program;
  std::vector<CompiledKernel> kernels;  ///< parallel to Program::trail
  std::vector<std::pair<std::string, std::int64_t>> free_ops, host_ops;
  std::vector<PassRecord> passes;
  std::vector<std::string> remarks;
  std::string graph_dot;  ///< fused kernels as a Graphviz graph
};

/// Throws InputError (unsupported operations, wrong types), Infeasible (nothing fits: which memory, by how much).
CompiledModel compile(Graph graph, const Machine& machine, const CompileOptions& options, MappingCache& cache);

}  // namespace assay
