#include "hwmodels/timing/instance.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/math.h"
#include "core/isa/queues.h"
#include "hwmodels/timing/duration.h"

namespace assay {
namespace {

constexpr std::int64_t kInside = std::numeric_limits<std::int64_t>::min();

const Engine& engine_at(const Program& program, const Machine& machine, EngineId id) {
  if (!id.valid() || id.index() >= program.engines.size())
    throw InputError("program", "a command names engine " + std::to_string(id.value) + " of " +
                                    std::to_string(program.engines.size()));
  const Engine& e = program.engines[id.index()];
  std::size_t parts = 0;
  switch (e.kind) {
    case EngineKind::dma_load:
    case EngineKind::dma_store:
      parts = machine.links.size();
      break;
    case EngineKind::matrix:
      parts = machine.matrix_units.size();
      break;
    case EngineKind::vector:
      parts = machine.vector_units.size();
      break;
    case EngineKind::host:
      parts = machine.hosts.size();
      break;
  }
  if (e.part >= parts)
    throw InputError("program", "engine '" + e.name + "' is part " + std::to_string(e.part) + " of " +
                                    std::to_string(parts) + " on machine '" + machine.name + "'");
  return e;
}

std::size_t group_at(const Program& program, std::int64_t trail) {
  if (trail < 0 || static_cast<std::size_t>(trail) >= program.trail.size())
    throw InputError("program", "a command's trail entry " + std::to_string(trail) + " of " +
                                    std::to_string(program.trail.size()) + " does not exist");
  return static_cast<std::size_t>(trail);
}

MemoryId memory_of(const Program& program, const Machine& machine, BufferId id) {
  if (!id.valid() || id.index() >= program.buffers.size())
    throw InputError("program", "a command names buffer " + std::to_string(id.value) + " of " +
                                    std::to_string(program.buffers.size()));
  const MemoryId m = program.buffer(id).memory;
  if (!m.valid() || m.index() >= machine.memories.size())
    throw InputError("program", "buffer '" + program.buffer(id).name + "' is in a memory that machine '" +
                                    machine.name + "' does not have");
  return m;
}

void check_operand(const Program& program, const Machine& machine, const Command& c, const Operand& o) {
  memory_of(program, machine, o.buffer);
  for (const ViewDim& d : o.dims) {
    if (d.index_operand && (*d.index_operand < 0 || static_cast<std::size_t>(*d.index_operand) >= c.in.size()))
      throw InputError("program",
                       "a view gathers through operand " + std::to_string(*d.index_operand) + ", which does not exist");
    for (const auto& [dim, coefficient] : d.iter)
      if (dim < 0 || static_cast<std::size_t>(dim) >= c.iter.size())
        throw InputError("program", "a view names iteration dimension " + std::to_string(dim) + " of " +
                                        std::to_string(c.iter.size()));
  }
}

bool opcode_fits(Opcode opcode, EngineKind kind) {
  switch (opcode) {
    case Opcode::copy:
      return kind == EngineKind::dma_load || kind == EngineKind::dma_store;
    case Opcode::contract:
      return kind == EngineKind::matrix;
    case Opcode::vector:
      return kind == EngineKind::vector;
  }
  return false;
}

}  // namespace

int Predicate::regime(std::int64_t low, std::int64_t high) const {
  switch (kind) {
    case Kind::extent:
      return low >= limit ? 1 : high <= 0 ? 2 : 0;
    case Kind::view:
      return low + below >= 0 && high + above < limit ? 1 : 0;
    case Kind::accumulate:
      return low > 0 ? 1 : high < 0 ? 2 : low == 0 && high == 0 ? 3 : 0;
  }
  return 0;
}

std::size_t CommandModel::KeyHash::operator()(const std::vector<std::int64_t>& key) const {
  std::uint64_t h = 0x9e3779b97f4a7c15U;
  for (const std::int64_t v : key) {
    h ^= static_cast<std::uint64_t>(v) + 0x9e3779b97f4a7c15U + (h << 6) + (h >> 2);
    h *= 0xbf58476d1ce4e5b9U;
  }
  return static_cast<std::size_t>(h ^ (h >> 31));
}

CommandModel::CommandModel(const Program& program, const Machine& machine, const Command& command, TickBase base,
                           const ModelOptions& options)
    : program_(program), machine_(machine), command_(&command), base_(base), all_ideal_(options.all_ideal) {
  engine_ = &engine_at(program, machine, command.engine);
  engine_id_ = command.engine;
  group_ = group_at(program, command.trail);
  leader_ = command.multicast;
  const Grid& grid = program.grid;
  if (command.multicast.row) receivers_ *= grid.rows;
  if (command.multicast.col) receivers_ *= grid.cols;
  sharers_ = grid.cores() / receivers_;
  if (options.doubled == engine_->name && engine_->kind != EngineKind::dma_load &&
      engine_->kind != EngineKind::dma_store)
    speed_ = 2;
  if (!opcode_fits(command.opcode, engine_->kind))
    throw InputError("program", "a command stands in the queue of engine '" + engine_->name +
                                    "', which does not execute commands of its kind");
  if (command.in.empty() || (command.opcode == Opcode::copy && command.in.size() > 2))
    throw InputError(
        "program", "a command on engine '" + engine_->name + "' has " + std::to_string(command.in.size()) + " inputs");
  for (const Operand& o : command.in) check_operand(program, machine, command, o);
  check_operand(program, machine, command, command.out);
  if (command.opcode == Opcode::copy)
    path_ = path_of(machine, *engine_, memory_of(program, machine, command.in[0].buffer),
                    memory_of(program, machine, command.out.buffer), base, options.all_ideal);
  for (const IterDim& d : command.iter)
    if (d.extent.available) predicates_.push_back({Predicate::Kind::extent, &*d.extent.available, d.extent.full, 0, 0});
  for (const Operand& o : command.in) {
    if (!o.fill) continue;
    for (const ViewDim& v : o.dims) {
      if (v.index_operand || v.offset.terms.empty()) continue;
      Predicate p{Predicate::Kind::view, &v.offset, v.size, 0, 0};
      for (const auto& [dim, coefficient] : v.iter)
        (coefficient < 0 ? p.below : p.above) += coefficient * (command.iter.at(dim).extent.full - 1);
      predicates_.push_back(p);
    }
  }
  for (const Affine& a : command.accumulate_unless_zero)
    predicates_.push_back({Predicate::Kind::accumulate, &a, 0, 0, 0});
}

CommandModel::CommandModel(const Program& program, const Machine& machine, const HostCommand& command, TickBase base,
                           const ModelOptions& options)
    : program_(program), machine_(machine), host_(&command), base_(base), all_ideal_(options.all_ideal) {
  engine_ = &engine_at(program, machine, command.engine);
  engine_id_ = command.engine;
  if (engine_->kind != EngineKind::host)
    throw InputError("program", "a host command stands in the queue of engine '" + engine_->name + "'");
  group_ = group_at(program, command.trail);
  leader_ = {.row = true, .col = true};
  if (options.doubled == engine_->name) speed_ = 2;
  for (const BufferId b : command.in)
    if (b.valid()) memory_of(program, machine, b);
  for (const BufferId b : command.out)
    if (b.valid()) memory_of(program, machine, b);
}

void CommandModel::make_key(std::span<const std::int64_t> vars) {
  key_.clear();
  bool accumulates = false;
  for (const Predicate& p : predicates_) {
    const std::int64_t v = evaluate(*p.affine, vars);
    switch (p.kind) {
      case Predicate::Kind::extent:
        key_.push_back(std::clamp<std::int64_t>(v, 0, p.limit));
        break;
      case Predicate::Kind::view:
        key_.push_back(p.regime(v, v) == 1 ? kInside : v);
        break;
      case Predicate::Kind::accumulate:
        accumulates = accumulates || v != 0;
        break;
    }
  }
  key_.push_back(accumulates ? 1 : 0);
}

std::uint32_t CommandModel::index_at(std::span<const std::int64_t> vars) {
  if (predicates_.empty()) {
    if (instances_.empty()) instances_.push_back(build(vars));
    return 0;
  }
  make_key(vars);
  if (!instances_.empty() && key_ == last_key_) return last_;
  const auto [at, added] = memo_.try_emplace(key_, static_cast<std::uint32_t>(instances_.size()));
  if (added) instances_.push_back(build(vars));
  last_key_ = key_;
  return last_ = at->second;
}

Instance CommandModel::build(std::span<const std::int64_t> vars) const {
  Instance x;
  if (host_) {
    x.counts = count_host(program_, *host_);
    x.empty = false;
    time_host(x);
    return x;
  }
  ConcreteCommand c;
  c.command = command_;
  c.receivers = receivers_;
  for (const IterDim& d : command_->iter) c.extents.push_back(evaluate(d.extent, vars));
  if (c.empty()) return x;
  const auto view = [&](const Operand& o) {
    ConcreteView v;
    v.operand = &o;
    v.extents = c.extents;
    for (const ViewDim& d : o.dims) {
      v.offsets.push_back(evaluate(d.offset, vars));
      if (d.index_operand) v.index = &command_->in[static_cast<std::size_t>(*d.index_operand)];
    }
    return v;
  };
  for (const Operand& o : command_->in) c.in.push_back(view(o));
  c.out = view(command_->out);
  for (const Affine& a : command_->accumulate_unless_zero) c.accumulating = c.accumulating || evaluate(a, vars) != 0;
  x.counts = count_instance(program_, machine_, c);
  x.empty = false;
  if (command_->opcode == Opcode::copy)
    time_copy(x, c);
  else
    time_compute(x, c);
  return x;
}

void CommandModel::time_copy(Instance& x, const ConcreteCommand& c) const {
  const std::int64_t read = x.counts.link_bytes;
  const std::int64_t written = byte_size(command_->out.type, x.counts.points);
  x.bytes = std::max(read, written);
  x.source = run_pattern(c.in[0]);
  x.target = run_pattern(c.out);
  std::int64_t slowest = 0;
  for (const Station& s : path_.stations) {
    const std::int64_t bytes = s.kind == StationKind::memory_read    ? read
                               : s.kind == StationKind::memory_write ? written
                                                                     : x.bytes;
    x.station_ticks.push_back(transfer_ticks(bytes, s.rate, base_.ticks_per_second));
    x.bound = std::max(x.bound, x.station_ticks.back());
    const std::int64_t users = s.chip && s.shared ? sharers_ : 1;
    slowest = std::max(slowest, transfer_ticks(checked_mul(bytes, users), s.rate, base_.ticks_per_second));
  }
  x.requests = 1;
  x.request_bytes = x.bytes;
  if (path_.max_request > 0) {
    const RunPattern& far = path_.far_is_source ? x.source : x.target;
    const std::int64_t far_bytes = path_.far_is_source ? read : written;
    const std::int64_t runs = std::max<std::int64_t>(1, ceil_div(far_bytes, far.run_bytes));
    x.requests =
        checked_mul(runs, ceil_div(std::min(far.run_bytes, std::max<std::int64_t>(1, far_bytes)), path_.max_request));
    x.request_bytes = std::min(far.run_bytes, path_.max_request);
  }
  if (path_.outstanding > 0) x.window_ticks = ceil_div(checked_mul(x.requests, path_.latency), path_.outstanding);
  x.occupancy = std::max(slowest, x.window_ticks);
  x.latency = x.occupancy + path_.latency;
}

void CommandModel::time_compute(Instance& x, const ConcreteCommand& c) const {
  Cycles cycles;
  std::int64_t hz = 0;
  const auto clock = [&](int index) { return machine_.clocks.at(static_cast<std::size_t>(index)).hz; };
  double peak_per_tick = 0;
  if (engine_->kind == EngineKind::matrix) {
    const MatrixUnit& unit = machine_.matrix_units[engine_->part];
    cycles = contract_cycles(*command_, unit, c.extents);
    hz = clock(unit.clock);
    peak_per_tick = static_cast<double>(unit.macs_per_cycle()) * unit.count *
                    unit.type_for(command_->in[0].type)->rate / static_cast<double>(base_.ticks_per_cycle(hz));
  } else {
    const VectorUnit& unit = machine_.vector_units[engine_->part];
    cycles = vector_cycles(*command_, unit, x.counts.points);
    hz = clock(unit.clock);
  }
  const std::int64_t tick = base_.ticks_per_cycle(hz);
  x.occupancy = ceil_div(checked_mul(cycles.occupancy, tick), speed_);
  x.latency = ceil_div(checked_mul(cycles.latency, tick), speed_);
  // A unit can't run faster than its operands come and its results go.
  for (const auto& [buffer, access] : x.counts.buffers) {
    const std::uint32_t memory = program_.buffers[buffer].memory.value;
    auto at = std::find_if(x.ports.begin(), x.ports.end(), [&](const PortUse& p) { return p.memory == memory; });
    if (at == x.ports.end()) at = x.ports.insert(x.ports.end(), {memory, 0, 0});
    at->read += access.read_bytes;  // bytes here, ticks below
    at->write += access.write_bytes;
  }
  std::int64_t slowest = 0;
  for (PortUse& p : x.ports) {
    const Memory& m = machine_.memories[p.memory];
    const std::int64_t tps = base_.ticks_per_second;
    const auto ticks = [&](std::int64_t bytes, std::int64_t rate) {
      if (bytes > 0 && rate <= 0) throw InputError(m.name, "operands stand here, but it has no bandwidth");
      return bytes > 0 ? transfer_ticks(bytes, rate, tps) : 0;
    };
    if (m.shared_ports) {
      p.read = ticks(p.read + p.write, m.read_bandwidth);
      p.write = 0;
    } else {
      p.read = ticks(p.read, m.read_bandwidth);
      p.write = ticks(p.write, m.write_bandwidth);
    }
    slowest = std::max({slowest, p.read, p.write});
  }
  const std::int64_t tail = x.latency - x.occupancy;
  x.stall = std::max<std::int64_t>(0, slowest - x.occupancy);
  x.occupancy = std::max(x.occupancy, slowest);
  x.latency = std::max(x.latency, x.occupancy + (slowest == x.occupancy ? tail : 0));
  x.bound = x.occupancy;
  if (peak_per_tick > 0) {
    x.ideal = std::min(x.latency, static_cast<std::int64_t>(static_cast<double>(x.counts.macs) / peak_per_tick /
                                                            static_cast<double>(speed_)));
    x.padding = std::clamp<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(x.counts.padded_macs) /
                                                                   peak_per_tick / static_cast<double>(speed_)),
                                         0, x.latency - x.ideal);
  }
}

