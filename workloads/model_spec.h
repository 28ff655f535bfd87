#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/ir/graph.h"
#include "workloads/families/family.h"
#include "workloads/onnx_import.h"
#include "workloads/workload.h"

namespace assay {

/// One model with all its sizes: an ONNX file or a family. Private to the workload loader.
struct ModelSpec {
  std::string onnx;  ///< path; empty for a family
  const Family* family = nullptr;
  ImportOptions import;
  FamilyParams params;
  FamilyOptions options;

  void set_weights(WeightMode mode);
  void set_seed(std::uint64_t seed);
  WeightMode weights() const { return family != nullptr ? options.weights : import.weights; }
  Graph build() const;
};

/// What the command line changes; problems are appended to `problems`.
void apply_options(ModelSpec& spec, const WorkloadOptions& options, std::vector<Diagnostic>& problems);

bool is_precision(const std::string& text);  ///< native fp16 bf16 int8
const std::vector<std::string>& precisions();

}  // namespace assay
