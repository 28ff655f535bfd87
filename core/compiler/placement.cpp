#include "core/compiler/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/math.h"
#include "core/mapping/memory_plan.h"

namespace assay {
namespace {

constexpr std::int64_t kAlignment = 8;
/// Kept free of tiles: alignment of up to this many buffers per kernel.
constexpr std::int64_t kAlignmentSlack = 8 * 24;

struct Interval {
  std::int64_t lower = 0, upper = 0;  ///< steps: kernel numbers, half-open
};

class Planner {
 public:
  Planner(const Graph& g, const KernelGraph& kg, const std::vector<Kernel>& kernels, const Machine& machine,
          const MapEnvironment& env, const CompileOptions& options, MappingCache& cache)
      : g_(g), kg_(kg), kernels_(kernels), machine_(machine), env_(env), options_(options), cache_(cache) {}

  ModelPlan run() {
    find_live_ranges();
    choose_homes();
    // Each round either succeeds or sends at least one tensor to DRAM, so this ends.
    for (;;) {
      if (map_kernels() && plan_addresses()) return std::move(plan_);
    }
  }

 private:
  TensorId root(TensorId t) const { return kg_.root[t.index()]; }

  void find_live_ranges() {
    const auto end = static_cast<std::int64_t>(kernels_.size());
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      const auto step = static_cast<std::int64_t>(k);
      for (const KernelTensor& t : kernels_[k].tensors) {
        if (!t.graph_tensor.valid()) continue;
        const auto [it, first] = live_.try_emplace(root(t.graph_tensor), Interval{step, step + 1});
        it->second.upper = std::max(it->second.upper, step + 1);
      }
    }
    for (const TensorId t : g_.inputs()) external_.insert(t);
    for (const TensorId t : g_.outputs()) external_.insert(root(t));
    for (const TensorId t : g_.tensors()) {
      if (g_.tensor(t).kind == TensorKind::constant) external_.insert(t);
    }
    for (const TensorId t : external_) live_[t] = {0, std::max<std::int64_t>(end, 1)};
  }

  /// Memories in which a tensor may stay whole: they may hold every role it is used in, and every unit that touches it
  /// reaches them. Gathers and host kernels work on DRAM.
  bool may_live_in(TensorId t, MemoryId m) const {
    const Memory& memory = machine_.memory(m);
    if (memory.kind != MemoryKind::scratchpad || !memory.may_hold(Role::output)) return false;
    const auto reaches = [&](const std::vector<MemoryId>& list) {
      return list.empty() || std::find(list.begin(), list.end(), m) != list.end();
    };
    for (const Kernel& k : kernels_) {
      for (int i = 0; i < static_cast<int>(k.tensors.size()); ++i) {
        if (!k.tensors[static_cast<std::size_t>(i)].graph_tensor.valid() ||
            root(k.tensors[static_cast<std::size_t>(i)].graph_tensor) != t)
          continue;
        if (k.host_node) return false;
        for (const KernelNest& nest : k.nests) {
          for (std::size_t a = 0; a < nest.ins.size(); ++a) {
            for (const AccessDim& d : nest.ins[a].dims) {
              if (d.index_operand) return false;
            }
            if (nest.ins[a].tensor != i) continue;
            const Role role = nest.contraction && a == 1 ? Role::weight : Role::input;
            if (!memory.may_hold(role)) return false;
            if (nest.contraction ? !std::all_of(machine_.matrix_units.begin(), machine_.matrix_units.end(),
                                                [&](const MatrixUnit& u) { return reaches(u.reads); })
                                 : !std::all_of(machine_.vector_units.begin(), machine_.vector_units.end(),
                                                [&](const VectorUnit& u) { return reaches(u.reads); })) {
              return false;
            }
          }
          if (nest.out.tensor == i && !nest.contraction &&
              !std::all_of(machine_.vector_units.begin(), machine_.vector_units.end(),
                           [&](const VectorUnit& u) { return reaches(u.writes); })) {
            return false;
          }
          if (nest.out.tensor == i && nest.contraction &&
              !std::all_of(machine_.matrix_units.begin(), machine_.matrix_units.end(),
                           [&](const MatrixUnit& u) { return reaches(u.writes); })) {
            return false;
          }
        }
      }
    }
    return true;
  }

