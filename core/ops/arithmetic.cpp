#include <fmt/format.h>

#include <cmath>

#include "core/ops/build_nest.h"
#include "core/ops/eval.h"

// Add, Sub, Mul, Div, Mod, Pow and PRelu: two operands with numpy broadcasting.

namespace assay {
namespace {

std::vector<TensorType> infer_binary(const OpContext& c) {
  // Before opset 7 an operand was broadcast only where attributes said so, along `axis`.
  if (c.version < 7 && c.attributes->integer("broadcast", 0) != 0 && c.attributes->has("axis"))
    c.reject("the broadcast along 'axis' of opsets before 7 is not supported; convert the model to opset 7 or later");
  return {{c.type(0).dtype, broadcast_shape(c, std::vector{c.shape(0), c.shape(1)})}};
}

template <class F>
void add_binary(OpRegistry& r, const std::string& name, ScalarOp op, F f) {
  OpDef def;
  def.name = name;
  def.kind = OpKind::nest;
  def.min_inputs = def.max_inputs = 2;
  def.infer = [](const OpContext& c) {
    require_type(c, 0, kNumbers);
    require_same_type(c, 0, 1);
    return infer_binary(c);
  };
  def.evaluate = widened([f](EvalContext& c) {
    visit_numeric(c.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      zip<T, T, T>(c.out[0], [&](T a, T b) { return f(c.op, a, b); }, {&c.in(0), &c.in(1)});
    });
  });
  def.nests = [op](const OpContext& c) {
    return elementwise_nest(c, {0, 1}, c.outputs[0].dtype,
                            [op](BodyWriter& w, const std::vector<int>& v) { return w.op(op, v[0], v[1]); });
  };
  r.add(std::move(def));
}

// Integers wrap: in 64 unsigned bits, then cut to the type.
template <class T, class F>
T wrapping(T a, T b, F f) {
  if constexpr (std::is_floating_point_v<T>)
    return f(a, b);
  else
    return static_cast<T>(f(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}

template <class T>
T quotient(const OpContext& c, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a / b;
  } else {
    if (b == T{0}) c.reject("an integer is divided by zero");
    if constexpr (std::is_signed_v<T>)
      if (b == T(-1)) return static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(a));
    return static_cast<T>(a / b);
  }
}

template <class T>
T remainder_of(const OpContext& c, T a, T b, bool c_style) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    if (b == T{0}) c.reject("an integer is divided by zero");
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return T{0};
      const T rest = static_cast<T>(a % b);
      return !c_style && rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    }
    return static_cast<T>(a % b);
  }
}

void register_mod(OpRegistry& r) {
  OpDef def;
  def.name = "Mod";
  def.kind = OpKind::nest;
  def.min_inputs = def.max_inputs = 2;
  def.infer = [](const OpContext& c) {
    require_type(c, 0, kNumbers);
    require_same_type(c, 0, 1);
    if (is_float(c.type(0).dtype) && c.attributes->integer("fmod", 0) != 1)
      c.reject("floating-point operands need fmod = 1");
    return infer_binary(c);
  };
  def.evaluate = widened([](EvalContext& c) {
    const bool c_style = c.op.attributes->integer("fmod", 0) != 0;
    visit_numeric(c.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      zip<T, T, T>(c.out[0], [&](T a, T b) { return remainder_of(c.op, a, b, c_style); }, {&c.in(0), &c.in(1)});
    });
  });
  def.nests = [](const OpContext& c) {
    const ScalarOp op = c.attributes->integer("fmod", 0) != 0 ? ScalarOp::fmod : ScalarOp::mod;
    return elementwise_nest(c, {0, 1}, c.outputs[0].dtype,
                            [op](BodyWriter& w, const std::vector<int>& v) { return w.op(op, v[0], v[1]); });
  };
  r.add(std::move(def));
}

