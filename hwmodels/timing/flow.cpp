#include "hwmodels/timing/flow.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "core/base/error.h"
#include "core/base/math.h"
#include "core/isa/queues.h"

namespace assay {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 62;

class Builder {
 public:
  explicit Builder(Flow& flow) : flow_(flow), program_(*flow.program) {}

  void run() {
    block(program_.body);
    find_chains();
    find_predicates();
  }

 private:
  [[noreturn]] static void bad(const std::string& message) { throw InputError("program", message); }

  void check_engine(EngineId e) {
    if (!e.valid() || e.index() >= program_.engines.size())
      bad("a statement names engine " + std::to_string(e.value) + " of " + std::to_string(program_.engines.size()));
  }
  void check_semaphore(SemaphoreId s) {
    if (!s.valid() || s.index() >= program_.semaphores.size())
      bad("a statement names semaphore " + std::to_string(s.value) + " of " +
          std::to_string(program_.semaphores.size()));
  }

  // Largest magnitude that the affine reaches: later sums can't overflow.
  void check_affine(const Affine& a) {
    std::int64_t magnitude = a.constant < 0 ? -(a.constant + 1) : a.constant;
    for (const auto& [var, coefficient] : a.terms) {
      std::int64_t range = 0;
      if (var == kCoreRow)
        range = program_.grid.rows;
      else if (var == kCoreCol)
        range = program_.grid.cols;
      else {
        const auto at = std::find_if(open_.begin(), open_.end(), [&](const OpenLoop& l) { return l.var == var.value; });
        if (at == open_.end()) bad("an expression uses variable " + std::to_string(var.value) + " outside its loop");
        range = at->trip;
      }
      std::int64_t term = 0;
      if (coefficient == std::numeric_limits<std::int64_t>::min() ||
          __builtin_mul_overflow(coefficient < 0 ? -coefficient : coefficient, range, &term) ||
          __builtin_add_overflow(magnitude, term, &magnitude))
        magnitude = kLargest;
      if (magnitude >= kLargest) bad("the values of an expression do not fit 62 bits");
    }
  }

  void check_affines(const Command& c) {
    for (const IterDim& d : c.iter) {
      check_affine(d.origin);
      if (d.extent.available) check_affine(*d.extent.available);
    }
    for (const Affine& a : c.accumulate_unless_zero) check_affine(a);
    const auto operand = [&](const Operand& o) {
      if (o.ring) check_affine(o.ring->sequence);
      for (const ViewDim& d : o.dims) check_affine(d.offset);
    };
    for (const Operand& o : c.in) operand(o);
    operand(c.out);
  }

  FlowNode& push(FlowNode::Kind kind, std::size_t index) {
    flow_.nodes.push_back(
        {kind, static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(flow_.nodes.size() + 1)});
    return flow_.nodes.back();
  }

  /// A slot of a semaphore: which one must not depend on the core, as one core stands for its whole class.
  void uses(SemaphoreId s, const Affine& slot) {
    check_affine(slot);
    const std::int64_t slots = program_.semaphores[s.index()].slots;
    for (const auto& [var, coefficient] : slot.terms)
      if (var.value < kFirstLoopVar)
        bad("the slot of semaphore '" + program_.semaphores[s.index()].name + "' depends on the core");
    for (const std::size_t l : open_loops_) {
      FlowLoop& loop = flow_.loops[l];
      for (std::int64_t i = 0; i < slots; ++i)
        add(loop.counters, static_cast<std::uint32_t>(flow_.counters->first(s) + static_cast<std::size_t>(i)));
      for (const auto& [var, coefficient] : slot.terms)
        if (var.value == loop.var) loop.phase = std::lcm(loop.phase, slots / std::gcd(slots, coefficient));
    }
  }

