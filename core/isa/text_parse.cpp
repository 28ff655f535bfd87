#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <limits>
#include <map>

#include "core/base/error.h"
#include "core/isa/names.h"
#include "core/isa/text.h"
#include "core/isa/text_words.h"

namespace assay {
namespace {

constexpr std::size_t kMaxLoopDepth = 100;

/// Names of the first `covered` things of a list that is still growing.
struct NameIndex {
  std::map<std::string, std::size_t> numbers;
  std::size_t covered = 0;
};

class Parser {
 public:
  Parser(const std::string& text, const std::string& file) : file_(file), tokens_(tokens_of(text, file)) {}

  Program run() {
    Program p;
    word("program");
    p.name = string();
    word("machine");
    p.machine = string();
    word("grid");
    p.grid.rows = integer();
    word("by");
    p.grid.cols = integer();
    word("vars");
    p.var_count = natural();
    program_ = &p;
    while (!accept("code")) declaration(p);
    p.body = block();
    if (peek().kind != TokenKind::end) fail(peek(), "expected the end of the program, found " + found(peek()));
    return p;
  }

 private:
  // ------------------------------------------------------------------ tokens
  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& take() {
    const Token& t = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return t;
  }
  static std::string found(const Token& t) {
    return t.kind == TokenKind::end      ? "the end of the file"
           : t.kind == TokenKind::string ? '"' + t.text + '"'
                                         : '\'' + t.text + '\'';
  }
  [[noreturn]] void fail(const Token& t, const std::string& message, const std::string& suggestion = "") const {
    throw InputError(Diagnostic{{file_, t.line, t.column}, "", message, suggestion});
  }
  [[noreturn]] void unknown(const Token& t, const std::string& what, const std::vector<std::string>& names) const {
    fail(t, "unknown " + what + " " + found(t), nearest_name(t.text, names).value_or(""));
  }
  bool is(std::string_view text) const {
    const Token& t = peek();
    return (t.kind == TokenKind::word || t.kind == TokenKind::symbol) && t.text == text;
  }
  bool accept(std::string_view text) {
    if (!is(text)) return false;
    take();
    return true;
  }
  void word(std::string_view text) {
    if (!accept(text)) fail(peek(), fmt::format("expected '{}', found {}", text, found(peek())));
  }
  std::string string() {
    if (peek().kind != TokenKind::string) fail(peek(), "expected a quoted string, found " + found(peek()));
    return take().text;
  }
  std::string any_name() {
    if (peek().kind != TokenKind::string && peek().kind != TokenKind::word)
      fail(peek(), "expected a name, found " + found(peek()));
    return take().text;
  }

