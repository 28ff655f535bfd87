#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/isa/byte_set.h"
#include "core/isa/names.h"
#include "core/isa/verify_report.h"

namespace assay {
namespace {

/// Addresses, coordinates and counts stay below this, so that the arithmetic of a walk cannot overflow.
constexpr double kLimit = static_cast<double>(std::int64_t{1} << 56);
constexpr std::int64_t kMaxCores = 1024;
constexpr std::int64_t kMaxSemaphoreSlots = 64;
constexpr std::size_t kMaxDepth = 100;

class Structure {
 public:
  Structure(const Program& program, const Machine& machine, ViolationList& violations)
      : program_(program), machine_(machine), list_(violations) {}

  void run() {
    header();
    if (program_.var_count > kLoopVarLimit) return report(nullptr, "more than 2^20 loop variables");
    largest_.assign(program_.var_count, 0);
    for (std::size_t i = 0; i < program_.buffers.size(); ++i) buffer(program_.buffers[i], static_cast<int>(i));
    for (const auto* map : {&program_.inputs, &program_.outputs, &program_.constants})
      for (const auto& [tensor, id] : *map)
        if (id.index() >= program_.buffers.size())
          report(nullptr, fmt::format("tensor '{}' is bound to a buffer that does not exist", tensor));
    if (largest_.size() < kFirstLoopVar) return report(nullptr, "fewer variables than the two of the core");
    largest_[0] = static_cast<double>(program_.grid.rows - 1);
    largest_[1] = static_cast<double>(program_.grid.cols - 1);
    used_.assign(largest_.size(), false);
    block(program_.body, 0);
  }

 private:
  static constexpr std::size_t kLoopVarLimit = std::size_t{1} << 20;

  void report(const Stmt* s, std::string message) { list_.add("structure", s, number_, std::move(message), key_++); }

  void header() {
    const Grid g = program_.grid;
    if (g.rows < 1 || g.cols < 1 || g.rows > machine_.grid.rows || g.cols > machine_.grid.cols)
      report(nullptr, fmt::format("the program's grid is {} by {}, the machine has {} by {} cores", g.rows, g.cols,
                                  machine_.grid.rows, machine_.grid.cols));
    else if (g.rows * g.cols > kMaxCores)
      report(nullptr, fmt::format("{} cores: programs are verified for at most {}", g.cores(), kMaxCores));
    for (const Semaphore& s : program_.semaphores)
      if (s.initial < 0 || s.slots < 1 || s.slots > kMaxSemaphoreSlots)
        report(nullptr, fmt::format("semaphore '{}' starts at {} and has {} slots; 0 or more and 1 to {} are allowed",
                                    s.name, s.initial, s.slots, kMaxSemaphoreSlots));
    for (const Engine& e : program_.engines) {
      const std::size_t n = e.kind == EngineKind::matrix   ? machine_.matrix_units.size()
                            : e.kind == EngineKind::vector ? machine_.vector_units.size()
                            : e.kind == EngineKind::host   ? machine_.hosts.size()
                                                           : machine_.links.size();
      if (e.part >= n)
        report(nullptr, fmt::format("engine '{}' is {} {}, the machine has {}", e.name, name(e.kind), e.part, n));
    }
  }

  void buffer(const Buffer& b, int key) {
    if (b.memory.index() >= machine_.memories.size())
      return report(nullptr, fmt::format("buffer '{}' stands in a memory that the machine does not have", b.name));
    const Memory& m = machine_.memory(b.memory);
    if (m.scope == Scope::pe)
      return report(nullptr,
                    fmt::format("buffer '{}' stands in '{}', a register file inside an array", b.name, m.name));
    if (b.address < 0 || b.bytes < 0 || b.address > m.capacity || b.bytes > m.capacity - b.address)
      list_.add("bounds", nullptr, 0,
                fmt::format("buffer '{}' takes bytes {} to {} of '{}', which has {}", b.name, b.address,
                            static_cast<double>(b.address) + static_cast<double>(b.bytes), m.name, m.capacity),
                1000 + key);
    if (std::abs(static_cast<double>(b.address)) >= kLimit || std::abs(static_cast<double>(b.bytes)) >= kLimit)
      report(nullptr, fmt::format("buffer '{}': address or size is absurd", b.name));
    const bool outside = b.kind == BufferKind::input || b.kind == BufferKind::output ||
                         b.kind == BufferKind::constant || b.kind == BufferKind::state;
    if (!outside) return;
    double need = static_cast<double>(bits(b.type)) / 8;
    for (const std::int64_t d : b.shape) need *= static_cast<double>(d);
    if (need > static_cast<double>(b.bytes))
      list_.add("bounds", nullptr, 0,
                fmt::format("buffer '{}' has {} bytes, its elements need {}", b.name, b.bytes, need), 2000 + key);
  }

