#include "core/isa/engines.h"

#include <algorithm>

namespace assay {

std::vector<Engine> engines_of(const Machine& machine) {
  std::vector<Engine> engines;
  const auto add = [&](std::string name, EngineKind kind, std::size_t part) {
    engines.push_back({std::move(name), kind, static_cast<std::uint32_t>(part)});
  };
  for (std::size_t i = 0; i < machine.links.size(); ++i) {
    const Link& link = machine.links[i];
    if (link.kind != LinkKind::dma) continue;
    if (link.queues < 2) {
      add(link.name, EngineKind::dma_load, i);
      continue;
    }
    add(link.name + ".load", EngineKind::dma_load, i);
    add(link.name + ".store", EngineKind::dma_store, i);
  }
  for (std::size_t i = 0; i < machine.matrix_units.size(); ++i)
    add(machine.matrix_units[i].name, EngineKind::matrix, i);
  for (std::size_t i = 0; i < machine.vector_units.size(); ++i)
    add(machine.vector_units[i].name, EngineKind::vector, i);
  for (std::size_t i = 0; i < machine.hosts.size(); ++i) add(machine.hosts[i].name, EngineKind::host, i);
  return engines;
}

namespace {
bool contains(const std::vector<MemoryId>& ids, MemoryId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}
}  // namespace

bool can_copy(const Machine& machine, const Engine& engine, MemoryId from, MemoryId to) {
  const bool is_dma = engine.kind == EngineKind::dma_load || engine.kind == EngineKind::dma_store;
  if (!is_dma || engine.part >= machine.links.size()) return false;
  const Link& link = machine.links[engine.part];
  if (link.kind != LinkKind::dma) return false;
  const bool inward = contains(link.far, from) && contains(link.near, to);
  const bool outward = contains(link.near, from) && contains(link.far, to);
  if (link.queues < 2) return engine.kind == EngineKind::dma_load && (inward || outward);
  return engine.kind == EngineKind::dma_load ? inward : outward;
}

std::optional<EngineId> copy_engine(const Machine& machine, const std::vector<Engine>& engines, MemoryId from,
                                    MemoryId to) {
  for (std::size_t i = 0; i < engines.size(); ++i)
    if (can_copy(machine, engines[i], from, to)) return EngineId(i);
  return std::nullopt;
}

}  // namespace assay
