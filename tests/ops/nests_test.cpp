// The law that ties the two meanings of every operation together: reference == nests, on random small operands.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "core/base/check.h"
#include "core/base/error.h"
#include "tests/ops/one_node.h"

using namespace assay;

namespace {

struct Checker {
  Random random;
  std::set<std::string> covered;
  std::set<std::string> opaque;  ///< variants that had no nests

  void compare_nests(const OneNode& s, const std::string& what) {
    if (!nests_of(s.g, s.node)) {
      opaque.insert(what);
      return;
    }
    covered.insert(s.g.node(s.node).op);
    const std::vector<Tensor> expected = s.evaluate();
    const std::vector<Tensor> got = evaluate_nests(op_context(s.g, s.node), s.values);
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const DType t = expected[i].dtype();
      const double tol = t == DType::f16 ? 4e-3 : t == DType::bf16 ? 3e-2 : is_float(t) ? 3e-5 : 0;
      const Comparison c = compare(got[i], expected[i], tol, tol);
      CHECK_MESSAGE(c.equal, what, " output ", i, ": ", c.to_string());
    }
  }

  // With constant operands, and with operands unknown before the run where the shape rule allows it.
  void operator()(const std::string& op, int version, const std::vector<std::optional<Tensor>>& inputs,
                  const std::vector<Attribute>& attributes = {}, std::size_t outputs = 1) {
    CAPTURE(op);
    compare_nests(one_node(op, version, inputs, attributes, outputs, true), op);
    if (rejection(op, version, inputs, attributes, outputs, false).empty())
      compare_nests(one_node(op, version, inputs, attributes, outputs, false), op + " (dynamic)");
  }

  Tensor f(const Shape& s, double lo = -2, double hi = 2) { return random_tensor(random, DType::f32, s, lo, hi); }
  Tensor of(DType t, const Shape& s, double lo = -2, double hi = 2) { return random_tensor(random, t, s, lo, hi); }
  Shape shape(std::size_t rank, std::int64_t largest = 4) {
    Shape s;
    for (std::size_t i = 0; i < rank; ++i) s.push_back(random.between(1, largest));
    return s;
  }
  // A shape that broadcasts with `s`.
  Shape partial(Shape s) {
    for (std::int64_t& d : s)
      if (random.between(0, 2) == 0) d = 1;
    const auto drop = random.between(0, static_cast<std::int64_t>(s.size()));
    s.erase(s.begin(), s.begin() + drop / 2);
    return s;
  }
  bool coin() { return random.between(0, 1) == 1; }
};

void convolutions(Checker& check) {
  Random& r = check.random;
  for (const std::size_t rank : {1U, 2U, 2U, 3U}) {
    const std::int64_t g = r.between(1, 3), cg = r.between(1, 2), kg = r.between(1, 2);
    Shape x{r.between(1, 2), g * cg}, w{g * kg, cg};
    Ints strides, dilations, pads(2 * rank);
    for (std::size_t i = 0; i < rank; ++i) {
      x.push_back(r.between(5, 7));
      w.push_back(r.between(1, 3));
      strides.push_back(r.between(1, 3));
      dilations.push_back(r.between(1, 2));
    }
    for (std::int64_t& p : pads) p = r.between(0, 2);
    const std::vector<Attribute> a{{"group", g}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}};
    check("Conv", 13, {check.f(x), check.f(w)}, a);
    check("Conv", 13, {check.f(x), check.f(w), check.f({g * kg})}, a);
    check("Conv", 13, {check.of(DType::f16, x), check.of(DType::f16, w), check.of(DType::f16, {g * kg})}, a);
    check("ConvInteger", 10,
          {check.of(DType::u8, x, 0, 255), check.of(DType::i8, w, -128, 127),
           typed(DType::u8, {}, {static_cast<double>(r.between(0, 255))}),
           typed(DType::i8, {1}, {static_cast<double>(r.between(-9, 9))})},
          a);
    Shape wt = w;
    wt[0] = g * cg;
    wt[1] = kg;
    check("ConvTranspose", 13, {check.f(x), check.f(wt), check.f({g * kg})},
          {{"group", g}, {"strides", strides}, {"dilations", dilations}});
    check("ConvTranspose", 13, {check.f(x), check.f(wt)},
          {{"group", g}, {"strides", strides}, {"output_padding", Ints(rank, 0)}, {"pads", Ints(2 * rank, 0)}});
  }
  for (const char* mode : {"SAME_UPPER", "SAME_LOWER", "VALID"})
    check("Conv", 13, {check.f({1, 2, 6, 7}), check.f({3, 2, 3, 2})},
          {{"auto_pad", std::string(mode)}, {"strides", Ints{2, 1}}});
  check("ConvTranspose", 13, {check.f({1, 2, 3, 3}), check.f({2, 3, 2, 2})}, {{"strides", Ints{2, 2}}});
  check("ConvTranspose", 13, {check.f({1, 2, 3, 4}), check.f({2, 1, 4, 3})},
        {{"strides", Ints{2, 3}}, {"pads", Ints{1, 1, 1, 0}}});
}

