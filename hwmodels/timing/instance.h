#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "hwmodels/timing/count.h"
#include "hwmodels/timing/path.h"

// One command of a program prepared for the timing models. Instances that agree in their clipped extents, in how far
// padded views stick out, and in whether they accumulate, count and last the same: they share one `Instance`.

namespace assay {

/// What a compute command asks of one memory while it runs, in ticks at the memory's rate.
struct PortUse {
  std::uint32_t memory = 0;
  std::int64_t read = 0, write = 0;
};

struct Instance {
  bool empty = true;  ///< nothing to do: the command is skipped
  InstanceCounts counts;
  std::int64_t occupancy = 0;  ///< ticks, without contention between engines (duration.h, path.h)
  std::int64_t latency = 0;    ///< ticks until the results are there; >= occupancy
  std::int64_t bound = 0;      ///< ticks of engine time that no sharing or latency can undercut
  std::int64_t ideal = 0;      ///< matrix: useful MACs at the peak rate
  std::int64_t padding = 0;    ///< matrix: the slots spent on padding
  std::int64_t stall = 0;      ///< matrix: occupancy due to operands and results at their memories' ports
  std::vector<PortUse> ports;  ///< compute commands
  // Copies.
  std::int64_t bytes = 0;          ///< through the stations (the larger of read and written)
  std::int64_t request_bytes = 0;  ///< bytes of one request
  std::int64_t requests = 0;
  RunPattern source, target;                ///< contiguous pieces at either end
  std::vector<std::int64_t> station_ticks;  ///< parallel to the path's stations, one user alone
  std::int64_t window_ticks = 0;            ///< what the requests in flight allow
};

/// Where the value of an affine expression decides which instance runs.
struct Predicate {
  enum class Kind : std::uint8_t { extent, view, accumulate } kind = Kind::extent;
  const Affine* affine = nullptr;
  std::int64_t limit = 0;             ///< extent: its full size; view: the dimension's size
  std::int64_t below = 0, above = 0;  ///< view: how far the iteration reaches from the offset
  /// What values in [low, high] have in common: 0 nothing, else a code within which instances are the same.
  int regime(std::int64_t low, std::int64_t high) const;
};

struct ModelOptions {
  bool all_ideal = false;
  std::string doubled;  ///< compute engine that works twice as fast (analyse_with_doubled)
};

class CommandModel {
 public:
  CommandModel(const Program& program, const Machine& machine, const Command& command, TickBase base,
               const ModelOptions& options);
  CommandModel(const Program& program, const Machine& machine, const HostCommand& command, TickBase base,
               const ModelOptions& options);

  /// The instance at these variable values. References stay valid. Amortised O(predicates).
  const Instance& at(std::span<const std::int64_t> vars) { return instances_[index_at(vars)]; }
  std::uint32_t index_at(std::span<const std::int64_t> vars);
  const Instance& instance(std::uint32_t index) const { return instances_[index]; }
  std::size_t instance_count() const { return instances_.size(); }

  const std::vector<Predicate>& predicates() const { return predicates_; }
  const Engine& engine() const { return *engine_; }
  EngineId engine_id() const { return engine_id_; }
  std::size_t group() const { return group_; }
  /// Cores with coordinate 0 on these axes execute it (host: core (0, 0) only).
  Axes leader() const { return leader_; }
  bool executes(std::int64_t row, std::int64_t col) const {
    return !(leader_.row && row != 0) && !(leader_.col && col != 0);
  }
  const CopyPath& path() const { return path_; }
  const Command* command() const { return command_; }
  /// Cores that execute it at once: what a shared station's rate is divided by in the analytical model.
  std::int64_t sharers() const { return sharers_; }
  /// It reads what an earlier command of its own engine may still be writing: it starts after their results.
  bool needs_results() const { return needs_results_; }
  void set_needs_results() { needs_results_ = true; }

 private:
  struct KeyHash {
    std::size_t operator()(const std::vector<std::int64_t>& key) const;
  };
  void make_key(std::span<const std::int64_t> vars);
  Instance build(std::span<const std::int64_t> vars) const;
  void time_copy(Instance& x, const ConcreteCommand& c) const;
  void time_compute(Instance& x, const ConcreteCommand& c) const;
  void time_host(Instance& x) const;

  const Program& program_;
  const Machine& machine_;
  const Command* command_ = nullptr;
  const HostCommand* host_ = nullptr;
  const Engine* engine_ = nullptr;
  EngineId engine_id_;
  std::size_t group_ = 0;
  TickBase base_;
  bool all_ideal_ = false;
  std::int64_t speed_ = 1;
  Axes leader_;
  std::int64_t receivers_ = 1;
  std::int64_t sharers_ = 1;
  bool needs_results_ = false;
  CopyPath path_;
  std::vector<Predicate> predicates_;
  std::deque<Instance> instances_;
  std::unordered_map<std::vector<std::int64_t>, std::uint32_t, KeyHash> memo_;
  std::vector<std::int64_t> key_, last_key_;
  std::uint32_t last_ = 0;
};

}  // namespace assay
