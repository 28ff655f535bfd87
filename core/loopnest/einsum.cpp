#include "core/loopnest/einsum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/math.h"

namespace assay {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 62;

bool name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool name_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

/// Recursive descent over one line of text. Dimensions are collected in order of appearance.
class EinsumParser {
 public:
  EinsumParser(std::string_view text, const std::map<std::string, std::int64_t>& extents)
      : text_(text), extents_(extents) {}

  Einsum parse(std::string name) {
    Einsum e;
    e.name = std::move(name);
    EinsumTensor output = tensor(e);
    const std::size_t output_at = tensor_at_;
    output.output = true;
    skip();
    if (peek() == '+') ++at_;
    expect('=', "'=' or '+=' after the output");
    do {
      EinsumTensor operand = tensor(e);
      const bool again = operand.name == output.name || e.find_tensor(operand.name) >= 0;
      if (again) fail(tensor_at_, fmt::format("tensor '{}' is named twice", operand.name));
      e.tensors.push_back(std::move(operand));
      skip();
    } while (take('*'));
    if (at_ < text_.size()) fail(at_, fmt::format("expected '*' or the end, found '{}'", text_[at_]));
    std::uint64_t read = 0;
    for (const EinsumTensor& t : e.tensors) read |= t.relevant();
    for (std::size_t d = 0; d < e.dims.size(); ++d) {
      if ((read >> d & 1) == 0)
        fail(output_at, fmt::format("dimension '{}' of the output '{}' is in no operand", e.dims[d].name, output.name));
    }
    e.tensors.push_back(std::move(output));
    for (const auto& [dim, extent] : extents_) {
      if (e.find_dim(dim) < 0) fail_name(0, fmt::format("extent of '{}', which is no dimension here", dim), dim, e);
    }
    (void)e.macs();
    return e;
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& message, std::string suggestion = {}) const {
    throw InputError(Diagnostic{.pos = {},
                                .path = "einsum",
                                .message = fmt::format("column {}: {} in `{}`", at + 1, message, text_),
                                .suggestion = std::move(suggestion)});
  }
  [[noreturn]] void fail_name(std::size_t at, const std::string& message, const std::string& name,
                              const Einsum& e) const {
    std::vector<std::string> names;
    for (const EinsumDim& d : e.dims) names.push_back(d.name);
    fail(at, message, nearest_name(name, names).value_or(""));
  }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    skip();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c, const std::string& what) {
    if (!take(c))
      fail(at_, at_ < text_.size() ? fmt::format("expected {}, found '{}'", what, text_[at_])
                                   : fmt::format("expected {}, found the end", what));
  }
  std::string identifier(const std::string& what) {
    skip();
    if (!name_start(peek())) expect('\0', what);
    const std::size_t from = at_;
    while (at_ < text_.size() && name_part(text_[at_])) ++at_;
    return std::string(text_.substr(from, at_ - from));
  }

  EinsumTensor tensor(Einsum& e) {
    EinsumTensor t;
    skip();
    tensor_at_ = at_;
    t.name = identifier("a tensor's name");
    expect('[', fmt::format("'[' after '{}'", t.name));
    if (take(']')) return t;  // one element
    do {
      t.axes.push_back(axis(e, t));
    } while (take(','));
    expect(']', "',' or ']'");
    return t;
  }

  std::vector<EinsumTerm> axis(Einsum& e, const EinsumTensor& t) {
    std::vector<EinsumTerm> terms;
    bool minus = false;
    do {
      term(e, t, terms, minus);
      skip();
      minus = peek() == '-';
    } while (take('+') || take('-'));
    return terms;
  }

  /// `2*p`, `p*2`, `2p`, `p` or a constant, which shifts every box alike and is dropped.
  void term(Einsum& e, const EinsumTensor& t, std::vector<EinsumTerm>& terms, bool minus) {
    skip();
    if (peek() == '-') fail(at_, "a coefficient must be a positive integer");
    const std::size_t from = at_;
    std::optional<std::int64_t> coefficient;
    if (digit(peek())) {
      coefficient = integer();
      const bool starred = take('*');
      if (!starred && !name_start(peek())) return;
    }
    const std::size_t name_at = at_;
    const std::string name = identifier("a dimension, a coefficient or a constant");
    if (take('*')) {
      skip();
      if (coefficient || !digit(peek())) fail(at_, "a projection is a sum of coefficient*dimension");
      coefficient = integer();
    }
    if (minus || coefficient.value_or(1) < 1) fail(from, "a coefficient must be a positive integer");
    const int d = dimension(e, name, name_at);
    for (const auto& other : t.axes) {
      for (const EinsumTerm& o : other) {
        if (o.dim == d)
          fail(name_at,
               fmt::format("dimension '{}' stands in two axes of '{}' (a diagonal is not a box)", name, t.name));
      }
    }
    for (EinsumTerm& o : terms) {
      if (o.dim == d) {  // p + p is 2*p
        if (__builtin_add_overflow(o.coefficient, coefficient.value_or(1), &o.coefficient))
          fail(from, "the coefficient does not fit 64 bits");
        return;
      }
    }
    terms.push_back({d, coefficient.value_or(1)});
  }

