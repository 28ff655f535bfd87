#include <cmath>

#include "core/ops/build_nest.h"
#include "core/ops/eval.h"

// Functions of one operand that are one scalar operation: Exp, Neg, Floor, …

namespace assay {
namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class F>
void add_unary(OpRegistry& r, const std::string& name, ScalarOp op, unsigned types, F f) {
  OpDef def;
  def.name = name;
  def.kind = OpKind::nest;
  def.infer = [types](const OpContext& c) {
    require_type(c, 0, types);
    return std::vector{c.type(0)};
  };
  def.evaluate = widened([f, types](EvalContext& c) {
    const auto run = [&](auto tag) {
      using T = decltype(tag);
      zip<T, T>(c.out[0], f, {&c.in(0)});
    };
    if ((types & kIntegers) != 0)
      visit_numeric(c.in(0).dtype(), run);
    else
      visit_float(c.in(0).dtype(), run);
  });
  def.nests = [op](const OpContext& c) {
    return elementwise_nest(c, {0}, c.outputs[0].dtype,
                            [op](BodyWriter& w, const std::vector<int>& v) { return w.op(op, v[0]); });
  };
  r.add(std::move(def));
}

template <class T>
T negated(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return -x;
  else
    return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(x));
}

template <class T>
T sign_of(T x) {
  if (x > T{0}) return T{1};
  if (x == T{0}) return T{0};
  if constexpr (std::is_signed_v<T>)
    if (x < T{0}) return static_cast<T>(-1);
  return x;  // NaN
}

}  // namespace

void register_unary_math(OpRegistry& r) {
  add_unary(r, "Exp", ScalarOp::exp, kFloats, [](auto x) { return std::exp(x); });
  add_unary(r, "Log", ScalarOp::log, kFloats, [](auto x) { return std::log(x); });
  add_unary(r, "Sqrt", ScalarOp::sqrt, kFloats, [](auto x) { return std::sqrt(x); });
  add_unary(r, "Reciprocal", ScalarOp::reciprocal, kFloats, [](auto x) { return decltype(x){1} / x; });
  add_unary(r, "Erf", ScalarOp::erf, kFloats, [](auto x) { return std::erf(x); });
  add_unary(r, "Sin", ScalarOp::sin, kFloats, [](auto x) { return std::sin(x); });
  add_unary(r, "Cos", ScalarOp::cos, kFloats, [](auto x) { return std::cos(x); });
  add_unary(r, "Tan", ScalarOp::tan, kFloats, [](auto x) { return std::tan(x); });
  add_unary(r, "Asin", ScalarOp::asin, kFloats, [](auto x) { return std::asin(x); });
  add_unary(r, "Acos", ScalarOp::acos, kFloats, [](auto x) { return std::acos(x); });
  add_unary(r, "Atan", ScalarOp::atan, kFloats, [](auto x) { return std::atan(x); });
  add_unary(r, "Sinh", ScalarOp::sinh, kFloats, [](auto x) { return std::sinh(x); });
  add_unary(r, "Cosh", ScalarOp::cosh, kFloats, [](auto x) { return std::cosh(x); });
  add_unary(r, "Asinh", ScalarOp::asinh, kFloats, [](auto x) { return std::asinh(x); });
  add_unary(r, "Acosh", ScalarOp::acosh, kFloats, [](auto x) { return std::acosh(x); });
  add_unary(r, "Atanh", ScalarOp::atanh, kFloats, [](auto x) { return std::atanh(x); });
  add_unary(r, "Floor", ScalarOp::floor, kFloats, [](auto x) { return std::floor(x); });
  add_unary(r, "Ceil", ScalarOp::ceil, kFloats, [](auto x) { return std::ceil(x); });
  // The default rounding mode is to nearest even.
  add_unary(r, "Round", ScalarOp::round_even, kFloats, [](auto x) { return std::nearbyint(x); });
  add_unary(r, "Neg", ScalarOp::neg, kNumbers, [](auto x) { return negated(x); });
  add_unary(r, "Sign", ScalarOp::sign, kNumbers, [](auto x) { return sign_of(x); });
  add_unary(r, "Abs", ScalarOp::abs, kNumbers, [](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>)
      return std::abs(x);
    else
      return x < decltype(x){0} ? negated(x) : x;
  });
  add_unary(r, "BitwiseNot", ScalarOp::bit_not, kIntegers, [](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>)
      return x;  // not reached: the shape rule lets integers through only
    else
      return static_cast<decltype(x)>(~x);
  });
}

}  // namespace assay
