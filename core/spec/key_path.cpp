#include "core/spec/key_path.h"

#include <algorithm>

namespace assay {
namespace {

/// Prefix of what stands in a core.
std::string core_prefix(const Machine& m) { return m.grid.name.empty() ? "" : "grid." + m.grid.name + "."; }

}  // namespace

std::string key_path(const Machine& m, const Memory& memory) {
  if (memory.scope == Scope::chip) return "memories." + memory.name;
  if (memory.scope == Scope::core) return core_prefix(m) + "memories." + memory.name;
  for (const MatrixUnit& u : m.matrix_units) {
    for (const MemoryId id : u.pe_memories) {
      if (m.memory(id).name == memory.name) return core_prefix(m) + "array." + u.name + ".memories." + memory.name;
    }
  }
  return memory.name;
}

std::string key_path(const Machine& m, const Link& link) {
  return (link.scope == Scope::chip ? "" : core_prefix(m)) + "links." + link.name;
}

std::string key_path(const Machine& m, const MatrixUnit& unit) {
  return core_prefix(m) + (unit.style == ArrayStyle::pe_array ? "array." : "units.") + unit.name;
}

std::string key_path(const Machine& m, const VectorUnit& unit) { return core_prefix(m) + "units." + unit.name; }

std::string key_path(const Machine&, const HostUnit& unit) { return "units." + unit.name; }

const Provenance* provenance_of(const Machine& m, const std::string& path) {
  for (std::string at = path;;) {
    const auto it = m.provenance.find(at);
    if (it != m.provenance.end()) return &it->second;
    const std::size_t dot = at.rfind('.');
    if (dot == std::string::npos) return nullptr;
    at.resize(dot);
  }
}

}  // namespace assay
