#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/ir/tensor.h"

using namespace assay;

namespace {
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor floats(std::vector<float> v) { return Tensor::of<float>(DType::f32, {static_cast<std::int64_t>(v.size())}, v); }
}  // namespace

TEST_CASE("element counts are products, with one for a scalar and zero wherever a dimension is zero") {
  CHECK(element_count({}) == 1);
  CHECK(element_count({2, 3, 4}) == 24);
  CHECK(element_count({0, INT64_MAX, INT64_MAX}) == 0);
  CHECK_THROWS_WITH_AS(element_count({INT64_MAX, 2}), doctest::Contains("does not fit 64 bits"), InputError);
  CHECK_THROWS_WITH_AS(element_count({2, -1}), doctest::Contains("shape [2, -1] has a negative dimension"), InputError);
}

TEST_CASE("a tensor that could not be held is an input error, not an exhausted memory") {
  CHECK_THROWS_WITH_AS(Tensor({DType::f32, {1 << 20, 1 << 20}}), doctest::Contains("more than the limit"), InputError);
}

TEST_CASE("types print with their shape") {
  CHECK(to_string(TensorType{DType::f32, {1, 3, 224, 224}}) == "fp32[1, 3, 224, 224]");
  CHECK(to_string(TensorType{DType::i4, {}}) == "int4[]");
  CHECK(TensorType{DType::i4, {3}}.bytes() == 2);
}

TEST_CASE("fp16 rounds to nearest even, keeps subnormals and overflows to infinity") {
  Tensor t({DType::f16, {1}});
  const auto round = [&](double v) {
    t.set(0, v);
    return t.get(0);
  };
  CHECK(round(1.0 + 1.0 / 2048) == 1.0);               // a tie goes to even
  CHECK(round(1.0 + 3.0 / 2048) == 1.0 + 2.0 / 1024);  // a tie goes to even
  CHECK(round(65519.0) == 65504.0);
  CHECK(round(65520.0) == kInf);
  CHECK(round(std::ldexp(1.0, -24)) == std::ldexp(1.0, -24));  // the smallest subnormal
  CHECK(round(std::ldexp(1.0, -25)) == 0.0);
  CHECK(std::isnan(round(kNan)));
}

TEST_CASE("bf16 keeps eight bits of significand") {
  Tensor t({DType::bf16, {1}});
  t.set(0, 1.0 + 1.0 / 256);
  CHECK(t.get(0) == 1.0);
  t.set(0, 1.0 + 3.0 / 256);
  CHECK(t.get(0) == 1.0 + 4.0 / 256);
  t.set(0, 3e38);
  CHECK(t.get(0) == doctest::Approx(3e38).epsilon(0.004));
}

TEST_CASE("a float becomes an integer by truncation, saturation and NaN to zero") {
  const Tensor t = floats({-300.F, -1.9F, 1.9F, 300.F, static_cast<float>(kNan), static_cast<float>(kInf)});
  CHECK(t.cast(DType::i8).to_ints() == std::vector<std::int64_t>{-128, -1, 1, 127, 0, 127});
  CHECK(t.cast(DType::u8).to_ints() == std::vector<std::int64_t>{0, 0, 1, 255, 0, 255});
  CHECK(t.cast(DType::i4).to_ints() == std::vector<std::int64_t>{-8, -1, 1, 7, 0, 7});
  CHECK(t.cast(DType::u4).to_ints() == std::vector<std::int64_t>{0, 0, 1, 15, 0, 15});
  CHECK(t.cast(DType::boolean).to_ints() == std::vector<std::int64_t>{1, 1, 1, 1, 1, 1});
  CHECK(floats({3e9F, -3e9F}).cast(DType::i32).to_ints() == std::vector<std::int64_t>{INT32_MAX, INT32_MIN});
  CHECK(floats({1e19F, -1e19F}).cast(DType::i64).to_ints() == std::vector<std::int64_t>{INT64_MAX, INT64_MIN});
}

TEST_CASE("an integer becomes a narrower integer by wrapping") {
  const std::array<std::int32_t, 4> v{300, -129, 8, -9};
  const Tensor t = Tensor::of<std::int32_t>(DType::i32, {4}, v);
  CHECK(t.cast(DType::i8).to_ints() == std::vector<std::int64_t>{44, 127, 8, -9});
  CHECK(t.cast(DType::i4).to_ints() == std::vector<std::int64_t>{-4, -1, -8, 7});
  CHECK(t.cast(DType::boolean).to_ints() == std::vector<std::int64_t>{1, 1, 1, 1});
}

TEST_CASE("large integers survive get_int") {
  const std::array<std::int64_t, 1> v{(std::int64_t{1} << 53) + 1};
  CHECK(Tensor::of<std::int64_t>(DType::i64, {1}, v).get_int(0) == v[0]);
}

TEST_CASE("every 16-bit float survives the way to fp32 and back") {
  for (const DType t : {DType::f16, DType::bf16}) {
    std::vector<std::uint16_t> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
    const Tensor a = Tensor::of<std::uint16_t>(t, {65536}, all);
    const Tensor b = a.cast(DType::f32).cast(t);
    std::int64_t different = 0;
    for (std::int64_t i = 0; i < a.size(); ++i)
      different += a.get(i) != b.get(i) && !(std::isnan(a.get(i)) && std::isnan(b.get(i)));
    CHECK(different == 0);
  }
}

TEST_CASE("reading a tensor as another type is a bug") {
  Tensor t({DType::f32, {2}});
  CHECK_THROWS_AS(t.data<double>(), InternalError);
  CHECK_THROWS_AS(t.get(2), InternalError);
  CHECK_THROWS_AS(t.reshaped({3}), InternalError);
}

TEST_CASE("a comparison counts mismatches and knows NaN and infinity") {
  const Tensor e = floats({1, 2, static_cast<float>(kNan), static_cast<float>(kInf)});
  CHECK(compare(e, e, 0, 0).equal);
  CHECK(compare(e, e, 0, 0).sqnr_db == kInf);
  const Comparison c = compare(floats({1, 2.5F, static_cast<float>(kNan), 3}), e, 0.1, 0.1);
  CHECK_FALSE(c.equal);
  CHECK(c.mismatches == 2);
  CHECK(c.first_mismatch == 1);
  CHECK(compare(floats({1, 2.2F}), floats({1, 2}), 0, 0.11).equal);
  CHECK(compare(floats({10, 11}), floats({10, 10}), 0, 0).sqnr_db == doctest::Approx(10 * std::log10(200.0)));
  CHECK_THROWS_WITH_AS(compare(floats({1}), floats({1, 2}), 0, 0), doctest::Contains("got fp32[1], expected fp32[2]"),
                       InputError);
}
