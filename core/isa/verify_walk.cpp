#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/math.h"
#include "core/isa/byte_set.h"
#include "core/isa/queues.h"
#include "core/isa/verify_order.h"
#include "core/isa/verify_races.h"
#include "core/isa/verify_report.h"

namespace assay {
namespace {

constexpr std::int64_t kMaxSlots = 64;  // least common multiple of ring depths that a shortened loop keeps

/// An operand whose byte set only moves (all extents constant, in bounds everywhere): computed once.
struct OperandPlan {
  bool known = false, moves_only = false;
  Affine base;             ///< address without the ring, before negative strides
  std::int64_t shift = 0;  ///< what negative strides add to it
  OperandAccess access;    ///< moves_only: its base is the one of the last instance
};

struct Leaf {
  std::vector<OperandPlan> operands;                        ///< inputs, then the output
  std::vector<std::pair<std::uint32_t, std::int64_t>> cut;  ///< enclosing shortened loops: (variable, head)
  std::vector<std::int64_t> resume;
};

class Walk {
 public:
  Walk(const Program& program, const Machine& machine, const VerifyOptions& options, ViolationList& list,
       VerifyResult& result)
      : program_(program), machine_(machine), options_(options), list_(list), result_(result), counters_(program) {}

  void run() {
    ranges(program_.body);
    queues_ = queues_of(program_);
    if (!choose_instances()) return;
    start();
    AccessHistory history(
        program_, machine_, states_,
        [this](const AccessSite& now, bool now_writes, const AccessSite& before, bool before_wrote, BufferId buffer,
               BufferId other) { race(now, now_writes, before, before_wrote, buffer, other); });
    history_ = &history;
    for (std::size_t i = 0; i < states_.size(); ++i) ready_.push_back(static_cast<std::uint32_t>(i));
    for (std::size_t i = 0; i < ready_.size() && !list_.full(); ++i) advance(ready_[i]);
    if (!list_.full()) finish();
  }

 private:
  // ------------------------------------------------------------------ what is walked
  void ranges(const std::vector<Stmt>& stmts) {
    if (largest_.empty()) {
      largest_.assign(program_.var_count, 0);
      largest_[0] = program_.grid.rows - 1;
      largest_[1] = program_.grid.cols - 1;
    }
    for (const Stmt& s : stmts) {
      if (const auto* loop = std::get_if<Loop>(&s.node)) {
        largest_[loop->var.index()] = std::max<std::int64_t>(loop->trip, 1) - 1;
        ranges(loop->body);
      } else if (const auto* c = std::get_if<Command>(&s.node)) {
        interacting_ = interacting_ || c->multicast.any();
        for (const Operand& o : c->in) depth(o);
        depth(c->out);
      } else if (const auto* g = std::get_if<Signal>(&s.node)) {
        interacting_ = interacting_ || g->to_all.any() || g->to_leader.any();
        depth(program_.semaphores[g->semaphore.index()].slots);
      }
    }
  }
  void depth(const Operand& o) {
    if (o.ring) depth(o.ring->depth);
  }
  void depth(std::int64_t slots) {
    deepest_ = std::max(deepest_, std::min(slots, kMaxSlots));
    period_ = std::min(kMaxSlots, std::lcm(period_, std::min(slots, kMaxSlots)));
  }

  bool choose_instances() {
    for (std::int64_t core = 0; core < program_.grid.cores(); ++core) cores_.push_back(core);
    const auto total = [&] {
      const std::int64_t one = instance_count(queues_);
      std::int64_t all = 0;
      return mul_overflows(one, static_cast<std::int64_t>(cores_.size()), all)
                 ? std::numeric_limits<std::int64_t>::max()
                 : all;
    };
    if (total() <= options_.max_instances) return true;
    result_.sampled = true;
    if (!interacting_ && cores_.size() > 4) {
      const std::int64_t r = program_.grid.rows - 1, c = program_.grid.cols - 1, w = program_.grid.cols;
      cores_ = {0, c, r * w, r * w + c};
      std::sort(cores_.begin(), cores_.end());
      cores_.erase(std::unique(cores_.begin(), cores_.end()), cores_.end());
    }
    for (const std::int64_t margin : {deepest_ + 2, std::int64_t{2}, std::int64_t{1}}) {
      if (total() <= options_.max_instances) return true;
      for (Queue& q : queues_)
        for (QueueStep& s : q.steps) {
          if (s.kind == QueueStep::Kind::leaf || s.trip <= 2 * margin + period_) continue;
          s.head = margin + (s.trip - 2 * margin) % period_;  // what is left out is a multiple of every ring's depth
          s.resume = s.trip - margin;
        }
    }
    if (total() / 8 <= options_.max_instances) return true;
    result_.too_large = true;
    list_.add("structure", nullptr, 0,
              fmt::format("{} instances are left even with loops cut to their ends; at most {} are walked", total(),
                          options_.max_instances));
    return false;
  }

