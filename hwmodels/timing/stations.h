#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "hwmodels/timing/dram.h"
#include "hwmodels/timing/flow.h"

// The shared places of a machine while the cycle model runs: each serves one piece after the other, in the order in
// which they come, at its rate. Pieces pass all stations of their path at once (cut-through), so a lone stream moves
// at the rate of its slowest station, and streams that meet take turns.

namespace assay {

class Stations {
 public:
  explicit Stations(const Flow& flow);

  /// The servers of one command's path: parallel to its stations; -1: not shared (Fidelity::ideal).
  std::vector<std::int32_t> servers_of(const CommandModel& model);
  /// Server of a compute command's operand port, or -1 where the memory is ideal.
  std::int32_t memory_server(std::uint32_t memory, bool write);
  bool is_chip(std::int32_t server) const { return servers_[static_cast<std::size_t>(server)].chip; }

  /// Serves `ticks` of work at the server's instance of this core; returns when it is through.
  std::int64_t serve(std::int32_t server, std::size_t core, std::int64_t now, std::int64_t ticks) {
    Server& s = servers_[static_cast<std::size_t>(server)];
    std::int64_t& free = s.free[s.chip ? 0 : core];
    free = (free > now ? free : now) + ticks;
    return free;
  }
  /// The detailed model behind a server, or nullptr.
  DramModel* dram(std::int32_t server) {
    return server < 0 ? nullptr : servers_[static_cast<std::size_t>(server)].dram.get();
  }

 private:
  struct Server {
    bool chip = false;
    std::vector<std::int64_t> free;
    std::shared_ptr<DramModel> dram;  // shared by a memory's read and write side
  };
  std::int32_t server(std::uint64_t key, bool chip, std::shared_ptr<DramModel> dram);

  const Flow& flow_;
  std::map<std::uint64_t, std::int32_t> index_;
  std::map<std::uint32_t, std::shared_ptr<DramModel>> drams_;
  std::vector<Server> servers_;
};

}  // namespace assay
