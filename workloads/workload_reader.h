#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/spec/yaml.h"
#include "workloads/model_spec.h"

// A workload file's tree → plain values. Private to the loader: workload.cpp puts the pieces together.

namespace assay {

struct PhaseSpec {
  std::string name;
  std::int64_t repeat = 1;
  ModelSpec full;
  std::optional<ModelSpec> twin;
};

struct WorkloadSpec {
  std::string name, description, precision = "native";
  std::optional<double> latency_limit_s;
  std::string onnx;  ///< path of the model, for the list of sources
  std::vector<PhaseSpec> phases;
};

struct SuiteEntry {
  std::string path;
  double weight = 1;
  SourcePos pos;
};

/// What stands in one file: a workload or a suite.
struct WorkloadFile {
  std::optional<WorkloadSpec> workload;
  std::vector<SuiteEntry> suite;
};

/// Throws InputError with every problem of the file.
WorkloadFile read_workload_file(const std::string& path, const WorkloadOptions& options);

}  // namespace assay
