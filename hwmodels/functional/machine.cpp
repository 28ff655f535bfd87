#include "hwmodels/functional/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/isa/byte_set.h"
#include "core/isa/names.h"
#include "core/isa/queues.h"
#include "core/isa/verify.h"
#include "hwmodels/functional/contract.h"
#include "hwmodels/functional/host.h"
#include "hwmodels/functional/memories.h"
#include "hwmodels/functional/points.h"

namespace assay {

struct FunctionalMachine::Impl {
  struct QueueState {
    QueueCursor cursor;
    std::size_t core = 0;
    bool blocked = false;
  };

  const Program& program;
  const Machine& machine;
  FunctionalOptions options;
  std::vector<Queue> queues;
  Memories memories;
  std::vector<QueueState> states;  // core · engines + engine
  SemaphoreCounters counters;
  std::vector<std::int64_t> semaphores;           // core · counters + counter
  std::vector<std::vector<std::size_t>> waiting;  // blocked queues by semaphore
  std::vector<std::size_t> ready;
  Activity activity;
  std::int64_t instances = 0;
  VectorRunner vectors;
  ContractRunner contractions;
  std::vector<std::int64_t> extents, origin;
  std::vector<BoundOperand> in;
  BoundOperand out;

  Impl(const Program& p, const Machine& m, const FunctionalOptions& o)
      : program(p),
        machine(m),
        options(o),
        queues((check(p, m), queues_of(p))),
        memories(p, m, o.max_bytes),
        counters(p) {}

  static void check(const Program& p, const Machine& m) {
    const VerifyResult form = verify_form(p, m);
    if (form.ok()) return;
    std::vector<Diagnostic> problems;
    for (const Violation& v : form.violations) {
      Diagnostic d;
      d.path = v.where;
      d.message = v.rule + ": " + v.message;
      problems.push_back(std::move(d));
    }
    throw InputError(std::move(problems));
  }

  // ---------------------------------------------------------------- tensors
  BufferId find(const std::string& tensor, bool to_write) const {
    std::vector<std::string> names;
    for (const auto* map : {&program.inputs, &program.constants, &program.outputs}) {
      if (to_write && map == &program.outputs) continue;
      const auto at = map->find(tensor);
      if (at != map->end()) return at->second;
      for (const auto& [name, id] : *map) names.push_back(name);
    }
    Diagnostic d;
    d.path = tensor;
    d.message = fmt::format("the program has no {} of this name", to_write ? "input or constant" : "tensor");
    d.suggestion = nearest_name(tensor, names).value_or("");
    throw InputError(std::move(d));
  }

  // ---------------------------------------------------------------- scheduling
  void start() {
    const auto cores = static_cast<std::size_t>(program.grid.cores());
    states.clear();
    ready.clear();
    for (std::size_t core = 0; core < cores; ++core)
      for (const Queue& q : queues) {
        states.push_back({QueueCursor(q, program.var_count, row(core), col(core)), core, false});
        if (!states.back().cursor.done()) ready.push_back(states.size() - 1);
      }
    semaphores.clear();
    for (std::size_t core = 0; core < cores; ++core)
      for (std::size_t i = 0; i < counters.count(); ++i) semaphores.push_back(counters.owner(i).initial);
    waiting.assign(semaphores.size(), {});
    activity = Activity{};
    activity.groups.resize(program.trail.size());
    instances = 0;
  }

  std::int64_t row(std::size_t core) const { return static_cast<std::int64_t>(core) / program.grid.cols; }
  std::int64_t col(std::size_t core) const { return static_cast<std::int64_t>(core) % program.grid.cols; }
  bool leads(std::size_t core, Axes axes) const {
    return (!axes.row || row(core) == 0) && (!axes.col || col(core) == 0);
  }
  template <class F>
  void each_core(std::size_t core, Axes all, Axes first, F f) const {
    const Grid& g = program.grid;
    const std::int64_t r0 = all.row || first.row ? 0 : row(core), r1 = all.row ? g.rows : r0 + 1;
    const std::int64_t c0 = all.col || first.col ? 0 : col(core), c1 = all.col ? g.cols : c0 + 1;
    for (std::int64_t r = r0; r < r1; ++r)
      for (std::int64_t c = c0; c < c1; ++c) f(static_cast<std::size_t>(r * g.cols + c));
  }

