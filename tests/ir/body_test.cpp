#include <doctest/doctest.h>

#include "core/base/check.h"
#include "core/isa/body.h"

using namespace assay;

TEST_CASE("every scalar operation and combine reads back from its name") {
  for (int i = 0; i <= static_cast<int>(ScalarOp::cast); ++i) {
    const auto op = static_cast<ScalarOp>(i);
    CHECK(parse_scalar_op(name(op)) == op);
    CHECK(arity(op) <= 3);
    CHECK_FALSE(op_class(op).empty());
  }
  for (int i = 0; i <= static_cast<int>(Combine::min); ++i)
    CHECK(parse_combine(name(static_cast<Combine>(i))) == static_cast<Combine>(i));
  CHECK_FALSE(parse_scalar_op("fma"));
  CHECK_FALSE(parse_combine("xor"));
  CHECK(arity(ScalarOp::select) == 3);
  CHECK(op_class(ScalarOp::exp) == "transcendental");
}

TEST_CASE("substitution puts the producer's body where its result was read") {
  Body relu;  // max(in0 + in1, 0)
  const int r0 = relu.input(0, DType::f32), r1 = relu.input(1, DType::f32);
  const int s = relu.push(ScalarOp::add, DType::f32, r0, r1);
  relu.push(ScalarOp::max, DType::f32, s, relu.constant(0, DType::f32));
  Body scale;  // in0 * in1
  const int s0 = scale.input(0, DType::f32), s1 = scale.input(1, DType::f32);
  scale.push(ScalarOp::mul, DType::f32, s0, s1);
  // fused operands: 0 and 1 of `scale`, and operand 1 of `relu` becomes 2
  const Body fused = substitute(relu, 0, scale, {-1, 2}, {0, 1});
  Body expected;
  const int e0 = expected.input(0, DType::f32), e1 = expected.input(1, DType::f32);
  const int m = expected.push(ScalarOp::mul, DType::f32, e0, e1);
  const int a = expected.push(ScalarOp::add, DType::f32, m, expected.input(2, DType::f32));
  expected.push(ScalarOp::max, DType::f32, a, expected.constant(0, DType::f32));
  CHECK(fused == expected);
}

TEST_CASE("substitution into an identity, of a shared operand and across a type change") {
  Body identity;
  identity.input(0, DType::f32);
  CHECK(identity.is_identity());
  Body neg;
  neg.push(ScalarOp::neg, DType::f32, neg.input(0, DType::f32));
  CHECK(substitute(identity, 0, neg, {-1}, {0}) == neg);

  Body square;  // in0 * in0, read twice
  square.push(ScalarOp::mul, DType::f32, square.input(0, DType::f32), square.input(0, DType::f32));
  const Body once = substitute(square, 0, neg, {-1}, {0});
  CHECK(once.code.size() == 3);

  Body wide;  // computes in fp32 what the consumer reads as fp16
  wide.input(0, DType::f32);
  Body half;
  half.push(ScalarOp::neg, DType::f16, half.input(0, DType::f16));
  const Body cast = substitute(half, 0, wide, {-1}, {0});
  REQUIRE(cast.code.size() == 3);
  CHECK(cast.code[1].op == ScalarOp::cast);
  CHECK(cast.code[1].type == DType::f16);
}

TEST_CASE("the result of a substitution is the last instruction even when it is shared") {
  Body outer;  // computes something, then returns in0
  outer.push(ScalarOp::neg, DType::f32, outer.input(0, DType::f32));
  outer.input(0, DType::f32);
  Body inner;
  inner.input(0, DType::f32);
  const Body out = substitute(outer, 0, inner, {-1}, {0});
  CHECK(out.code.back().op == ScalarOp::cast);
  CHECK(out.code.back().a == 0);
}

TEST_CASE("an operand without a new number is a bug") {
  Body b;
  b.input(3, DType::f32);
  CHECK_THROWS_AS(substitute(b, 0, b, {0}, {0}), InternalError);
}
