#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <string>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/math.h"
#include "core/isa/queues.h"
#include "hwmodels/timing/accountant.h"
#include "hwmodels/timing/actors.h"
#include "hwmodels/timing/census.h"
#include "hwmodels/timing/duration.h"
#include "hwmodels/timing/notes.h"
#include "hwmodels/timing/stations.h"

// Event-driven execution: one actor per core and engine walks its queue; events are ordered by (time, sequence).
//
//   actor   runs its queue at the present time until a command occupies it, a wait blocks it or the queue ends
//   copy    passes the stations in pieces (at most kPieces, at least kPieceBytes): each piece is one event
//   signal  an event at the time when the engine's commands so far have their results

namespace assay {
namespace {

constexpr std::int64_t kPieces = 64;
constexpr std::int64_t kPieceBytes = 4096;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

class Simulator {
 public:
  Simulator(Flow& flow, const CycleOptions& options, TimingResult& result)
      : flow_(flow),
        program_(*flow.program),
        options_(options),
        r_(result),
        stations_(flow),
        queues_(queues_of(*flow.program)),
        counters_(*flow.program) {
    const Grid& grid = program_.grid;
    const auto cores = static_cast<std::size_t>(grid.cores());
    engines_ = program_.engines.size();
    semaphores_.resize(cores * counters_.count());
    for (std::size_t c = 0; c < cores; ++c) {
      for (std::size_t s = 0; s < counters_.count(); ++s)
        semaphores_[c * counters_.count() + s].count = counters_.owner(s).initial;
      for (std::size_t e = 0; e < engines_; ++e) {
        actors_.emplace_back(QueueCursor(queues_[e], program_.var_count, static_cast<std::int64_t>(c) / grid.cols,
                                         static_cast<std::int64_t>(c) % grid.cols),
                             c, e);
      }
      accountants_.emplace_back(program_.trail.size());
    }
    compute_until_.assign(cores, 0);
    exclusive_.assign(cores, 0);
    blocked_.resize(cores);
    times_.resize(flow.models.size());
    for (const CommandModel& m : flow.models) servers_.push_back(stations_.servers_of(m));
    port_server_.resize(flow.machine->memories.size() * 2, -2);
    group_start_.assign(program_.trail.size(), kNever);
    group_end_.assign(program_.trail.size(), 0);
  }

  void run() {
    for (std::uint32_t a = 0; a < actors_.size(); ++a) ready_.push_back(a);
    drain();
    while (!heap_.empty()) {
      const Event event = heap_.pop();
      now_ = event.time;
      if (++r_.events > options_.max_events && options_.max_events > 0)
        throw Infeasible("timeout: the cycle model stopped after " + std::to_string(options_.max_events) +
                         " events, at " + std::to_string(flow_.base.seconds(now_)) + " s of simulated time");
      switch (event.kind) {
        case Event::Kind::resume:
          ready_.push_back(event.actor);
          break;
        case Event::Kind::deliver:
          deliver(event);
          break;
        case Event::Kind::release:
          release(event.actor);
          break;
      }
      drain();
    }
    check_finished();
  }

  void finish(const Census& census) {
    std::uint32_t critical = 0;
    for (std::uint32_t a = 0; a < actors_.size(); ++a) {
      if (actors_[a].done <= r_.total) continue;
      r_.total = actors_[a].done;
      critical = a;
    }
    r_.activity = activity_of(flow_, times_);
    if (actors_.empty()) return;
    Accountant& accountant = accountants_[actors_[critical].core];
    if (!program_.trail.empty()) accountant.tail(actors_[critical].last_group, r_.total, Owner::memory);
    for (std::size_t g = 0; g < program_.trail.size(); ++g) {
      GroupTime t;
      t.group = g;
      if (group_start_[g] != kNever) t.start = group_start_[g];
      t.end = group_end_[g];
      t.span = accountant.account(g).span;
      t.loss = accountant.account(g).loss;
      ASSAY_CHECK(t.loss.total() == t.span, std::to_string(t.loss.total()) + " of " + std::to_string(t.span));
      r_.groups.push_back(std::move(t));
    }
    describe_groups(census, r_.groups);
  }