void products(Checker& check) {
  Random& r = check.random;
  const std::int64_t m = r.between(1, 4), n = r.between(1, 4), k = r.between(1, 5);
  for (const DType t : {DType::f32, DType::f64, DType::bf16, DType::i32}) {
    check("MatMul", 13, {check.of(t, {m, k}), check.of(t, {k, n})});
    check("MatMul", 13, {check.of(t, {2, 1, m, k}), check.of(t, {3, k, n})});
    check("MatMul", 13, {check.of(t, {k}), check.of(t, {2, k, n})});
    check("MatMul", 13, {check.of(t, {2, m, k}), check.of(t, {k})});
    check("MatMul", 13, {check.of(t, {k}), check.of(t, {k})});
  }
  check("MatMulInteger", 10,
        {check.of(DType::u8, {2, m, k}, 0, 255), check.of(DType::i8, {k, n}, -128, 127), typed(DType::u8, {}, {7}),
         typed(DType::i8, {}, {-3})});
  check("MatMulInteger", 10, {check.of(DType::i8, {m, k}, -128, 127), check.of(DType::i8, {k, n}, -128, 127)});
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      const std::vector<Attribute> a{{"transA", std::int64_t{ta}}, {"transB", std::int64_t{tb}}};
      std::vector<Attribute> scaled = a;
      scaled.emplace_back("alpha", 0.5);
      scaled.emplace_back("beta", -2.0);
      const Tensor x = check.f(ta ? Shape{k, m} : Shape{m, k}), w = check.f(tb ? Shape{n, k} : Shape{k, n});
      check("Gemm", 13, {x, w}, a);
      check("Gemm", 13, {x, w, check.f({n})}, a);
      check("Gemm", 13, {x, w, check.f({m, 1})}, scaled);
      check("Gemm", 13, {x, w}, scaled);
      check("Gemm", 13, {x, w, check.f({})}, scaled);
    }
}

void elementwise(Checker& check) {
  const Shape s = check.shape(3);
  for (const char* op : {"Exp",         "Erf",
                         "Sin",         "Cos",
                         "Tan",         "Atan",
                         "Sinh",        "Cosh",
                         "Asinh",       "Floor",
                         "Ceil",        "Round",
                         "Neg",         "Sign",
                         "Abs",         "Sigmoid",
                         "Tanh",        "LeakyRelu",
                         "Elu",         "Selu",
                         "Celu",        "ThresholdedRelu",
                         "HardSigmoid", "HardSwish",
                         "Softplus",    "Mish",
                         "Softsign",    "Swish",
                         "Shrink",      "Relu",
                         "Gelu"})
    for (const DType t : {DType::f32, DType::f16}) check(op, 20, {check.of(t, s)});
  for (const char* op : {"Log", "Sqrt", "Reciprocal"}) check(op, 13, {check.f(s, 0.1, 4)});
  for (const char* op : {"Asin", "Acos", "Atanh"}) check(op, 13, {check.f(s, -0.9, 0.9)});
  check("Acosh", 13, {check.f(s, 1, 4)});
  check("Gelu", 20, {check.f(s)}, {{"approximate", std::string("tanh")}});
  check("Swish", 24, {check.f(s)}, {{"alpha", 1.5}});
  check("Celu", 12, {check.f(s)}, {{"alpha", 2.0}});
  for (const char* op : {"Neg", "Sign", "Abs", "Relu"}) check(op, 14, {check.of(DType::i8, s, -128, 127)});
  for (const char* op : {"Add", "Sub", "Mul", "Max", "Min"})
    for (const DType t : {DType::f32, DType::bf16, DType::i8, DType::i64, DType::u16})
      check(
          op, 14,
          {check.of(t, s, is_signed(t) ? -100 : 0, 100), check.of(t, check.partial(s), is_signed(t) ? -100 : 0, 100)});
  check("Div", 14, {check.f(s), check.f(s, 1, 2)});
  check("Div", 14, {check.of(DType::i32, s, -20, 20), check.of(DType::i32, s, 1, 4)});
  check("Mod", 13, {check.of(DType::i32, s, -20, 20), check.of(DType::i32, s, -5, -1)});
  check("Mod", 13, {check.of(DType::i32, s, -20, 20), check.of(DType::i32, s, 1, 5)}, {{"fmod", std::int64_t{1}}});
  check("Mod", 13, {check.f(s), check.f(s, 0.5, 1)}, {{"fmod", std::int64_t{1}}});
  check("Pow", 15, {check.f(s, 0.1, 2), check.f(check.partial(s))});
  check("Pow", 15, {check.f(s), floats({}, {2})});
  check("Pow", 15, {check.f(s, 0, 2), typed(DType::f64, {}, {0.5})});
  check("Pow", 15, {check.f(s), typed(DType::i64, {1}, {3})});
  check("PRelu", 16, {check.f(s), check.f(check.partial(s))});
  check("Sum", 13, {check.f(s), check.f(check.partial(s)), check.f(check.partial(s))});
  check("Mean", 13, {check.of(DType::f16, s), check.of(DType::f16, check.partial(s)), check.of(DType::f16, s)});
  check("Max", 13, {check.f(s)});
  check("Sum", 13, {check.f(s)});
}