  void choose_homes() {
    const MemoryId dram = machine_.dram();
    for (const auto& [t, interval] : live_) plan_.home[t] = dram;
    if (!options_.residency) return;
    std::vector<MemoryId> candidates;
    for (std::size_t i = 0; i < machine_.memories.size(); ++i) {
      const Memory& m = machine_.memories[i];
      // A core's own memory is a home only where there is one core: shards over cores are not planned.
      const bool core = m.scope == Scope::core && machine_.grid.cores() == 1;
      if (m.kind == MemoryKind::scratchpad && (core || m.scope == Scope::chip)) candidates.push_back(MemoryId(i));
    }
    std::stable_sort(candidates.begin(), candidates.end(), [&](MemoryId a, MemoryId b) {
      return machine_.memory(a).scope > machine_.memory(b).scope;  // nearest to the units first
    });
    std::vector<std::pair<std::int64_t, TensorId>> order;
    for (const auto& [t, interval] : live_) {
      if (!external_.contains(t)) order.push_back({interval.lower, t});
    }
    std::sort(order.begin(), order.end());
    for (const MemoryId m : candidates) {
      const bool chip = machine_.memory(m).scope == Scope::chip;
      const double share = chip ? 1.0 : options_.resident_share;
      const auto budget = static_cast<std::int64_t>(share * static_cast<double>(machine_.memory(m).capacity));
      std::vector<std::int64_t>& used = resident_bytes_[m];
      used.assign(kernels_.size(), 0);
      for (const auto& [first, t] : order) {
        if (plan_.home[t] != dram) continue;
        const std::int64_t bytes = round_up(g_.tensor(t).type.bytes(), kAlignment);
        const Interval& live = live_[t];
        bool fits = true;
        for (std::int64_t s = live.lower; s < live.upper && fits; ++s)
          fits = used[static_cast<std::size_t>(s)] + bytes <= budget;
        if (!fits || !may_live_in(t, m)) continue;
        plan_.home[t] = m;
        for (std::int64_t s = live.lower; s < live.upper; ++s) used[static_cast<std::size_t>(s)] += bytes;
      }
    }
  }

  void demote(TensorId t, const std::string& why) {
    const MemoryId m = plan_.home[t];
    plan_.remarks.push_back(fmt::format("spilled: '{}' ({} bytes) to '{}': {}", g_.tensor(t).name,
                                        g_.tensor(t).type.bytes(), machine_.memory(machine_.dram()).name, why));
    for (std::int64_t s = live_[t].lower; s < live_[t].upper; ++s) {
      resident_bytes_[m][static_cast<std::size_t>(s)] -= round_up(g_.tensor(t).type.bytes(), kAlignment);
    }
    plan_.home[t] = machine_.dram();
  }

  /// The largest tensor resident in a core memory during a step, or nothing.
  std::optional<TensorId> largest_resident(std::optional<std::int64_t> step, std::optional<MemoryId> memory) const {
    std::optional<TensorId> best;
    for (const auto& [t, m] : plan_.home) {
      if (external_.contains(t) || m == machine_.dram() || (memory && m != *memory)) continue;
      if (!memory && machine_.memory(m).scope != Scope::core) continue;
      const Interval& live = live_.at(t);
      if (step && (*step < live.lower || *step >= live.upper)) continue;
      if (!best || g_.tensor(t).type.bytes() > g_.tensor(*best).type.bytes()) best = t;
    }
    return best;
  }

  bool map_kernels() {
    plan_.mappings.assign(kernels_.size(), {});
    plan_.searches.assign(kernels_.size(), {});
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      if (kernels_[k].host_node) continue;
      KernelHomes homes;
      for (const KernelTensor& t : kernels_[k].tensors)
        homes.home.push_back(t.graph_tensor.valid() ? plan_.home.at(root(t.graph_tensor)) : MemoryId());
      MapEnvironment env = env_;
      for (std::size_t m = 0; m < env.available.size(); ++m) {
        env.available[m] =
            std::max<std::int64_t>(0, env.available[m] - (env.available[m] > 4096 ? kAlignmentSlack : 0));
        const auto it = resident_bytes_.find(MemoryId(m));
        if (it != resident_bytes_.end()) env.available[m] = std::max<std::int64_t>(0, env.available[m] - it->second[k]);
      }
      const auto fixed = options_.fixed_mappings.find(kernels_[k].name);
      if (fixed != options_.fixed_mappings.end()) {
        check_mapping(kernels_[k], fixed->second, machine_.grid);
        plan_.mappings[k] = plan_.searches[k].mapping = fixed->second;
        continue;
      }
      try {
        plan_.searches[k] = cache_.get(kernels_[k], homes, env);
        plan_.mappings[k] = plan_.searches[k].mapping;
        try {
          check_mapping(kernels_[k], plan_.mappings[k], machine_.grid);
        } catch (const InputError& e) {
          ASSAY_CHECK(false, e.what());
        }
      } catch (const Infeasible& e) {
        const auto t = largest_resident(static_cast<std::int64_t>(k), std::nullopt);
        if (!t) throw;
        demote(*t, fmt::format("'{}' had no room for a tile", kernels_[k].name));
        return false;
      }
    }
    return true;
  }

  struct Planned {
    PlanProblem problem;
    std::vector<std::pair<std::optional<TensorId>, std::size_t>> owner;  ///< a home, or the number of a tile
  };

