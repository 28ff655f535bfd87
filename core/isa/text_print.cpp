#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "core/isa/names.h"
#include "core/isa/text.h"
#include "core/isa/text_words.h"

namespace assay {
namespace {

using Out = std::back_insert_iterator<std::string>;

std::string quoted(std::string_view s) {
  std::string r = "\"";
  for (const char ch : s) {
    const auto c = static_cast<unsigned char>(ch);
    if (ch == '"' || ch == '\\') {
      r += '\\';
      r += ch;
    } else if (c < 0x20 || c == 0x7f) {
      fmt::format_to(std::back_inserter(r), "\\x{:02x}", c);
    } else {
      r += ch;
    }
  }
  return r + '"';
}

std::string spelled(const std::string& s) { return is_plain_word(s) ? s : quoted(s); }

std::string number(double v) {
  if (std::isnan(v)) return "nan";
  return fmt::format("{}", v);
}

/// Names by which things of one list can be told apart; the others are written `#3`.
class Names {
 public:
  template <class T>
  explicit Names(const std::vector<T>& things) {
    std::multiset<std::string> seen;
    for (const T& t : things) seen.insert(t.name);
    for (std::size_t i = 0; i < things.size(); ++i) {
      const bool usable = !things[i].name.empty() && seen.count(things[i].name) == 1;
      refs_.push_back(usable ? spelled(things[i].name) : fmt::format("#{}", i));
    }
  }
  template <class Tag>
  std::string operator()(Id<Tag> id) const {
    if (!id.valid()) return "none";
    return id.index() < refs_.size() ? refs_[id.index()] : fmt::format("#{}", id.index());
  }

 private:
  std::vector<std::string> refs_;
};

class Printer {
 public:
  explicit Printer(const Program& p)
      : program_(p), engines_(p.engines), semaphores_(p.semaphores), buffers_(p.buffers) {}

  std::string run() {
    const Program& p = program_;
    line("program {} machine {} grid {} by {} vars {}", quoted(p.name), quoted(p.machine), p.grid.rows, p.grid.cols,
         p.var_count);
    for (const Engine& e : p.engines) line("engine {} {} {}", spelled(e.name), name(e.kind), e.part);
    for (const Semaphore& s : p.semaphores)
      line("semaphore {} = {}{}", spelled(s.name), s.initial, s.slots == 1 ? "" : fmt::format(" slots {}", s.slots));
    for (const std::string& s : p.steps) line("step {}", quoted(s));
    for (const TrailEntry& t : p.trail) {
      std::string nodes;
      for (const std::string& n : t.nodes) nodes += (nodes.empty() ? "" : ", ") + quoted(n);
      line("trail {} kind {} nodes [{}]", quoted(t.group), quoted(t.layer_kind), nodes);
    }
    for (const Buffer& b : p.buffers) buffer(b);
    binds("input", p.inputs);
    binds("output", p.outputs);
    binds("constant", p.constants);
    line("code {{");
    block(p.body);
    line("}}");
    return std::move(text_);
  }

 private:
  template <class... A>
  void line(fmt::format_string<A...> format, A&&... args) {
    text_.append(indent_ * 2, ' ');
    fmt::format_to(Out(text_), format, std::forward<A>(args)...);
    text_ += '\n';
  }

  void buffer(const Buffer& b) {
    std::string s =
        fmt::format("buffer {} memory {} at {} bytes {} {}", spelled(b.name),
                    b.memory.valid() ? fmt::format("{}", b.memory.index()) : "none", b.address, b.bytes, name(b.kind));
    fmt::format_to(Out(s), " {} [{}]", name(b.type), fmt::join(b.shape, ", "));
    if (!b.tensor.empty()) s += " tensor " + quoted(b.tensor);
    if (b.first_step != 0 || b.last_step != 0) fmt::format_to(Out(s), " steps {} to {}", b.first_step, b.last_step);
    line("{}", s);
  }

  void binds(const char* what, const std::map<std::string, BufferId>& map) {
    for (const auto& [tensor, id] : map) line("bind {} {} = {}", what, quoted(tensor), buffers_(id));
  }

  std::string variable(VarId v) const {
    for (auto it = scope_.rbegin(); it != scope_.rend(); ++it) {
      const Loop& loop = **it;
      if (loop.var != v) continue;
      if (!is_plain_word(loop.name) || loop.name == "row" || loop.name == "col") break;
      for (auto inner = scope_.rbegin(); inner != it; ++inner)
        if ((*inner)->name == loop.name) return fmt::format("%{}", v.index());
      return "%" + loop.name;
    }
    const std::string core = v == kCoreRow ? "row" : v == kCoreCol ? "col" : "";
    const auto hides = [&](const Loop* loop) { return loop->name == core; };
    if (core.empty() || std::any_of(scope_.begin(), scope_.end(), hides)) return fmt::format("%{}", v.index());
    return "%" + core;
  }

