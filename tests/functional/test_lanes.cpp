#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "hwmodels/functional/lanes.h"

using namespace assay;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

/// One operation on constants of a type, read back as a double.
double result(ScalarOp op, DType type, double a, double b = 0, double c = 0, DType out = DType::f64) {
  Body body;
  const int x = body.constant(a, type), y = body.constant(b, type), z = body.constant(c, type);
  body.push(op, type, x, arity(op) > 1 ? y : -1, arity(op) > 2 ? z : -1);
  body.push(ScalarOp::cast, out, 3);
  std::vector<Lanes> values(body.code.size());
  evaluate_body(body, values, 3);
  CHECK(std::isnan(values.back().f64()[0]) == std::isnan(values.back().f64()[2]));
  return values.back().f64()[2];
}

double cast_of(DType from, double v, DType to) {
  Body body;
  body.push(ScalarOp::cast, to, body.constant(v, from));
  body.push(ScalarOp::cast, DType::f64, 1);
  std::vector<Lanes> values(body.code.size());
  evaluate_body(body, values, 1);
  return values.back().f64()[0];
}

}  // namespace

TEST_CASE("real operations follow IEEE and their names") {
  CHECK(result(ScalarOp::mod, DType::f32, -7, 3) == 2);
  CHECK(result(ScalarOp::fmod, DType::f32, -7, 3) == -1);
  CHECK(result(ScalarOp::round_even, DType::f32, 2.5) == 2);
  CHECK(result(ScalarOp::round_even, DType::f32, 3.5) == 4);
  CHECK(result(ScalarOp::sign, DType::f32, -3) == -1);
  CHECK(std::isnan(result(ScalarOp::max, DType::f32, NAN, 1)));
  CHECK(std::isnan(result(ScalarOp::max, DType::f32, 1, NAN)));
  CHECK(std::isnan(result(ScalarOp::min, DType::f64, 1, NAN)));
  CHECK(result(ScalarOp::reciprocal, DType::f32, 4) == 0.25);
  CHECK(result(ScalarOp::rsqrt, DType::f64, 4) == 0.5);
  CHECK(result(ScalarOp::sigmoid, DType::f32, 0) == 0.5);
  CHECK(result(ScalarOp::erf, DType::f64, 0.5) == std::erf(0.5));
  CHECK(result(ScalarOp::exp, DType::f32, 1) == static_cast<double>(std::exp(1.0F)));
  CHECK(result(ScalarOp::pow, DType::f64, 2, 10) == 1024);
  CHECK(result(ScalarOp::div, DType::f32, 1, 0) == static_cast<double>(kInf));
}

TEST_CASE("integer operations wrap to their width and are defined everywhere") {
  CHECK(result(ScalarOp::add, DType::i8, 127, 1) == -128);
  CHECK(result(ScalarOp::mul, DType::u8, 16, 17) == 16);
  CHECK(result(ScalarOp::div, DType::i32, -7, 2) == -3);
  CHECK(result(ScalarOp::div, DType::i32, 5, 0) == 0);
  CHECK(result(ScalarOp::div, DType::i32, -2147483648.0, -1) == -2147483648.0);
  CHECK(result(ScalarOp::mod, DType::i32, -7, 3) == 2);
  CHECK(result(ScalarOp::fmod, DType::i32, -7, 3) == -1);
  CHECK(result(ScalarOp::mod, DType::i64, 5, 0) == 0);
  CHECK(result(ScalarOp::pow, DType::i32, 3, 4) == 81);
  CHECK(result(ScalarOp::pow, DType::i32, 2, -1) == 0);
  CHECK(result(ScalarOp::neg, DType::u8, 1) == 255);
  CHECK(result(ScalarOp::abs, DType::i8, -128) == -128);
  CHECK(result(ScalarOp::shift_left, DType::u8, 1, 8) == 0);
  CHECK(result(ScalarOp::shift_right, DType::i32, -8, 1) == -4);
  CHECK(result(ScalarOp::shift_right, DType::i32, -8, 40) == -1);
  CHECK(result(ScalarOp::bit_not, DType::u8, 1) == 254);
  CHECK(result(ScalarOp::bit_xor, DType::i32, 6, 3) == 5);
  CHECK(result(ScalarOp::max, DType::u64, 1, 1.8e19) > 1.7e19);
  CHECK(result(ScalarOp::sqrt, DType::i32, 17) == 4);
  CHECK(result(ScalarOp::floor, DType::i32, 17) == 17);
}