void logic(Checker& check) {
  const Shape s = check.shape(3);
  for (const char* op : {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
    check(op, 16, {check.of(DType::i32, s), check.of(DType::i32, check.partial(s))});
    check(op, 16, {check.f(s), check.f(s)});
  }
  for (const char* op : {"And", "Or", "Xor"})
    check(op, 7, {check.of(DType::boolean, s, 0, 1), check.of(DType::boolean, check.partial(s), 0, 1)});
  check("Equal", 13, {check.of(DType::boolean, s, 0, 1), check.of(DType::boolean, s, 0, 1)});
  check("Not", 1, {check.of(DType::boolean, s, 0, 1)});
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"})
    check(op, 18, {check.of(DType::i16, s, -99, 99), check.of(DType::i16, check.partial(s), -99, 99)});
  check("BitwiseNot", 18, {check.of(DType::u8, s, 0, 255)});
  for (const char* d : {"LEFT", "RIGHT"})
    check("BitShift", 11, {check.of(DType::u8, s, 0, 255), check.of(DType::u8, s, 0, 9)},
          {{"direction", std::string(d)}});
  const float inf = INFINITY;
  const Tensor odd = floats({5}, {1, inf, -inf, NAN, 0});
  check("IsNaN", 13, {odd});
  for (const std::int64_t negative : {0, 1})
    for (const std::int64_t positive : {0, 1})
      check("IsInf", 10, {odd}, {{"detect_negative", negative}, {"detect_positive", positive}});
  check("Where", 16, {check.of(DType::boolean, check.partial(s), 0, 1), check.f(s), check.f(check.partial(s))});
  check("Where", 16, {check.of(DType::boolean, s, 0, 1), check.of(DType::i4, s, -8, 7), check.of(DType::i4, s, -8, 7)});
  check("Clip", 6, {check.f(s)}, {{"min", -0.5}, {"max", 1.0}});
  check("Clip", 13, {check.f(s), floats({}, {-1}), floats({}, {0.5})});
  check("Clip", 13, {check.of(DType::i32, s), std::nullopt, typed(DType::i32, {}, {1})});
  check("Clip", 13, {check.f(s)});
}

void conversions(Checker& check) {
  const Shape s = check.shape(3);
  const std::pair<DType, std::int64_t> types[] = {{DType::f32, 1},  {DType::u8, 2},    {DType::i8, 3},
                                                  {DType::i32, 6},  {DType::i64, 7},   {DType::boolean, 9},
                                                  {DType::f16, 10}, {DType::bf16, 16}, {DType::i4, 22}};
  for (const auto& [from, from_number] : types)
    for (const auto& [to, to_number] : types) {
      const bool positive = !is_signed(from);
      const double hi = from == DType::boolean ? 1 : from == DType::i4 ? 7 : 100;
      check("Cast", 21, {check.of(from, s, positive ? 0 : -hi, hi)}, {{"to", to_number}});
      check("CastLike", 21, {check.of(from, s, positive ? 0 : -hi, hi), Tensor({to, {1}})});
    }
  const Shape x{2, 3, 4};
  for (const DType t : {DType::i8, DType::u8}) {
    const double z = t == DType::u8 ? 128 : -5;
    check("QuantizeLinear", 13, {check.f(x, -30, 30), floats({}, {0.1F}), typed(t, {}, {z})});
    check("QuantizeLinear", 13, {check.f(x, -30, 30), floats({3}, {0.1F, 0.5F, 0.02F}), typed(t, {3}, {z, 0, 3})});
    check("QuantizeLinear", 19, {check.of(DType::f16, x, -3, 3), typed(DType::f16, {}, {0.1}), typed(t, {}, {z})});
    check("DequantizeLinear", 13, {check.of(t, x, 0, 100), floats({}, {0.1F}), typed(t, {}, {z})});
    check("DequantizeLinear", 13, {check.of(t, x, 0, 100), floats({4}, {0.1F, 1, 2, 3}), typed(t, {4}, {z, 1, 2, 3})},
          {{"axis", std::int64_t{-1}}});
  }
  check("QuantizeLinear", 21, {check.f(x, -3, 3), floats({}, {0.5F}), typed(DType::i4, {}, {1})});
  check("DequantizeLinear", 21, {check.of(DType::u4, x, 0, 15), floats({}, {0.5F}), typed(DType::u4, {}, {3})});
  check("DequantizeLinear", 13, {check.of(DType::i32, x, -1000, 1000), floats({3}, {0.5F, 1, 2})});
}

void folds(Checker& check) {
  const Shape s = check.shape(3);
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
                         "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"})
    for (const std::int64_t keep : {0, 1}) {
      const double lo = std::string(op) == "ReduceLogSum" ? 0.1 : -2;
      check(op, 11, {check.f(s, lo, 2)}, {{"axes", Ints{0, -1}}, {"keepdims", keep}});
      check(op, 11, {check.f(s, lo, 2)}, {{"keepdims", keep}});
      check(op, 18, {check.of(DType::f16, s, lo, 2), ints({1})}, {{"keepdims", keep}});
      check(op, 18, {check.f(s, lo, 2)}, {{"noop_with_empty_axes", std::int64_t{1}}});
      check(op, 18, {check.of(DType::i32, s, 1, 5), ints({1})}, {{"keepdims", keep}});
    }
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    check(op, 13, {check.f(s)});
    check(op, 13, {check.of(DType::f16, s)}, {{"axis", std::int64_t{0}}});
    check(op, 11, {check.f(s)});
    check(op, 11, {check.f(s)}, {{"axis", std::int64_t{2}}});
  }
  for (const std::int64_t axis : {-1, 1}) {
    const Shape tail(s.begin() + (axis == 1 ? 1 : 2), s.end());
    check("LayerNormalization", 17, {check.f(s), check.f(tail), check.f(tail)}, {{"axis", axis}}, 3);
    check("LayerNormalization", 17, {check.of(DType::f16, s), check.of(DType::f16, tail)}, {{"axis", axis}});
    check("RMSNormalization", 23, {check.f(s), check.f(tail)}, {{"axis", axis}});
  }
  const Shape x{2, 4, 3, 3};
  check("BatchNormalization", 15, {check.f(x), check.f({4}), check.f({4}), check.f({4}), check.f({4}, 0.5, 2)});
  check("BatchNormalization", 15, {check.f({3}), check.f({1}), check.f({1}), check.f({1}), check.f({1}, 0.5, 2)});
  check("InstanceNormalization", 6, {check.f(x), check.f({4}), check.f({4})});
  check("GroupNormalization", 18, {check.f(x), check.f({2}), check.f({2})}, {{"num_groups", std::int64_t{2}}});
  check("GroupNormalization", 21, {check.f(x), check.f({4}), check.f({4})}, {{"num_groups", std::int64_t{2}}});
  for (const std::int64_t size : {1, 2, 3, 5})
    check("LRN", 13, {check.f(x)}, {{"size", size}, {"alpha", 0.5}, {"beta", 0.6}, {"bias", 1.5}});
}