  /// Appends `coefficient * what` to a sum.
  static void term(std::string& sum, std::int64_t coefficient, const std::string& what) {
    const bool negative = coefficient < 0;
    const std::uint64_t size =
        negative ? 0 - static_cast<std::uint64_t>(coefficient) : static_cast<std::uint64_t>(coefficient);
    sum += sum.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    if (what.empty())
      fmt::format_to(Out(sum), "{}", size);
    else if (size == 1)
      sum += what;
    else
      fmt::format_to(Out(sum), "{}*{}", size, what);
  }

  void add_affine(std::string& sum, const Affine& a) const {
    // `16 - 4*%k` rather than `-4*%k + 16`.
    const bool first = sum.empty() && a.constant > 0 && !a.terms.empty() && a.terms[0].second < 0;
    if (first) term(sum, a.constant, "");
    for (const auto& [v, c] : a.terms) term(sum, c, variable(v));
    if (a.constant != 0 && !first) term(sum, a.constant, "");
  }
  std::string affine(const Affine& a) const {
    std::string sum;
    add_affine(sum, a);
    return sum.empty() ? "0" : sum;
  }

  std::string slot(const Affine& a) const { return a == Affine{} ? "" : " slot (" + affine(a) + ")"; }
  static std::string axes(Axes a) { return a.row && a.col ? "(row, col)" : a.row ? "(row)" : "(col)"; }

  std::string iteration(const Command& c, int dim) const {
    const auto d = static_cast<std::size_t>(dim);
    if (dim < 0 || d >= c.iter.size() || !is_plain_word(c.iter[d].name)) return fmt::format("${}", dim);
    for (std::size_t i = 0; i < c.iter.size(); ++i)
      if (i != d && c.iter[i].name == c.iter[d].name) return fmt::format("${}", dim);
    return c.iter[d].name;
  }

  std::string operand(const Command& c, const Operand& o) const {
    std::string s = fmt::format("{} {}", buffers_(o.buffer), name(o.type));
    if (o.byte_offset != 0) fmt::format_to(Out(s), " at {}", o.byte_offset);
    if (o.ring)
      fmt::format_to(Out(s), " ring ({}) mod {} step {}", affine(o.ring->sequence), o.ring->depth, o.ring->stride);
    s += " [";
    for (std::size_t i = 0; i < o.dims.size(); ++i) {
      const ViewDim& d = o.dims[i];
      std::string sum;
      for (const auto& [dim, coefficient] : d.iter) term(sum, coefficient, iteration(c, dim));
      if (d.index_operand) term(sum, 1, fmt::format("index({})", *d.index_operand));
      add_affine(sum, d.offset);
      fmt::format_to(Out(s), "{}{} of {} by {}", i == 0 ? "" : ", ", sum.empty() ? "0" : sum, d.size, d.stride);
    }
    s += "]";
    if (o.fill) s += " fill " + number(*o.fill);
    return s;
  }

  std::string extent(const Extent& e) const {
    return e.available ? fmt::format("min({}, {})", e.full, affine(*e.available)) : fmt::format("{}", e.full);
  }

  void body(const Body& b) {
    line("body {{");
    ++indent_;
    for (std::size_t i = 0; i < b.code.size(); ++i) {
      const ScalarInstr& in = b.code[i];
      std::string s = fmt::format("v{} = {}", i, name(in.op));
      const int values[3] = {in.a, in.b, in.c};
      int printed = arity(in.op);
      for (int k = 0; k < printed; ++k)
        s += values[k] >= 0 ? fmt::format(" v{}", values[k]) : fmt::format(" ({})", values[k]);
      if (in.op == ScalarOp::input || in.op == ScalarOp::index) {
        fmt::format_to(Out(s), " {}", in.a);
        printed = 1;
      }
      const bool is_constant = in.op == ScalarOp::constant;
      if (is_constant) s += " " + number(in.imm);
      fmt::format_to(Out(s), " : {}", name(in.type));
      for (int k = printed; k < 3; ++k)
        if (values[k] != -1) fmt::format_to(Out(s), " {} {}", "abc"[k], values[k]);
      if (!is_constant && (in.imm != 0 || std::signbit(in.imm))) s += " imm " + number(in.imm);
      line("{}", s);
    }
    --indent_;
    line("}}");
  }

