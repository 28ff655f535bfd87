#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <set>

#include "core/base/error.h"
#include "core/base/math.h"
#include "core/ir/graph.h"
#include "core/ir/graph_text.h"

namespace assay {
namespace {

// A recursive-descent reader without recursion: the text form has no nesting. Each statement is one line.
class Reader {
 public:
  Reader(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  Graph read() {
    expect_word("graph");
    g_.name = name();
    end_of_line();
    for (skip_blank_lines(); at_ < text_.size(); skip_blank_lines()) statement();
    for (const auto& [input, alias, pos] : aliases_) {
      const auto t = g_.find_tensor(alias);
      if (!t || !g_.tensor(*t).is_output) fail(fmt::format("state is aliased to '{}', which is no output", alias), pos);
      g_.set_state_alias(input, alias);
    }
    return std::move(g_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const { fail(message, at_); }

  [[noreturn]] void fail(const std::string& message, std::size_t pos) const {
    int line = 1, column = 1;
    for (std::size_t i = 0; i < pos && i < text_.size(); ++i) {
      ++column;
      if (text_[i] == '\n') ++line, column = 1;
    }
    throw InputError(Diagnostic{.pos = {file_, line, column}, .path = "", .message = message, .suggestion = ""});
  }

  void spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }
  void skip_blank_lines() {
    for (spaces(); at_ < text_.size() && text_[at_] == '\n'; spaces()) ++at_;
  }
  char peek() {
    spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  std::string found() {
    const char c = peek();
    if (c == '\0' || c == '\n') return "the end of the line";
    return fmt::format("'{}'", c);
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("expected '{}', found {}", c, found()));
  }
  void end_of_line() {
    if (peek() != '\n' && peek() != '\0') fail(fmt::format("expected the end of the line, found {}", found()));
  }

  std::string bare_word() {
    spaces();
    const std::size_t start = at_;
    while (at_ < text_.size() && is_word_char(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }
  void expect_word(const std::string& wanted) {
    skip_blank_lines();
    const std::size_t start = at_;
    const std::string got = bare_word();
    if (got != wanted) fail(fmt::format("expected '{}', found '{}'", wanted, got), start);
  }
  std::string name() {
    if (peek() == '"') return quoted();
    std::string w = bare_word();
    if (w.empty()) fail(fmt::format("expected a name, found {}", found()));
    return w;
  }
  std::string quoted() {
    const std::size_t start = at_;
    expect('"');
    std::string out;
    for (;; ++at_) {
      if (at_ >= text_.size() || text_[at_] == '\n') fail("the string is not closed", start);
      const char c = text_[at_];
      if (c == '"') break;
      if (c != '\\') {
        out += c;
        continue;
      }
      const char e = ++at_ < text_.size() ? text_[at_] : '\0';
      if (e == 'n') {
        out += '\n';
      } else if (e == '"' || e == '\\') {
        out += e;
      } else if (unsigned v = 0; e == 'x' && at_ + 2 < text_.size() &&
                                 std::from_chars(&text_[at_ + 1], &text_[at_ + 3], v, 16).ptr == &text_[at_ + 3]) {
        out += static_cast<char>(v);
        at_ += 2;
      } else {
        fail("unknown escape in the string");
      }
    }
    ++at_;
    return out;
  }

  std::int64_t integer() {
    spaces();
    std::int64_t v = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (error != std::errc{}) fail(fmt::format("expected an integer of 64 bits, found {}", found()));
    at_ = static_cast<std::size_t>(end - text_.data());
    return v;
  }

  // An integer or a real number; reals have a point, an exponent or are nan, inf, -inf.
  std::variant<std::int64_t, double> number() {
    spaces();
    const std::size_t start = at_;
    const std::string w = number_word();
    if (w == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (w == "inf") return std::numeric_limits<double>::infinity();
    if (w == "-inf") return -std::numeric_limits<double>::infinity();
    const char* const end = w.data() + w.size();
    if (w.find_first_of(".e") == std::string::npos) {
      if (std::int64_t v = 0; std::from_chars(w.data(), end, v) == std::from_chars_result{end, std::errc{}}) return v;
      // uint64 values beyond the signed range keep their bits.
      if (std::uint64_t v = 0; std::from_chars(w.data(), end, v) == std::from_chars_result{end, std::errc{}})
        return static_cast<std::int64_t>(v);
    } else if (double v = 0; std::from_chars(w.data(), end, v) == std::from_chars_result{end, std::errc{}}) {
      return v;
    }
    fail(fmt::format("expected a number, found '{}'", w), start);
  }
  std::string number_word() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (is_word_char(text_[at_]) || text_[at_] == '+')) ++at_;
    return text_.substr(start, at_ - start);
  }

  TensorType type() {
    const std::size_t start = (spaces(), at_);
    const std::string w = bare_word();
    const auto dtype = parse_dtype(w);
    if (!dtype) fail(fmt::format("'{}' is not a type", w), start);
    TensorType t{*dtype, {}};
    expect('[');
    if (!accept(']')) {
      do {
        t.shape.push_back(integer());
        if (t.shape.back() < 0) fail("a dimension is negative", start);
      } while (accept(','));
      expect(']');
    }
    checked_mul(element_count(t.shape), 64);  // throws where no address could reach the elements
    return t;
  }

  std::shared_ptr<const Tensor> elements(const TensorType& t) {
    const std::size_t start = at_;
    expect('[');
    std::vector<std::variant<std::int64_t, double>> values;
    if (!accept(']')) {
      do values.push_back(number());
      while (accept(','));
      expect(']');
    }
    if (static_cast<std::int64_t>(values.size()) != element_count(t.shape))
      fail(fmt::format("{} values for {}", values.size(), to_string(t)), start);
    if (is_float(t.dtype)) {
      Tensor out(t);
      for (std::size_t i = 0; i < values.size(); ++i)
        out.set(static_cast<std::int64_t>(i), std::visit([](auto v) { return static_cast<double>(v); }, values[i]));
      return std::make_shared<const Tensor>(std::move(out));
    }
    Tensor wide({DType::i64, t.shape});
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto* v = std::get_if<std::int64_t>(&values[i]);
      if (v == nullptr) fail(fmt::format("a real number in {}", to_string(t)), start);
      wide.data<std::int64_t>()[i] = *v;
    }
    return std::make_shared<const Tensor>(wide.cast(t.dtype));
  }

  void statement() {
    const std::size_t start = at_;
    const std::string kind = bare_word();
    if (kind == "input") {
      const auto [n, t] = declaration();
      const TensorId id = g_.add_input(n, t);
      if (peek() == 's') {
        expect_word("state");
        const std::size_t pos = at_;
        aliases_.push_back({id, tensor_name(), pos});
      }
    } else if (kind == "constant") {
      const auto [n, t] = declaration();
      expect('=');
      if (peek() == '[') {
        g_.add_constant(n, elements(t));
      } else {
        expect_word("sha256");
        bare_word();
        g_.add_weight(n, t);
      }
    } else if (kind == "weight") {
      const auto [n, t] = declaration();
      g_.add_weight(n, t);
    } else if (kind == "node") {
      node();
    } else if (kind == "output") {
      const TensorId t = tensor();
      if (g_.tensor(t).is_output) fail(fmt::format("'{}' is an output already", g_.tensor(t).name), start);
      g_.mark_output(t);
    } else {
      fail(fmt::format("expected input, constant, weight, node or output, found '{}'", kind), start);
    }
    end_of_line();
  }

  std::string tensor_name() {
    expect('%');
    return name();
  }
  std::pair<std::string, TensorType> declaration() {
    const std::size_t start = (spaces(), at_);
    std::string n = tensor_name();
    if (g_.find_tensor(n) || !declared_.insert(n).second) fail(fmt::format("'{}' is declared twice", n), start);
    expect(':');
    return {std::move(n), type()};
  }
  TensorId tensor() {
    const std::size_t start = (spaces(), at_);
    const std::string n = tensor_name();
    const auto t = g_.find_tensor(n);
    if (!t) fail(fmt::format("'{}' is not declared above", n), start);
    return *t;
  }
  bool absent() {
    if (peek() != '_') return false;
    ++at_;
    return true;
  }

  void node() {
    Node n;
    const std::size_t start = (spaces(), at_);
    n.name = name();
    if (g_.find_node(n.name)) fail(fmt::format("node '{}' is declared twice", n.name), start);
    expect(':');
    std::vector<std::optional<std::pair<std::string, TensorType>>> outputs;
    if (peek() != '=') {
      do {
        if (absent())
          outputs.emplace_back();
        else
          outputs.emplace_back(declaration());
      } while (accept(','));
    }
    expect('=');
    n.op = name();
    const std::int64_t version = integer();
    if (version < 0 || version > 1'000'000) fail("the version is out of range");
    n.version = static_cast<int>(version);
    expect('(');
    if (!accept(')')) {
      do n.inputs.push_back(absent() ? TensorId() : tensor());
      while (accept(','));
      expect(')');
    }
    if (accept('{')) attributes(n.attributes);
    if (peek() == 'f') {
      expect_word("from");
      expect('[');
      do n.sources.push_back(name());
      while (accept(','));
      expect(']');
    }
    for (const auto& o : outputs) n.outputs.push_back(o ? g_.add_tensor(o->first, o->second) : TensorId());
    g_.add_node(std::move(n));
  }

  void attributes(Attributes& out) {
    do {
      const std::size_t start = (spaces(), at_);
      const std::string key = name();
      if (out.has(key)) fail(fmt::format("attribute '{}' is given twice", key), start);
      expect('=');
      out.set(key, attribute());
    } while (accept(','));
    expect('}');
  }

  AttributeValue attribute() {
    const char c = peek();
    if (c == '"') return quoted();
    if (c == '[') return list();
    const std::size_t start = at_;
    const std::string w = bare_word();
    if (w == "tensor") {
      const TensorType t = type();
      expect('=');
      return elements(t);
    }
    if (w == "ints" || w == "reals" || w == "texts") {
      expect('[');
      expect(']');
      if (w == "ints") return std::vector<std::int64_t>{};
      if (w == "reals") return std::vector<double>{};
      return std::vector<std::string>{};
    }
    at_ = start;
    return std::visit([](auto v) -> AttributeValue { return v; }, number());
  }

  AttributeValue list() {
    const std::size_t start = at_;
    expect('[');
    if (peek() == '"') {
      std::vector<std::string> out;
      do {
        if (peek() != '"') fail("a list holds strings only or numbers only");
        out.push_back(quoted());
      } while (accept(','));
      expect(']');
      return out;
    }
    std::vector<std::int64_t> ints;
    std::vector<double> reals;
    do {
      const auto v = number();
      if (const auto* i = std::get_if<std::int64_t>(&v)) ints.push_back(*i);
      if (const auto* r = std::get_if<double>(&v)) reals.push_back(*r);
    } while (accept(','));
    expect(']');
    if (!ints.empty() && !reals.empty()) fail("a list holds integers only or reals only", start);
    if (!reals.empty()) return reals;
    return ints;
  }

  struct Alias {
    TensorId input;
    std::string output;
    std::size_t pos;
  };

  const std::string& text_;
  const std::string& file_;
  std::size_t at_ = 0;
  Graph g_;
  std::set<std::string> declared_;  ///< also results of the node being read, which the graph does not have yet
  std::vector<Alias> aliases_;
};

}  // namespace

Graph parse_graph(const std::string& text, const std::string& name) { return Reader(text, name).read(); }

}  // namespace assay