void pools(Checker& check) {
  Random& r = check.random;
  for (int i = 0; i < 8; ++i) {
    const std::size_t rank = static_cast<std::size_t>(r.between(1, 3));
    Shape x{r.between(1, 2), r.between(1, 2)};
    Ints kernel, strides, dilations, pads(2 * rank, 0);
    for (std::size_t k = 0; k < rank; ++k) {
      x.push_back(r.between(4, 7));
      kernel.push_back(r.between(1, 3));
      strides.push_back(r.between(1, 3));
      dilations.push_back(kernel.back() == 1 ? 1 : r.between(1, 2));
      pads[k] = r.between(0, kernel.back() - 1);
      pads[rank + k] = r.between(0, kernel.back() - 1);
    }
    const std::vector<Attribute> a{{"kernel_shape", kernel},
                                   {"strides", strides},
                                   {"dilations", dilations},
                                   {"pads", pads},
                                   {"ceil_mode", std::int64_t{check.coin()}}};
    check("MaxPool", 12, {check.f(x)}, a);
    check("MaxPool", 12, {check.of(DType::i8, x, -128, 127)}, a);
    check("AveragePool", 19, {check.f(x)}, a);
    std::vector<Attribute> counted = a;
    counted.emplace_back("count_include_pad", std::int64_t{1});
    check("AveragePool", 19, {check.f(x)}, counted);
    check("GlobalAveragePool", 1, {check.f(x)});
    check("GlobalAveragePool", 1, {check.of(DType::f16, x)});
    check("GlobalMaxPool", 1, {check.f(x)});
  }
}

