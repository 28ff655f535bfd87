#include "workloads/workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "workloads/model_spec.h"
#include "workloads/onnx_import.h"
#include "workloads/workload_reader.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

WorkloadPhase make_phase(PhaseSpec spec, const std::string& workload) {
  WorkloadPhase phase;
  phase.name = spec.name;
  phase.repeat = spec.repeat;
  phase.has_twin = spec.twin.has_value();
  phase.builder = [spec = std::move(spec), workload](bool twin) {
    if (twin && !spec.twin)
      throw InputError("workload '" + workload + "'",
                       fmt::format("phase '{}' has no twin; a 'twin:' block gives its reduced sizes", spec.name));
    return twin ? spec.twin->build() : spec.full.build();
  };
  return phase;
}

WorkloadSource source(const std::string& path) { return {path, sha256_file(path)}; }

Workload make_workload(WorkloadSpec spec, const std::string& file, const WorkloadOptions& options) {
  Workload w;
  w.name = spec.name;
  w.description = spec.description;
  w.precision = options.precision.value_or(spec.precision);
  w.latency_limit_s = spec.latency_limit_s;
  if (!file.empty()) w.sources.push_back(source(file));
  if (!spec.onnx.empty()) {
    // First, as it refuses what is too long to be a model, and would take minutes to be hashed.
    const std::vector<std::string> external = external_files(spec.onnx);
    w.sources.push_back(source(spec.onnx));
    for (const std::string& e : external) w.sources.push_back(source(e));
  }
  for (PhaseSpec& p : spec.phases) w.phases.push_back(make_phase(std::move(p), spec.name));
  return w;
}

/// A model file by itself: one phase, no twin.
Workload bare_model(const std::string& path, const WorkloadOptions& options) {
  WorkloadSpec spec;
  spec.name = fs::path(path).stem().string();
  spec.onnx = path;
  PhaseSpec phase;
  phase.name = spec.name;
  phase.full.onnx = path;
  std::vector<Diagnostic> problems;
  apply_options(phase.full, options, problems);
  if (!problems.empty()) throw InputError(problems);
  spec.phases.push_back(std::move(phase));
  return make_workload(std::move(spec), {}, options);
}

Workload one_workload(WorkloadFile file, const std::string& path, const WorkloadOptions& options) {
  return make_workload(std::move(*file.workload), path, options);
}

std::vector<Workload> suite(const WorkloadFile& file, const std::string& path, const WorkloadOptions& options) {
  if (!options.bind.empty() || !options.shapes.empty() || !options.params.empty())
    throw InputError(path, "a suite has several models: --bind, --shape and --param need one workload");
  std::vector<Workload> out;
  std::map<std::string, std::string> names;
  for (const SuiteEntry& e : file.suite) {
    const auto reject = [&](const std::string& message) {
      throw InputError(Diagnostic{.pos = e.pos, .path = "suite", .message = message, .suggestion = {}});
    };
    if (fs::path(e.path).extension() == ".onnx") {
      out.push_back(bare_model(e.path, options));
    } else {
      WorkloadFile inner = read_workload_file(e.path, options);
      if (!inner.workload) reject("'" + e.path + "' is a suite itself; expected a workload");
      out.push_back(one_workload(std::move(inner), e.path, options));
    }
    out.back().weight = e.weight;
    out.back().sources.insert(out.back().sources.begin(), source(path));
    if (const auto [it, fresh] = names.emplace(out.back().name, e.path); !fresh)
      reject("'" + it->second + "' and '" + e.path + "' are both called '" + out.back().name + "'");
  }
  return out;
}

}  // namespace

std::vector<Workload> load_workloads(const std::string& path, const WorkloadOptions& options) {
  if (options.precision && !is_precision(*options.precision))
    throw InputError("--precision",
                     fmt::format("found '{}', expected one of {}", *options.precision, fmt::join(precisions(), ", ")));
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    throw InputError(Diagnostic{.pos = {.file = path},
                                .path = {},
                                .message = fs::exists(path, error) ? "not a regular file" : "no such file",
                                .suggestion = {}});
  const std::string extension = fs::path(path).extension().string();
  std::vector<Workload> out;
  if (extension == ".onnx") {
    out.push_back(bare_model(path, options));
  } else if (extension == ".yaml" || extension == ".yml") {
    WorkloadFile file = read_workload_file(path, options);
    if (!file.workload) return suite(file, path, options);
    out.push_back(one_workload(std::move(file), path, options));
  } else {
    throw InputError(Diagnostic{.pos = {.file = path},
                                .path = {},
                                .message = "expected a workload or suite (.yaml) or a model (.onnx)",
                                .suggestion = {}});
  }
  return out;
}

Graph build(const WorkloadPhase& phase, bool twin) { return phase.builder(twin); }

}  // namespace assay
