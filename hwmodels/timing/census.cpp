#include "hwmodels/timing/census.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/base/error.h"
#include "core/base/math.h"
#include "hwmodels/timing/duration.h"

namespace assay {
namespace {

// Work at one place: ticks for engines, bytes for stations; per core class, or in [0] for the whole chip.
struct Load {
  std::string name;
  std::int64_t rate = 0;  // 0: amounts are ticks
  bool chip = false;
  std::vector<std::int64_t> amount;  // [class · groups + group]
};

class Loads {
 public:
  Loads(std::size_t classes, std::size_t groups) : classes_(classes), groups_(groups) {}

  std::size_t place(const std::string& key, const std::string& name, std::int64_t rate, bool chip) {
    const auto [at, added] = index_.try_emplace(key, loads_.size());
    if (added) loads_.push_back({name, rate, chip, std::vector<std::int64_t>((chip ? 1 : classes_) * groups_, 0)});
    return at->second;
  }
  void add(std::size_t load, std::size_t cls, std::size_t group, std::int64_t amount) {
    Load& l = loads_[load];
    std::int64_t& a = l.amount[(l.chip ? 0 : cls) * groups_ + group];
    if (__builtin_add_overflow(a, amount, &a)) throw InputError("size", "a program's work does not fit 64 bits");
  }

  // Busiest instance; all groups for group == groups_.
  std::int64_t busy(const Load& l, std::size_t group, std::int64_t tps) const {
    std::int64_t most = 0;
    for (std::size_t c = 0; c < (l.chip ? 1 : classes_); ++c) {
      const auto begin = l.amount.begin() + static_cast<std::ptrdiff_t>(c * groups_);
      most = std::max(most, group < groups_ ? begin[static_cast<std::ptrdiff_t>(group)]
                                            : std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(groups_),
                                                              std::int64_t{0}));
    }
    return l.rate > 0 ? transfer_ticks(most, l.rate, tps) : most;
  }

  // One entry per name: a memory's reads and writes, a link's port and aggregate are the same resource.
  std::vector<ResourceTime> table(std::size_t group, std::int64_t tps, bool all) const {
    std::vector<ResourceTime> out;
    for (const Load& l : loads_) {
      const std::int64_t t = busy(l, group, tps);
      if (t == 0 && !all) continue;
      const auto at = std::find_if(out.begin(), out.end(), [&](const ResourceTime& r) { return r.name == l.name; });
      if (at == out.end())
        out.push_back({l.name, t});
      else
        at->busy = std::max(at->busy, t);
    }
    return out;
  }

 private:
  std::size_t classes_, groups_;
  std::map<std::string, std::size_t> index_;
  std::vector<Load> loads_;
};

std::string key_of(const Station& s, bool shared_ports) {
  if (s.kind == StationKind::memory_read || s.kind == StationKind::memory_write) {
    const bool write = s.kind == StationKind::memory_write && !shared_ports;
    return "m" + std::to_string(s.part) + (write ? "w" : "r");
  }
  return "l" + std::to_string(s.part) + "." + std::to_string(static_cast<int>(s.kind));
}

}  // namespace

Census take_census(Flow& flow, const CoreClasses& classes) {
  const Machine& machine = *flow.machine;
  const std::size_t groups = flow.program->trail.size();
  const std::int64_t tps = flow.base.ticks_per_second;
  Loads loads(classes.classes.size(), std::max<std::size_t>(1, groups));
  std::vector<std::size_t> engine_load;
  for (const Engine& e : flow.program->engines) engine_load.push_back(loads.place("e" + e.name, e.name, 0, false));
  std::vector<std::vector<std::int64_t>> times(flow.models.size());
  for (std::size_t m = 0; m < flow.models.size(); ++m) {
    CommandModel& model = flow.models[m];
    for (std::size_t c = 0; c < classes.classes.size(); ++c) {
      const CoreClass& k = classes.classes[c];
      for_each_instance(flow, m, k.row, k.col, [&](std::uint32_t index, std::int64_t n) {
        if (times[m].size() <= index) times[m].resize(index + 1, 0);
        times[m][index] += checked_mul(n, k.cores);
        const Instance& x = model.instance(index);
        if (x.empty) return;
        const std::size_t g = model.group();
        loads.add(engine_load[model.engine_id().index()], c, g, checked_mul(x.bound, n));
        const auto at = [&](std::size_t load, bool chip, std::int64_t bytes) {
          if (bytes > 0) loads.add(load, c, g, checked_mul(checked_mul(bytes, n), chip ? k.cores : 1));
        };
        if (model.command() && model.command()->opcode == Opcode::copy) {
          const std::int64_t written = byte_size(model.command()->out.type, x.counts.points);
          for (const Station& s : model.path().stations) {
            if (!s.shared) continue;
            const bool memory = s.kind == StationKind::memory_read || s.kind == StationKind::memory_write;
            const bool shared = memory && machine.memories[s.part].shared_ports;
            const std::int64_t bytes = s.kind == StationKind::memory_read    ? x.counts.link_bytes
                                       : s.kind == StationKind::memory_write ? written
                                                                             : x.bytes;
            at(loads.place(key_of(s, shared), station_name(machine, s), s.rate, s.chip), s.chip, bytes);
          }
          return;
        }
        if (model.engine().kind == EngineKind::host) return;  // its bytes cross the host link: the engine's own time
        for (const auto& [buffer, access] : x.counts.buffers) {
          const std::uint32_t id = flow.program->buffers[buffer].memory.value;
          const Memory& mem = machine.memories[id];
          if (flow.options.all_ideal || mem.model == Fidelity::ideal) continue;
          const bool chip = mem.scope == Scope::chip;
          const auto port = [&](StationKind kind, std::int64_t rate, std::int64_t bytes) {
            if (bytes == 0) return;
            at(loads.place(key_of({kind, id, rate, chip, true}, mem.shared_ports), mem.name, rate, chip), chip, bytes);
          };
          port(StationKind::memory_read, mem.read_bandwidth, access.read_bytes);
          port(StationKind::memory_write, mem.shared_ports ? mem.read_bandwidth : mem.write_bandwidth,
               access.write_bytes);
        }
      });
    }
  }
  Census census;
  census.activity = activity_of(flow, times);
  census.resources = loads.table(std::max<std::size_t>(1, groups), tps, true);
  for (const ResourceTime& r : census.resources) census.lower_bound = std::max(census.lower_bound, r.busy);
  for (std::size_t g = 0; g < groups; ++g) census.group_resources.push_back(loads.table(g, tps, false));
  return census;
}

Activity activity_of(const Flow& flow, const std::vector<std::vector<std::int64_t>>& times) {
  Activity a;
  a.groups.resize(flow.program->trail.size());
  for (std::size_t m = 0; m < times.size(); ++m) {
    const CommandModel& model = flow.models[m];
    for (std::size_t i = 0; i < times[m].size(); ++i)
      add_counts(a.groups[model.group()], *flow.program, *flow.machine, model.engine(),
                 model.instance(static_cast<std::uint32_t>(i)).counts, times[m][i]);
  }
  return a;
}

void describe_groups(const Census& census, std::vector<GroupTime>& groups) {
  for (GroupTime& g : groups) {
    g.resources = census.group_resources[g.group];
    const auto most = std::max_element(g.resources.begin(), g.resources.end(),
                                       [](const ResourceTime& a, const ResourceTime& b) { return a.busy < b.busy; });
    const bool bound = most != g.resources.end() && most->busy >= g.span - most->busy;
    g.binding = bound ? most->name : "latency";
  }
}

}  // namespace assay
