#include "hwmodels/timing/path.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "hwmodels/timing/duration.h"

namespace assay {
namespace {

double one_way(const Link& link, const Grid& grid) {
  return link.latency_s + link.hop_latency_s * average_hops(link, grid);
}

bool has(const std::vector<MemoryId>& ids, MemoryId id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

}  // namespace

double average_hops(const Link& link, const Grid& grid) {
  const double half = static_cast<double>(grid.rows + grid.cols) / 2.0;
  switch (link.topology) {
    case Topology::mesh:
      return std::max(1.0, half);
    case Topology::torus:
      return std::max(1.0, half / 2.0);
    case Topology::ring:
      return std::max(1.0, static_cast<double>(grid.cores()) / 4.0);
    case Topology::tree:
      return std::max(1.0, std::log2(static_cast<double>(grid.cores())));
    case Topology::direct:
    case Topology::crossbar:
      return 1.0;
  }
  return 1.0;
}

CopyPath path_of(const Machine& machine, const Engine& engine, MemoryId from, MemoryId to, TickBase base,
                 bool all_ideal) {
  CopyPath path;
  const auto add = [&](Station s) {
    if (s.rate <= 0) throw InputError(station_name(machine, s), "copies pass here, but it has no bandwidth");
    path.stations.push_back(s);
  };
  double latency = 0;
  const auto memory = [&](MemoryId id, bool is_read) {
    const Memory& m = machine.memory(id);
    const bool ideal = all_ideal || m.model == Fidelity::ideal;
    const bool reads_rate = is_read || m.shared_ports;
    add({is_read ? StationKind::memory_read : StationKind::memory_write, id.value,
         reads_rate ? m.read_bandwidth : m.write_bandwidth, m.scope == Scope::chip, !ideal});
    if (!ideal) latency += m.latency_s;
  };
  const Link& dma = machine.links.at(engine.part);
  const bool dma_ideal = all_ideal || dma.model == Fidelity::ideal;
  memory(from, true);
  for (const LinkId via : dma.via) {
    const Link& carrier = machine.link(via);
    const bool ideal = all_ideal || carrier.model == Fidelity::ideal;
    const bool chip = carrier.scope == Scope::chip;
    // A bus of the chip is one medium; a network has one port per core and, beyond, its aggregate.
    const bool one_medium = chip && carrier.kind == LinkKind::bus;
    add({StationKind::carrier, via.value, carrier.bandwidth, one_medium, !ideal});
    if (carrier.aggregate_bandwidth > 0)
      add({StationKind::aggregate, via.value, carrier.aggregate_bandwidth, chip, !ideal});
    if (!ideal) latency += 2 * one_way(carrier, machine.grid);
  }
  const bool chip_dma = dma.scope == Scope::chip;
  const StationKind port = !dma.duplex                            ? StationKind::port
                           : engine.kind == EngineKind::dma_store ? StationKind::port_store
                                                                  : StationKind::port_load;
  add({port, engine.part, dma.bandwidth, chip_dma, !dma_ideal});
  if (dma.aggregate_bandwidth > 0)
    add({StationKind::aggregate, engine.part, dma.aggregate_bandwidth, true, !dma_ideal});
  memory(to, false);
  if (!dma_ideal) {
    latency += 2 * one_way(dma, machine.grid);
    path.max_request = dma.max_request;
    path.outstanding = dma.outstanding;
  }
  path.latency = latency_ticks(latency, base.ticks_per_second);
  path.far_is_source = has(dma.far, from) && !(engine.kind == EngineKind::dma_store && has(dma.far, to));
  path.overlap_compute = all_ideal || dma.overlap_compute;
  return path;
}

std::string station_name(const Machine& machine, const Station& s) {
  switch (s.kind) {
    case StationKind::memory_read:
    case StationKind::memory_write:
      return machine.memories.at(s.part).name;
    default:
      return machine.links.at(s.part).name;
  }
}

}  // namespace assay
