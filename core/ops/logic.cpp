#include <cmath>
#include <limits>

#include "core/ops/build_nest.h"
#include "core/ops/eval.h"

// Comparisons, boolean and bitwise operations, IsNaN, IsInf and Where.

namespace assay {
namespace {

OpDef broadcasting(const std::string& name, unsigned types, std::optional<DType> result) {
  OpDef def;
  def.name = name;
  def.kind = OpKind::nest;
  def.min_inputs = def.max_inputs = 2;
  def.infer = [types, result](const OpContext& c) {
    require_type(c, 0, types);
    require_same_type(c, 0, 1);
    return std::vector<TensorType>{
        {result.value_or(c.type(0).dtype), broadcast_shape(c, std::vector{c.shape(0), c.shape(1)})}};
  };
  return def;
}

// `swap`: the operation on exchanged operands (a > b is b < a).
template <class F>
void add_comparison(OpRegistry& r, const std::string& name, unsigned types, ScalarOp op, bool swap, F f) {
  OpDef def = broadcasting(name, types, DType::boolean);
  def.evaluate = widened([f](EvalContext& c) {
    visit_numeric(c.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      zip<std::uint8_t, T, T>(c.out[0], f, {&c.in(0), &c.in(1)});
    });
  });
  def.nests = [op, swap](const OpContext& c) {
    return elementwise_nest(c, {0, 1}, c.type(0).dtype, [&](BodyWriter& w, const std::vector<int>& v) {
      return swap ? w.test(op, v[1], v[0]) : w.test(op, v[0], v[1]);
    });
  };
  r.add(std::move(def));
}

template <class F>
void add_bitwise(OpRegistry& r, const std::string& name, ScalarOp op, F f) {
  OpDef def = broadcasting(name, kIntegers, std::nullopt);
  def.evaluate = [f](EvalContext& c) {
    visit_numeric(c.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_integral_v<T>) zip<T, T, T>(c.out[0], f, {&c.in(0), &c.in(1)});
    });
  };
  def.nests = [op](const OpContext& c) {
    return elementwise_nest(c, {0, 1}, c.outputs[0].dtype,
                            [op](BodyWriter& w, const std::vector<int>& v) { return w.op(op, v[0], v[1]); });
  };
  r.add(std::move(def));
}

void register_shift(OpRegistry& r) {
  OpDef def = broadcasting("BitShift", kIntegers, std::nullopt);
  const auto is_left = [](const OpContext& c) { return c.attributes->text("direction", "") == "LEFT"; };
  def.infer = [inner = def.infer](const OpContext& c) {
    const std::string d = c.attributes->text("direction", "");
    if (d != "LEFT" && d != "RIGHT") c.reject("direction is '" + d + "', expected LEFT or RIGHT");
    if (is_signed(c.type(0).dtype)) c.reject("the operands must be unsigned");
    return inner(c);
  };
  def.evaluate = [is_left](EvalContext& c) {
    const bool left = is_left(c.op);
    visit_numeric(c.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_unsigned_v<T>) {
        const auto f = [left](T a, T b) {
          if (b >= static_cast<T>(8 * sizeof(T))) return T{0};
          return static_cast<T>(left ? static_cast<std::uint64_t>(a) << b : static_cast<std::uint64_t>(a) >> b);
        };
        zip<T, T, T>(c.out[0], f, {&c.in(0), &c.in(1)});
      }
    });
  };
  def.nests = [is_left](const OpContext& c) {
    const ScalarOp op = is_left(c) ? ScalarOp::shift_left : ScalarOp::shift_right;
    return elementwise_nest(c, {0, 1}, c.outputs[0].dtype,
                            [op](BodyWriter& w, const std::vector<int>& v) { return w.op(op, v[0], v[1]); });
  };
  r.add(std::move(def));
}

void register_not(OpRegistry& r) {
  OpDef def;
  def.name = "Not";
  def.kind = OpKind::nest;
  def.infer = [](const OpContext& c) {
    require_type(c, 0, kBooleans);
    return std::vector{c.type(0)};
  };
  def.evaluate = [](EvalContext& c) {
    zip<std::uint8_t, std::uint8_t>(c.out[0], [](std::uint8_t x) { return x == 0; }, {&c.in(0)});
  };
  def.nests = [](const OpContext& c) {
    return elementwise_nest(c, {0}, DType::boolean, [](BodyWriter& w, const std::vector<int>& v) {
      return w.test(ScalarOp::logical_not, v[0]);
    });
  };
  r.add(std::move(def));
}

// Which infinities count: +1, -1, 0 for both, 2 for neither.
int infinity_side(const Attributes& a) {
  const bool negative = a.integer("detect_negative", 1) != 0, positive = a.integer("detect_positive", 1) != 0;
  return negative && positive ? 0 : positive ? 1 : negative ? -1 : 2;
}