TEST_CASE("comparisons, logic and selection") {
  CHECK(result(ScalarOp::less, DType::f32, 1, 2) == 1);
  CHECK(result(ScalarOp::less, DType::f32, NAN, 2) == 0);
  CHECK(result(ScalarOp::less_equal, DType::i32, 2, 2) == 1);
  CHECK(result(ScalarOp::less, DType::u64, 1, 1.8e19) == 1);
  CHECK(result(ScalarOp::equal, DType::f64, 0.0, -0.0) == 1);
  CHECK(result(ScalarOp::logical_and, DType::f32, 2, 0.5) == 1);
  CHECK(result(ScalarOp::logical_or, DType::i32, 0, 0) == 0);
  CHECK(result(ScalarOp::logical_xor, DType::boolean, 1, 1) == 0);
  CHECK(result(ScalarOp::logical_not, DType::boolean, 0) == 1);
  CHECK(result(ScalarOp::is_nan, DType::f32, NAN) == 1);
  CHECK(result(ScalarOp::is_inf, DType::f32, -kInf) == 1);
  CHECK(result(ScalarOp::select, DType::f32, 0.5, 7, 8) == 7);
  CHECK(result(ScalarOp::select, DType::i32, 0, 7, 8) == 8);
  CHECK(result(ScalarOp::select, DType::f64, 1, 7, 8) == 7);
}

TEST_CASE("casts saturate from floats, wrap between integers, and round") {
  CHECK(cast_of(DType::f32, 300, DType::i8) == 127);
  CHECK(cast_of(DType::f32, -300, DType::u8) == 0);
  CHECK(cast_of(DType::f32, -1.9, DType::i32) == -1);
  CHECK(cast_of(DType::f32, NAN, DType::i32) == 0);
  CHECK(cast_of(DType::f64, 1e30, DType::i64) > 9.2e18);
  CHECK(cast_of(DType::i32, 300, DType::u8) == 44);
  CHECK(cast_of(DType::f32, 0.25, DType::boolean) == 1);
  CHECK(cast_of(DType::f32, 1.0009765, DType::f16) == 1.0009765625);
  CHECK(cast_of(DType::f32, 70000, DType::f16) == static_cast<double>(kInf));
  CHECK(cast_of(DType::f32, 1.00390625, DType::bf16) == 1.0);
}

TEST_CASE("half precision rounds after every operation") {
  CHECK(result(ScalarOp::add, DType::f16, 2048, 1) == 2048);
  CHECK(result(ScalarOp::mul, DType::bf16, 1.0078125, 1.0078125) == 1.015625);
}

TEST_CASE("folds start from the neutral element and keep NaN") {
  const auto fold = [](Combine c, DType t, double a, double b) {
    Lanes acc, value;
    fill_identity(c, t, acc, 2);
    for (const double v : {a, b}) {
      fill_run(t, v, value, 0, 2);
      fold_lanes(c, t, acc, value, 2);
    }
    cast_lanes(t, acc, DType::f64, acc, 2);
    return acc.f64()[1];
  };
  CHECK(fold(Combine::sum, DType::f32, 1, 2) == 3);
  CHECK(fold(Combine::product, DType::i32, 3, 4) == 12);
  CHECK(fold(Combine::max, DType::i8, -5, -7) == -5);
  CHECK(fold(Combine::min, DType::u8, 9, 200) == 9);
  CHECK(fold(Combine::max, DType::f64, -3, -4) == -3);
  CHECK(std::isnan(fold(Combine::max, DType::f32, NAN, 4)));
  CHECK(fold(Combine::sum, DType::i8, 100, 100) == -56);
  Lanes acc, values;
  fill_identity(Combine::sum, DType::f32, acc, 1);
  for (std::size_t i = 0; i < 4; ++i) fill_run(DType::f32, static_cast<double>(i), values, i, 1);
  fold_into_first(Combine::sum, DType::f32, acc, values, 4);
  CHECK(acc.f32()[0] == 6);
}

TEST_CASE("an operation that a type does not have is refused by name") {
  try {
    result(ScalarOp::bit_and, DType::f32, 1, 1);
    FAIL("no error");
  } catch (const InputError& e) {
    CHECK(std::string(e.what()).find("'bit_and' of fp32 is not defined") != std::string::npos);
  }
}