void CommandModel::time_host(Instance& x) const {
  const HostUnit& unit = machine_.hosts[engine_->part];
  const auto link =
      std::find_if(machine_.links.begin(), machine_.links.end(), [&](const Link& l) { return l.name == unit.link; });
  if (link == machine_.links.end()) throw InputError(unit.name, "its host link '" + unit.link + "' does not exist");
  if (link->bandwidth <= 0) throw InputError(link->name, "the host link has no bandwidth");
  if (!(unit.flops_per_s > 0)) throw InputError(unit.name, "the host has no flops");
  std::int64_t elements = 0;
  for (const auto* list : {&host_->in, &host_->out})
    for (const BufferId b : *list)
      if (b.valid()) elements += checked_product(program_.buffer(b).shape);
  const std::int64_t tps = base_.ticks_per_second;
  const bool ideal = all_ideal_ || link->model == Fidelity::ideal;
  x.bytes = x.counts.link_bytes;
  x.bound = transfer_ticks(x.bytes, link->bandwidth, tps) +
            latency_ticks(static_cast<double>(elements) / unit.flops_per_s, tps);
  x.occupancy = x.bound;
  if (!ideal) x.occupancy += latency_ticks(link->launch_s + 2 * link->latency_s, tps);
  x.occupancy = ceil_div(x.occupancy, speed_);
  x.bound = ceil_div(x.bound, speed_);
  x.latency = x.occupancy;
}

}  // namespace assay