  std::string trail(std::int64_t t) const {
    std::string s = fmt::format("trail {}", t);
    if (t >= 0 && t < static_cast<std::int64_t>(program_.trail.size()))
      s += "  // " + quoted(program_.trail[static_cast<std::size_t>(t)].group);
    return s;
  }

  void command(const Command& c) {
    std::string dims;
    for (const IterDim& d : c.iter) {
      dims += (dims.empty() ? "" : ", ") + std::string(d.reduction ? "sum " : "") + spelled(d.name) + " < " +
              extent(d.extent);
      if (d.origin != Affine{}) dims += " from " + affine(d.origin);
    }
    line("{} @{} for [{}]{}{}", name(c.opcode), engines_(c.engine), dims, c.multicast.any() ? " multicast " : "",
         c.multicast.any() ? axes(c.multicast) : "");
    ++indent_;
    line("out {}", operand(c, c.out));
    for (const Operand& o : c.in) line("in {}", operand(c, o));
    if (c.zero[0] != 0 || c.zero[1] != 0) line("zero {} {}", number(c.zero[0]), number(c.zero[1]));
    if (c.combine != Combine::none || c.accumulator != DType::f32)
      line("combine {} {}", name(c.combine), name(c.accumulator));
    if (!c.accumulate_unless_zero.empty()) {
      std::string s;
      for (const Affine& a : c.accumulate_unless_zero) s += (s.empty() ? "" : ", ") + affine(a);
      line("accumulate_unless_zero [{}]", s);
    }
    if (c.array) {
      const auto axis = [&](const std::vector<std::pair<int, std::int64_t>>& on) {
        std::string s;
        for (const auto& [dim, factor] : on)
          s += (s.empty() ? "" : ", ") + iteration(c, dim) + " * " + fmt::format("{}", factor);
        return s;
      };
      std::string order;
      for (const int dim : c.array->order) order += (order.empty() ? "" : ", ") + iteration(c, dim);
      line("array {} rows [{}] cols [{}] order [{}]", name(c.array->dataflow), axis(c.array->on_rows),
           axis(c.array->on_cols), order);
    }
    if (!c.body.code.empty()) body(c.body);
    if (c.trail != -1) line("{}", trail(c.trail));
    --indent_;
  }

  void host(const HostCommand& h) {
    const auto list = [&](const std::vector<BufferId>& ids) {
      std::string s;
      for (const BufferId id : ids) s += (s.empty() ? "" : ", ") + buffers_(id);
      return s;
    };
    line("host @{} {} attributes {} out [{}] in [{}]{}", engines_(h.engine), quoted(h.op), quoted(h.attributes),
         list(h.out), list(h.in), h.trail == -1 ? "" : " " + trail(h.trail));
  }

  void block(const std::vector<Stmt>& stmts) {
    ++indent_;
    for (const Stmt& s : stmts) {
      if (const auto* loop = std::get_if<Loop>(&s.node)) {
        const std::string id = loop->var.value == next_var_ ? "" : fmt::format(" %{}", loop->var.value);
        line("loop {}{} < {} {{", spelled(loop->name), id, loop->trip);
        next_var_ = loop->var.value + 1;
        scope_.push_back(loop);
        block(loop->body);
        scope_.pop_back();
        line("}}");
      } else if (const auto* c = std::get_if<Command>(&s.node)) {
        command(*c);
      } else if (const auto* h = std::get_if<HostCommand>(&s.node)) {
        host(*h);
      } else if (const auto* w = std::get_if<Wait>(&s.node)) {
        line("wait @{} {}{} {}{}", engines_(w->engine), semaphores_(w->semaphore), slot(w->slot), w->count,
             w->leader.any() ? " leader " + axes(w->leader) : "");
      } else {
        const auto& g = std::get<Signal>(s.node);
        line("signal @{} {}{} {}{}{}{}", engines_(g.engine), semaphores_(g.semaphore), slot(g.slot), g.count,
             g.leader.any() ? " leader " + axes(g.leader) : "", g.to_all.any() ? " to_all " + axes(g.to_all) : "",
             g.to_leader.any() ? " to_leader " + axes(g.to_leader) : "");
      }
    }
    --indent_;
  }

  const Program& program_;
  Names engines_, semaphores_, buffers_;
  std::string text_;
  std::size_t indent_ = 0;
  std::vector<const Loop*> scope_;
  std::uint32_t next_var_ = kFirstLoopVar;
};

}  // namespace

std::string print_program(const Program& program) { return Printer(program).run(); }

}  // namespace assay
