#include "hwmodels/timing/notes.h"

#include <algorithm>

namespace assay {

void add_notes(std::vector<std::string>& notes, const Flow& flow) {
  const Machine& machine = *flow.machine;
  const auto any_model = [&](auto predicate) { return std::any_of(flow.models.begin(), flow.models.end(), predicate); };
  if (flow.options.all_ideal) {
    notes.push_back(
        "every part is ideal: fixed rate, no latency, no sharing, transfers and compute may always overlap");
  }
  if (any_model([](const CommandModel& m) { return m.engine().kind == EngineKind::host; }))
    notes.push_back("host operations are timed as launch + bytes over the link + one flop per element read or written");
  const bool gathers = any_model([](const CommandModel& m) {
    if (!m.command()) return false;
    return std::any_of(m.command()->in.begin(), m.command()->in.end(), [](const Operand& o) {
      return std::any_of(o.dims.begin(), o.dims.end(), [](const ViewDim& d) { return d.index_operand.has_value(); });
    });
  });
  if (gathers) notes.push_back("gathered elements count as distinct and in bounds; their addresses are not known here");
  if (flow.remote) notes.push_back("signals between cores take no time");
  const bool mesh = std::any_of(machine.links.begin(), machine.links.end(), [](const Link& l) {
    return l.hop_latency_s > 0 && l.topology != Topology::direct && l.topology != Topology::crossbar;
  });
  if (mesh && !flow.options.all_ideal)
    notes.push_back("network hops are averages over the grid: where a memory is attached is not described");
  if (std::any_of(machine.memories.begin(), machine.memories.end(),
                  [](const Memory& m) { return m.kind == MemoryKind::cache; }))
    notes.push_back(
        "caches are timed as memories of their own bandwidth and latency: hits and misses are not modelled");
  if (std::any_of(machine.memories.begin(), machine.memories.end(), [](const Memory& m) {
        return m.banks > 1 && m.kind != MemoryKind::dram && m.kind != MemoryKind::register_file;
      }))
    notes.push_back("scratchpad banks are not modelled one by one: a memory serves its stated bandwidth");
}

}  // namespace assay
