#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hwmodels/activity.h"

// What both timing models answer, in one shape, so that reports and sweeps treat them alike.

namespace assay {

/// Time is counted in integer ticks; `ticks_per_second` is the least common multiple of the machine's clocks.
struct TickBase {
  std::int64_t ticks_per_second = 1;
  std::int64_t ticks_per_cycle(std::int64_t clock_hz) const { return ticks_per_second / clock_hz; }
  double seconds(std::int64_t ticks) const {
    return static_cast<double>(ticks) / static_cast<double>(ticks_per_second);
  }
};
TickBase tick_base(const Machine& machine);  ///< InputError when the clocks' LCM exceeds 10^13 Hz

/// One thing that can limit: an engine, a memory's port, a link, the DRAM. All cores together where shared.
struct ResourceTime {
  std::string name;       ///< `mxu`, `dma.load`, `dram`, `noc`, …
  std::int64_t busy = 0;  ///< ticks of work of its busiest instance: a lower bound of the total
};

/// Why a group took as long as it did. The parts add up to `end - start` of the group (waterfall, design §10).
struct LossBreakdown {
  std::int64_t ideal_compute = 0;   ///< useful MACs (or lane operations) at the peak rate
  std::int64_t padding = 0;         ///< array slots spent on padding
  std::int64_t fill_drain = 0;      ///< array fill, drain, issue overhead
  std::int64_t vector = 0;          ///< exposed vector work
  std::int64_t exposed_memory = 0;  ///< compute engines idle, waiting for data to come or go
  std::int64_t contention = 0;      ///< part of the waiting that is due to sharing (cycle model), else 0
  std::int64_t sync = 0;            ///< barriers between cores and groups
  std::int64_t launch = 0;          ///< host launches
  std::int64_t total() const;
};

struct GroupTime {
  std::size_t group = 0;            ///< index into Program::trail
  std::int64_t start = 0, end = 0;  ///< first issue to last completion; groups overlap through prefetch
  std::int64_t span = 0;            ///< this group's share of the critical time: spans of all groups sum to the total
  std::vector<ResourceTime> resources;
  std::string binding;  ///< name of the resource with the largest busy time, or `latency`
  LossBreakdown loss;   ///< sums to `span`
};

/// One interval of one engine, for timelines. Capped at `TimelineOptions::max_events`; `truncated` then says so.
struct TimelineEvent {
  std::uint32_t core = 0;
  std::uint32_t engine = 0;
  std::int64_t start = 0, end = 0;
  std::int64_t trail = -1;
};

struct TimingResult {
  std::string model;  ///< `analytical` or `cycle`
  TickBase base;
  std::int64_t total = 0;        ///< ticks from the first issue to the last completion
  std::int64_t lower_bound = 0;  ///< max over resources of busy time of the whole program
  std::vector<ResourceTime> resources;
  std::vector<GroupTime> groups;  ///< parallel to Program::trail
  Activity activity;
  std::vector<TimelineEvent> timeline;
  bool timeline_truncated = false;
  std::int64_t events = 0;  ///< cycle model: simulated events
  std::int64_t skipped_iterations = 0;
  std::vector<std::string> notes;  ///< what is approximated or not modelled in this result (law 8)
  double seconds() const { return base.seconds(total); }
};

struct TimelineOptions {
  std::size_t max_events = 0;  ///< 0: no timeline
};

struct CycleOptions {
  TimelineOptions timeline;
  bool skip_steady_state = true;
  std::int64_t max_events = 0;  ///< 0: no limit; else Infeasible("timeout …") beyond it
  bool all_ideal = false;       ///< treat every part as Fidelity::ideal
};
/// Event-driven execution of the Program with contention.
TimingResult simulate(const Program& program, const Machine& machine, const CycleOptions& options = {});

/// Max-plus evaluation of the Program's loop nest: fixed duration per command, engines in order, semaphores exact,
/// no contention between engines (shared carriers divide their rate by the cores using them). Loops are skipped
/// exactly once their state advances uniformly. On a machine of ideal parts it equals `simulate` exactly.
struct AnalyticalOptions {
  bool all_ideal = false;
};
TimingResult analyse(const Program& program, const Machine& machine, const AnalyticalOptions& options = {});

/// What-if for reports: the same program with one resource twice as fast (analytical).
std::int64_t analyse_with_doubled(const Program& program, const Machine& machine, const std::string& resource);

}  // namespace assay
