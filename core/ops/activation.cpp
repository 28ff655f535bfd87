#include <cmath>

#include "core/ops/build_nest.h"
#include "core/ops/eval.h"

// Activation functions of one operand whose parameters are attributes. Formulas are those of the ONNX operator
// specification. `make` gives the reference as a function of float or double, `write` the same as a scalar body.

namespace assay {
namespace {

using Write = int (*)(BodyWriter&, int, const Attributes&);

template <class Make>
void add_activation(OpRegistry& r, const std::string& name, Make make, Write write) {
  OpDef def;
  def.name = name;
  def.kind = OpKind::nest;
  def.infer = [](const OpContext& c) {
    require_type(c, 0, kFloats);
    return std::vector{c.type(0)};
  };
  def.evaluate = widened([make](EvalContext& c) {
    const auto f = make(*c.op.attributes);
    visit_float(c.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      zip<T, T>(c.out[0], f, {&c.in(0)});
    });
  });
  def.nests = [write](const OpContext& c) {
    return elementwise_nest(c, {0}, work_type(c.outputs[0].dtype),
                            [&](BodyWriter& w, const std::vector<int>& v) { return write(w, v[0], *c.attributes); });
  };
  r.add(std::move(def));
}

using enum ScalarOp;

int clamp01(BodyWriter& w, int x) {
  const int low = w.op(max, x, w.number(0));
  return w.op(min, low, w.number(1));
}

// x < 0 ? negative : x
int negative_part(BodyWriter& w, int x, int negative) {
  const int is_negative = w.test(less, x, w.number(0));
  return w.op(select, is_negative, negative, x);
}

// exp(x) - 1
int exp_minus_one(BodyWriter& w, int x) {
  const int e = w.op(exp, x);
  return w.op(sub, e, w.number(1));
}

// max(x, 0) + log(1 + exp(-|x|)): overflows nowhere.
int softplus(BodyWriter& w, int x) {
  const int e = w.op(exp, w.op(neg, w.op(abs, x)));
  const int l = w.op(log, w.op(add, e, w.number(1)));
  const int m = w.op(max, x, w.number(0));
  return w.op(add, m, l);
}

template <class T>
T softplus(T x) {
  return std::max(x, T{0}) + std::log1p(std::exp(-std::abs(x)));
}

template <class T>
T sigmoid_of(T x) {
  return T{1} / (T{1} + std::exp(-x));
}

void register_relu(OpRegistry& r) {
  OpDef def;
  def.name = "Relu";
  def.kind = OpKind::nest;
  def.infer = [](const OpContext& c) {
    require_type(c, 0, kNumbers);
    return std::vector{c.type(0)};
  };
  def.evaluate = widened([](EvalContext& c) {
    visit_numeric(c.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      zip<T, T>(c.out[0], [](T x) { return x < T{0} ? T{0} : x; }, {&c.in(0)});
    });
  });
  def.nests = [](const OpContext& c) {
    return elementwise_nest(c, {0}, c.outputs[0].dtype,
                            [](BodyWriter& w, const std::vector<int>& v) { return w.op(max, v[0], w.number(0)); });
  };
  r.add(std::move(def));
}

void register_gelu(OpRegistry& r) {
  add_activation(
      r, "Gelu",
      [](const Attributes& a) {
        const bool tanh_form = a.text("approximate", "none") == "tanh";
        return [=](auto x) {
          using T = decltype(x);
          if (tanh_form) return T(0.5) * x * (T{1} + std::tanh(T(0.7978845608028654) * (x + T(0.044715) * x * x * x)));
          return T(0.5) * x * (T{1} + std::erf(x * T(0.7071067811865476)));
        };
      },
      [](BodyWriter& w, int x, const Attributes& a) {
        int inner = 0;
        if (a.text("approximate", "none") == "tanh") {
          const int cube = w.op(mul, w.op(mul, x, x), x);
          const int scaled = w.op(mul, cube, w.number(0.044715));
          const int sum = w.op(add, x, scaled);
          inner = w.op(tanh, w.op(mul, sum, w.number(0.7978845608028654)));
        } else {
          inner = w.op(erf, w.op(mul, x, w.number(0.7071067811865476)));
        }
        const int half = w.op(mul, x, w.number(0.5));
        const int one_plus = w.op(add, inner, w.number(1));
        return w.op(mul, half, one_plus);
      });
}

}  // namespace