 private:
  void resume_at(std::uint32_t actor, std::int64_t time) {
    Event e;
    e.time = time;
    e.actor = actor;
    heap_.push(e);
  }

  void drain() {
    while (!ready_.empty()) {
      const std::uint32_t a = ready_.front();
      ready_.pop_front();
      play(a);
    }
  }

  std::int64_t row(const Actor& a) const { return a.core / program_.grid.cols; }
  std::int64_t col(const Actor& a) const { return a.core % program_.grid.cols; }
  bool leads(const Actor& a, Axes axes) const { return !(axes.row && row(a) != 0) && !(axes.col && col(a) != 0); }

  // Runs the actor's queue at the present time.
  void play(std::uint32_t id) {
    Actor& a = actors_[id];
    if (a.transfer.active && !advance_transfer(id)) return;
    while (!a.cursor.done()) {
      const QueueStep& step = a.cursor.leaf();
      const FlowNode& node = flow_.nodes[flow_.leaf_node[step.number]];
      if (node.kind == FlowNode::Kind::wait) {
        if (!wait(id, *flow_.waits[node.index])) return;
      } else if (node.kind == FlowNode::Kind::signal) {
        signal(id, node.index);
      } else {
        switch (issue(id, node.index)) {
          case Issue::later:
            return;
          case Issue::skipped:
            break;
          case Issue::issued:
            a.cursor.advance();
            return;
        }
      }
      a.cursor.advance();
    }
    a.finished = true;
  }

  bool wait(std::uint32_t id, const Wait& w) {
    Actor& a = actors_[id];
    if (!leads(a, w.leader)) return true;
    const std::size_t counter = counters_.at(w, a.cursor.vars());
    TimedSemaphore& s = semaphores_[a.core * counters_.count() + counter];
    if (a.waiting_for == -1 && s.waiting.empty() && s.count >= w.count) {
      s.count -= w.count;
      return true;
    }
    if (a.waiting_for == -2) {  // woken: its tokens are taken already
      a.waiting_for = -1;
      return true;
    }
    a.waiting_for = static_cast<std::int64_t>(counter);
    s.waiting.emplace_back(id, w.count);
    return false;
  }

  void signal(std::uint32_t id, std::uint32_t index) {
    Actor& a = actors_[id];
    if (!leads(a, flow_.signals[index]->leader)) return;
    Event e;
    e.kind = Event::Kind::deliver;
    e.time = std::max(now_, a.done);
    e.actor = id;
    e.signal = index;
    e.counter = static_cast<std::uint32_t>(counters_.at(*flow_.signals[index], a.cursor.vars()));
    e.from_dma = is_dma(a.engine);
    e.excess = a.excess;
    if (e.time == now_)
      deliver(e);
    else
      heap_.push(e);
  }

  bool is_dma(std::uint32_t engine) const {
    const EngineKind k = program_.engines[engine].kind;
    return k == EngineKind::dma_load || k == EngineKind::dma_store;
  }

  void deliver(const Event& e) {
    const Signal& s = *flow_.signals[e.signal];
    const Actor& a = actors_[e.actor];
    const bool all = s.to_all.any();
    const Axes axes = all ? s.to_all : s.to_leader;
    if (!axes.any()) {
      give(a.core, s, e, false);
      return;
    }
    const Grid& grid = program_.grid;
    const auto range = [&](bool along, std::int64_t own, std::int64_t size) {
      if (!along) return std::pair{own, own + 1};
      return all ? std::pair{std::int64_t{0}, size} : std::pair{std::int64_t{0}, std::int64_t{1}};
    };
    const auto [row_begin, row_end] = range(axes.row, row(a), grid.rows);
    const auto [col_begin, col_end] = range(axes.col, col(a), grid.cols);
    for (std::int64_t r = row_begin; r < row_end; ++r)
      for (std::int64_t c = col_begin; c < col_end; ++c)
        give(static_cast<std::uint32_t>(r * grid.cols + c), s, e, true);
  }

