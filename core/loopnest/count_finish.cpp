#include "core/loopnest/count_finish.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/base/error.h"

namespace assay {
namespace {

[[noreturn]] void too_large() { throw InputError("counts", "a count exceeds 2^63"); }

/// Accesses of `block` words for counts of all instances: each instance rounds up by itself.
double blocks(std::int64_t total, std::int64_t instances, std::int64_t block) {
  if (block == 1 || total == 0 || instances == 0) return static_cast<double>(total);
  const double each = static_cast<double>(total) / static_cast<double>(instances);
  return std::ceil(each / static_cast<double>(block)) * static_cast<double>(instances);
}

double sum(const std::vector<double>& v) {
  double s = 0;
  for (const double x : v) s += x;
  return s;
}

void level_energy(LevelCounts& level, const HierarchyLevel& l) {
  for (TensorCounts& n : level.tensors) {
    n.energy =
        blocks(n.total.reads, n.instances, l.block_words) * l.read_energy +
        (blocks(n.total.fills, n.instances, l.block_words) + blocks(n.total.updates, n.instances, l.block_words)) *
            l.write_energy;
    level.energy += n.energy + n.network_energy;
  }
}

void level_cycles(LevelCounts& level, const HierarchyLevel& l, const LevelDemand& demand, double compute_cycles,
                  bool by_slowdown) {
  const auto limit = [&](const char* name, double rate, double words, double per_cycle) {
    if (rate <= 0) return;
    double cycles = std::ceil(words / rate);
    if (by_slowdown && rate < per_cycle) cycles = std::ceil(compute_cycles / (rate / per_cycle));
    if (cycles > level.cycles) {
      level.cycles = cycles;
      level.binding = name;
    }
  };
  const double reads = sum(demand.reads), writes = sum(demand.writes);
  double reads_per_cycle = 0, writes_per_cycle = 0;
  for (const double r : demand.reads) reads_per_cycle += r / compute_cycles;
  for (const double w : demand.writes) writes_per_cycle += w / compute_cycles;
  limit("read", l.read_rate, reads, reads_per_cycle);
  limit("write", l.write_rate, writes, writes_per_cycle);
  limit("shared", l.shared_rate, demand.together.value_or(reads + writes), reads_per_cycle + writes_per_cycle);
}

}  // namespace

std::int64_t whole_count(double v) {
  const double r = std::round(v);
  if (!(r < 0x1p63) || !(r > -0x1p63)) too_large();
  return static_cast<std::int64_t>(r);
}

std::int64_t whole_count(Int128 v) {
  if (v > std::numeric_limits<std::int64_t>::max() || v < std::numeric_limits<std::int64_t>::min()) too_large();
  return static_cast<std::int64_t>(v);
}

std::int64_t count_sum(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) too_large();
  return out;
}

void finish_cost(NestCost& cost, const Hierarchy& h, const std::vector<LevelDemand>& demand, bool by_slowdown) {
  cost.mac_energy = static_cast<double>(cost.macs) * h.mac_energy;
  cost.energy = cost.mac_energy;
  cost.cycles = cost.compute_cycles;
  for (std::size_t i = 0; i < cost.levels.size(); ++i) {
    LevelCounts& level = cost.levels[i];
    level_energy(level, h.levels[i]);
    level_cycles(level, h.levels[i], demand[i], cost.compute_cycles, by_slowdown);
    cost.energy += level.energy;
    if (level.cycles > cost.cycles) {
      cost.cycles = level.cycles;
      cost.binding = static_cast<int>(i);
    }
  }
  cost.utilisation = static_cast<double>(cost.macs) /
                     (static_cast<double>(h.compute.x) * static_cast<double>(h.compute.y)) / cost.cycles;
}

}  // namespace assay