  void start() {
    const std::size_t engines = program_.engines.size(), cores = static_cast<std::size_t>(program_.grid.cores());
    walked_.assign(cores, false);
    for (const std::int64_t core : cores_) walked_[static_cast<std::size_t>(core)] = true;
    // Queues are numbered over all cores, also those that a sampled walk leaves out (their queues are empty).
    const std::size_t count = engines * cores;
    static const Queue kEmpty;
    states_.reserve(count);
    for (std::size_t core = 0; core < cores; ++core)
      for (std::size_t e = 0; e < engines; ++e) {
        const auto n = static_cast<std::size_t>(program_.grid.cols);
        const Queue& queue = walked_[core] ? queues_[e] : kEmpty;
        states_.push_back({QueueCursor(queue, walked_[core] ? program_.var_count : kFirstLoopVar,
                                       static_cast<std::int64_t>(core / n), static_cast<std::int64_t>(core % n)),
                           static_cast<std::uint32_t>(core), 1, 0, QueueClock(walked_[core] ? count : 0, 0), nullptr});
      }
    semaphores_.resize(cores * counters_.count());
    for (std::size_t i = 0; i < semaphores_.size(); ++i)
      semaphores_[i].reset(counters_.owner(i % counters_.count()).initial);
    std::size_t leaves = 0;
    for (const Queue& q : queues_)
      for (const QueueStep& s : q.steps) leaves = std::max(leaves, s.number + 1);
    leaves_.resize(leaves);
    for (const Queue& q : queues_) {
      std::vector<const QueueStep*> open;
      for (const QueueStep& s : q.steps) {
        if (s.kind == QueueStep::Kind::begin) open.push_back(&s);
        if (s.kind == QueueStep::Kind::end) open.pop_back();
        if (s.kind != QueueStep::Kind::leaf) continue;
        for (const QueueStep* o : open)
          if (o->head < o->resume) {
            leaves_[s.number].cut.emplace_back(o->var, o->head);
            leaves_[s.number].resume.push_back(o->resume);
          }
        const auto* g = std::get_if<Signal>(&s.leaf->node);
        if (g == nullptr) continue;
        for (std::size_t core = 0; core < cores; ++core)
          if (walked_[core] && leads(core, g->leader))
            each_target(core, *g, [&](std::size_t target) {
              const std::size_t first = counters_.first(g->semaphore);
              for (std::int64_t slot = 0; slot < program_.semaphores[g->semaphore.index()].slots; ++slot)
                semaphore(target, first + static_cast<std::size_t>(slot))
                    .add_signaller(static_cast<std::uint32_t>(core * engines + q.engine.index()));
            });
      }
    }
  }

  // ------------------------------------------------------------------ cores
  std::int64_t row(std::size_t core) const { return static_cast<std::int64_t>(core) / program_.grid.cols; }
  std::int64_t col(std::size_t core) const { return static_cast<std::int64_t>(core) % program_.grid.cols; }
  bool leads(std::size_t core, Axes axes) const {
    return (!axes.row || row(core) == 0) && (!axes.col || col(core) == 0);
  }
  /// Every core along `axes` from this one.
  template <class F>
  void along(std::size_t core, Axes all, Axes first, F f) const {
    const Grid g = program_.grid;
    const std::int64_t r0 = all.row || first.row ? 0 : row(core), r1 = all.row ? g.rows : r0 + 1;
    const std::int64_t c0 = all.col || first.col ? 0 : col(core), c1 = all.col ? g.cols : c0 + 1;
    for (std::int64_t r = r0; r < r1; ++r)
      for (std::int64_t c = c0; c < c1; ++c) f(static_cast<std::size_t>(r * g.cols + c));
  }
  template <class F>
  void each_target(std::size_t core, const Signal& s, F f) const {
    along(core, s.to_all, s.to_leader, f);
  }
  SemaphoreState& semaphore(std::size_t core, std::size_t counter) {
    return semaphores_[core * counters_.count() + counter];
  }
  std::string engine_name(std::uint32_t queue) const {
    const std::size_t engines = program_.engines.size();
    const std::string& name = program_.engines[queue % engines].name;
    return program_.grid.cores() == 1
               ? name
               : fmt::format("{} of core ({}, {})", name, row(queue / engines), col(queue / engines));
  }