  void give(std::uint32_t core, const Signal& signal, const Event& e, bool remote) {
    TimedSemaphore& s = semaphores_[core * counters_.count() + e.counter];
    s.count += signal.count;
    while (!s.waiting.empty() && s.waiting.front().second <= s.count) {
      const auto [id, tokens] = s.waiting.front();
      s.waiting.pop_front();
      s.count -= tokens;
      Actor& woken = actors_[id];
      woken.waiting_for = -2;
      woken.cause = e.from_dma || !remote ? Owner::memory : Owner::sync;
      woken.cause_excess = e.from_dma ? e.excess : 0;
      ready_.push_back(id);
    }
  }

  enum class Issue : std::uint8_t { issued, skipped, later };

  Issue issue(std::uint32_t id, std::uint32_t model_index) {
    Actor& a = actors_[id];
    CommandModel& model = flow_.models[model_index];
    if (!model.executes(row(a), col(a))) return Issue::skipped;
    const std::uint32_t index = model.index_at(a.cursor.vars());
    const Instance& x = model.instance(index);
    if (x.empty) return Issue::skipped;
    if (model.needs_results() && a.done > now_) {
      resume_at(id, a.done);
      return Issue::later;
    }
    const bool copy = is_dma(a.engine);
    if (!copy && exclusive_[a.core] > 0) {
      blocked_[a.core].push_back(id);
      return Issue::later;
    }
    auto& times = times_[model_index];
    if (times.size() <= index) times.resize(index + 1, 0);
    ++times[index];
    a.last_group = model.group();
    if (copy)
      start_transfer(id, model_index, index);
    else
      compute(id, model, x);
    return Issue::issued;
  }

  void compute(std::uint32_t id, const CommandModel& model, const Instance& x) {
    Actor& a = actors_[id];
    std::int64_t through = now_ + x.occupancy;
    for (const PortUse& p : x.ports) {
      for (const bool write : {false, true}) {
        const std::int64_t ticks = write ? p.write : p.read;
        if (ticks == 0) continue;
        std::int32_t& server = port_server_[p.memory * 2 + (write ? 1 : 0)];
        if (server == -2) server = stations_.memory_server(p.memory, write);
        if (server == -1) continue;
        if (DramModel* dram = stations_.dram(server))
          through =
              std::max(through, ceil_div(dram->occupy(now_ * kDramSubticks, ticks * kDramSubticks), kDramSubticks));
        else
          through = std::max(through, stations_.serve(server, a.core, now_, ticks));
      }
    }
    const std::int64_t end = through + (x.latency - x.occupancy);
    Owner owner = Owner::vector;
    if (model.engine().kind == EngineKind::matrix) owner = Owner::matrix;
    if (model.engine().kind == EngineKind::host) owner = Owner::host;
    accountants_[a.core].run(owner, model.group(), now_, end, x, a.cause, a.cause_excess);
    a.cause = Owner::sync;
    a.cause_excess = a.excess = 0;
    a.done = std::max(a.done, end);
    compute_until_[a.core] = std::max(compute_until_[a.core], end);
    note(model.group(), now_, end);
    trace(a, now_, through, model.group());
    resume_at(id, through);
  }

  void start_transfer(std::uint32_t id, std::uint32_t model_index, std::uint32_t index) {
    Actor& a = actors_[id];
    const CommandModel& model = flow_.models[model_index];
    const Instance& x = model.instance(index);
    Transfer& t = a.transfer;
    t = {};
    t.active = true;
    t.model = model_index;
    t.instance = index;
    t.begin = now_;
    bool shared = x.window_ticks > 0;
    for (const std::int32_t s : servers_[model_index]) {
      shared = shared || s >= 0;
      if (stations_.dram(s)) t.address = address_of(a, model);
    }
    t.pieces = shared ? std::clamp<std::int64_t>(x.bytes / kPieceBytes, 1, kPieces) : 1;
    if (!model.path().overlap_compute) {
      ++exclusive_[a.core];  // from now on no compute command starts; those that run are waited for
      t.begin = std::max(now_, compute_until_[a.core]);
    }
    resume_at(id, t.begin);
  }

