#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "core/base/error.h"
#include "core/spec/quantity.h"

namespace assay {
namespace {

constexpr std::size_t kLongestExpression = 1000;
constexpr int kDeepestExpression = 64;
constexpr Real kLargest = 1e30L;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Recursive descent over one scalar; `at_` is the offset of the next character.
class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, std::size_t begin, std::size_t end, const ParamLookup* params)
      : text_(text), at_(begin), end_(end), params_(params) {}

  /// number unit?
  Quantity literal() {
    const bool negative = accept('-');
    Quantity q = number_with_unit();
    if (negative) q = {-q.value, -q.high, -q.low, q.dim};
    expect_end();
    return q;
  }

  /// The whole text is the name of one parameter, whose value may then be text.
  Value whole() {
    skip_spaces();
    if (at_ < end_ && is_letter(text_[at_])) {
      const std::size_t start = at_;
      const std::string_view name = identifier();
      skip_spaces();
      if (at_ == end_ && !find_unit(name)) return (*params_)(name, start);
      at_ = start;
    }
    Quantity q = sum(0);
    expect_end();
    return q;
  }

  Unit unit() {
    skip_spaces();
    const std::size_t start = at_;
    std::string name(identifier());
    if (at_ + 1 < end_ && text_[at_] == '/' && is_letter(text_[at_ + 1])) {
      const std::size_t mark = at_++;
      const std::string_view bottom = identifier();
      // Inside an expression `4 KiB/rows` divides by a parameter; parameters may not be named like units.
      if (find_unit(bottom) || params_ == nullptr) {
        name += '/';
        name += bottom;
      } else {
        at_ = mark;
      }
    }
    if (const auto unit = find_unit(name)) return *unit;
    if (name == "KB" || name.starts_with("KB/")) {
      fail("'KB' is ambiguous; write kB for 1000 bytes or KiB for 1024", start, "KiB");
    }
    const auto near = nearest_name(name, unit_names());
    fail(fmt::format("'{}' is not a unit", name), start, near.value_or(""));
  }

  std::size_t at() const { return at_; }