  // ------------------------------------------------------------------ ranges
  bool affine(const Stmt* s, const Affine& a, const char* what, double* magnitude = nullptr) {
    double sum = std::abs(static_cast<double>(a.constant));
    for (const auto& [v, c] : a.terms) {
      if (v.index() >= largest_.size() || (v.index() >= kFirstLoopVar && !open(v))) {
        report(s, fmt::format("{} uses variable %{}, which no enclosing loop defines", what, v.value));
        return false;
      }
      sum += std::abs(static_cast<double>(c)) * largest_[v.index()];
    }
    if (magnitude != nullptr) *magnitude = sum;
    if (sum < kLimit) return true;
    report(s, fmt::format("{} reaches {:.3g}: absurd", what, sum));
    return false;
  }
  bool open(VarId v) const { return std::find(open_.begin(), open_.end(), v) != open_.end(); }

  bool operand(const Stmt* s, const Command& c, const Operand& o, bool is_write, const std::string& what) {
    if (o.buffer.index() >= program_.buffers.size()) return report(s, what + ": no such buffer"), false;
    bool ok = true;
    if (bits(o.type) < 8) {
      report(s, fmt::format("{}: {} elements are not addressable in bytes", what, name(o.type)));
      ok = false;
    }
    double reach = std::abs(static_cast<double>(o.byte_offset));
    if (o.ring) {
      ok = affine(s, o.ring->sequence, "a ring's sequence") && ok;
      if (o.ring->depth < 1) {
        report(s, fmt::format("{}: ring of depth {}", what, o.ring->depth));
        ok = false;
      }
      reach += std::abs(static_cast<double>(o.ring->stride)) * static_cast<double>(o.ring->depth);
    }
    for (const ViewDim& d : o.dims) {
      double coordinate = 0;
      ok = affine(s, d.offset, "an offset", &coordinate) && ok;
      for (const auto& [dim, coefficient] : d.iter) {
        if (dim < 0 || static_cast<std::size_t>(dim) >= c.iter.size()) {
          report(s, fmt::format("{}: no iteration dimension {}", what, dim));
          return false;
        }
        const IterDim& it = c.iter[static_cast<std::size_t>(dim)];
        coordinate += std::abs(static_cast<double>(coefficient)) * static_cast<double>(it.extent.full);
        if (is_write && it.reduction && coefficient != 0) {
          report(s, fmt::format("{} varies with the reduction dimension '{}'", what, it.name));
          ok = false;
        }
      }
      if (d.index_operand) {
        const int i = *d.index_operand;
        const bool exists = i >= 0 && static_cast<std::size_t>(i) < c.in.size();
        if (!exists || !is_integer(c.in[static_cast<std::size_t>(i)].type)) {
          report(s, fmt::format("{}: index operand {} is not an integer input", what, i));
          ok = false;
        } else {
          for (const ViewDim& inner : c.in[static_cast<std::size_t>(i)].dims)
            if (inner.index_operand) report(s, fmt::format("{}: index operand {} is indexed itself", what, i));
        }
      }
      if (d.size < 0) report(s, fmt::format("{}: dimension of size {}", what, d.size));
      coordinate = std::max(coordinate, static_cast<double>(d.size));
      reach += coordinate * std::abs(static_cast<double>(d.stride));
      if (coordinate >= kLimit) reach = kLimit;
    }
    if (reach >= kLimit) {
      report(s, what + ": addresses are absurd");
      ok = false;
    }
    return ok;
  }

