#pragma once

#include <memory>
#include <string>

#include "core/spec/load.h"
#include "explorers/prepared.h"

// The real inputs that the suites run on.

namespace assay::bench {

inline std::string config(const std::string& path) { return std::string(ASSAY_SOURCE_DIR) + "/configs/" + path; }
inline Machine machine(const std::string& name) { return load_machine(config("machines/" + name + ".yaml")); }
inline std::unique_ptr<PreparedPhase> resnet50(const std::string& precision) {
  const Workload w = load_workloads(config("workloads/resnet50.yaml")).front();
  return std::make_unique<PreparedPhase>(w.name, w.phases.front(), precision, 1);
}

}  // namespace assay::bench