  void touch(EngineId engine, std::optional<std::size_t> group) {
    for (const std::size_t l : open_loops_) {
      add(flow_.loops[l].engines, engine.value);
      if (group) add(flow_.loops[l].groups, static_cast<std::uint32_t>(*group));
    }
  }
  static void add(std::vector<std::uint32_t>& sorted, std::uint32_t v) {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), v);
    if (at == sorted.end() || *at != v) sorted.insert(at, v);
  }

  void skip(const std::vector<Stmt>& stmts) {
    for (const Stmt& s : stmts) {
      if (const auto* loop = std::get_if<Loop>(&s.node))
        skip(loop->body);
      else
        flow_.leaf_node.push_back(std::numeric_limits<std::uint32_t>::max());
    }
  }

  void block(const std::vector<Stmt>& stmts) {
    for (const Stmt& s : stmts) {
      if (const auto* loop = std::get_if<Loop>(&s.node)) {
        if (loop->trip < 0) bad("loop '" + loop->name + "' has a trip count of " + std::to_string(loop->trip));
        const std::uint32_t var = loop->var.value;
        if (!loop->var.valid() || var < kFirstLoopVar || var >= program_.var_count)
          bad("loop '" + loop->name + "' has variable " + std::to_string(var) + " of " +
              std::to_string(program_.var_count));
        if (loop->trip == 0) {
          skip(loop->body);
          continue;
        }
        if (open_.size() >= 64) bad("loops are nested more than 64 deep");
        for (const OpenLoop& o : open_)
          if (o.var == var) bad("loop '" + loop->name + "' reuses the variable of a loop around it");
        const std::size_t node = flow_.nodes.size();
        push(FlowNode::Kind::loop, flow_.loops.size());
        open_loops_.push_back(flow_.loops.size());
        flow_.loops.push_back({});
        flow_.loops.back().var = var;
        flow_.loops.back().trip = loop->trip;
        open_.push_back({var, loop->trip});
        block(loop->body);
        open_.pop_back();
        open_loops_.pop_back();
        flow_.nodes[node].end = static_cast<std::uint32_t>(flow_.nodes.size());
        continue;
      }
      flow_.leaf_node.push_back(static_cast<std::uint32_t>(flow_.nodes.size()));
      if (const auto* w = std::get_if<Wait>(&s.node)) {
        check_engine(w->engine);
        check_semaphore(w->semaphore);
        if (w->count < 0) bad("a wait for " + std::to_string(w->count) + " tokens");
        push(FlowNode::Kind::wait, flow_.waits.size());
        flow_.waits.push_back(w);
        flow_.remote = flow_.remote || w->leader.any();
        touch(w->engine, std::nullopt);
        uses(w->semaphore, w->slot);
      } else if (const auto* g = std::get_if<Signal>(&s.node)) {
        check_engine(g->engine);
        check_semaphore(g->semaphore);
        if (g->count < 0 || g->count > 1'000'000) bad("a signal of " + std::to_string(g->count) + " tokens");
        if (g->to_all.any() && g->to_leader.any()) bad("a signal goes both to all cores and to the leader");
        push(FlowNode::Kind::signal, flow_.signals.size());
        flow_.signals.push_back(g);
        flow_.remote = flow_.remote || g->leader.any() || g->to_all.any() || g->to_leader.any();
        touch(g->engine, std::nullopt);
        uses(g->semaphore, g->slot);
      } else {
        command(s);
      }
    }
  }

  void command(const Stmt& s) {
    if (const auto* c = std::get_if<Command>(&s.node)) {
      check_affines(*c);
      flow_.models.emplace_back(program_, *flow_.machine, *c, flow_.base, flow_.options);
    } else {
      flow_.models.emplace_back(program_, *flow_.machine, std::get<HostCommand>(s.node), flow_.base, flow_.options);
    }
    CommandModel& m = flow_.models.back();
    flow_.remote = flow_.remote || m.leader().any();
    flow_.model_loops.push_back(open_);
    push(FlowNode::Kind::command, flow_.models.size() - 1);
    touch(m.engine_id(), m.group());
    const bool is_copy = m.command() && m.command()->opcode == Opcode::copy;
    for (const std::size_t l : open_loops_) {
      flow_.loops[l].computes = flow_.loops[l].computes || !is_copy;
      flow_.loops[l].exclusive = flow_.loops[l].exclusive || (is_copy && !m.path().overlap_compute);
    }
  }

  // Matrix commands that read what their own engine writes can't start before the array has drained.
  void find_chains() {
    std::vector<std::set<std::uint32_t>> written(program_.engines.size());
    for (const CommandModel& m : flow_.models)
      if (m.engine().kind == EngineKind::matrix) written[m.engine_id().index()].insert(m.command()->out.buffer.value);
    for (CommandModel& m : flow_.models) {
      if (m.engine().kind != EngineKind::matrix) continue;
      for (const Operand& o : m.command()->in)
        if (written[m.engine_id().index()].contains(o.buffer.value)) m.set_needs_results();
    }
  }

  void find_predicates() {
    std::vector<std::size_t> loop_of_var(program_.var_count, 0);
    for (std::size_t i = 0; i < flow_.nodes.size(); ++i) {
      const FlowNode& n = flow_.nodes[i];
      if (n.kind == FlowNode::Kind::loop) loop_of_var[flow_.loops[n.index].var] = n.index;
      if (n.kind != FlowNode::Kind::command) continue;
      const std::vector<OpenLoop>& open = flow_.model_loops[n.index];
      for (const Predicate& p : flow_.models[n.index].predicates()) {
        LoopPredicate entry{&p, 0, 0, 0};
        for (std::size_t l = open.size(); l-- > 0;) {  // innermost first
          const auto& terms = p.affine->terms;
          const auto at =
              std::find_if(terms.begin(), terms.end(), [&](const auto& t) { return t.first.value == open[l].var; });
          if (at == terms.end()) continue;
          entry.coefficient = at->second;
          flow_.loops[loop_of_var[open[l].var]].predicates.push_back(entry);
          (at->second < 0 ? entry.low : entry.high) += at->second * (open[l].trip - 1);
        }
      }
    }
  }

  Flow& flow_;
  const Program& program_;
  std::vector<OpenLoop> open_;
  std::vector<std::size_t> open_loops_;
};

