#include "core/isa/body.h"

#include <array>
#include <bit>

#include "core/base/check.h"

namespace assay {
namespace {

struct OpInfo {
  std::string_view name;
  int arity;
  std::string_view op_class;
};

constexpr std::string_view kArithmetic = "arithmetic";
constexpr std::string_view kCompare = "compare";
constexpr std::string_view kTranscendental = "transcendental";
constexpr std::string_view kConvert = "convert";

constexpr std::size_t kOpCount = static_cast<std::size_t>(ScalarOp::cast) + 1;

// In the order of the enumeration.
constexpr std::array<OpInfo, kOpCount> kOps = {{
    {"input", 0, kArithmetic},      {"constant", 0, kArithmetic},    {"index", 0, kArithmetic},
    {"add", 2, kArithmetic},        {"sub", 2, kArithmetic},         {"mul", 2, kArithmetic},
    {"div", 2, kArithmetic},        {"mod", 2, kArithmetic},         {"min", 2, kArithmetic},
    {"max", 2, kArithmetic},        {"pow", 2, kTranscendental},     {"fmod", 2, kArithmetic},
    {"neg", 1, kArithmetic},        {"abs", 1, kArithmetic},         {"sign", 1, kArithmetic},
    {"floor", 1, kArithmetic},      {"ceil", 1, kArithmetic},        {"round_even", 1, kArithmetic},
    {"trunc", 1, kArithmetic},      {"sqrt", 1, kTranscendental},    {"rsqrt", 1, kTranscendental},
    {"reciprocal", 1, kArithmetic}, {"exp", 1, kTranscendental},     {"log", 1, kTranscendental},
    {"sin", 1, kTranscendental},    {"cos", 1, kTranscendental},     {"tan", 1, kTranscendental},
    {"tanh", 1, kTranscendental},   {"sinh", 1, kTranscendental},    {"cosh", 1, kTranscendental},
    {"asin", 1, kTranscendental},   {"acos", 1, kTranscendental},    {"atan", 1, kTranscendental},
    {"asinh", 1, kTranscendental},  {"acosh", 1, kTranscendental},   {"atanh", 1, kTranscendental},
    {"erf", 1, kTranscendental},    {"sigmoid", 1, kTranscendental}, {"less", 2, kCompare},
    {"less_equal", 2, kCompare},    {"equal", 2, kCompare},          {"logical_and", 2, kCompare},
    {"logical_or", 2, kCompare},    {"logical_xor", 2, kCompare},    {"logical_not", 1, kCompare},
    {"bit_and", 2, kArithmetic},    {"bit_or", 2, kArithmetic},      {"bit_xor", 2, kArithmetic},
    {"bit_not", 1, kArithmetic},    {"shift_left", 2, kArithmetic},  {"shift_right", 2, kArithmetic},
    {"is_nan", 1, kCompare},        {"is_inf", 1, kCompare},         {"select", 3, kCompare},
    {"cast", 1, kConvert},
}};
static_assert(kOps.back().name == "cast" && kOps[kOpCount - 2].name == "select", "one row per ScalarOp");

constexpr std::array<std::string_view, 5> kCombines = {"none", "sum", "product", "max", "min"};

const OpInfo& info(ScalarOp op) {
  const auto i = static_cast<std::size_t>(op);
  ASSAY_CHECK(i < kOpCount, "scalar operation " + std::to_string(i));
  return kOps[i];
}

// Equality by bit pattern: -0.0 and 0.0 are different constants, equal NaNs are the same.
bool same_value(const ScalarInstr& x, const ScalarInstr& y) {
  return x.op == y.op && x.type == y.type && x.a == y.a && x.b == y.b && x.c == y.c &&
         std::bit_cast<std::uint64_t>(x.imm) == std::bit_cast<std::uint64_t>(y.imm);
}

// Appends `instr` or finds the instruction that already computes it. O(length).
int append(Body& body, const ScalarInstr& instr) {
  for (std::size_t i = 0; i < body.code.size(); ++i)
    if (same_value(body.code[i], instr)) return static_cast<int>(i);
  body.code.push_back(instr);
  return static_cast<int>(body.code.size()) - 1;
}

int mapped(const std::vector<int>& map, int operand) {
  ASSAY_CHECK(operand >= 0 && static_cast<std::size_t>(operand) < map.size(),
              "operand " + std::to_string(operand) + " of " + std::to_string(map.size()));
  return map[static_cast<std::size_t>(operand)];
}

ScalarInstr renumbered(ScalarInstr instr, const std::vector<int>& value) {
  const int n = arity(instr.op);
  const auto at = [&](int v) {
    ASSAY_CHECK(v >= 0 && static_cast<std::size_t>(v) < value.size(), "value " + std::to_string(v));
    return value[static_cast<std::size_t>(v)];
  };
  if (n > 0) instr.a = at(instr.a);
  if (n > 1) instr.b = at(instr.b);
  if (n > 2) instr.c = at(instr.c);
  return instr;
}

}  // namespace

int Body::input(int operand, DType type) {
  code.push_back({.op = ScalarOp::input, .type = type, .a = operand});
  return static_cast<int>(code.size()) - 1;
}

int Body::constant(double value, DType type) {
  code.push_back({.op = ScalarOp::constant, .type = type, .imm = value});
  return static_cast<int>(code.size()) - 1;
}

int Body::push(ScalarOp op, DType type, int a, int b, int c) {
  code.push_back({.op = op, .type = type, .a = a, .b = b, .c = c});
  return static_cast<int>(code.size()) - 1;
}

bool Body::is_identity() const { return code.size() == 1 && code[0].op == ScalarOp::input && code[0].a == 0; }

int arity(ScalarOp op) { return info(op).arity; }
std::string_view name(ScalarOp op) { return info(op).name; }
std::string_view op_class(ScalarOp op) { return info(op).op_class; }

std::optional<ScalarOp> parse_scalar_op(std::string_view text) {
  for (std::size_t i = 0; i < kOpCount; ++i)
    if (kOps[i].name == text) return static_cast<ScalarOp>(i);
  return std::nullopt;
}

std::string_view name(Combine c) {
  const auto i = static_cast<std::size_t>(c);
  ASSAY_CHECK(i < kCombines.size(), "combine " + std::to_string(i));
  return kCombines[i];
}

std::optional<Combine> parse_combine(std::string_view text) {
  for (std::size_t i = 0; i < kCombines.size(); ++i)
    if (kCombines[i] == text) return static_cast<Combine>(i);
  return std::nullopt;
}

Body substitute(const Body& body, int operand, const Body& inner, const std::vector<int>& outer_map,
                const std::vector<int>& inner_map) {
  ASSAY_CHECK(!body.code.empty() && !inner.code.empty(), "empty body");
  Body out;
  int inner_value = -1;
  const auto place_inner = [&] {
    if (inner_value >= 0) return inner_value;
    std::vector<int> value;
    value.reserve(inner.code.size());
    for (const ScalarInstr& instr : inner.code) {
      ScalarInstr moved = renumbered(instr, value);
      if (moved.op == ScalarOp::input) moved.a = mapped(inner_map, instr.a);
      value.push_back(append(out, moved));
    }
    return inner_value = value.back();
  };
  std::vector<int> value;
  value.reserve(body.code.size());
  for (const ScalarInstr& instr : body.code) {
    if (instr.op == ScalarOp::input && instr.a == operand) {
      const int v = place_inner();
      // The consumer read the tensor in its own type: keep that rounding.
      value.push_back(out.code[static_cast<std::size_t>(v)].type == instr.type
                          ? v
                          : append(out, {.op = ScalarOp::cast, .type = instr.type, .a = v}));
      continue;
    }
    ScalarInstr moved = renumbered(instr, value);
    if (moved.op == ScalarOp::input) moved.a = mapped(outer_map, instr.a);
    value.push_back(append(out, moved));
  }
  // Sharing may have left the result in the middle: the value of a body is its last instruction's.
  if (value.back() != static_cast<int>(out.code.size()) - 1)
    out.push(ScalarOp::cast, out.code[static_cast<std::size_t>(value.back())].type, value.back());
  return out;
}

}  // namespace assay