  // ------------------------------------------------------------------ the walk
  void advance(std::uint32_t q) {
    QueueState& state = states_[q];
    while (!state.cursor.done() && !list_.full()) {
      const QueueStep& step = state.cursor.leaf();
      if (const auto* w = std::get_if<Wait>(&step.leaf->node)) {
        if (leads(state.core, w->leader) && !wait(q, *w, step)) return;
      } else if (const auto* g = std::get_if<Signal>(&step.leaf->node)) {
        if (leads(state.core, g->leader)) signal(q, *g, step);
      } else if (const auto* c = std::get_if<Command>(&step.leaf->node)) {
        command(q, *c, step);
      } else {
        host(q, std::get<HostCommand>(step.leaf->node), step);
      }
      state.cursor.advance();
    }
  }

  bool wait(std::uint32_t q, const Wait& w, const QueueStep& step) {
    SemaphoreState& s = semaphore(states_[q].core, counters_.at(w, states_[q].cursor.vars()));
    if (!s.claim(q)) {
      list_.add("structure", step.leaf, step.number,
                fmt::format("queues {} and {} both wait for '{}': which of them takes a token is undetermined",
                            engine_name(s.waiter()), engine_name(q), program_.semaphores[w.semaphore.index()].name));
      return true;
    }
    s.blocked = s.count() < w.count;
    if (s.blocked) return false;
    s.take(w.count, states_[q], step.number);
    return true;
  }

  void signal(std::uint32_t q, const Signal& g, const QueueStep& step) {
    QueueState& state = states_[q];
    if (!state.published) state.published = std::make_shared<const QueueClock>(state.clock);
    const std::size_t counter = counters_.at(g, state.cursor.vars());
    each_target(state.core, g, [&](std::size_t target) {
      SemaphoreState& s = semaphore(target, counter);
      if (const auto late = s.give(g.count, q, state))
        list_.add("race", step.leaf, step.number,
                  fmt::format("'{}' has several signalling queues, and this signal of {} may come before wait #{} that "
                              "counts on {}: the order is undetermined",
                              program_.semaphores[g.semaphore.index()].name, engine_name(q), late->wait_number,
                              engine_name(late->other_queue)));
      if (s.blocked) {
        s.blocked = false;
        ready_.push_back(s.waiter());
      }
    });
    ++state.segment;
    ++state.stamp;
  }

  void command(std::uint32_t q, const Command& c, const QueueStep& step) {
    QueueState& state = states_[q];
    const auto vars = state.cursor.vars();
    ++result_.instances;
    if (c.multicast.any() && !leads(state.core, c.multicast)) return;
    extents_.clear();
    for (const IterDim& d : c.iter) {
      extents_.push_back(evaluate(d.extent, vars));
      if (extents_.back() <= 0) return;
    }
    Leaf& leaf = leaves_[step.number];
    if (leaf.operands.empty()) leaf.operands.resize(c.in.size() + 1);
    for (std::size_t i = 0; i < c.in.size(); ++i) operand(q, c, c.in[i], false, static_cast<int>(i), step, leaf);
    const bool reads_output = accumulates(c, vars);
    if (reads_output) operand(q, c, c.out, false, static_cast<int>(c.in.size()), step, leaf);
    operand(q, c, c.out, true, static_cast<int>(c.in.size()), step, leaf);
  }

  static bool accumulates(const Command& c, std::span<const std::int64_t> vars) {
    return std::any_of(c.accumulate_unless_zero.begin(), c.accumulate_unless_zero.end(),
                       [&](const Affine& a) { return evaluate(a, vars) != 0; });
  }

  /// Lowest and highest value over all loops and cores.
  std::pair<std::int64_t, std::int64_t> range(const Affine& a) const {
    std::int64_t lo = a.constant, hi = a.constant;
    for (const auto& [v, c] : a.terms) (c < 0 ? lo : hi) += c * largest_[v.index()];
    return {lo, hi};
  }

  void plan(const Command& c, const Operand& o, OperandPlan& p) const {
    p.known = p.moves_only = true;
    for (const IterDim& d : c.iter) p.moves_only = p.moves_only && !d.extent.available;
    p.base.constant = program_.buffer(o.buffer).address + o.byte_offset;
    for (const ViewDim& d : o.dims) {
      auto [lo, hi] = range(d.offset);
      for (const auto& [i, k] : d.iter)
        (k < 0 ? lo : hi) += k * (std::max<std::int64_t>(c.iter[static_cast<std::size_t>(i)].extent.full, 1) - 1);
      p.moves_only = p.moves_only && !d.index_operand && lo >= 0 && hi < d.size;
      p.base = std::move(p.base) + d.offset.scaled(d.stride);
    }
  }

