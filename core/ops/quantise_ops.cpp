#include <fmt/format.h>

#include <cmath>

#include "core/ops/build_nest.h"
#include "core/ops/eval.h"
#include "core/ops/onnx_types.h"

// QuantizeLinear: q = saturate(round_half_even(x / scale) + zero), DequantizeLinear: x = (q − zero) · scale,
// with one scale, one per index along `axis`, or one per block of `block_size` along it (opset 21).

namespace assay {
namespace {

// How scale and zero point are laid against the data.
struct Granularity {
  std::size_t axis = 0;
  bool per_axis = false;
  std::int64_t block = 0;  ///< 0: not blocked
};

Granularity granularity(const OpContext& c) {
  Granularity g;
  const Shape& x = c.shape(0);
  const Shape& scale = c.shape(1);
  g.block = c.attributes->integer("block_size", 0);
  if (g.block < 0) c.reject(fmt::format("block_size is {}", g.block));
  if (g.block == 0 && element_count(scale) == 1 && scale.size() <= 1) return g;
  g.axis = normal_axis(c, c.attributes->integer("axis", 1), x.size());
  if (g.block > 0) {
    Shape expected = x;
    expected[g.axis] = x[g.axis] / g.block + (x[g.axis] % g.block != 0 ? 1 : 0);
    if (scale != expected)
      c.reject(fmt::format("blocks of {} along axis {} need scales of shape {}, found {}", g.block, g.axis,
                           to_string(expected), to_string(scale)));
    return g;
  }
  if (scale.size() != 1 || scale[0] != x[g.axis])
    c.reject(fmt::format("scales of shape {} do not fit axis {} of {}", to_string(scale), g.axis, to_string(x)));
  g.per_axis = true;
  return g;
}

void check_zero(const OpContext& c) {
  if (c.has(2) && c.shape(2) != c.shape(1))
    c.reject(fmt::format("the zero point has shape {}, the scale {}", to_string(c.shape(2)), to_string(c.shape(1))));
}

std::vector<TensorType> infer_quantize(const OpContext& c) {
  require_type(c, 0, kFloats | kIntegers);
  require_type(c, 1, kFloats);
  granularity(c);
  check_zero(c);
  DType to = DType::u8;
  if (c.has(2))
    to = c.type(2).dtype;
  else if (c.attributes->integer("output_dtype", 0) != 0)
    to = onnx_dtype(c, c.attributes->integer("output_dtype", 0));
  if (!is_integer(to)) c.reject(fmt::format("quantising to {} is not supported", name(to)));
  return {{to, c.shape(0)}};
}

std::vector<TensorType> infer_dequantize(const OpContext& c) {
  require_type(c, 0, kIntegers | kFourBit);
  require_type(c, 1, kFloats);
  granularity(c);
  check_zero(c);
  if (c.has(2)) require_same_type(c, 0, 2);
  return {{c.type(1).dtype, c.shape(0)}};
}

// Calls body(flat index, index of the scale) for every element.
template <class F>
void for_scales(const EvalContext& c, F&& body) {
  const Granularity g = granularity(c.op);
  const Shape& x = c.op.shape(0);
  const std::int64_t n = element_count(x);
  if (!g.per_axis && g.block == 0) {
    for (std::int64_t i = 0; i < n; ++i) body(i, std::int64_t{0});
    return;
  }
  const std::int64_t inner = product(x, g.axis + 1, x.size()), extent = x[g.axis];
  const std::int64_t blocks = g.block > 0 ? c.op.shape(1)[g.axis] : extent;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t along = i / inner % extent;
    if (g.per_axis)
      body(i, along);
    else
      body(i, (i / (inner * extent) * blocks + along / g.block) * inner + i % inner);
  }
}

void evaluate_quantize(EvalContext& c) {
  const Tensor x = c.in(0).cast(DType::f32), scale = c.in(1).cast(DType::f32);
  const DType to = c.op.outputs[0].dtype;
  const Tensor zero = c.op.has(2) ? c.in(2).cast(DType::f64) : Tensor({DType::f64, c.op.shape(1)});
  const auto xs = x.data<float>(), ss = scale.data<float>();
  const auto zs = zero.data<double>();
  Tensor wide({DType::f64, x.shape()});
  const auto q = wide.data<double>();
  for_scales(
      c, [&](std::int64_t i, std::int64_t s) { q[i] = static_cast<double>(std::nearbyint(xs[i] / ss[s])) + zs[s]; });
  c.out[0] = wide.cast(to);  // saturates
}

void evaluate_dequantize(EvalContext& c) {
  const Tensor q = c.in(0).cast(DType::i64), scale = c.in(1).cast(DType::f32);
  const Tensor zero = c.op.has(2) ? c.in(2).cast(DType::i64) : Tensor({DType::i64, c.op.shape(1)});
  const auto qs = q.data<std::int64_t>(), zs = zero.data<std::int64_t>();
  const auto ss = scale.data<float>();
  Tensor wide({DType::f32, q.shape()});
  const auto x = wide.data<float>();
  for_scales(c, [&](std::int64_t i, std::int64_t s) { x[i] = static_cast<float>(qs[i] - zs[s]) * ss[s]; });
  c.out[0] = wide.cast(c.op.outputs[0].dtype);
}

// The value of operand `i` (scale or zero point) as fp32: a number where it is one constant, else an access.
int parameter(const OpContext& c, std::size_t i, const Granularity& g, Nest& nest, BodyWriter& w) {
  if (!g.per_axis && is_constant(c, i)) return w.number(c.values[i]->get(0));
  std::vector<AccessDim> dims(c.shape(i).size(), fixed());
  if (g.per_axis) dims[0] = at(static_cast<int>(g.axis));
  nest.ins.push_back(access(input_slot(i), std::move(dims)));
  return w.in(static_cast<int>(nest.ins.size()) - 1, c.type(i).dtype);
}

std::optional<NestProgram> nests(const OpContext& c, bool quantize) {
  const Granularity g = granularity(c);
  if (g.block > 0) return std::nullopt;
  const TensorType& out = c.outputs[0];
  Nest nest = nest_over(out.shape);
  nest.ins.push_back(identity_access(input_slot(0), out.shape.size()));
  BodyWriter w(DType::f32);
  int v = w.in(0, c.type(0).dtype);
  const bool zero = c.has(2) && !(is_constant(c, 2) && [&] {
                      for (const std::int64_t z : c.values[2]->to_ints())
                        if (z != 0) return false;
                      return true;
                    }());
  if (quantize) {
    v = w.op(ScalarOp::round_even, w.op(ScalarOp::div, v, parameter(c, 1, g, nest, w)));
    if (zero) v = w.op(ScalarOp::add, v, parameter(c, 2, g, nest, w));
  } else {
    if (zero) v = w.op(ScalarOp::sub, v, parameter(c, 2, g, nest, w));
    v = w.op(ScalarOp::mul, v, parameter(c, 1, g, nest, w));
  }
  nest.body = w.done(v, out.dtype);  // the cast to an integer saturates
  nest.out = identity_access(output_slot(0), out.shape.size());
  nest.accumulator = out.dtype;
  return single(std::move(nest));
}

}  // namespace

void register_quantise_ops(OpRegistry& r) {
  OpDef q;
  q.name = "QuantizeLinear";
  q.kind = OpKind::nest;
  q.min_inputs = 2;
  q.max_inputs = 3;
  q.infer = infer_quantize;
  q.evaluate = evaluate_quantize;
  q.nests = [](const OpContext& c) { return nests(c, true); };
  OpDef d = q;
  d.name = "DequantizeLinear";
  d.infer = infer_dequantize;
  d.evaluate = evaluate_dequantize;
  d.nests = [](const OpContext& c) { return nests(c, false); };
  r.add(std::move(q));
  r.add(std::move(d));
}

}  // namespace assay
