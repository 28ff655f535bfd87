#include "explorers/whatif.h"

namespace assay {
namespace {

void faster(Link& l) {
  l.bandwidth *= 2;
  l.aggregate_bandwidth *= 2;
  l.outstanding *= 2;
}

}  // namespace

std::optional<Machine> double_resource(const Machine& machine, const Program& program, const std::string& resource) {
  Machine m = machine;
  for (const Engine& e : program.engines) {
    if (e.name != resource) continue;
    switch (e.kind) {
      case EngineKind::dma_load:
      case EngineKind::dma_store:
        faster(m.links[e.part]);
        return m;
      case EngineKind::matrix:
        for (MatrixType& t : m.matrix_units[e.part].types) t.rate *= 2;
        return m;
      case EngineKind::vector:
        m.vector_units[e.part].lanes *= 2;
        return m;
      case EngineKind::host:
        m.hosts[e.part].flops_per_s *= 2;
        return m;
    }
  }
  for (Memory& x : m.memories) {
    if (x.name != resource) continue;
    x.read_bandwidth *= 2;
    x.write_bandwidth *= 2;
    return m;
  }
  for (Link& l : m.links) {
    if (l.name != resource) continue;
    faster(l);
    return m;
  }
  return std::nullopt;
}

}  // namespace assay