void movement(Checker& check) {
  Random& r = check.random;
  for (const DType t : {DType::f32, DType::i8, DType::f16}) {
    const Tensor x = check.of(t, {2, 3, 4});
    check("Transpose", 13, {x});
    check("Transpose", 13, {x}, {{"perm", Ints{1, 0, 2}}});
    check("Slice", 13, {x, ints({1, 3}), ints({100, -100}), ints({1, 2}), ints({1, -2})});
    check("Slice", 13, {x, ints({-2}), ints({INT64_MAX}), ints({-1})});
    check("Slice", 9, {x}, {{"starts", Ints{0, 1}}, {"ends", Ints{1, 3}}});
    check("Concat", 13, {x, check.of(t, {2, 1, 4}), check.of(t, {2, 3, 4})}, {{"axis", std::int64_t{1}}});
    check("Split", 13, {check.of(t, {2, 5}), ints({2, 0, 3})}, {{"axis", std::int64_t{1}}}, 3);
    check("Split", 18, {check.of(t, {5, 2})}, {{"num_outputs", std::int64_t{3}}}, 3);
    check("Split", 11, {check.of(t, {4, 2})}, {}, 2);
    check("Pad", 13, {x, ints({1, 0, 2, 0, -1, 1}), typed(t, {}, {3})});
    check("Pad", 18, {x, ints({1, 2}), std::nullopt, ints({-1})});
    check("Pad", 10, {x}, {{"pads", Ints{0, 0, 1, 0, 0, 0}}});
    check("Expand", 13, {check.of(t, {3, 1}), ints({2, 1, 4})});
    check("Tile", 13, {x, ints({1, 3, 2})});
    for (const char* mode : {"DCR", "CRD"})
      check("DepthToSpace", 13, {check.of(t, {1, 8, 2, 3})},
            {{"blocksize", std::int64_t{2}}, {"mode", std::string(mode)}});
    check("SpaceToDepth", 13, {check.of(t, {1, 2, 4, 6})}, {{"blocksize", std::int64_t{2}}});
    for (const std::int64_t upper : {0, 1})
      for (const std::int64_t k : {-3, 0, 1, 9}) check("Trilu", 14, {x, number(k)}, {{"upper", upper}});
    check("Trilu", 14, {x});
    for (const double scale : {2.0, 3.0, 0.5})
      for (const char* transform : {"asymmetric", "half_pixel"})
        check("Resize", 13,
              {check.of(t, {1, 2, 4, 6}), std::nullopt, floats({4}, {1, 1, static_cast<float>(scale), 2})},
              {{"coordinate_transformation_mode", std::string(transform)}, {"nearest_mode", std::string("floor")}});
    check("Upsample", 9, {check.of(t, {1, 1, 2, 2}), floats({4}, {1, 1, 2, 3})});
  }
  const auto index = [&](const Shape& s, std::int64_t lo, std::int64_t hi) {
    Tensor i({DType::i64, s});
    for (std::int64_t& v : i.data<std::int64_t>()) v = r.between(lo, hi);
    return i;
  };
  for (const std::int64_t lo : {-3, 0}) {
    const Tensor x = check.f({2, 3, 4});
    check("Gather", 13, {x, index({2, 2}, lo, 2)}, {{"axis", std::int64_t{1}}});
    check("Gather", 13, {x, index({}, lo, 2)}, {{"axis", std::int64_t{1}}});
    check("GatherElements", 13, {x, index({2, 5, 4}, lo, 2)}, {{"axis", std::int64_t{1}}});
    check("GatherND", 13, {check.f({3, 3, 2}), index({2, 2}, lo, 2)});
    check("GatherND", 13, {check.f({2, 3, 3}), index({2, 4, 1}, lo, 2)}, {{"batch_dims", std::int64_t{1}}});
    check("OneHot", 11, {index({2, 3}, lo, 2), number(3), floats({2}, {-1, 5})}, {{"axis", std::int64_t{1}}});
    check("OneHot", 11, {index({4}, 2 * lo, 6), number(3), typed(DType::i32, {2}, {0, 1})});
  }
}

}  // namespace