  void operand(std::uint32_t q, const Command& c, const Operand& o, bool write, int number, const QueueStep& step,
               Leaf& leaf) {
    const QueueState& state = states_[q];
    const auto vars = state.cursor.vars();
    OperandPlan& p = leaf.operands[static_cast<std::size_t>(number)];
    const bool first = !p.known;
    if (first) plan(c, o, p);
    OperandAccess local;
    OperandAccess& a = p.moves_only ? p.access : local;
    if (!p.moves_only || first) a = access_of(program_, o, write, extents_, vars);
    if (p.moves_only && !a.too_irregular) {
      std::int64_t base = evaluate(p.base, vars);
      if (o.ring) base += floor_mod(evaluate(o.ring->sequence, vars), o.ring->depth) * o.ring->stride;
      if (first) p.shift = a.bytes.base - base;
      a.bytes.base = base + p.shift;
    }
    check(q, c, o, write, number, step, a);
    if (!write || leaf.cut.empty()) return;
    std::vector<std::pair<std::uint32_t, std::int64_t>> skipped;
    for (std::size_t i = 0; i < leaf.cut.size(); ++i)
      if (vars[leaf.cut[i].first] == leaf.cut[i].second - 1)
        skipped.emplace_back(leaf.cut[i].first, leaf.resume[i] - leaf.cut[i].second + 1);
    if (skipped.empty()) return;
    const OperandAccess all = access_of(program_, o, true, extents_, vars, skipped);
    if (!all.too_irregular && !all.empty)
      each_copy(state.core, c, [&](std::size_t core) {
        history_->mark_written(static_cast<std::uint32_t>(core), o.buffer, all.bytes);
      });
  }

  template <class F>
  void each_copy(std::size_t core, const Command& c, F f) const {
    along(core, c.multicast, {}, f);
  }

  void check(std::uint32_t q, const Command& c, const Operand& o, bool write, int number, const QueueStep& step,
             const OperandAccess& a) {
    const Buffer& b = program_.buffer(o.buffer);
    const std::string what = number == static_cast<int>(c.in.size()) ? "the output" : fmt::format("input {}", number);
    if (a.bad_dim >= 0)
      list_.add("bounds", step.leaf, step.number,
                fmt::format("{} ('{}'): coordinates {} to {} of dimension {} leave its {} elements", what, b.name,
                            a.low, a.high, a.bad_dim, o.dims[static_cast<std::size_t>(a.bad_dim)].size),
                number);
    if (a.too_irregular)
      list_.add("structure", step.leaf, step.number, fmt::format("{} ('{}') is too irregular to verify", what, b.name),
                100 + number);
    if (a.empty || a.too_irregular) return;
    const std::int64_t begin = a.bytes.begin(), end = a.bytes.end();
    if (begin < b.address || end > b.address + b.bytes)
      list_.add("bounds", step.leaf, step.number,
                fmt::format("{}: bytes {} to {} of buffer '{}', which has {}", what, begin - b.address, end - b.address,
                            b.name, b.bytes),
                200 + number);
    const AccessSite site{step.leaf, step.number, q};
    const std::uint32_t core = states_[q].core;
    if (!write) {
      if (!history_->access(core, o.buffer, a.bytes, false, a.exact, site))
        list_.add("uninitialised", step.leaf, step.number,
                  fmt::format("{}: bytes {} to {} of buffer '{}' are read, and nothing wrote all of them", what,
                              begin - b.address, end - b.address, b.name),
                  number);
      return;
    }
    each_copy(core, c, [&](std::size_t to) {
      history_->access(static_cast<std::uint32_t>(to), o.buffer, a.bytes, true, a.exact, site);
    });
  }

  void host(std::uint32_t q, const HostCommand& h, const QueueStep& step) {
    if (states_[q].core != 0) return;
    ++result_.instances;
    const AccessSite site{step.leaf, step.number, q};
    const auto bytes = [&](BufferId id) {
      const Buffer& b = program_.buffer(id);
      return dense_set(b.address, std::min(b.bytes, byte_size(b.type, checked_product(b.shape))));
    };
    for (const BufferId id : h.in)
      if (id.valid() && bytes(id).run > 0 && !history_->access(0, id, bytes(id), false, true, site))
        list_.add("uninitialised", step.leaf, step.number,
                  fmt::format("buffer '{}' is read, and nothing wrote all of it", program_.buffer(id).name));
    for (const BufferId id : h.out)
      if (id.valid() && bytes(id).run > 0) history_->access(0, id, bytes(id), true, true, site);
  }