  // ------------------------------------------------------------------ commands
  void body(const Stmt* s, const Command& c) {
    const Body& b = c.body;
    if (c.opcode == Opcode::contract) {
      if (!b.code.empty()) report(s, "a contraction has no body");
      return;
    }
    if (b.code.empty()) return report(s, "the body is empty");
    for (std::size_t i = 0; i < b.code.size(); ++i) {
      const ScalarInstr& in = b.code[i];
      const int values[3] = {in.a, in.b, in.c};
      for (int k = 0; k < arity(in.op); ++k)
        if (values[k] < 0 || values[k] >= static_cast<int>(i))
          return report(s, fmt::format("body v{} uses v{}, which is not computed before it", i, values[k]));
      if (bits(in.type) < 8) return report(s, fmt::format("body v{}: {} is not computable", i, name(in.type)));
      if (in.op == ScalarOp::input) {
        if (in.a < 0 || static_cast<std::size_t>(in.a) >= c.in.size())
          return report(s, fmt::format("body v{} reads input {}, the command has {}", i, in.a, c.in.size()));
        const DType have = c.in[static_cast<std::size_t>(in.a)].type;
        if (have != in.type)
          return report(s, fmt::format("body v{} takes input {} as {}, it is {}", i, in.a, name(in.type), name(have)));
      }
      if (in.op == ScalarOp::index && (in.a < 0 || static_cast<std::size_t>(in.a) >= c.iter.size()))
        return report(s, fmt::format("body v{}: no iteration dimension {}", i, in.a));
    }
  }

  bool command(const Stmt* s, const Command& c) {
    bool ok = true;
    double points = 1;
    bool reduces = false;
    for (const IterDim& d : c.iter) {
      if (d.extent.full < 0) report(s, fmt::format("iteration '{}' has extent {}", d.name, d.extent.full));
      if (d.extent.available) ok = affine(s, *d.extent.available, "an extent") && ok;
      ok = affine(s, d.origin, "an origin") && ok;
      points *= static_cast<double>(std::max<std::int64_t>(d.extent.full, 1));
      reduces = reduces || d.reduction;
    }
    if (points >= kLimit) return report(s, "the iteration space is absurd"), false;
    if (c.iter.size() > 16) return report(s, fmt::format("{} iteration dimensions, at most 16", c.iter.size())), false;
    ok = operand(s, c, c.out, true, "the output") && ok;
    for (std::size_t i = 0; i < c.in.size(); ++i) ok = operand(s, c, c.in[i], false, fmt::format("input {}", i)) && ok;
    body(s, c);
    const bool contract = c.opcode == Opcode::contract;
    for (const Affine& a : c.accumulate_unless_zero) affine(s, a, "accumulate_unless_zero");
    if (contract ? c.combine != Combine::sum : (c.combine != Combine::none) != reduces)
      report(s, fmt::format("combine is {} and {} a reduction dimension", name(c.combine),
                            reduces ? "there is" : "there is not"));
    if (!c.accumulate_unless_zero.empty() && c.combine == Combine::none)
      report(s, "accumulate_unless_zero without a reduction");
    if (contract ? c.in.size() != 2 : c.opcode == Opcode::copy && c.in.empty())
      report(s, fmt::format("{} inputs", c.in.size()));
    if (c.opcode == Opcode::copy && (!c.body.is_identity() || reduces)) report(s, "a copy's body is 'input 0'");
    if (c.opcode != Opcode::copy && c.multicast.any()) report(s, "only copies multicast");
    if (c.array && !contract) report(s, "only contractions have an array plan");
    if (contract && !c.array) report(s, "a contraction without an array plan");
    if (c.array) {
      const auto dims = static_cast<int>(c.iter.size());
      bool known = c.array->dataflow != Dataflow::free;
      for (const auto* on : {&c.array->on_rows, &c.array->on_cols})
        for (const auto& [dim, factor] : *on) known = known && dim >= 0 && dim < dims && factor >= 1;
      for (const int dim : c.array->order) known = known && dim >= 0 && dim < dims;
      if (!known) report(s, "the array plan names a dimension that does not exist, a factor below 1 or dataflow free");
    }
    return ok;
  }