  // Sends the next piece; true when the transfer is over and the queue goes on.
  bool advance_transfer(std::uint32_t id) {
    Actor& a = actors_[id];
    Transfer& t = a.transfer;
    const CommandModel& model = flow_.models[t.model];
    const Instance& x = model.instance(t.instance);
    if (t.piece < t.pieces) {
      const auto part = [&](std::int64_t total) {
        const auto cut = [&](std::int64_t i) { return total / t.pieces * i + total % t.pieces * i / t.pieces; };
        return cut(t.piece + 1) - cut(t.piece);
      };
      std::int64_t end = now_ + part(x.window_ticks);
      for (std::size_t i = 0; i < servers_[t.model].size(); ++i) {
        const std::int32_t server = servers_[t.model][i];
        const std::int64_t ticks = part(x.station_ticks[i]);
        if (server < 0)
          end = std::max(end, now_ + ticks);
        else if (stations_.dram(server))
          end = std::max(end, dram_piece(a, model, x, server, i, part));
        else
          end = std::max(end, stations_.serve(server, a.core, now_, ticks));
      }
      ++t.piece;
      resume_at(id, end);
      return false;
    }
    t.active = false;
    std::int64_t latency = model.path().latency;
    for (const std::int32_t s : servers_[t.model])
      if (const DramModel* dram = stations_.dram(s)) latency += ceil_div(dram->cas(), kDramSubticks);
    const std::int64_t end = now_ + latency;
    a.done = std::max(a.done, end);
    const std::int64_t alone =
        std::max(*std::max_element(x.station_ticks.begin(), x.station_ticks.end()), x.window_ticks);
    a.excess = std::max<std::int64_t>(0, now_ - t.begin - alone);
    a.cause = Owner::sync;
    note(model.group(), t.begin, end);
    trace(a, t.begin, now_, model.group());
    if (!model.path().overlap_compute) {
      Event e;
      e.kind = Event::Kind::release;
      e.time = end;
      e.actor = a.core;
      heap_.push(e);
    }
    return true;
  }

  template <class Part>
  std::int64_t dram_piece(Actor& a, const CommandModel& model, const Instance& x, std::int32_t server,
                          std::size_t station, Part part) {
    Transfer& t = a.transfer;
    DramModel& dram = *stations_.dram(server);
    const bool write = model.path().stations[station].kind == StationKind::memory_write;
    const RunPattern& pattern = write ? x.target : x.source;
    std::int64_t bytes = part(write ? byte_size(model.command()->out.type, x.counts.points) : x.counts.link_bytes);
    const std::int64_t now = now_ * kDramSubticks;
    const bool ahead = model.path().outstanding != 1;
    const std::int64_t early = std::max(t.begin * kDramSubticks, ahead ? now - dram.activation() : now);
    std::int64_t end = now;
    while (bytes > 0) {
      const std::int64_t n = std::min(bytes, pattern.run_bytes - t.run_offset);
      const std::int64_t address = std::max<std::int64_t>(0, t.address + pattern.offset_of(t.run) + t.run_offset);
      end = std::max(end, dram.access(early, now, address, n, write));
      bytes -= n;
      t.run_offset += n;
      if (t.run_offset == pattern.run_bytes) {
        t.run_offset = 0;
        ++t.run;
      }
    }
    return ceil_div(end, kDramSubticks);
  }

  // Address of the far operand's first element; padding that sticks out in front is clipped.
  std::int64_t address_of(const Actor& a, const CommandModel& model) const {
    const Command& c = *model.command();
    const auto vars = a.cursor.vars();
    const auto is_dram = [&](const Operand& o) {
      return flow_.machine->memory(program_.buffer(o.buffer).memory).kind == MemoryKind::dram;
    };
    const Operand& o = is_dram(c.in[0]) ? c.in[0] : c.out;
    std::int64_t at = program_.buffer(o.buffer).address + o.byte_offset;
    if (o.ring && o.ring->depth > 0) at += floor_mod(evaluate(o.ring->sequence, vars), o.ring->depth) * o.ring->stride;
    for (const ViewDim& d : o.dims) at += std::max<std::int64_t>(0, evaluate(d.offset, vars)) * d.stride;
    return at;
  }