  void run() {
    start();
    Random random(options.interleave_seed);
    const bool mixed = options.interleave_seed != 0;
    while (!ready.empty()) {
      const std::size_t pick =
          mixed ? static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(ready.size()) - 1))
                : ready.size() - 1;
      const std::size_t q = ready[pick];
      const std::int64_t steps = mixed ? random.between(1, 4) : INT64_MAX;
      const bool still_ready = advance(q, steps);
      if (still_ready) continue;
      // A queue that others woke meanwhile stands behind `pick`.
      ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(pick));
    }
    if (std::any_of(states.begin(), states.end(), [](const QueueState& s) { return !s.cursor.done(); })) deadlock();
  }

  /// Executes up to `steps` leaves of a queue. False if it is finished or blocked.
  bool advance(std::size_t q, std::int64_t steps) {
    QueueState& s = states[q];
    for (; steps > 0 && !s.cursor.done(); --steps) {
      const QueueStep& step = s.cursor.leaf();
      if (++instances > options.max_instances)
        throw InputError("program", fmt::format("more than {} commands, waits and signals", options.max_instances));
      if (const auto* w = std::get_if<Wait>(&step.leaf->node)) {
        if (leads(s.core, w->leader)) {
          const std::size_t id = s.core * counters.count() + counters.at(*w, s.cursor.vars());
          if (semaphores[id] < w->count) {
            --instances;
            s.blocked = true;
            waiting[id].push_back(q);
            return false;
          }
          semaphores[id] -= w->count;
        }
      } else if (const auto* g = std::get_if<Signal>(&step.leaf->node)) {
        if (leads(s.core, g->leader)) {
          const std::size_t counter = counters.at(*g, s.cursor.vars());
          each_core(s.core, g->to_all, g->to_leader, [&](std::size_t core) {
            const std::size_t id = core * counters.count() + counter;
            semaphores[id] += g->count;
            for (const std::size_t waiter : waiting[id]) {
              states[waiter].blocked = false;
              ready.push_back(waiter);
            }
            waiting[id].clear();
          });
        }
      } else {
        execute(s, step);
      }
      s.cursor.advance();
    }
    return !s.cursor.done();
  }

  [[noreturn]] void deadlock() const {
    std::string text = "deadlock: no queue can go on";
    std::size_t shown = 0;
    const std::size_t engines = program.engines.size();
    for (std::size_t q = 0; q < states.size(); ++q) {
      const QueueState& s = states[q];
      if (s.cursor.done() || ++shown > 16) continue;
      const QueueStep& step = s.cursor.leaf();
      const auto& w = std::get<Wait>(step.leaf->node);
      const std::size_t counter = counters.at(w, s.cursor.vars());
      text += fmt::format("\n  {} of core ({}, {}) at #{}: waits for {} of '{}', which holds {}",
                          program.engines[q % engines].name, row(s.core), col(s.core), step.number, w.count,
                          counters.name(counter), semaphores[s.core * counters.count() + counter]);
    }
    if (shown > 16) text += fmt::format("\n  and {} more", shown - 16);
    throw InputError("program '" + program.name + "'", text);
  }

  // ---------------------------------------------------------------- commands
  GroupActivity& group(std::int64_t trail) {
    const auto i = trail < 0 ? program.trail.size() : static_cast<std::size_t>(trail);
    if (i == activity.groups.size()) activity.groups.emplace_back();
    return activity.groups[i];
  }

  void execute(QueueState& s, const QueueStep& step) {
    try {
      if (const auto* c = std::get_if<Command>(&step.leaf->node))
        command(s, *c);
      else
        host(s, std::get<HostCommand>(step.leaf->node));
    } catch (const InputError& e) {
      // Where it happened is known here only.
      const auto* c = std::get_if<Command>(&step.leaf->node);
      throw InputError(fmt::format("{} #{}", c != nullptr ? name(c->opcode) : "host", step.number), e.what());
    }
  }

  void host(const QueueState& s, const HostCommand& h) {
    if (s.core != 0) return;
    GroupActivity& g = group(h.trail);
    ++g.commands;
    for (const HostTraffic& t : run_host(program, h, memories)) {
      AccessCount& a = g.by_buffer[t.buffer.value];
      a.read_bytes += t.read_bytes;
      a.write_bytes += t.write_bytes;
      g.host_bytes += t.read_bytes + t.write_bytes;
    }
  }

  void bind(const Operand& o, bool is_output, std::size_t core, std::span<const std::int64_t> vars,
            const std::string& what, BoundOperand& to) {
    bind_operand(program, o, is_output, memories.of(program.buffer(o.buffer).memory, core), extents, vars, what, to);
  }

  void command(const QueueState& s, const Command& c) {
    if (!leads(s.core, c.multicast)) return;
    const auto vars = s.cursor.vars();
    extents.clear();
    origin.clear();
    for (const IterDim& d : c.iter) {
      extents.push_back(evaluate(d.extent, vars));
      origin.push_back(evaluate(d.origin, vars));
      if (extents.back() <= 0) return;
    }
    static const std::array<std::string, 4> kInputs = {"input 0", "input 1", "input 2", "input 3"};
    in.resize(c.in.size());
    for (std::size_t i = 0; i < c.in.size(); ++i)
      bind(c.in[i], false, s.core, vars, i < 4 ? kInputs[i] : fmt::format("input {}", i), in[i]);
    bind(c.out, true, s.core, vars, "the output", out);
    const bool accumulate = std::any_of(c.accumulate_unless_zero.begin(), c.accumulate_unless_zero.end(),
                                        [&](const Affine& a) { return evaluate(a, vars) != 0; });
    GroupActivity& g = group(c.trail);
    ++g.commands;
    if (c.opcode == Opcode::contract)
      contract(c, accumulate, g);
    else if (c.opcode == Opcode::copy)
      copy(s, c, vars, g);
    else
      vector(c, vars, accumulate, g);
  }

  PointSpace space(const Command& c, bool keep) {
    std::vector<BoundOperand*> all = {&out};
    for (BoundOperand& o : in) all.push_back(&o);
    return simplify(c, extents, origin, all, keep);
  }

  std::int64_t points() const {
    std::int64_t n = 1;
    for (const std::int64_t e : extents) n *= e;
    return n;
  }

  void add(GroupActivity& g, const Operand& o, std::int64_t reads, std::int64_t writes) {
    AccessCount& a = g.by_buffer[o.buffer.value];
    a.read_bytes += reads * element_bytes(o.type);
    a.write_bytes += writes * element_bytes(o.type);
  }

  void copy(const QueueState& s, const Command& c, std::span<const std::int64_t> vars, GroupActivity& g) {
    const PointSpace sp = space(c, false);
    const MemoryId to = program.buffer(c.out.buffer).memory;
    std::int64_t receivers = 0, valid = 0;
    each_core(s.core, c.multicast, {}, [&](std::size_t core) {
      out.memory = memories.of(to, core);
      valid = run_copy(sp, in, out);
      ++receivers;
    });
    add(g, c.in[0], valid, 0);
    for (std::size_t i = 1; i < c.in.size(); ++i) add(g, c.in[i], distinct_elements(c, c.in[i], extents, vars), 0);
    add(g, c.out, 0, points() * receivers);
    const std::int64_t bytes = valid * element_bytes(c.in[0].type);
    const std::uint32_t link = program.engines[c.engine.index()].part;
    const auto through = [&](std::uint32_t id) {
      g.link_bytes[id] += bytes;
      g.link_bytes_delivered[id] += bytes * receivers;
    };
    through(link);
    for (const LinkId via : machine.links[link].via) through(via.value);
  }

  void vector(const Command& c, std::span<const std::int64_t> vars, bool accumulate, GroupActivity& g) {
    const bool indices = std::any_of(c.body.code.begin(), c.body.code.end(),
                                     [](const ScalarInstr& i) { return i.op == ScalarOp::index; });
    vectors.run(c, space(c, indices), in, out, accumulate);
    for (const Operand& o : c.in) add(g, o, distinct_elements(c, o, extents, vars), 0);
    const std::int64_t outputs = distinct_elements(c, c.out, extents, vars);
    add(g, c.out, accumulate ? outputs : 0, outputs);
    const std::uint32_t part = program.engines[c.engine.index()].part;
    const std::int64_t n = points();
    for (const ScalarInstr& i : c.body.code)
      if (i.op != ScalarOp::input && i.op != ScalarOp::constant && i.op != ScalarOp::index)
        g.lane_ops[part][std::string(op_class(i.op))] += n;
    if (c.combine != Combine::none) g.lane_ops[part]["reduce"] += n;
  }

  void contract(const Command& c, bool accumulate, GroupActivity& g) {
    const std::uint32_t part = program.engines[c.engine.index()].part;
    ContractCounts counts;
    contractions.run(machine, machine.matrix_units[part], c, extents, in[0], in[1], out, accumulate, counts);
    add(g, c.in[0], counts.a_reads, 0);
    add(g, c.in[1], counts.b_reads, 0);
    add(g, c.out, counts.out_reads, counts.out_writes);
    g.macs[part] += counts.macs;
    g.padded_macs[part] += counts.padded_macs;
    for (const auto& file : counts.register_files) {
      AccessCount& a = g.by_pe_memory[file.memory.value];
      a.read_bytes += file.read_bytes;
      a.write_bytes += file.write_bytes;
    }
  }
};

FunctionalMachine::FunctionalMachine(const Program& program, const Machine& machine, const FunctionalOptions& options)
    : impl_(std::make_unique<Impl>(program, machine, options)) {}
FunctionalMachine::~FunctionalMachine() = default;

void FunctionalMachine::set(const std::string& tensor, const Tensor& value) {
  const Buffer& b = impl_->program.buffer(impl_->find(tensor, true));
  const auto cores = static_cast<std::size_t>(impl_->program.grid.cores());
  const bool shared = impl_->machine.memory(b.memory).scope == Scope::chip;
  for (std::size_t core = 0; core < (shared ? 1 : cores); ++core)
    write_tensor(b, impl_->memories.of(b.memory, core), value);
}

void FunctionalMachine::run() { impl_->run(); }

Tensor FunctionalMachine::get(const std::string& tensor) const {
  const Buffer& b = impl_->program.buffer(impl_->find(tensor, false));
  return read_tensor(b, impl_->memories.of(b.memory, 0));
}

const Activity& FunctionalMachine::activity() const { return impl_->activity; }
std::int64_t FunctionalMachine::instances() const { return impl_->instances; }

}  // namespace assay
