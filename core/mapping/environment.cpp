#include "core/mapping/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/math.h"

namespace assay {
namespace {

PathRate path_rate(const Machine& machine, const std::vector<Engine>& engines, MemoryId home, MemoryId local,
                   bool load) {
  PathRate r;
  const auto engine = load ? copy_engine(machine, engines, home, local) : copy_engine(machine, engines, local, home);
  if (!engine) return r;
  const Link& link = machine.link(LinkId(engines[engine->index()].part));
  const Memory& far = machine.memory(home);
  const double hz = static_cast<double>(machine.clocks[0].hz);
  const double cores = static_cast<double>(machine.grid.cores());
  r.exists = true;
  r.engine = *engine;
  const auto per_byte = [&](std::int64_t bytes_per_s) {
    return bytes_per_s > 0 ? hz / static_cast<double>(bytes_per_s) : 0.0;
  };
  const std::int64_t far_rate =
      load || far.shared_ports || far.write_bandwidth == 0 ? far.read_bandwidth : far.write_bandwidth;
  r.cycles_per_byte = std::max(per_byte(link.bandwidth), per_byte(far_rate));
  double shared = far.scope == Scope::chip ? per_byte(far_rate) : 0;
  const auto carrier = [&](const Link& l) {
    if (l.aggregate_bandwidth > 0) shared = std::max(shared, per_byte(l.aggregate_bandwidth));
    if (l.scope == Scope::chip && l.bandwidth > 0 && l.topology == Topology::direct)
      shared = std::max(shared, per_byte(l.bandwidth));
    r.latency += (l.latency_s + l.hop_latency_s * (std::sqrt(cores) / 2)) * hz;
    r.multicast = r.multicast || l.multicast;
  };
  carrier(link);
  for (const LinkId via : link.via) {
    carrier(machine.link(via));
    if (machine.link(via).bandwidth > 0)
      r.cycles_per_byte = std::max(r.cycles_per_byte, per_byte(machine.link(via).bandwidth));
  }
  r.shared_cycles_per_byte = shared;
  r.latency += far.latency_s * hz;
  r.max_request = std::max<std::int64_t>(link.max_request, 1);
  r.outstanding = std::max<std::int64_t>(link.outstanding, 1);
  r.overlaps = link.overlap_compute;
  return r;
}

}  // namespace

MapEnvironment map_environment(const Machine& machine) {
  MapEnvironment env;
  env.grid = machine.grid;
  env.engines = engines_of(machine);
  env.memories = machine.memories;
  env.matrix = machine.matrix_units;
  env.vector = machine.vector_units;
  env.core_hz = static_cast<double>(machine.clocks[0].hz);
  const std::size_t n = machine.memories.size();
  env.load.assign(n, std::vector<PathRate>(n));
  env.store.assign(n, std::vector<PathRate>(n));
  for (std::size_t home = 0; home < n; ++home) {
    env.available.push_back(machine.memories[home].capacity);
    const Memory& m = machine.memories[home];
    env.port_cycles_per_byte.push_back(m.read_bandwidth > 0 ? env.core_hz / static_cast<double>(m.read_bandwidth) : 0);
    for (std::size_t local = 0; local < n; ++local) {
      if (machine.memories[local].scope != Scope::core) continue;
      env.load[home][local] = path_rate(machine, env.engines, MemoryId(home), MemoryId(local), true);
      env.store[home][local] = path_rate(machine, env.engines, MemoryId(home), MemoryId(local), false);
    }
  }
  const auto ratio = [&](int clock) {
    return env.core_hz / static_cast<double>(machine.clocks[static_cast<std::size_t>(clock)].hz);
  };
  for (const MatrixUnit& u : machine.matrix_units) env.matrix_clock_ratio.push_back(ratio(u.clock));
  for (const VectorUnit& u : machine.vector_units) env.vector_clock_ratio.push_back(ratio(u.clock));
  return env;
}

MemoryId tile_memory(const MapEnvironment& env, Role role, MemoryId home) {
  MemoryId best;
  for (std::size_t i = 0; i < env.memories.size(); ++i) {
    const Memory& m = env.memories[i];
    if (m.scope != Scope::core || m.kind == MemoryKind::accumulator || m.kind == MemoryKind::cache || !m.may_hold(role))
      continue;
    if (home.valid() && home != MemoryId(i)) {
      const auto& paths = role == Role::output ? env.store : env.load;
      if (!paths[home.index()][i].exists) continue;
    }
    if (!best.valid() || m.capacity > env.memories[best.index()].capacity) best = MemoryId(i);
  }
  return best;
}

MemoryId accumulator_memory(const MapEnvironment& env) {
  MemoryId best;
  bool best_is_accumulator = false;
  for (std::size_t i = 0; i < env.memories.size(); ++i) {
    const Memory& m = env.memories[i];
    if (m.scope != Scope::core) continue;
    const bool accumulator = m.kind == MemoryKind::accumulator;
    if (!accumulator && (m.kind == MemoryKind::cache || !m.may_hold(Role::output))) continue;
    const bool better = !best.valid() || (accumulator && !best_is_accumulator) ||
                        (accumulator == best_is_accumulator && m.capacity > env.memories[best.index()].capacity);
    if (better) {
      best = MemoryId(i);
      best_is_accumulator = accumulator;
    }
  }
  return best;
}

std::vector<int> dim_classes(const KernelNest& nest) {
  const auto touches = [&](const KernelAccess& a, int dim) {
    return std::any_of(a.dims.begin(), a.dims.end(), [&](const AccessDim& d) {
      return std::any_of(d.terms.begin(), d.terms.end(), [&](const auto& t) { return t.first == dim; });
    });
  };
  std::vector<int> classes;
  for (int i = 0; i < static_cast<int>(nest.dims.size()); ++i) {
    const bool a = touches(nest.ins[0], i), b = touches(nest.ins[1], i);
    if (nest.dims[static_cast<std::size_t>(i)].reduction)
      classes.push_back(3);
    else
      classes.push_back(a && b ? 0 : b ? 2 : 1);
  }
  return classes;
}

double contraction_cycles(const MatrixUnit& unit, DType operand, const ArrayPlan& plan,
                          const std::vector<std::int64_t>& extents, const std::vector<int>& dim_class) {
  const MatrixType* type = unit.type_for(operand);
  const double rate = type != nullptr && type->rate > 0 ? type->rate : 1.0;
  if (unit.style == ArrayStyle::pe_array) {
    double cycles = 1;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      std::int64_t spatial = 1;
      for (const auto& axis : {plan.on_rows, plan.on_cols}) {
        for (const auto& [dim, factor] : axis) {
          if (dim == static_cast<int>(i)) spatial *= factor;
        }
      }
      cycles *= static_cast<double>(ceil_div(extents[i], spatial));
    }
    return cycles / rate + static_cast<double>(unit.issue_cycles + unit.pipeline_cycles);
  }
  double g = 1;
  std::int64_t size[4] = {1, 1, 1, 1};
  for (std::size_t i = 0; i < extents.size(); ++i) size[dim_class[i]] *= extents[i];
  g = static_cast<double>(size[0]);
  const std::int64_t m = size[1], k = size[3];
  const std::int64_t n = ceil_div(size[2], std::max(unit.count, 1));
  double cycles = 0;
  if (unit.style == ArrayStyle::intrinsic) {
    cycles =
        g * static_cast<double>(ceil_div(m, unit.m) * ceil_div(k, unit.k) * ceil_div(n, unit.n) * unit.every) / rate;
  } else {
    const std::int64_t r = unit.rows, c = unit.cols;
    const bool os = plan.dataflow == Dataflow::output_stationary, is = plan.dataflow == Dataflow::input_stationary;
    const std::int64_t on_rows = os ? m : k, on_cols = is ? m : n, stream = os ? k : is ? n : m;
    const double folds = g * static_cast<double>(ceil_div(on_rows, r) * ceil_div(on_cols, c));
    // Stationary tiles load behind the stream where there is a second set of registers; os drains its rows instead.
    const double per_fold = os                             ? static_cast<double>(stream + r)
                            : unit.double_buffered_weights ? static_cast<double>(std::max(stream, r))
                                                           : static_cast<double>(stream + r);
    cycles = folds * per_fold / rate + static_cast<double>(2 * r + c - 2);
  }
  return cycles + static_cast<double>(unit.issue_cycles + unit.pipeline_cycles);
}

double body_cost(const VectorUnit& unit, const Body& body) {
  double cost = 0;
  for (const ScalarInstr& s : body.code) {
    if (s.op == ScalarOp::input || s.op == ScalarOp::constant || s.op == ScalarOp::index) continue;
    const auto find = [&](std::string_view key) { return unit.ops.find(std::string(key)); };
    auto it = find(name(s.op));
    if (it == unit.ops.end()) it = find(op_class(s.op));
    if (it == unit.ops.end()) it = find("any");
    if (it == unit.ops.end() || it->second <= 0) {
      throw Infeasible(fmt::format("vector unit '{}' does not execute '{}'", unit.name, name(s.op)));
    }
    cost += 1 / it->second;
  }
  return std::max(cost, 1.0);  // a plain move still passes the lanes
}

}  // namespace assay