  std::int64_t integer() {
    const std::size_t from = at_;
    std::int64_t v = 0;
    for (; digit(peek()); ++at_) {
      if (mul_overflows(v, 10, v) || __builtin_add_overflow(v, text_[at_] - '0', &v))
        fail(from, "the number does not fit 64 bits");
    }
    if (peek() == '.') fail(from, "a coefficient must be a positive integer");
    return v;
  }

  int dimension(Einsum& e, const std::string& name, std::size_t at) {
    const int known = e.find_dim(name);
    if (known >= 0) return known;
    const auto it = extents_.find(name);
    if (it == extents_.end()) {
      std::vector<std::string> names;
      for (const auto& [n, extent] : extents_) names.push_back(n);
      fail(at, fmt::format("dimension '{}' has no extent", name), nearest_name(name, names).value_or(""));
    }
    if (it->second < 1) fail(at, fmt::format("extent of '{}': expected an integer >= 1, found {}", name, it->second));
    if (e.dims.size() == 63) fail(at, "more than 63 dimensions");
    e.dims.push_back({name, it->second});
    return static_cast<int>(e.dims.size()) - 1;
  }

  std::string_view text_;
  const std::map<std::string, std::int64_t>& extents_;
  std::size_t at_ = 0, tensor_at_ = 0;
};

std::string print_tensor(const Einsum& e, const EinsumTensor& t) {
  std::string out = t.name + "[";
  for (std::size_t a = 0; a < t.axes.size(); ++a) {
    if (a > 0) out += ",";
    for (std::size_t i = 0; i < t.axes[a].size(); ++i) {
      const EinsumTerm& term = t.axes[a][i];
      if (i > 0) out += "+";
      if (term.coefficient != 1) out += fmt::format("{}*", term.coefficient);
      out += e.dims[static_cast<std::size_t>(term.dim)].name;
    }
    if (t.axes[a].empty()) out += "0";
  }
  return out + "]";
}

}  // namespace

std::uint64_t EinsumTensor::relevant() const {
  std::uint64_t mask = 0;
  for (const auto& axis : axes) {
    for (const EinsumTerm& t : axis) mask |= std::uint64_t{1} << t.dim;
  }
  return mask;
}

std::int64_t Einsum::macs() const {
  std::int64_t product = 1;
  for (const EinsumDim& d : dims) {
    if (mul_overflows(product, d.extent, product) || product > kMost)
      throw InputError("einsum", fmt::format("'{}' has more than 2^62 MACs", name.empty() ? "it" : name));
  }
  return product;
}

int Einsum::find_dim(std::string_view n) const {
  const auto it = std::find_if(dims.begin(), dims.end(), [n](const EinsumDim& d) { return d.name == n; });
  return it == dims.end() ? -1 : static_cast<int>(it - dims.begin());
}

int Einsum::find_tensor(std::string_view n) const {
  const auto it = std::find_if(tensors.begin(), tensors.end(), [n](const EinsumTensor& t) { return t.name == n; });
  return it == tensors.end() ? -1 : static_cast<int>(it - tensors.begin());
}

std::vector<std::int64_t> box_extents(const EinsumTensor& tensor, const std::vector<std::int64_t>& extents) {
  std::vector<std::int64_t> out;
  out.reserve(tensor.axes.size());
  for (const auto& axis : tensor.axes) {
    std::int64_t n = 1;
    for (const EinsumTerm& t : axis) {
      std::int64_t span = 0;
      if (mul_overflows(t.coefficient, extents[static_cast<std::size_t>(t.dim)] - 1, span) ||
          __builtin_add_overflow(n, span, &n) || n > kMost)
        throw InputError(tensor.name, "an axis is longer than 2^62");
    }
    out.push_back(n);
  }
  return out;
}

std::int64_t box_elements(const EinsumTensor& tensor, const std::vector<std::int64_t>& extents) {
  std::int64_t product = 1;
  for (const std::int64_t n : box_extents(tensor, extents)) {
    if (mul_overflows(product, n, product) || product > kMost) throw InputError(tensor.name, "more than 2^62 elements");
  }
  return product;
}

Einsum parse_einsum(std::string_view text, const std::map<std::string, std::int64_t>& extents, std::string name) {
  return EinsumParser(text, extents).parse(std::move(name));
}

std::string print_einsum(const Einsum& e) {
  std::string out;
  for (const EinsumTensor& t : e.tensors) {
    if (t.output) out = print_tensor(e, t) + " += ";
  }
  bool first = true;
  for (const EinsumTensor& t : e.tensors) {
    if (t.output) continue;
    if (!first) out += " * ";
    first = false;
    out += print_tensor(e, t);
  }
  return out;
}

}  // namespace assay