// Exact while it fits: by squaring, wrapping like the other integer operations. Negative exponents give 0 or ±1.
template <class T>
T integer_power(T base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == T{1}) return T{1};
    if constexpr (std::is_signed_v<T>)
      if (base == T(-1)) return exponent % 2 == 0 ? T{1} : static_cast<T>(-1);
    return T{0};
  }
  std::uint64_t result = 1, square = static_cast<std::uint64_t>(base);
  for (auto e = static_cast<std::uint64_t>(exponent); e != 0; e >>= 1U) {
    if ((e & 1U) != 0) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

void register_pow(OpRegistry& r) {
  OpDef def;
  def.name = "Pow";
  def.kind = OpKind::nest;
  def.min_inputs = def.max_inputs = 2;
  def.infer = [](const OpContext& c) {
    require_type(c, 0, kNumbers);
    require_type(c, 1, kNumbers);
    return infer_binary(c);
  };
  def.evaluate = widened([](EvalContext& c) {
    visit_numeric(c.in(0).dtype(), [&](auto base_tag) {
      using T = decltype(base_tag);
      visit_numeric(c.in(1).dtype(), [&](auto exponent_tag) {
        using E = decltype(exponent_tag);
        const auto f = [](T a, E b) {
          if constexpr (std::is_integral_v<T> && std::is_integral_v<E>)
            return integer_power(a, static_cast<std::int64_t>(b));
          else if constexpr (std::is_same_v<T, float> && !std::is_same_v<E, double>)
            return std::pow(a, static_cast<float>(b));
          else
            return convert_scalar<T>(std::pow(static_cast<double>(a), static_cast<double>(b)));
        };
        zip<T, T, E>(c.out[0], f, {&c.in(0), &c.in(1)});
      });
    });
  });
  def.nests = [](const OpContext& c) -> std::optional<NestProgram> {
    const DType t = c.outputs[0].dtype;
    if (!is_float(t)) return std::nullopt;  // exact integer powers have no scalar operation
    if (is_constant(c, 1) && c.values[1]->size() == 1 && c.shape(1).size() <= c.shape(0).size()) {
      // The exponents that models use need no transcendental function.
      const double e = c.values[1]->get(0);
      if (e == 2 || e == 0.5)
        return elementwise_nest(c, {0}, t, [e](BodyWriter& w, const std::vector<int>& v) {
          return e == 2 ? w.op(ScalarOp::mul, v[0], v[0]) : w.op(ScalarOp::sqrt, v[0]);
        });
    }
    return elementwise_nest(c, {0, 1}, t,
                            [](BodyWriter& w, const std::vector<int>& v) { return w.op(ScalarOp::pow, v[0], v[1]); });
  };
  r.add(std::move(def));
}

void register_prelu(OpRegistry& r) {
  OpDef def;
  def.name = "PRelu";
  def.kind = OpKind::nest;
  def.min_inputs = def.max_inputs = 2;
  def.infer = [](const OpContext& c) {
    require_type(c, 0, kNumbers);
    require_same_type(c, 0, 1);
    if (broadcast_shape(c, std::vector{c.shape(0), c.shape(1)}) != c.shape(0))
      c.reject(fmt::format("the slope {} does not broadcast to {}", to_string(c.shape(1)), to_string(c.shape(0))));
    return std::vector{c.type(0)};
  };
  def.evaluate = widened([](EvalContext& c) {
    visit_numeric(c.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      const auto f = [](T x, T slope) {
        return x < T{0} ? wrapping(x, slope, [](auto a, auto b) { return a * b; }) : x;
      };
      zip<T, T, T>(c.out[0], f, {&c.in(0), &c.in(1)});
    });
  });
  def.nests = [](const OpContext& c) {
    return elementwise_nest(c, {0, 1}, work_type(c.outputs[0].dtype), [](BodyWriter& w, const std::vector<int>& v) {
      const int scaled = w.op(ScalarOp::mul, v[0], v[1]);
      const int negative = w.test(ScalarOp::less, v[0], w.number(0));
      return w.op(ScalarOp::select, negative, scaled, v[0]);
    });
  };
  r.add(std::move(def));
}

}  // namespace

void register_arithmetic(OpRegistry& r) {
  add_binary(r, "Add", ScalarOp::add,
             [](const OpContext&, auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x + y; }); });
  add_binary(r, "Sub", ScalarOp::sub,
             [](const OpContext&, auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x - y; }); });
  add_binary(r, "Mul", ScalarOp::mul,
             [](const OpContext&, auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x * y; }); });
  add_binary(r, "Div", ScalarOp::div, [](const OpContext& c, auto a, auto b) { return quotient(c, a, b); });
  register_mod(r);
  register_pow(r);
  register_prelu(r);
}

}  // namespace assay
