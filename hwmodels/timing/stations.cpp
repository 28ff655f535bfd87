#include "hwmodels/timing/stations.h"

namespace assay {

Stations::Stations(const Flow& flow) : flow_(flow) {}

std::int32_t Stations::server(std::uint64_t key, bool chip, std::shared_ptr<DramModel> dram) {
  const auto [at, added] = index_.try_emplace(key, static_cast<std::int32_t>(servers_.size()));
  if (added) {
    const auto cores = static_cast<std::size_t>(flow_.program->grid.cores());
    servers_.push_back({chip, std::vector<std::int64_t>(chip ? 1 : cores, 0), std::move(dram)});
  }
  return at->second;
}

std::int32_t Stations::memory_server(std::uint32_t memory, bool write) {
  const Memory& m = flow_.machine->memories[memory];
  if (flow_.options.all_ideal || m.model == Fidelity::ideal) return -1;
  std::shared_ptr<DramModel> dram;
  if (m.model == Fidelity::detailed && m.kind == MemoryKind::dram && m.scope == Scope::chip) {
    auto& slot = drams_[memory];
    if (!slot) slot = std::make_shared<DramModel>(m, flow_.base.ticks_per_second);
    dram = slot;
  }
  const std::uint64_t side = write && !m.shared_ports ? 1 : 0;
  return server((std::uint64_t{memory} << 8) + side, m.scope == Scope::chip, std::move(dram));
}

std::vector<std::int32_t> Stations::servers_of(const CommandModel& model) {
  std::vector<std::int32_t> out;
  for (const Station& s : model.path().stations) {
    if (!s.shared)
      out.push_back(-1);
    else if (s.kind == StationKind::memory_read || s.kind == StationKind::memory_write)
      out.push_back(memory_server(s.part, s.kind == StationKind::memory_write));
    else
      out.push_back(server((std::uint64_t{1} << 48) + (std::uint64_t{s.part} << 8) + static_cast<std::uint64_t>(s.kind),
                           s.chip, nullptr));
  }
  return out;
}

}  // namespace assay