std::int64_t regime_end_of(const LoopPredicate& p, std::int64_t base, std::int64_t v, std::int64_t trip) {
  const auto regime = [&](std::int64_t i) {
    const std::int64_t at = base + p.coefficient * i;
    return p.predicate->regime(at + p.low, at + p.high);
  };
  const int here = regime(v);
  if (here == 0) return v + 1;
  // The iterations of one regime are consecutive: find the last by doubling, then halving.
  std::int64_t good = v, step = 1;
  while (good + step < trip && regime(good + step) == here) {
    good += step;
    step *= 2;
  }
  while (step > 0) {
    if (good + step < trip && regime(good + step) == here)
      good += step;
    else
      step /= 2;
  }
  return good + 1;
}

}  // namespace

std::int64_t Flow::regime_end(const FlowLoop& loop, std::span<const std::int64_t> vars, std::int64_t v) const {
  std::int64_t end = loop.trip;
  for (const LoopPredicate& p : loop.predicates) {
    end = std::min(end, regime_end_of(p, evaluate(*p.predicate->affine, vars), v, loop.trip));
    if (end <= v + 1) return v + 1;
  }
  return end;
}

TickBase tick_base(const Machine& machine) {
  constexpr std::int64_t kLimit = 10'000'000'000'000;
  std::int64_t lcm = 1;
  for (const Clock& c : machine.clocks) {
    if (c.hz <= 0) throw InputError("clocks." + c.name, "a clock of " + std::to_string(c.hz) + " Hz");
    std::int64_t a = lcm, b = c.hz;
    while (b != 0) {
      const std::int64_t r = a % b;
      a = b;
      b = r;
    }
    std::int64_t next = 0;
    if (mul_overflows(lcm / a, c.hz, next) || next > kLimit)
      throw InputError("clocks." + c.name,
                       "the clocks have no common time base: their least common multiple exceeds "
                       "10^13 Hz; round the frequencies (for example to whole MHz)");
    lcm = next;
  }
  return {lcm};
}

Flow make_flow(const Program& program, const Machine& machine, const ModelOptions& options) {
  Flow flow;
  flow.program = &program;
  flow.machine = &machine;
  flow.base = tick_base(machine);
  flow.options = options;
  if (program.grid.rows < 1 || program.grid.cols < 1 || program.grid.rows > 4096 || program.grid.cols > 4096 ||
      program.grid.cores() > 4096)
    throw InputError("program", "a grid of " + std::to_string(program.grid.rows) + " x " +
                                    std::to_string(program.grid.cols) + " cores; between 1 and 4096 can be timed");
  for (const Semaphore& s : program.semaphores)
    if (s.slots < 1 || s.slots > 64)
      throw InputError("program",
                       "semaphore '" + s.name + "' has " + std::to_string(s.slots) + " slots; 1 to 64 are allowed");
  flow.counters.emplace(program);
  Builder(flow).run();
  return flow;
}

namespace {

struct Visitor {
  Flow& flow;
  CommandModel& model;
  const std::vector<OpenLoop>& open;
  std::vector<std::vector<LoopPredicate>> predicates;  // per open loop
  std::vector<std::int64_t> vars;
  const std::function<void(std::uint32_t, std::int64_t)>& f;
  std::int64_t steps = 0;

  void visit(std::size_t level, std::int64_t times) {
    if (++steps > 50'000'000)
      throw InputError("size", "a command has more than 5·10^7 distinct instances; it can't be counted in closed form");
    if (level == open.size()) {
      f(model.index_at(vars), times);
      return;
    }
    const auto [var, trip] = open[level];
    if (predicates[level].empty()) {
      visit(level + 1, checked_mul(times, trip));
      return;
    }
    for (std::int64_t v = 0; v < trip;) {
      vars[var] = 0;
      std::int64_t end = trip;
      for (const LoopPredicate& p : predicates[level]) {
        end = std::min(end, regime_end_of(p, evaluate(*p.predicate->affine, vars), v, trip));
        if (end == v + 1) break;
      }
      vars[var] = v;
      visit(level + 1, checked_mul(times, end - v));
      v = end;
    }
    vars[var] = 0;
  }
};

}  // namespace

void for_each_instance(Flow& flow, std::size_t index, std::int64_t row, std::int64_t col,
                       const std::function<void(std::uint32_t, std::int64_t)>& f) {
  CommandModel& model = flow.models[index];
  if (!model.executes(row, col)) return;
  const std::vector<OpenLoop>& open = flow.model_loops[index];
  Visitor visitor{flow,
                  model,
                  open,
                  std::vector<std::vector<LoopPredicate>>(open.size()),
                  std::vector<std::int64_t>(flow.program->var_count, 0),
                  f};
  visitor.vars[kCoreRow.index()] = row;
  visitor.vars[kCoreCol.index()] = col;
  for (const Predicate& p : model.predicates()) {
    LoopPredicate entry{&p, 0, 0, 0};
    for (std::size_t l = open.size(); l-- > 0;) {
      for (const auto& [var, coefficient] : p.affine->terms) {
        if (var.value != open[l].var) continue;
        entry.coefficient = coefficient;
        visitor.predicates[l].push_back(entry);
        (coefficient < 0 ? entry.low : entry.high) += coefficient * (open[l].trip - 1);
      }
    }
  }
  visitor.visit(0, 1);
}

}  // namespace assay
