// Values worked out by hand, for rules that are easily got wrong.
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>

#include "core/ops/kernels.h"
#include "tests/ops/one_node.h"

using namespace assay;

namespace {

using Doubles = std::vector<double>;

Doubles values(const std::string& op, int version, const std::vector<std::optional<Tensor>>& inputs,
               const std::vector<Attribute>& attributes = {}) {
  return one_node(op, version, inputs, attributes).evaluate()[0].to_doubles();
}

}  // namespace

TEST_CASE("quantising rounds half to even and saturates") {
  CHECK(values("QuantizeLinear", 13,
               {floats({6}, {0.5F, 1.5F, 2.5F, -0.5F, 1000, -1000}), floats({}, {1}), typed(DType::i8, {}, {0})}) ==
        Doubles{0, 2, 2, 0, 127, -128});
  CHECK(values("QuantizeLinear", 13, {floats({2}, {1, -300}), floats({}, {2}), typed(DType::u8, {}, {128})}) ==
        Doubles{128, 0});
  CHECK(values("DequantizeLinear", 13,
               {typed(DType::u8, {2}, {0, 255}), floats({}, {0.5F}), typed(DType::u8, {}, {128})}) ==
        Doubles{-64, 63.5});
}

TEST_CASE("integer division truncates, Mod follows the divisor, fmod the dividend") {
  const Tensor a = typed(DType::i32, {4}, {7, -7, 7, -7}), b = typed(DType::i32, {4}, {2, 2, -2, -2});
  CHECK(values("Div", 14, {a, b}) == Doubles{3, -3, -3, 3});
  CHECK(values("Mod", 13, {a, typed(DType::i32, {4}, {3, 3, -3, -3})}) == Doubles{1, 2, -2, -1});
  CHECK(values("Mod", 13, {a, typed(DType::i32, {4}, {3, 3, -3, -3})}, {{"fmod", std::int64_t{1}}}) ==
        Doubles{1, -1, 1, -1});
  CHECK(values("Div", 14, {typed(DType::i32, {}, {-2147483648.0}), typed(DType::i32, {}, {-1})}) ==
        Doubles{-2147483648.0});
}

TEST_CASE("integers wrap to their width") {
  CHECK(values("Add", 14, {typed(DType::i8, {1}, {127}), typed(DType::i8, {1}, {1})}) == Doubles{-128});
  CHECK(values("Mul", 14, {typed(DType::u8, {1}, {16}), typed(DType::u8, {1}, {17})}) == Doubles{16});
  CHECK(values("Neg", 13, {typed(DType::i8, {1}, {-128})}) == Doubles{-128});
}

TEST_CASE("padding of an integer convolution is the zero point") {
  // A 3-tap kernel of ones over [5, 5] with zero point 5: everything is zero, padding included.
  CHECK(values("ConvInteger", 10,
               {typed(DType::u8, {1, 1, 2}, {5, 5}), typed(DType::u8, {1, 1, 3}, {1, 1, 1}), typed(DType::u8, {}, {5})},
               {{"pads", Ints{1, 1}}}) == Doubles{0, 0});
}

TEST_CASE("SAME_LOWER puts the odd pixel in front") {
  const Tensor x = floats({1, 1, 4}, {1, 2, 3, 4}), w = floats({1, 1, 2}, {1, 10});
  CHECK(values("Conv", 13, {x, w}, {{"auto_pad", std::string("SAME_UPPER")}}) == Doubles{21, 32, 43, 4});
  CHECK(values("Conv", 13, {x, w}, {{"auto_pad", std::string("SAME_LOWER")}}) == Doubles{10, 21, 32, 43});
}

TEST_CASE("average pooling divides by what it covers") {
  const Tensor x = floats({1, 1, 3}, {3, 6, 9});
  const std::vector<Attribute> a{{"kernel_shape", Ints{3}}, {"pads", Ints{1, 1}}};
  CHECK(values("AveragePool", 11, {x}, a) == Doubles{4.5, 6, 7.5});
  std::vector<Attribute> counted = a;
  counted.emplace_back("count_include_pad", std::int64_t{1});
  CHECK(values("AveragePool", 11, {x}, counted) == Doubles{3, 6, 5});
}