 private:
  [[noreturn]] void fail(const std::string& message, std::size_t offset, std::string suggestion = {}) const {
    throw ValueError(message, offset, std::move(suggestion));
  }
  void skip_spaces() {
    while (at_ < end_ && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip_spaces();
    if (at_ >= end_ || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect_end() {
    skip_spaces();
    if (at_ < end_) fail(fmt::format("unexpected '{}'", text_.substr(at_, std::min<std::size_t>(end_ - at_, 20))), at_);
  }
  std::string_view identifier() {
    const std::size_t start = at_;
    while (at_ < end_ && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    return text_.substr(start, at_ - start);
  }

  Real number() {
    skip_spaces();
    const std::size_t start = at_;
    const auto digits = [&] {
      const std::size_t first = at_;
      while (at_ < end_ && is_digit(text_[at_])) ++at_;
      return at_ - first;
    };
    const std::size_t whole = digits();
    if (whole == 0) fail("expected a number", start);
    if (whole > 1 && text_[start] == '0') {
      fail(fmt::format("'{}' has a leading zero, which some readers take for octal; write it without",
                       text_.substr(start, at_ - start)),
           start);
    }
    if (at_ < end_ && text_[at_] == '.') {
      ++at_;
      if (digits() == 0) fail("expected digits after the decimal point", at_);
    }
    if (at_ < end_ && (text_[at_] == 'e' || text_[at_] == 'E')) {
      const std::size_t mark = at_++;
      if (at_ < end_ && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (digits() == 0) at_ = mark;  // a unit may start with e
    }
    const std::string copy(text_.substr(start, at_ - start));
    const Real v = std::strtold(copy.c_str(), nullptr);
    if (!(v < kLargest)) fail(fmt::format("'{}' is too large", copy), start);
    return v;
  }

  Quantity number_with_unit() {
    const Real v = number();
    skip_spaces();
    if (at_ >= end_ || !is_letter(text_[at_])) return Quantity::exact(v);
    const Unit u = unit();
    return Quantity::exact(v * u.numerator / u.denominator, u.dim);
  }

  Quantity checked(Quantity q, std::size_t offset) const {
    if (!(std::abs(q.value) < kLargest && std::abs(q.low) < kLargest && std::abs(q.high) < kLargest)) {
      fail("the result is too large", offset);
    }
    return q;
  }

  Quantity sum(int depth) {
    Quantity left = product(depth);
    for (;;) {
      skip_spaces();
      const std::size_t offset = at_;
      const bool plus = accept('+');
      if (!plus && !accept('-')) return left;
      const Quantity right = product(depth);
      if (left.dim != right.dim) {
        fail(fmt::format("can't {} {} and {}", plus ? "add" : "subtract", dimension_name(left.dim),
                         dimension_name(right.dim)),
             offset);
      }
      left = plus ? Quantity{left.value + right.value, left.low + right.low, left.high + right.high, left.dim}
                  : Quantity{left.value - right.value, left.low - right.high, left.high - right.low, left.dim};
      left = checked(left, offset);
    }
  }

  Quantity product(int depth) {
    Quantity left = factor(depth);
    for (;;) {
      skip_spaces();
      const std::size_t offset = at_;
      const bool times = accept('*');
      if (!times && !accept('/')) return left;
      Quantity right = factor(depth);
      if (!times) {
        if (right.low <= 0 && right.high >= 0) fail("division by zero", offset);
        right = {1 / right.value, 1 / right.high, 1 / right.low, Dimension{} - right.dim};
      }
      const auto [low, high] =
          std::minmax({left.low * right.low, left.low * right.high, left.high * right.low, left.high * right.high});
      left = checked({left.value * right.value, low, high, left.dim + right.dim}, offset);
    }
  }

  Quantity factor(int depth) {
    skip_spaces();
    const std::size_t offset = at_;
    if (depth > kDeepestExpression) fail("parentheses nested too deeply", offset);
    if (accept('-')) {
      const Quantity q = factor(depth + 1);
      return {-q.value, -q.high, -q.low, q.dim};
    }
    if (accept('(')) {
      const Quantity q = sum(depth + 1);
      if (!accept(')')) fail("expected ')'", at_);
      return q;
    }
    if (at_ < end_ && is_letter(text_[at_])) {
      const std::string_view name = identifier();
      if (accept('(')) return call(name, offset, depth);
      const Value v = (*params_)(name, offset);
      if (const auto* q = std::get_if<Quantity>(&v)) return *q;
      fail(fmt::format("parameter '{}' is not a number", name), offset);
    }
    if (at_ >= end_) fail("the expression ends too early", at_);
    return number_with_unit();
  }

  Quantity call(std::string_view name, std::size_t offset, int depth) {
    static const std::vector<std::string> functions{"min", "max", "ceil", "floor", "log2"};
    if (std::find(functions.begin(), functions.end(), name) == functions.end()) {
      fail(fmt::format("no function '{}'; there are min, max, ceil, floor and log2", name), offset,
           nearest_name(name, functions).value_or(""));
    }
    Quantity q = sum(depth + 1);
    if (name == "min" || name == "max") {
      const bool smaller = name == "min";
      const auto pick = [smaller](Real a, Real b) { return smaller ? std::min(a, b) : std::max(a, b); };
      while (accept(',')) {
        const Quantity other = sum(depth + 1);
        if (other.dim != q.dim) {
          fail(fmt::format("{} of {} and {}", name, dimension_name(q.dim), dimension_name(other.dim)), offset);
        }
        q = {pick(q.value, other.value), pick(q.low, other.low), pick(q.high, other.high), q.dim};
      }
    } else if (!q.dim.plain()) {
      fail(fmt::format("{} takes a plain number, found {}", name, dimension_name(q.dim)), offset);
    } else if (name == "log2") {
      if (q.low <= 0) fail("log2 of a number that is not positive", offset);
      q = {std::log2(q.value), std::log2(q.low), std::log2(q.high), {}};
    } else {
      const auto round = [up = name == "ceil"](Real v) { return up ? std::ceil(v) : std::floor(v); };
      q = {round(q.value), round(q.low), round(q.high), {}};
    }
    if (!accept(')')) fail("expected ')'", at_);
    return q;
  }

  std::string_view text_;
  std::size_t at_, end_;
  const ParamLookup* params_;
};

Value evaluate_expression(const std::string& text, const ParamLookup& params) {
  if (text.size() > kLongestExpression) {
    throw ValueError(fmt::format("the expression is longer than {} characters", kLongestExpression), 0);
  }
  const std::size_t close = text.find('}');
  if (!text.starts_with("${")) {
    throw ValueError("an expression has to be the whole value, '${...}' or '${...} unit'", text.find("${"));
  }
  if (close == std::string::npos) throw ValueError("expected '}' at the end of the expression", text.size());
  Value v = ExpressionParser(text, 2, close, &params).whole();
  const std::size_t rest = text.find_first_not_of(' ', close + 1);
  if (rest == std::string::npos) return v;
  auto* q = std::get_if<Quantity>(&v);
  if (q == nullptr || !q->dim.plain() || !is_letter(text[rest])) {
    throw ValueError("only a unit may follow an expression, and only if its value is a plain number", rest);
  }
  ExpressionParser tail(text, rest, text.size(), nullptr);
  const Unit unit = tail.unit();
  if (tail.at() != text.size()) throw ValueError("unexpected text after the unit", tail.at());
  const auto scaled = [&unit](Real x) { return x * unit.numerator / unit.denominator; };
  return Quantity{scaled(q->value), scaled(q->low), scaled(q->high), unit.dim};
}

}  // namespace

Value evaluate_scalar(const std::string& text, bool quoted, const ParamLookup& params) {
  if (text.find("${") != std::string::npos) return evaluate_expression(text, params);
  if (!quoted && text == "true") return true;
  if (!quoted && text == "false") return false;
  const bool number = !text.empty() && (is_digit(text[0]) || (text.size() > 1 && text[0] == '-' && is_digit(text[1])));
  if (!number) return text;
  const Quantity q = ExpressionParser(text, 0, text.size(), nullptr).literal();
  // "16" in quotes is text: a reader that takes it for a number hides a mistake. "128 KiB" can't be anything else.
  if (quoted && q.dim.plain()) return text;
  return q;
}

}  // namespace assay