TEST_CASE("every operation's nests compute what its reference computes") {
  std::set<std::string> covered;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    Checker check{Random(seed), {}, {}};
    convolutions(check);
    products(check);
    elementwise(check);
    logic(check);
    conversions(check);
    folds(check);
    pools(check);
    movement(check);
    covered.merge(check.covered);
  }
  for (const std::string& name : operations().names())
    if (operations().find(name)->kind == OpKind::nest)
      CHECK_MESSAGE(covered.contains(name), name, " has nests that no case here runs");
}

TEST_CASE("contractions are marked as such and count their multiply-accumulates") {
  Random random(1);
  const auto f = [&](const Shape& s) { return random_tensor(random, DType::f32, s); };
  CHECK(mac_count(one_node("Conv", 13, {f({1, 4, 6, 6}), f({8, 2, 3, 3}), f({8})}, {{"group", std::int64_t{2}}}).g) ==
        1 * 8 * 4 * 4 * 2 * 3 * 3);
  CHECK(mac_count(one_node("MatMul", 13, {f({2, 3, 4}), f({4, 5})}).g) == 2 * 3 * 4 * 5);
  CHECK(mac_count(one_node("Gemm", 13, {f({3, 4}), f({4, 5}), f({5})}).g) == 3 * 4 * 5);
  CHECK(mac_count(one_node("Relu", 14, {f({3, 4})}).g) == 0);
}

TEST_CASE("a convolution's nest is what its picture says") {
  Random random(1);
  const OneNode s = one_node(
      "Conv", 13, {random_tensor(random, DType::f32, {1, 3, 8, 8}), random_tensor(random, DType::f32, {4, 3, 3, 3})},
      {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
  const auto p = nests_of(s.g, s.node);
  REQUIRE(p);
  REQUIRE(p->nests.size() == 1);
  const Nest& n = p->nests[0];
  std::string dims;
  for (const NestDim& d : n.dims) dims += fmt::format("{}{}{} ", d.name, d.extent, d.reduction ? "+" : "");
  CHECK(dims == "n1 k4 p4 q4 c3+ r3+ s3+ ");
  CHECK(n.contraction);
  CHECK(n.combine == Combine::sum);
  CHECK(n.ins[0].fill == 0.0);
  CHECK_FALSE(n.ins[1].fill);
  CHECK(n.ins[0].dims[2].offset == -1);
  CHECK(n.ins[0].dims[2].terms == std::vector<std::pair<int, std::int64_t>>{{2, 2}, {5, 1}});
}

TEST_CASE("the interpreter of nests refuses what has no nests") {
  Random random(1);
  const OneNode s =
      one_node("MaxPool", 12, {random_tensor(random, DType::f32, {1, 1, 4, 4})}, {{"kernel_shape", Ints{2, 2}}}, 2);
  CHECK_THROWS_WITH_AS(evaluate_nests(op_context(s.g, s.node), s.values),
                       doctest::Contains("this variant has no loop-nest form"), InputError);
}
