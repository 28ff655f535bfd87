#pragma once

#include <optional>
#include <string>

#include "core/isa/program.h"

namespace assay {

/// The machine with one resource twice as fast. Resources are named as the timing models name them: an engine
/// (`mxu`, `vector`, `dma.load`), a memory (its port: `dram`, `ub`) or a link (`noc`). Nothing when the name is none of
/// these (a launch, a latency).
std::optional<Machine> double_resource(const Machine& machine, const Program& program, const std::string& resource);

}  // namespace assay