TEST_CASE("softmax before opset 13 runs over all axes from the given one") {
  const Tensor x = floats({1, 2, 2}, {0, 0, 0, 0});
  CHECK(values("Softmax", 11, {x}) == Doubles{0.25, 0.25, 0.25, 0.25});
  CHECK(values("Softmax", 13, {x}) == Doubles{0.5, 0.5, 0.5, 0.5});
}

TEST_CASE("softmax and logsumexp do not overflow") {
  CHECK(values("Softmax", 13, {floats({2}, {1000, 1000})}) == Doubles{0.5, 0.5});
  CHECK(values("LogSoftmax", 13, {floats({2}, {-1e30F, 1000})})[1] == 0);
  CHECK(values("ReduceLogSumExp", 11, {floats({1}, {1000})}) == Doubles{1000});
}

TEST_CASE("NaN goes through Relu, Max and Clip") {
  CHECK(std::isnan(values("Relu", 14, {floats({1}, {NAN})})[0]));
  CHECK(std::isnan(values("Max", 13, {floats({1}, {NAN}), floats({1}, {1})})[0]));
  CHECK(std::isnan(values("Max", 13, {floats({1}, {1}), floats({1}, {NAN})})[0]));
  CHECK(std::isnan(values("Clip", 13, {floats({1}, {NAN}), floats({}, {0}), floats({}, {1})})[0]));
}

TEST_CASE("slices may run backwards and reach beyond the ends") {
  const Tensor x = floats({4}, {0, 1, 2, 3});
  CHECK(values("Slice", 13, {x, ints({-1}), ints({INT64_MIN}), ints({0}), ints({-1})}) == Doubles{3, 2, 1, 0});
  CHECK(values("Slice", 13, {x, ints({3}), ints({0}), ints({0}), ints({-2})}) == Doubles{3, 1});
  CHECK(values("Slice", 13, {x, ints({1}), ints({INT64_MAX}), ints({0}), ints({INT64_MAX})}) == Doubles{1});
  CHECK(values("Slice", 13, {x, ints({3}), ints({INT64_MIN}), ints({0}), ints({INT64_MIN})}) == Doubles{3});
}

TEST_CASE("gathers count negative indices from the end") {
  CHECK(values("Gather", 13, {floats({3}, {1, 2, 3}), ints({-1, 0})}) == Doubles{3, 1});
}

TEST_CASE("scatters apply their updates in order") {
  CHECK(values("ScatterElements", 18, {floats({3}, {1, 2, 3}), ints({0, 0}), floats({2}, {5, 7})}) == Doubles{7, 2, 3});
  CHECK(values("ScatterElements", 18, {floats({3}, {1, 2, 3}), ints({0, 0}), floats({2}, {5, 7})},
               {{"reduction", std::string("add")}}) == Doubles{13, 2, 3});
}

TEST_CASE("16-bit floats are computed in fp32 and rounded once") {
  // 2048 + 1 + 1 in fp16 steps would stay 2048.
  CHECK(values("Sum", 13, {typed(DType::f16, {1}, {2048}), typed(DType::f16, {1}, {1}), typed(DType::f16, {1}, {1})}) ==
        Doubles{2050});
}

TEST_CASE("a zero tensor has a dynamic quantisation") {
  const std::vector<Tensor> out = one_node("DynamicQuantizeLinear", 11, {floats({2}, {0, 0})}, {}, 3).evaluate();
  CHECK(out[0].to_doubles() == Doubles{0, 0});
  CHECK(out[1].get(0) == 1);
}

TEST_CASE("the integer product is exact for all sizes around its blocks") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const std::int64_t m = random.between(1, 5), n = random.between(1, 9), k = random.between(0, 40);
    std::vector<std::int16_t> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(n * k));
    for (auto& v : a) v = static_cast<std::int16_t>(random.between(-255, 255));
    for (auto& v : b) v = static_cast<std::int16_t>(random.between(-255, 255));
    std::vector<std::int32_t> c(static_cast<std::size_t>(m * n));
    gemm_i16(m, n, k, a.data(), b.data(), c.data());
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        std::int64_t sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum += a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(j * k + l)];
        wrong += sum != c[static_cast<std::size_t>(i * n + j)];
      }
    CHECK(wrong == 0);
  }
}