  std::int64_t magnitude(bool negative) {
    const Token& t = peek();
    std::uint64_t v = 0;
    const auto [end, error] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), v);
    if (t.kind != TokenKind::number || error == std::errc::invalid_argument || end != t.text.data() + t.text.size())
      fail(t, "expected an integer, found " + found(t));
    const auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) + (negative ? 1 : 0);
    if (error != std::errc{} || v > limit) fail(t, "integer " + found(t) + " does not fit 64 bits");
    take();
    return static_cast<std::int64_t>(negative ? 0 - v : v);
  }
  std::int64_t integer() {
    const bool negative = accept("-");
    return magnitude(negative);
  }
  std::size_t natural() {
    const Token& t = peek();
    const std::int64_t v = integer();
    if (v < 0 || v >= std::numeric_limits<std::uint32_t>::max())
      fail(t,
           fmt::format("expected a number from 0 to {}, found {}", std::numeric_limits<std::uint32_t>::max() - 1, v));
    return static_cast<std::size_t>(v);
  }
  int small() {
    const Token& t = peek();
    const std::int64_t v = integer();
    if (v < std::numeric_limits<int>::min() || v > std::numeric_limits<int>::max())
      fail(t, fmt::format("{} does not fit 32 bits", v));
    return static_cast<int>(v);
  }
  double real() {
    const bool negative = accept("-");
    const Token& t = peek();
    double v = 0;
    if (t.kind == TokenKind::word && t.text == "inf") {
      v = std::numeric_limits<double>::infinity();
    } else if (t.kind == TokenKind::word && t.text == "nan") {
      v = std::numeric_limits<double>::quiet_NaN();
    } else {
      char* end = nullptr;
      if (t.kind == TokenKind::number) v = std::strtod(t.text.c_str(), &end);
      if (end == nullptr || *end != '\0') fail(t, "expected a number, found " + found(t));
    }
    take();
    return negative ? -v : v;
  }

  template <class T, class Parse>
  T one_of(const std::string& what, Parse parse, const std::vector<std::string>& names) {
    const Token& t = peek();
    const std::optional<T> v = t.kind == TokenKind::word ? parse(t.text) : std::nullopt;
    if (!v) unknown(t, what, names);
    take();
    return *v;
  }
  DType dtype() {
    static const std::vector<std::string> kNames = {"fp32",  "fp16",   "bf16",  "fp64",   "int4",
                                                    "uint4", "int8",   "uint8", "int16",  "uint16",
                                                    "int32", "uint32", "int64", "uint64", "bool"};
    return one_of<DType>("type", parse_dtype, kNames);
  }

  /// `name` if it names exactly one thing, `#number` otherwise.
  template <class Tag, class T>
  Id<Tag> reference(const std::string& what, const std::vector<T>& things, NameIndex& index) {
    if (accept("none")) return {};
    if (accept("#")) return Id<Tag>(natural());
    const Token& t = peek();
    if (t.kind != TokenKind::word && t.kind != TokenKind::string)
      fail(t, "expected the name of a " + what + ", found " + found(t));
    for (std::size_t& i = index.covered; i < things.size(); ++i) {
      const auto [at, fresh] = index.numbers.emplace(things[i].name, i);
      if (!fresh) at->second = kAmbiguous;
    }
    const auto at = index.numbers.find(t.text);
    if (at == index.numbers.end()) {
      std::vector<std::string> names;
      for (const T& thing : things) names.push_back(thing.name);
      unknown(t, what, names);
    }
    if (at->second == kAmbiguous)
      fail(t, fmt::format("several {}s are named {}: write '#' and the number", what, found(t)));
    take();
    return Id<Tag>(at->second);
  }
  EngineId engine() {
    word("@");
    return reference<EngineTag>("engine", program_->engines, engine_index_);
  }
  BufferId buffer() { return reference<BufferTag>("buffer", program_->buffers, buffer_index_); }
  Affine slot() {
    if (!accept("slot")) return {};
    word("(");
    Affine a = affine();
    word(")");
    return a;
  }
  SemaphoreId semaphore() { return reference<SemaphoreTag>("semaphore", program_->semaphores, semaphore_index_); }

  /// `[` items `]`, comma separated.
  template <class Item>
  void list(Item item) {
    word("[");
    if (accept("]")) return;
    do item();
    while (accept(","));
    word("]");
  }

  // ------------------------------------------------------------------ declarations
  void declaration(Program& p) {
    static const std::vector<std::string> kWords = {"engine", "semaphore", "step", "trail", "buffer", "bind", "code"};
    const Token& t = peek();
    if (accept("engine")) {
      Engine e;
      e.name = any_name();
      e.kind =
          one_of<EngineKind>("engine kind", parse_engine_kind, {"dma_load", "dma_store", "matrix", "vector", "host"});
      e.part = static_cast<std::uint32_t>(natural());
      p.engines.push_back(std::move(e));
    } else if (accept("semaphore")) {
      Semaphore s;
      s.name = any_name();
      word("=");
      s.initial = integer();
      if (accept("slots")) s.slots = integer();
      p.semaphores.push_back(std::move(s));
    } else if (accept("step")) {
      p.steps.push_back(string());
    } else if (accept("trail")) {
      TrailEntry e;
      e.group = string();
      word("kind");
      e.layer_kind = string();
      word("nodes");
      list([&] { e.nodes.push_back(string()); });
      p.trail.push_back(std::move(e));
    } else if (accept("buffer")) {
      p.buffers.push_back(buffer_declaration());
    } else if (accept("bind")) {
      const Token& which = peek();
      auto* map = accept("input")      ? &p.inputs
                  : accept("output")   ? &p.outputs
                  : accept("constant") ? &p.constants
                                       : nullptr;
      if (map == nullptr) unknown(which, "binding", {"input", "output", "constant"});
      const Token& tensor = peek();
      const std::string name = string();
      word("=");
      if (!map->emplace(name, buffer()).second) fail(tensor, found(tensor) + " is bound twice");
    } else {
      if (t.kind == TokenKind::word) unknown(t, "declaration", kWords);
      fail(t, "expected a declaration or 'code', found " + found(t));
    }
  }

  Buffer buffer_declaration() {
    Buffer b;
    b.name = any_name();
    word("memory");
    if (!accept("none")) b.memory = MemoryId(natural());
    word("at");
    b.address = integer();
    word("bytes");
    b.bytes = integer();
    b.kind = one_of<BufferKind>("buffer kind", parse_buffer_kind,
                                {"input", "output", "constant", "state", "intermediate", "tile"});
    b.type = dtype();
    list([&] { b.shape.push_back(integer()); });
    if (accept("tensor")) b.tensor = string();
    // `step` alone starts the next declaration.
    if (accept("steps")) {
      b.first_step = integer();
      word("to");
      b.last_step = integer();
    }
    return b;
  }

  // ------------------------------------------------------------------ expressions
  VarId variable() {
    const Token& t = peek();
    if (t.kind == TokenKind::number) return VarId(natural());
    for (auto it = scope_.rbegin(); it != scope_.rend(); ++it)
      if (it->first == t.text) return take(), it->second;
    if (t.text == "row") return take(), kCoreRow;
    if (t.text == "col") return take(), kCoreCol;
    std::vector<std::string> names = {"row", "col"};
    for (const auto& [name, var] : scope_) names.push_back(name);
    unknown(t, "loop variable", names);
  }

  int iteration(const Command& c) {
    if (accept("$")) return small();
    const Token& t = peek();
    for (std::size_t i = 0; i < c.iter.size(); ++i)
      if (c.iter[i].name == t.text && t.kind == TokenKind::word) return take(), static_cast<int>(i);
    std::vector<std::string> names;
    for (const IterDim& d : c.iter) names.push_back(d.name);
    unknown(t, "iteration dimension", names);
  }

  /// A sum of `[n *] %variable`, integers and, where `view` is given, iteration dimensions and `index(n)`.
  Affine sum(const Command* c, ViewDim* view) {
    Affine a;
    bool negative = accept("-");
    while (true) {
      const Token& t = peek();
      std::int64_t factor = negative ? -1 : 1;
      bool product = true;
      if (t.kind == TokenKind::number) {
        factor = magnitude(negative);
        product = accept("*");
      }
      if (!product) {
        if (__builtin_add_overflow(a.constant, factor, &a.constant)) fail(t, "the constant does not fit 64 bits");
      } else if (accept("%")) {
        a.add(variable(), factor);
      } else if (view == nullptr) {
        fail(peek(), "expected a loop variable ('%name') or an integer, found " + found(peek()));
      } else if (accept("index")) {
        word("(");
        view->index_operand = small();
        word(")");
      } else {
        view->iter.emplace_back(iteration(*c), factor);
      }
      if (accept("+"))
        negative = false;
      else if (accept("-"))
        negative = true;
      else
        return a;
    }
  }
  Affine affine() { return sum(nullptr, nullptr); }

  Operand operand(const Command& c) {
    Operand o;
    o.buffer = buffer();
    o.type = dtype();
    if (accept("at")) o.byte_offset = integer();
    if (accept("ring")) {
      Ring r;
      word("(");
      r.sequence = affine();
      word(")");
      word("mod");
      r.depth = integer();
      word("step");
      r.stride = integer();
      o.ring = std::move(r);
    }
    list([&] {
      ViewDim d;
      d.offset = sum(&c, &d);
      word("of");
      d.size = integer();
      word("by");
      d.stride = integer();
      o.dims.push_back(std::move(d));
    });
    if (accept("fill")) o.fill = real();
    return o;
  }

  Axes axes() {
    Axes a;
    word("(");
    do {
      const Token& t = peek();
      if (accept("row"))
        a.row = true;
      else if (accept("col"))
        a.col = true;
      else
        unknown(t, "grid axis", {"row", "col"});
    } while (accept(","));
    word(")");
    return a;
  }

  IterDim iter_dim() {
    IterDim d;
    d.reduction = accept("sum");
    d.name = any_name();
    word("<");
    if (accept("min")) {
      word("(");
      d.extent.full = integer();
      word(",");
      d.extent.available = affine();
      word(")");
    } else {
      d.extent.full = integer();
    }
    if (accept("from")) d.origin = affine();
    return d;
  }

  // ------------------------------------------------------------------ statements
  Body body() {
    Body b;
    word("{");
    while (!accept("}")) {
      const Token& t = peek();
      if (t.text != fmt::format("v{}", b.code.size()))
        fail(t, fmt::format("expected 'v{}' or '}}', found {}", b.code.size(), found(t)));
      take();
      word("=");
      static const std::vector<std::string> kOps = [] {
        std::vector<std::string> names;
        for (int i = 0; i <= static_cast<int>(ScalarOp::cast); ++i) names.emplace_back(name(static_cast<ScalarOp>(i)));
        return names;
      }();
      ScalarInstr in;
      in.op = one_of<ScalarOp>("scalar operation", parse_scalar_op, kOps);
      int* const fields[3] = {&in.a, &in.b, &in.c};
      for (int k = 0; k < arity(in.op); ++k) *fields[k] = value();
      if (in.op == ScalarOp::input || in.op == ScalarOp::index) in.a = small();
      if (in.op == ScalarOp::constant) in.imm = real();
      word(":");
      in.type = dtype();
      while (is("a") || is("b") || is("c") || is("imm")) {
        const std::string field = take().text;
        if (field == "imm")
          in.imm = real();
        else
          *fields[field[0] - 'a'] = small();
      }
      b.code.push_back(in);
    }
    return b;
  }

  int value() {
    if (accept("(")) {
      const int v = small();
      word(")");
      return v;
    }
    const Token& t = peek();
    int v = 0;
    const char* end = t.text.data() + t.text.size();
    if (t.kind != TokenKind::word || t.text[0] != 'v' || t.text.size() < 2 ||
        std::from_chars(t.text.data() + 1, end, v).ptr != end)
      fail(t, "expected a value such as 'v0', found " + found(t));
    take();
    return v;
  }

  Command command(Opcode opcode) {
    Command c;
    c.opcode = opcode;
    c.engine = engine();
    word("for");
    list([&] { c.iter.push_back(iter_dim()); });
    if (accept("multicast")) c.multicast = axes();
    word("out");
    c.out = operand(c);
    while (accept("in")) c.in.push_back(operand(c));
    if (accept("zero"))
      for (double& z : c.zero) z = real();
    if (accept("combine")) {
      c.combine = one_of<Combine>("combine", parse_combine, {"none", "sum", "product", "max", "min"});
      c.accumulator = dtype();
    }
    if (accept("accumulate_unless_zero")) list([&] { c.accumulate_unless_zero.push_back(affine()); });
    if (accept("array")) {
      ArrayPlan plan;
      plan.dataflow = one_of<Dataflow>("dataflow", parse_dataflow,
                                       {"weight_stationary", "output_stationary", "input_stationary", "free"});
      const auto axis = [&](std::vector<std::pair<int, std::int64_t>>& on) {
        list([&] {
          const int dim = iteration(c);
          word("*");
          on.emplace_back(dim, integer());
        });
      };
      word("rows");
      axis(plan.on_rows);
      word("cols");
      axis(plan.on_cols);
      word("order");
      list([&] { plan.order.push_back(iteration(c)); });
      c.array = std::move(plan);
    }
    if (accept("body")) c.body = body();
    if (accept("trail")) c.trail = integer();
    return c;
  }

  HostCommand host() {
    HostCommand h;
    h.engine = engine();
    h.op = string();
    word("attributes");
    h.attributes = string();
    word("out");
    list([&] { h.out.push_back(buffer()); });
    word("in");
    list([&] { h.in.push_back(buffer()); });
    if (accept("trail")) h.trail = integer();
    return h;
  }

  Loop loop() {
    Loop l;
    const Token& start = peek();
    l.name = any_name();
    l.var = VarId(accept("%") ? natural() : next_var_);
    next_var_ = l.var.value + 1;
    word("<");
    l.trip = integer();
    if (scope_.size() >= kMaxLoopDepth) fail(start, fmt::format("loops are nested deeper than {}", kMaxLoopDepth));
    scope_.emplace_back(l.name, l.var);
    l.body = block();
    scope_.pop_back();
    return l;
  }

  Wait wait() {
    Wait w;
    w.engine = engine();
    w.semaphore = semaphore();
    w.slot = slot();
    w.count = integer();
    if (accept("leader")) w.leader = axes();
    return w;
  }

  Signal signal() {
    Signal s;
    s.engine = engine();
    s.semaphore = semaphore();
    s.slot = slot();
    s.count = integer();
    if (accept("leader")) s.leader = axes();
    if (accept("to_all")) s.to_all = axes();
    if (accept("to_leader")) s.to_leader = axes();
    return s;
  }

  std::vector<Stmt> block() {
    static const std::vector<std::string> kWords = {"loop", "copy", "contract", "vector", "host", "wait", "signal"};
    std::vector<Stmt> stmts;
    word("{");
    while (!accept("}")) {
      const Token& t = peek();
      if (accept("loop")) {
        stmts.emplace_back().node.emplace<Loop>(loop());
      } else if (accept("copy")) {
        stmts.emplace_back().node.emplace<Command>(command(Opcode::copy));
      } else if (accept("contract")) {
        stmts.emplace_back().node.emplace<Command>(command(Opcode::contract));
      } else if (accept("vector")) {
        stmts.emplace_back().node.emplace<Command>(command(Opcode::vector));
      } else if (accept("host")) {
        stmts.emplace_back().node.emplace<HostCommand>(host());
      } else if (accept("wait")) {
        stmts.emplace_back().node.emplace<Wait>(wait());
      } else if (accept("signal")) {
        stmts.emplace_back().node.emplace<Signal>(signal());
      } else {
        if (t.kind == TokenKind::word) unknown(t, "statement", kWords);
        fail(t, "expected a statement or '}', found " + found(t));
      }
    }
    return stmts;
  }

  static constexpr std::size_t kAmbiguous = SIZE_MAX;
  const std::string& file_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  Program* program_ = nullptr;
  NameIndex engine_index_, buffer_index_, semaphore_index_;
  std::vector<std::pair<std::string, VarId>> scope_;
  std::uint32_t next_var_ = kFirstLoopVar;
};

}  // namespace

Program parse_program(const std::string& text, const std::string& name) { return Parser(text, name).run(); }

}  // namespace assay