  bool plan_addresses() {
    plan_.buffers.clear();
    plan_.home_buffer.clear();
    plan_.tile.clear();
    std::vector<TileBuffer> tiles;
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      const auto own = tile_buffers(kernels_[k], k, plan_.mappings[k]);
      tiles.insert(tiles.end(), own.begin(), own.end());
    }
    for (std::size_t m = 0; m < machine_.memories.size(); ++m) {
      if (machine_.memories[m].scope == Scope::pe) continue;
      if (!plan_memory(MemoryId(m), tiles)) return false;
    }
    return true;
  }

  bool plan_memory(MemoryId m, const std::vector<TileBuffer>& tiles) {
    const Memory& memory = machine_.memory(m);
    for (const bool prefetch : {options_.weight_prefetch, false}) {
      Planned p;
      p.problem.capacity = memory.capacity;
      p.problem.alignment = m == machine_.dram() ? 64 : kAlignment;
      for (const auto& [t, home] : plan_.home) {
        if (home != m) continue;
        p.problem.items.push_back(
            {live_.at(t).lower, live_.at(t).upper, std::max<std::int64_t>(1, g_.tensor(t).type.bytes())});
        p.owner.push_back({t, 0});
      }
      for (std::size_t i = 0; i < tiles.size(); ++i) {
        if (tiles[i].memory != m) continue;
        const auto step = static_cast<std::int64_t>(tiles[i].kernel);
        const bool early = prefetch && tiles[i].filled_by_dma && step > 0;
        p.problem.items.push_back(
            {early ? step - 1 : step, step + 1, round_up(tiles[i].slot_bytes, kAlignment) * tiles[i].buffers});
        p.owner.push_back({std::nullopt, i});
      }
      if (prefetch) drop_prefetch_where_full(p);
      const auto solved = solve_plan(p.problem);
      if (solved) {
        const std::string wrong = verify_plan(p.problem, *solved);
        ASSAY_CHECK(wrong.empty(), wrong);
        add_buffers(m, p, *solved, tiles);
        return true;
      }
    }
    if (m == machine_.dram()) {
      std::int64_t need = 0;
      for (const auto& [t, home] : plan_.home) need += home == m ? g_.tensor(t).type.bytes() : 0;
      throw Infeasible(fmt::format("memory '{}' holds {} bytes; the model's tensors need up to {}", memory.name,
                                   memory.capacity, need));
    }
    const auto t = largest_resident(std::nullopt, m);
    if (!t)
      throw Infeasible(
          fmt::format("memory '{}': the tiles of one kernel do not fit {} bytes", memory.name, memory.capacity));
    demote(*t, fmt::format("'{}' was too fragmented", memory.name));
    return false;
  }

  /// A tile may be filled one kernel early only while both kernels' bytes fit together.
  static void drop_prefetch_where_full(Planned& p) {
    std::map<std::int64_t, std::int64_t> live;
    for (const PlanItem& i : p.problem.items) {
      for (std::int64_t s = i.lower; s < i.upper; ++s) live[s] += i.bytes;
    }
    for (std::size_t i = 0; i < p.problem.items.size(); ++i) {
      PlanItem& item = p.problem.items[i];
      if (p.owner[i].first || item.upper - item.lower < 2 || live[item.lower] <= p.problem.capacity) continue;
      live[item.lower] -= item.bytes;
      item.lower = item.upper - 1;
    }
  }

  void add_buffers(MemoryId m, const Planned& p, const PlanResult& solved, const std::vector<TileBuffer>& tiles) {
    for (std::size_t i = 0; i < p.owner.size(); ++i) {
      Buffer b;
      b.memory = m;
      b.address = solved.address[i];
      b.bytes = p.problem.items[i].bytes;
      b.first_step = p.problem.items[i].lower;
      b.last_step = p.problem.items[i].upper;
      const BufferId id(plan_.buffers.size());
      if (p.owner[i].first) {
        const GraphTensor& t = g_.tensor(*p.owner[i].first);
        b.name = t.name;
        b.tensor = t.name;
        b.type = t.type.dtype;
        b.shape = t.type.shape;
        b.kind = t.kind == TensorKind::input      ? BufferKind::input
                 : t.kind == TensorKind::constant ? BufferKind::constant
                                                  : BufferKind::intermediate;
        plan_.home_buffer[*p.owner[i].first] = id;
      } else {
        const TileBuffer& tile = tiles[p.owner[i].second];
        const KernelTensor& t = kernels_[tile.kernel].tensors[static_cast<std::size_t>(tile.tensor)];
        b.name = fmt::format("k{}.{}", tile.kernel, t.name);
        b.tensor = t.name;
        b.type = t.type.dtype;
        b.kind = BufferKind::tile;
        plan_.tile[{tile.kernel, tile.tensor}] = id;
      }
      plan_.buffers.push_back(std::move(b));
    }
  }

  const Graph& g_;
  const KernelGraph& kg_;
  const std::vector<Kernel>& kernels_;
  const Machine& machine_;
  const MapEnvironment& env_;
  const CompileOptions& options_;
  MappingCache& cache_;
  ModelPlan plan_;
  std::map<TensorId, Interval> live_;
  std::set<TensorId> external_;
  std::map<MemoryId, std::vector<std::int64_t>> resident_bytes_;  ///< by step
};

}  // namespace

ModelPlan plan_model(const Graph& g, const KernelGraph& kg, const std::vector<Kernel>& kernels, const Machine& machine,
                     const MapEnvironment& env, const CompileOptions& options, MappingCache& cache) {
  return Planner(g, kg, kernels, machine, env, options, cache).run();
}

}  // namespace assay
