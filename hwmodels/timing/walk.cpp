#include "hwmodels/timing/walk.h"

#include <algorithm>
#include <limits>
#include <string>

#include "core/base/error.h"
#include "core/base/math.h"

namespace assay {

void TokenQueue::push(WalkToken t) {
  if (t.count <= 0) return;
  if (size() > 0 && tokens_.back().time == t.time && tokens_.back().cause == t.cause) {
    tokens_.back().count += t.count;
    return;
  }
  if (head_ > 64 && head_ * 2 > tokens_.size()) {
    tokens_.erase(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
  tokens_.push_back(t);
}

bool TokenQueue::take(std::int64_t count, WalkToken& latest) {
  std::int64_t there = 0;
  for (std::size_t i = 0; i < size() && there < count; ++i) there += (*this)[i].count;
  if (there < count) return false;
  latest = {};
  while (count > 0) {
    WalkToken& t = tokens_[head_];
    if (t.time >= latest.time) {
      latest.time = t.time;
      latest.cause = t.cause;
    }
    const std::int64_t n = std::min(count, t.count);
    t.count -= n;
    count -= n;
    if (t.count == 0) ++head_;
  }
  return true;
}

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kStepLimit = 400'000'000;
constexpr std::size_t kHistory = 6;  // longest period looked for
constexpr int kHopeless = 64;        // iterations without a match after which a loop is only walked

Owner owner_of(EngineKind kind) {
  switch (kind) {
    case EngineKind::matrix:
      return Owner::matrix;
    case EngineKind::vector:
      return Owner::vector;
    case EngineKind::host:
      return Owner::host;
    case EngineKind::dma_load:
    case EngineKind::dma_store:
      return Owner::memory;
  }
  return Owner::memory;
}

// The state that a loop reads and writes, as times and as the numbers that must agree between iterations.
struct Snapshot {
  std::vector<std::int64_t> times, counts;
  std::vector<std::int64_t> group_end;  // not part of the state: shows which groups ran
  std::vector<Account> accounts;
};

class Walker {
 public:
  Walker(Flow& flow, const CoreClasses& classes, const WalkOptions& options, WalkResult& result)
      : flow_(flow), classes_(classes), options_(options), r_(result) {
    for (const FlowLoop& l : flow.loops) exclusive_ = exclusive_ || l.exclusive;
    for (const CommandModel& m : flow.models)
      exclusive_ = exclusive_ || (m.command() && m.command()->opcode == Opcode::copy && !m.path().overlap_compute);
  }

  void block(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i = flow_.nodes[i].end) {
      const FlowNode& n = flow_.nodes[i];
      if (n.kind == FlowNode::Kind::loop) {
        loop(flow_.loops[n.index], i + 1, n.end);
        continue;
      }
      if (++r_.steps > kStepLimit)
        throw Infeasible("the analytical model gave up after 4·10^8 statements: the program's loops do not repeat");
      for (std::size_t c = 0; c < r_.cores.size(); ++c) {
        switch (n.kind) {
          case FlowNode::Kind::command:
            command(c, flow_.models[n.index]);
            break;
          case FlowNode::Kind::wait:
            wait(c, *flow_.waits[n.index]);
            break;
          case FlowNode::Kind::signal:
            signal(c, *flow_.signals[n.index]);
            break;
          case FlowNode::Kind::loop:
            break;
        }
      }
    }
  }

 private:
  bool leads(std::size_t c, Axes a) const {
    return !(a.row && classes_.classes[c].row != 0) && !(a.col && classes_.classes[c].col != 0);
  }

  void command(std::size_t c, CommandModel& model) {
    WalkCore& core = r_.cores[c];
    if (!model.executes(classes_.classes[c].row, classes_.classes[c].col)) return;
    const Instance& x = model.at(core.vars);
    if (x.empty) return;
    WalkEngine& e = core.engines[model.engine_id().index()];
    const Owner owner = owner_of(model.engine().kind);
    std::int64_t start = model.needs_results() ? std::max(e.free, e.done) : e.free;
    Owner cause = e.cause;
    if (exclusive_ && owner == Owner::memory && !model.path().overlap_compute) {
      start = std::max(start, core.compute_until);
    } else if (exclusive_ && owner != Owner::memory && core.exclusive_until > start) {
      start = core.exclusive_until;
      cause = Owner::memory;
    }
    e.free = start + x.occupancy;
    const std::int64_t end = start + x.latency;
    e.done = std::max(e.done, end);
    e.cause = Owner::sync;
    e.last_group = model.group();
    if (owner == Owner::memory) {
      if (exclusive_ && !model.path().overlap_compute) core.exclusive_until = std::max(core.exclusive_until, end);
    } else {
      core.compute_until = std::max(core.compute_until, end);
      core.accountant.run(owner, model.group(), start, end, x, cause, 0);
    }
    core.group_start[model.group()] = std::min(core.group_start[model.group()], start);
    core.group_end[model.group()] = std::max(core.group_end[model.group()], end);
  }

  void wait(std::size_t c, const Wait& w) {
    if (!leads(c, w.leader)) return;
    WalkCore& core = r_.cores[c];
    WalkToken latest;
    const std::size_t counter = flow_.counters->at(w, core.vars);
    if (!core.counters[counter].take(w.count, latest))
      throw InputError("program", "deadlock in written order: engine '" +
                                      flow_.program->engines[w.engine.index()].name + "' waits for " +
                                      std::to_string(w.count) + " of semaphore '" + flow_.counters->name(counter) +
                                      "', and no earlier statement gives as many");
    WalkEngine& e = core.engines[w.engine.index()];
    if (latest.time > e.free) {
      e.free = latest.time;
      e.cause = latest.cause;
    }
  }

  void signal(std::size_t c, const Signal& s) {
    if (!leads(c, s.leader)) return;
    const WalkEngine& e = r_.cores[c].engines[s.engine.index()];
    const std::size_t counter = flow_.counters->at(s, r_.cores[c].vars);
    const std::int64_t time = std::max(e.free, e.done);
    const bool dma = owner_of(flow_.program->engines[s.engine.index()].kind) == Owner::memory;
    if (!s.to_all.any() && !s.to_leader.any()) {
      r_.cores[c].counters[counter].push({time, s.count, Owner::memory});
      return;
    }
    const bool all = s.to_all.any();
    const int axes = axes_index(all ? s.to_all : s.to_leader);
    for (std::size_t to = 0; to < r_.cores.size(); ++to) {
      if (!all && !leads(to, s.to_leader)) continue;
      const std::int64_t senders = classes_.group_members[axes][to][c];
      const Owner cause = dma ? Owner::memory : Owner::sync;
      r_.cores[to].counters[counter].push({time, checked_mul(senders, s.count), cause});
    }
  }

  std::int64_t regime_end(const FlowLoop& l, std::int64_t v) {
    std::int64_t end = l.trip;
    for (WalkCore& core : r_.cores) {
      core.vars[l.var] = 0;
      end = std::min(end, flow_.regime_end(l, core.vars, v));
      if (end == v + 1) break;
    }
    return end;
  }

  void loop(const FlowLoop& l, std::size_t begin, std::size_t end) {
    std::vector<Snapshot> history;  // of the iterations since the regime began, newest last
    std::int64_t until = 0;
    int misses = 0;
    for (std::int64_t v = 0; v < l.trip; ++v) {
      if (l.trip > 3 && v >= until) {
        until = regime_end(l, v);
        history.clear();
      }
      for (WalkCore& core : r_.cores) core.vars[l.var] = v;
      block(begin, end);
      if (!options_.skip || l.trip <= 3 || until - v <= 2 || misses > kHopeless) continue;
      history.push_back(snapshot(l));
      ++misses;
      for (std::size_t back = 1; back < history.size(); ++back) {
        std::int64_t delta = 0;
        if (static_cast<std::int64_t>(back) % l.phase != 0) continue;
        const Snapshot& now = history.back();
        const Snapshot& then = history[history.size() - 1 - back];
        if (!shifted(then, now, delta)) continue;
        const std::int64_t periods = (until - 1 - v) / static_cast<std::int64_t>(back);
        if (periods == 0) break;
        const std::int64_t skipped = periods * static_cast<std::int64_t>(back);
        advance(l, checked_mul(delta, periods), periods, then, now);
        v += skipped;
        r_.skipped_iterations += skipped;
        history.clear();
        misses = 0;
        break;
      }
      if (history.size() > kHistory) history.erase(history.begin());
    }
    for (WalkCore& core : r_.cores) core.vars[l.var] = 0;
  }

  Snapshot snapshot(const FlowLoop& l) const {
    Snapshot s;
    for (const WalkCore& core : r_.cores) {
      for (const std::uint32_t e : l.engines) {
        s.times.push_back(core.engines[e].free);
        // An engine that has run nothing yet here finished long ago: its `done` is no part of the state.
        s.times.push_back(std::max(core.engines[e].done, core.engines[e].free));
      }
      for (const std::uint32_t q : l.counters) {
        const TokenQueue& queue = core.counters[q];
        s.counts.push_back(static_cast<std::int64_t>(queue.size()));
        for (std::size_t i = 0; i < queue.size(); ++i) {
          s.counts.push_back(queue[i].count);
          s.times.push_back(queue[i].time);
        }
      }
      for (const std::uint32_t g : l.groups) s.group_end.push_back(core.group_end[g]);
      if (exclusive_) {
        s.times.push_back(core.compute_until);
        s.times.push_back(core.exclusive_until);
      }
      if (!l.computes) continue;
      s.times.push_back(core.accountant.frontier());
      for (const std::uint32_t g : l.groups) s.accounts.push_back(core.accountant.account(g));
    }
    return s;
  }

  static bool shifted(const Snapshot& then, const Snapshot& now, std::int64_t& delta) {
    if (then.times.size() != now.times.size() || then.counts != now.counts) return false;
    delta = now.times.empty() ? 0 : now.times[0] - then.times[0];
    for (std::size_t i = 1; i < now.times.size(); ++i)
      if (now.times[i] - then.times[i] != delta) return false;
    return true;
  }

  void advance(const FlowLoop& l, std::int64_t delta, std::int64_t periods, const Snapshot& then, const Snapshot& now) {
    std::size_t account = 0, group = 0;
    for (WalkCore& core : r_.cores) {
      for (const std::uint32_t e : l.engines) {
        core.engines[e].done = std::max(core.engines[e].done, core.engines[e].free) + delta;
        core.engines[e].free += delta;
      }
      for (const std::uint32_t q : l.counters) {
        TokenQueue& queue = core.counters[q];
        for (std::size_t i = 0; i < queue.size(); ++i) queue[i].time += delta;
      }
      if (exclusive_) {
        core.compute_until += delta;
        core.exclusive_until += delta;
      }
      for (const std::uint32_t g : l.groups) {
        if (now.group_end[group] != then.group_end[group]) core.group_end[g] += delta;
        ++group;
      }
      if (!l.computes) continue;
      core.accountant.shift(delta);
      for (const std::uint32_t g : l.groups) {
        core.accountant.account(g) += now.accounts[account].scaled_difference(then.accounts[account], periods);
        ++account;
      }
    }
  }

  Flow& flow_;
  const CoreClasses& classes_;
  const WalkOptions& options_;
  WalkResult& r_;
  bool exclusive_ = false;
};

}  // namespace

WalkResult walk_program(Flow& flow, const CoreClasses& classes, const WalkOptions& options) {
  WalkResult r;
  const Program& p = *flow.program;
  for (const CoreClass& k : classes.classes) {
    WalkCore core{std::vector<std::int64_t>(std::max(p.var_count, kFirstLoopVar), 0),
                  std::vector<WalkEngine>(p.engines.size()),
                  std::vector<TokenQueue>(flow.counters->count()),
                  0,
                  0,
                  Accountant(p.trail.size()),
                  std::vector<std::int64_t>(p.trail.size(), kNever),
                  std::vector<std::int64_t>(p.trail.size(), 0)};
    core.vars[kCoreRow.index()] = k.row;
    core.vars[kCoreCol.index()] = k.col;
    for (std::size_t s = 0; s < flow.counters->count(); ++s)
      core.counters[s].push({0, flow.counters->owner(s).initial});
    r.cores.push_back(std::move(core));
  }
  Walker walker(flow, classes, options, r);
  walker.block(0, flow.nodes.size());
  for (std::size_t c = 0; c < r.cores.size(); ++c) {
    for (const WalkEngine& e : r.cores[c].engines) {
      if (e.done <= r.total) continue;
      r.total = e.done;
      r.critical = c;
    }
  }
  return r;
}

}  // namespace assay