void register_activation(OpRegistry& r) {
  register_relu(r);
  register_gelu(r);
  add_activation(
      r, "Sigmoid", [](const Attributes&) { return [](auto x) { return sigmoid_of(x); }; },
      [](BodyWriter& w, int x, const Attributes&) { return w.op(sigmoid, x); });
  add_activation(
      r, "Tanh", [](const Attributes&) { return [](auto x) { return std::tanh(x); }; },
      [](BodyWriter& w, int x, const Attributes&) { return w.op(tanh, x); });
  add_activation(
      r, "LeakyRelu",
      [](const Attributes& a) {
        return [alpha = a.real("alpha", 0.01)](auto x) { return x < 0 ? decltype(x)(alpha) * x : x; };
      },
      [](BodyWriter& w, int x, const Attributes& a) {
        const int scaled = w.op(mul, x, w.number(a.real("alpha", 0.01)));
        return negative_part(w, x, scaled);
      });
  add_activation(
      r, "Elu",
      [](const Attributes& a) {
        return [alpha = a.real("alpha", 1)](auto x) { return x < 0 ? decltype(x)(alpha) * std::expm1(x) : x; };
      },
      [](BodyWriter& w, int x, const Attributes& a) {
        const int scaled = w.op(mul, exp_minus_one(w, x), w.number(a.real("alpha", 1)));
        return negative_part(w, x, scaled);
      });
  add_activation(
      r, "Selu",
      [](const Attributes& a) {
        return [alpha = a.real("alpha", 1.67326319217681884765625),
                gamma = a.real("gamma", 1.05070102214813232421875)](auto x) {
          using T = decltype(x);
          return T(gamma) * (x < 0 ? T(alpha) * std::expm1(x) : x);
        };
      },
      [](BodyWriter& w, int x, const Attributes& a) {
        const int scaled = w.op(mul, exp_minus_one(w, x), w.number(a.real("alpha", 1.67326319217681884765625)));
        const int v = negative_part(w, x, scaled);
        return w.op(mul, v, w.number(a.real("gamma", 1.05070102214813232421875)));
      });
  add_activation(
      r, "Celu",
      [](const Attributes& a) {
        return [alpha = a.real("alpha", 1)](auto x) {
          using T = decltype(x);
          return std::max(x, T{0}) + std::min(T{0}, T(alpha) * std::expm1(x / T(alpha)));
        };
      },
      [](BodyWriter& w, int x, const Attributes& a) {
        const double alpha = a.real("alpha", 1);
        const int e = exp_minus_one(w, w.op(div, x, w.number(alpha)));
        const int scaled = w.op(mul, e, w.number(alpha));
        const int low = w.op(min, scaled, w.number(0));
        const int high = w.op(max, x, w.number(0));
        return w.op(add, high, low);
      });
  add_activation(
      r, "ThresholdedRelu",
      [](const Attributes& a) {
        return [alpha = a.real("alpha", 1)](auto x) { return x > decltype(x)(alpha) ? x : decltype(x){0}; };
      },
      [](BodyWriter& w, int x, const Attributes& a) {
        const int above = w.test(less, w.number(a.real("alpha", 1)), x);
        return w.op(select, above, x, w.number(0));
      });
  add_activation(
      r, "HardSigmoid",
      [](const Attributes& a) {
        return [alpha = a.real("alpha", 0.2), beta = a.real("beta", 0.5)](auto x) {
          using T = decltype(x);
          return std::max(T{0}, std::min(T{1}, T(alpha) * x + T(beta)));
        };
      },
      [](BodyWriter& w, int x, const Attributes& a) {
        const int scaled = w.op(mul, x, w.number(a.real("alpha", 0.2)));
        return clamp01(w, w.op(add, scaled, w.number(a.real("beta", 0.5))));
      });
  add_activation(
      r, "HardSwish",
      [](const Attributes&) {
        return [](auto x) {
          using T = decltype(x);
          return x * std::max(T{0}, std::min(T{1}, x * T(1.0 / 6) + T(0.5)));
        };
      },
      [](BodyWriter& w, int x, const Attributes&) {
        const int scaled = w.op(mul, x, w.number(1.0 / 6));
        return w.op(mul, x, clamp01(w, w.op(add, scaled, w.number(0.5))));
      });
  add_activation(
      r, "Softplus", [](const Attributes&) { return [](auto x) { return softplus(x); }; },
      [](BodyWriter& w, int x, const Attributes&) { return softplus(w, x); });
  add_activation(
      r, "Mish", [](const Attributes&) { return [](auto x) { return x * std::tanh(softplus(x)); }; },
      [](BodyWriter& w, int x, const Attributes&) { return w.op(mul, x, w.op(tanh, softplus(w, x))); });
  add_activation(
      r, "Softsign", [](const Attributes&) { return [](auto x) { return x / (decltype(x){1} + std::abs(x)); }; },
      [](BodyWriter& w, int x, const Attributes&) {
        const int one_plus = w.op(add, w.op(abs, x), w.number(1));
        return w.op(div, x, one_plus);
      });
  add_activation(
      r, "Swish",
      [](const Attributes& a) {
        return [alpha = a.real("alpha", 1)](auto x) { return x * sigmoid_of(decltype(x)(alpha) * x); };
      },
      [](BodyWriter& w, int x, const Attributes& a) {
        const double alpha = a.real("alpha", 1);
        const int scaled = alpha == 1 ? x : w.op(mul, x, w.number(alpha));
        return w.op(mul, x, w.op(sigmoid, scaled));
      });
  add_activation(
      r, "Shrink",
      [](const Attributes& a) {
        return [lambda = a.real("lambd", 0.5), bias = a.real("bias", 0)](auto x) {
          using T = decltype(x);
          return x < T(-lambda) ? x + T(bias) : x > T(lambda) ? x - T(bias) : T{0};
        };
      },
      [](BodyWriter& w, int x, const Attributes& a) {
        const double lambda = a.real("lambd", 0.5), bias = a.real("bias", 0);
        const int above = w.test(less, w.number(lambda), x);
        const int minus = w.op(sub, x, w.number(bias));
        const int upper = w.op(select, above, minus, w.number(0));
        const int below = w.test(less, x, w.number(-lambda));
        const int plus = w.op(add, x, w.number(bias));
        return w.op(select, below, plus, upper);
      });
}

}  // namespace assay
