#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/ops/op.h"
#include "core/passes/pass.h"
#include "workloads/workload.h"

// What is the same for every design point: a workload's graph after precision and passes, its inputs, and the
// reference's outputs. Built once, shared by all threads.

namespace assay {

struct PreparedModel {
  /// As imported, in floats; built again when asked for: its weights are the larger part of a model's memory.
  std::function<Graph()> source;
  Graph graph;  ///< after precision; what is compiled and what the program must equal
  bool quantised = false;
  TensorMap inputs;  ///< seeded; none where weights have no values
  std::vector<std::string> remarks;

  /// Outputs of `graph` (reference semantics) on `inputs`; computed on first use. Throws InputError where weights have
  /// no values (shape-only).
  const TensorMap& reference() const;
  /// The same of the float graph, for the distance of a quantised model to it.
  const TensorMap& float_reference() const;
  bool executable() const;  ///< every constant has a value

  mutable std::once_flag once_, float_once_;
  mutable TensorMap reference_, float_reference_;
};

class PreparedPhase {
 public:
  PreparedPhase(std::string workload, const WorkloadPhase& phase, std::string precision, std::uint64_t seed);
  const PreparedModel& full() const { return get(false); }
  const PreparedModel& twin() const { return get(true); }
  bool has_twin() const { return phase_.has_twin; }
  const std::string& workload() const { return workload_; }
  const std::string& phase() const { return phase_.name; }
  std::int64_t repeat() const { return phase_.repeat; }
  const std::string& precision() const { return precision_; }
  std::uint64_t seed() const { return seed_; }

 private:
  const PreparedModel& get(bool twin) const;
  std::string workload_;
  WorkloadPhase phase_;
  std::string precision_;
  std::uint64_t seed_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<PreparedModel> full_, twin_;
};

/// Brings a float graph to `precision` (native, fp16, bf16, int8). int8 calibrates on `inputs`.
Graph at_precision(const Graph& g, const std::string& precision, const TensorMap& inputs);

}  // namespace assay
