#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "workloads/weights.h"

// A workload file (YAML) or a bare .onnx file → what is to be run.
//
//   workload: llama2_7b                workload: resnet50              suite:
//   family: llama                      onnx: ../models/resnet50.onnx   - {workload: resnet50.yaml, weight: 2}
//   dtype: fp16                        weights: seeded                 - {workload: bert_base.yaml}
//   weights: absent                    twin: {shapes: {img: 1x3x64x64}}
//   phases:
//   - {name: prefill, params: {phase: prefill, seq: 512}}
//   - {name: decode, repeat: 128, params: {phase: decode, context: 640}}
//
// The twin is the same model at a reduced size: same structure and operations, made to be executed in full.

namespace assay {

/// From the command line; each replaces what the files say.
struct WorkloadOptions {
  std::map<std::string, std::int64_t> bind;
  std::map<std::string, Shape> shapes;
  std::map<std::string, std::string> params;  ///< of families: `batch=8`
  std::optional<WeightMode> weights;
  std::optional<std::string> precision;  ///< native fp16 bf16 int8
  std::optional<std::uint64_t> seed;
};

/// A file that a result depends on.
struct WorkloadSource {
  std::string path;
  std::string sha256;
};

/// One phase of a workload, run `repeat` times.
struct WorkloadPhase {
  std::string name;  ///< `prefill`; the workload's name where there are no phases
  std::int64_t repeat = 1;
  bool has_twin = false;
  std::function<Graph(bool twin)> builder;
};

struct Workload {
  std::string name;
  std::string description;
  std::string precision = "native";       ///< what the compiler is to convert to
  double weight = 1;                      ///< in the suite
  std::optional<double> latency_limit_s;  ///< of all phases together
  std::vector<WorkloadPhase> phases;      ///< never empty
  std::vector<WorkloadSource> sources;    ///< the workload file, the model, in order of reading
};

/// Reads a workload or suite (`.yaml`, `.yml`) or a model (`.onnx`). A suite has several entries, anything else one.
/// Throws InputError with every problem of a file: unknown and duplicate keys, unknown parameters with the nearest
/// known, values out of range, missing files, all with file:line:column. Nothing is built yet.
std::vector<Workload> load_workloads(const std::string& path, const WorkloadOptions& options = {});

/// The graph of a phase. InputError if `twin` is asked for and the file has none, or the model can't be built. Weights
/// of a twin are always seeded where the full model has none (`absent`).
Graph build(const WorkloadPhase& phase, bool twin = false);

std::optional<WeightMode> parse_weight_mode(const std::string& text);  ///< as_in_file seeded absent
/// `1x3x64x64`; nothing if it is not that.
std::optional<Shape> parse_shape(const std::string& text);

}  // namespace assay