void register_float_tests(OpRegistry& r) {
  OpDef nan;
  nan.name = "IsNaN";
  nan.kind = OpKind::nest;
  nan.infer = [](const OpContext& c) {
    require_type(c, 0, kFloats);
    return std::vector<TensorType>{{DType::boolean, c.shape(0)}};
  };
  OpDef inf = nan;
  inf.name = "IsInf";
  nan.evaluate = widened([](EvalContext& c) {
    visit_float(c.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      zip<std::uint8_t, T>(c.out[0], [](T x) { return std::isnan(x); }, {&c.in(0)});
    });
  });
  nan.nests = [](const OpContext& c) {
    return elementwise_nest(c, {0}, c.type(0).dtype,
                            [](BodyWriter& w, const std::vector<int>& v) { return w.test(ScalarOp::is_nan, v[0]); });
  };
  inf.evaluate = widened([](EvalContext& c) {
    const int side = infinity_side(*c.op.attributes);
    visit_float(c.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      zip<std::uint8_t, T>(c.out[0],
                           [side](T x) { return std::isinf(x) && side != 2 && (side == 0 || (x > 0) == (side > 0)); },
                           {&c.in(0)});
    });
  });
  inf.nests = [](const OpContext& c) {
    const int side = infinity_side(*c.attributes);
    return elementwise_nest(c, {0}, c.type(0).dtype, [side](BodyWriter& w, const std::vector<int>& v) {
      if (side == 0) return w.test(ScalarOp::is_inf, v[0]);
      if (side == 2) return w.test(ScalarOp::less, v[0], v[0]);  // never
      return w.test(ScalarOp::equal, v[0], w.number(side * std::numeric_limits<double>::infinity()));
    });
  };
  r.add(std::move(nan));
  r.add(std::move(inf));
}

void register_where(OpRegistry& r) {
  OpDef def;
  def.name = "Where";
  def.kind = OpKind::nest;
  def.min_inputs = def.max_inputs = 3;
  def.infer = [](const OpContext& c) {
    require_type(c, 0, kBooleans);
    require_same_type(c, 1, 2);
    return std::vector<TensorType>{
        {c.type(1).dtype, broadcast_shape(c, std::vector{c.shape(0), c.shape(1), c.shape(2)})}};
  };
  def.evaluate = [](EvalContext& c) {
    visit_storage(c.in(1).dtype(), [&](auto tag) {
      using T = decltype(tag);
      zip<T, std::uint8_t, T, T>(c.out[0], [](std::uint8_t p, T a, T b) { return p != 0 ? a : b; },
                                 {&c.in(0), &c.in(1), &c.in(2)});
    });
  };
  def.nests = [](const OpContext& c) {
    const Shape& out = c.outputs[0].shape;
    const DType t = c.outputs[0].dtype;
    Nest nest = nest_over(out);
    for (std::size_t i = 0; i < 3; ++i) nest.ins.push_back(broadcast_access(input_slot(i), c.shape(i), out));
    nest.out = identity_access(output_slot(0), out.size());
    const int p = nest.body.input(0, DType::boolean), a = nest.body.input(1, t), b = nest.body.input(2, t);
    nest.body.push(ScalarOp::select, t, p, a, b);
    nest.accumulator = t;
    return single(std::move(nest));
  };
  r.add(std::move(def));
}

}  // namespace

void register_logic(OpRegistry& r) {
  add_comparison(r, "Equal", kNumbers | kBooleans, ScalarOp::equal, false, [](auto a, auto b) { return a == b; });
  add_comparison(r, "Less", kNumbers, ScalarOp::less, false, [](auto a, auto b) { return a < b; });
  add_comparison(r, "LessOrEqual", kNumbers, ScalarOp::less_equal, false, [](auto a, auto b) { return a <= b; });
  add_comparison(r, "Greater", kNumbers, ScalarOp::less, true, [](auto a, auto b) { return a > b; });
  add_comparison(r, "GreaterOrEqual", kNumbers, ScalarOp::less_equal, true, [](auto a, auto b) { return a >= b; });
  add_comparison(r, "And", kBooleans, ScalarOp::logical_and, false, [](auto a, auto b) { return a != 0 && b != 0; });
  add_comparison(r, "Or", kBooleans, ScalarOp::logical_or, false, [](auto a, auto b) { return a != 0 || b != 0; });
  add_comparison(r, "Xor", kBooleans, ScalarOp::logical_xor, false,
                 [](auto a, auto b) { return (a != 0) != (b != 0); });
  add_bitwise(r, "BitwiseAnd", ScalarOp::bit_and, [](auto a, auto b) { return a & b; });
  add_bitwise(r, "BitwiseOr", ScalarOp::bit_or, [](auto a, auto b) { return a | b; });
  add_bitwise(r, "BitwiseXor", ScalarOp::bit_xor, [](auto a, auto b) { return a ^ b; });
  register_shift(r);
  register_not(r);
  register_float_tests(r);
  register_where(r);
}

}  // namespace assay