  void block(const std::vector<Stmt>& stmts, std::size_t depth) {
    if (depth > kMaxDepth) return report(nullptr, fmt::format("loops are nested deeper than {}", kMaxDepth));
    for (const Stmt& s : stmts) {
      if (list_.full()) return;
      if (const auto* loop = std::get_if<Loop>(&s.node)) {
        if (loop->var.index() < kFirstLoopVar || loop->var.index() >= largest_.size() || used_[loop->var.index()] ||
            loop->trip < 0 || static_cast<double>(loop->trip) >= kLimit) {
          report(nullptr,
                 fmt::format("loop '{}': its variable %{} is not its own or below {}, or its trip {} is absurd",
                             loop->name, loop->var.value, largest_.size(), loop->trip));
          continue;
        }
        used_[loop->var.index()] = true;
        largest_[loop->var.index()] = static_cast<double>(std::max<std::int64_t>(loop->trip, 1) - 1);
        open_.push_back(loop->var);
        block(loop->body, depth + 1);
        open_.pop_back();
        continue;
      }
      leaf(s);
      ++number_;
    }
  }

  void leaf(const Stmt& s) {
    const auto common = [&](EngineId engine, std::int64_t trail) {
      if (engine.index() >= program_.engines.size()) report(&s, "no such engine");
      if (trail < -1 || trail >= static_cast<std::int64_t>(program_.trail.size()))
        report(&s, fmt::format("trail {} of {}", trail, program_.trail.size()));
    };
    const auto semaphore = [&](SemaphoreId id, std::int64_t count, const Affine& slot) {
      if (id.index() >= program_.semaphores.size()) report(&s, "no such semaphore");
      affine(&s, slot, "the slot of a semaphore");
      for (const auto& term : slot.terms)
        if (term.first.value < kFirstLoopVar) report(&s, "the slot of a semaphore depends on the core");
      if (count < 1) report(&s, fmt::format("a count of {}", count));
    };
    if (const auto* c = std::get_if<Command>(&s.node)) {
      common(c->engine, c->trail);
      command(&s, *c);
    } else if (const auto* h = std::get_if<HostCommand>(&s.node)) {
      common(h->engine, h->trail);
      for (const BufferId id : h->in)
        if (id.valid() && id.index() >= program_.buffers.size()) report(&s, "no such input buffer");
      for (const BufferId id : h->out)
        if (id.valid() && id.index() >= program_.buffers.size()) report(&s, "no such output buffer");
    } else if (const auto* w = std::get_if<Wait>(&s.node)) {
      common(w->engine, -1);
      semaphore(w->semaphore, w->count, w->slot);
    } else if (const auto* g = std::get_if<Signal>(&s.node)) {
      common(g->engine, -1);
      semaphore(g->semaphore, g->count, g->slot);
    }
  }

  const Program& program_;
  const Machine& machine_;
  ViolationList& list_;
  std::vector<double> largest_;  ///< of each variable
  std::vector<bool> used_;
  std::vector<VarId> open_;
  std::size_t number_ = 0;
  int key_ = 0;
};

/// Buffers that share addresses while both are live.
void overlapping_lives(const Program& program, const Machine& machine, ViolationList& list) {
  std::vector<std::size_t> order(program.buffers.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto& buffers = program.buffers;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(buffers[a].memory.value, buffers[a].address, a) <
           std::tie(buffers[b].memory.value, buffers[b].address, b);
  });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Buffer& a = buffers[order[i]];
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      const Buffer& b = buffers[order[j]];
      if (b.memory != a.memory || b.address >= a.address + a.bytes) break;
      const bool both_live = a.first_step < b.last_step && b.first_step < a.last_step && b.bytes > 0;
      // A view (Reshape) is the same buffer again under another name: same bytes, same life.
      const bool same_tensor =
          (!a.tensor.empty() && a.tensor == b.tensor) ||
          (a.address == b.address && a.bytes == b.bytes && a.first_step == b.first_step && a.last_step == b.last_step);
      if (both_live && !same_tensor)
        list.add("overlap", nullptr, 0,
                 fmt::format("buffers '{}' (bytes {} to {}, steps {} to {}) and '{}' (bytes {} to {}, steps {} to {}) "
                             "share bytes of '{}' while both are live",
                             a.name, a.address, a.address + a.bytes, a.first_step, a.last_step, b.name, b.address,
                             b.address + b.bytes, b.first_step, b.last_step, machine.memory(a.memory).name),
                 static_cast<int>(order[j]));
    }
  }
}

}  // namespace

void verify_statically(const Program& program, const Machine& machine, ViolationList& violations) {
  Structure(program, machine, violations).run();
  if (violations.any("structure")) return;
  overlapping_lives(program, machine, violations);
  verify_capabilities(program, machine, violations);
}

}  // namespace assay