  void race(const AccessSite& now, bool now_writes, const AccessSite& before, bool before_wrote, BufferId buffer,
            BufferId other) {
    const std::string with = buffer == other ? "" : fmt::format(" as part of '{}'", program_.buffer(other).name);
    list_.add(
        "race", now.leaf, now.number,
        fmt::format("{} {} bytes of '{}' that {} {}{} at {}, and no semaphore orders the two", engine_name(now.queue),
                    now_writes ? "writes" : "reads", program_.buffer(buffer).name, engine_name(before.queue),
                    before_wrote ? "writes" : "reads", with, list_.where(before.leaf, before.number)),
        static_cast<int>(before.number));
  }

  void finish() {
    bool stuck = false;
    for (std::uint32_t q = 0; q < states_.size() && !stuck; ++q) stuck = !states_[q].cursor.done();
    if (stuck) return deadlock();
    for (const std::int64_t core : cores_)
      for (std::size_t s = 0; s < counters_.count(); ++s) {
        const std::int64_t count = semaphore(static_cast<std::size_t>(core), s).count();
        const Semaphore& spec = counters_.owner(s);
        if (count != spec.initial)
          list_.add("deadlock", nullptr, 0,
                    fmt::format("semaphore '{}' starts at {} and ends at {}: a second run would not be the same{}",
                                counters_.name(s), spec.initial, count, cut_note()),
                    static_cast<int>(s));
      }
    if (result_.sampled) return;
    for (const auto& [tensor, id] : program_.outputs) {
      const Buffer& b = program_.buffer(id);
      const bool shared = machine_.memory(b.memory).scope == Scope::chip;
      const std::int64_t bytes = std::min(b.bytes, byte_size(b.type, checked_product(b.shape)));
      if (shared && !history_->written(0, id, b.address, b.address + bytes))
        list_.add("uninitialised", nullptr, 0,
                  fmt::format("output '{}': nothing writes all {} bytes of buffer '{}'", tensor, bytes, b.name),
                  static_cast<int>(id.index()));
    }
  }

  std::string cut_note() const { return result_.sampled ? " (with loops cut to their ends)" : ""; }

  void deadlock() {
    std::string text;
    const Stmt* leaf = nullptr;
    std::size_t number = 0, shown = 0, stuck = 0;
    for (std::uint32_t q = 0; q < states_.size(); ++q) {
      if (states_[q].cursor.done()) continue;
      ++stuck;
      const QueueStep& step = states_[q].cursor.leaf();
      const auto* w = std::get_if<Wait>(&step.leaf->node);
      if (w == nullptr) continue;
      if (leaf == nullptr) leaf = step.leaf, number = step.number;
      if (++shown > 8) continue;
      const std::size_t counter = counters_.at(*w, states_[q].cursor.vars());
      text += fmt::format("; {} waits at #{} for {} of '{}', which holds {}", engine_name(q), step.number, w->count,
                          counters_.name(counter), semaphore(states_[q].core, counter).count());
    }
    list_.add("deadlock", leaf, number, fmt::format("{} queues cannot go on{}{}", stuck, text, cut_note()));
  }

  const Program& program_;
  const Machine& machine_;
  const VerifyOptions& options_;
  ViolationList& list_;
  VerifyResult& result_;
  std::vector<std::int64_t> largest_;  ///< of each variable
  bool interacting_ = false;
  std::int64_t deepest_ = 1, period_ = 1;
  std::vector<Queue> queues_;
  std::vector<std::int64_t> cores_;
  std::vector<bool> walked_;
  std::vector<QueueState> states_;  ///< core · engines + engine
  SemaphoreCounters counters_;
  std::vector<SemaphoreState> semaphores_;  ///< core · counters + counter
  std::vector<Leaf> leaves_;                ///< by number in written order
  std::vector<std::uint32_t> ready_;
  std::vector<std::int64_t> extents_;
  AccessHistory* history_ = nullptr;
};

}  // namespace

void verify_by_walking(const Program& program, const Machine& machine, const VerifyOptions& options,
                       ViolationList& violations, VerifyResult& result) {
  Walk(program, machine, options, violations, result).run();
}

}  // namespace assay
