#pragma once

#include <string>

#include "core/spec/machine.h"

// Where a part stands in the (canonical) description: `memories.dram`, `grid.pe.memories.ls`, `array.pe.memories.w`.
// These are the keys of Machine::provenance (with `.<field>` behind them) and the paths of overrides.

namespace assay {

std::string key_path(const Machine& m, const Memory& memory);
std::string key_path(const Machine& m, const Link& link);
std::string key_path(const Machine& m, const MatrixUnit& unit);
std::string key_path(const Machine& m, const VectorUnit& unit);
std::string key_path(const Machine& m, const HostUnit& unit);

/// What the file says about the value at `path`: its own entry, else that of the nearest part around it that states a
/// source; nullptr if nothing does. O(depth × log n).
const Provenance* provenance_of(const Machine& m, const std::string& path);

}  // namespace assay