  void release(std::uint32_t core) {
    if (--exclusive_[core] > 0) return;
    for (const std::uint32_t id : blocked_[core]) {
      if (actors_[id].cause == Owner::sync) actors_[id].cause = Owner::memory;
      ready_.push_back(id);
    }
    blocked_[core].clear();
  }

  void note(std::size_t group, std::int64_t begin, std::int64_t end) {
    group_start_[group] = std::min(group_start_[group], begin);
    group_end_[group] = std::max(group_end_[group], end);
  }

  void trace(const Actor& a, std::int64_t begin, std::int64_t end, std::size_t group) {
    if (options_.timeline.max_events == 0) return;
    if (r_.timeline.size() >= options_.timeline.max_events) {
      r_.timeline_truncated = true;
      return;
    }
    r_.timeline.push_back({a.core, a.engine, begin, end, static_cast<std::int64_t>(group)});
  }

  void check_finished() const {
    std::string stuck;
    int lines = 0;
    for (const Actor& a : actors_) {
      if (a.finished) continue;
      if (++lines > 20) {
        stuck += "\n  …";
        break;
      }
      stuck += "\n  core (" + std::to_string(row(a)) + ", " + std::to_string(col(a)) + ") " +
               program_.engines[a.engine].name;
      if (a.waiting_for >= 0) {
        const auto s = static_cast<std::size_t>(a.waiting_for);
        stuck += ": waits for " + counters_.name(s) + ", which holds " +
                 std::to_string(semaphores_[a.core * counters_.count() + s].count);
      }
      stuck += ", statement " + std::to_string(a.cursor.leaf().number);
    }
    ASSAY_CHECK(stuck.empty(), "no progress at tick " + std::to_string(now_) + ", deadlock:" + stuck);
  }

  Flow& flow_;
  const Program& program_;
  const CycleOptions& options_;
  TimingResult& r_;
  Stations stations_;
  std::vector<Queue> queues_;
  std::size_t engines_ = 0;
  std::vector<Actor> actors_;
  SemaphoreCounters counters_;
  std::vector<TimedSemaphore> semaphores_;  // core · counters + counter
  std::vector<Accountant> accountants_;
  std::vector<std::int64_t> compute_until_, exclusive_;
  std::vector<std::vector<std::uint32_t>> blocked_;
  std::vector<std::vector<std::int64_t>> times_;
  std::vector<std::vector<std::int32_t>> servers_;  // per model, parallel to its stations
  std::vector<std::int32_t> port_server_;
  std::vector<std::int64_t> group_start_, group_end_;
  EventHeap heap_;
  std::deque<std::uint32_t> ready_;
  std::int64_t now_ = 0;
};

}  // namespace

TimingResult simulate(const Program& program, const Machine& machine, const CycleOptions& options) {
  Flow flow = make_flow(program, machine, {options.all_ideal, ""});
  const CoreClasses classes = core_classes(flow);
  Census census = take_census(flow, classes);
  TimingResult r;
  r.model = "cycle";
  r.base = flow.base;
  r.lower_bound = census.lower_bound;
  Simulator simulator(flow, options, r);
  simulator.run();
  simulator.finish(census);
  r.resources = std::move(census.resources);
  std::sort(r.timeline.begin(), r.timeline.end(), [](const TimelineEvent& a, const TimelineEvent& b) {
    return std::tie(a.core, a.engine, a.start, a.end) < std::tie(b.core, b.engine, b.start, b.end);
  });
  add_notes(r.notes, flow);
  if (!options.all_ideal) {
    r.notes.push_back(
        "copies pass shared parts in pieces of at least 4 KiB (at most 64 per copy), first come first served");
    r.notes.push_back("operand traffic of a compute command takes its memory's port at the command's start");
  }
  if (options.skip_steady_state)
    r.notes.push_back("every iteration was simulated: the cycle model does not skip steady states");
  return r;
}

}  // namespace assay
