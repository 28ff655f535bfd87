#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/ops/convolution.h"
#include "core/ops/eval.h"
#include "core/ops/kernels.h"
#include "core/ops/matmul_shape.h"

// QLinearConv, QLinearMatMul and DynamicQuantizeLinear. They have no nests of their own: the pass that absorbs
// quantisation rewrites them as an integer contraction and a requantising epilogue.

namespace assay {
namespace {

// Three (scale, zero point) pairs: of the left operand, the right operand and the result.
void check_quantised(const OpContext& c, std::size_t x, std::size_t w, const std::vector<std::size_t>& scales) {
  for (const std::size_t i : {x, w}) {
    const DType t = c.type(i).dtype;
    if (t != DType::i8 && t != DType::u8) c.reject(fmt::format("operand {} is {}, expected int8 or uint8", i, name(t)));
  }
  for (const std::size_t i : scales) {
    require_type(c, i, kFloats);
    if (c.shape(i + 1) != c.shape(i))
      c.reject(fmt::format("scale {} and zero point {} have different shapes", to_string(c.shape(i)),
                           to_string(c.shape(i + 1))));
  }
  require_same_type(c, x, scales[0] + 1);
  require_same_type(c, w, scales[1] + 1);
  const DType y = c.type(scales[2] + 1).dtype;
  if (y != DType::i8 && y != DType::u8) c.reject(fmt::format("the result's zero point is {}", name(y)));
}

void require_one(const OpContext& c, std::size_t i) {
  if (element_count(c.shape(i)) != 1)
    c.reject(fmt::format("operand {} has shape {}, expected one element", i, to_string(c.shape(i))));
}

// q = saturate(round_half_even(acc · multiplier) + zero)
class Requantiser {
 public:
  explicit Requantiser(DType t, std::int64_t zero)
      : lo_(t == DType::i8 ? -128 : 0), hi_(t == DType::i8 ? 127 : 255), zero_(static_cast<double>(zero)) {}
  double operator()(std::int32_t acc, float multiplier) const {
    const auto scaled = static_cast<double>(std::nearbyint(static_cast<float>(acc) * multiplier));
    return std::clamp(scaled + zero_, lo_, hi_);
  }

 private:
  double lo_, hi_, zero_;
};

std::vector<TensorType> infer_conv(const OpContext& c) {
  check_quantised(c, 0, 3, {1, 4, 6});
  const ConvShape s = conv_shape(c, 0, 3);
  require_one(c, 1);
  require_one(c, 6);
  const std::int64_t scales = element_count(c.shape(4));
  if (scales != 1 && scales != s.g * s.kg)
    c.reject(fmt::format("{} weight scales for {} channels", scales, s.g * s.kg));
  if (c.has(8) && (c.shape(8) != Shape{s.g * s.kg} || c.type(8).dtype != DType::i32))
    c.reject(fmt::format("the bias is {}, expected int32[{}]", to_string(c.type(8)), s.g * s.kg));
  return {{c.type(7).dtype, s.result()}};
}

void evaluate_conv(EvalContext& c) {
  const ConvShape s = conv_shape(c.op, 0, 3);
  const std::vector<std::int16_t> x = centred(c.op, c.in(0), &c.in(2), 1), w = centred(c.op, c.in(3), &c.in(5), 0);
  Tensor acc({DType::i32, s.result()});
  const auto a = acc.data<std::int32_t>();
  convolve_i16(s, x.data(), w.data(), a.data());
  const Requantiser requantise(c.out[0].dtype(), c.in(7).get_int(0));
  const std::int64_t channels = s.g * s.kg, pixels = product(s.window.out, 0, s.window.rank());
  const float scale = static_cast<float>(c.in(1).get(0)) / static_cast<float>(c.in(6).get(0));
  for (std::int64_t i = 0; i < acc.size(); ++i) {
    const std::int64_t k = i / pixels % channels;
    std::int32_t v = a[static_cast<std::size_t>(i)];
    if (c.op.has(8)) v += c.in(8).data<std::int32_t>()[static_cast<std::size_t>(k)];
    c.out[0].set(i, requantise(v, scale * static_cast<float>(c.in(4).get(c.in(4).size() == 1 ? 0 : k))));
  }
}

std::vector<TensorType> infer_matmul(const OpContext& c) {
  check_quantised(c, 0, 3, {1, 4, 6});
  const MatMulShape s = checked_matmul_shape(c, 0, 3);
  require_one(c, 1);
  require_one(c, 6);
  const std::int64_t scales = element_count(c.shape(4));
  if (scales != 1 && scales != s.n) c.reject(fmt::format("{} scales for {} columns", scales, s.n));
  return {{c.type(7).dtype, s.result()}};
}

void evaluate_matmul(EvalContext& c) {
  const MatMulShape s = checked_matmul_shape(c.op, 0, 3);
  const auto widen = [&](std::size_t i, std::size_t zero, std::size_t axis) {
    const std::vector<std::int16_t> v = centred(c.op, c.in(i), &c.in(zero), axis);
    Tensor t({DType::i32, c.in(i).shape()});
    std::copy(v.begin(), v.end(), t.data<std::int32_t>().begin());
    return t;
  };
  const std::size_t rank = c.in(3).shape().size();
  Tensor acc({DType::i32, s.result()});
  matmul(widen(0, 2, c.in(0).shape().size()), widen(3, 5, s.column ? rank : rank - 1), acc);
  const Requantiser requantise(c.out[0].dtype(), c.in(7).get_int(0));
  const float scale = static_cast<float>(c.in(1).get(0)), out_scale = static_cast<float>(c.in(6).get(0));
  for (std::int64_t i = 0; i < acc.size(); ++i) {
    const float right = static_cast<float>(c.in(4).get(c.in(4).size() == 1 ? 0 : i % s.n));
    c.out[0].set(i, requantise(acc.data<std::int32_t>()[static_cast<std::size_t>(i)], scale * right / out_scale));
  }
}

void evaluate_dynamic(EvalContext& c) {
  const Tensor x = c.in(0).cast(DType::f32);
  const auto v = x.data<float>();
  float lo = 0, hi = 0;  // the range always holds 0
  for (const float f : v) {
    lo = std::min(lo, f);
    hi = std::max(hi, f);
  }
  // A tensor of zeros has any scale.
  const float scale = hi == lo ? 1.0F : (hi - lo) / 255.0F;
  const auto zero = static_cast<std::uint8_t>(std::clamp(std::nearbyint(-lo / scale), 0.0F, 255.0F));
  const auto q = c.out[0].data<std::uint8_t>();
  for (std::size_t i = 0; i < v.size(); ++i)
    q[i] = static_cast<std::uint8_t>(std::clamp(std::nearbyint(v[i] / scale) + static_cast<float>(zero), 0.0F, 255.0F));
  if (c.out.size() > 1) c.out[1].set(0, scale);
  if (c.out.size() > 2) c.out[2].set(0, zero);
}

}  // namespace

void register_qlinear(OpRegistry& r) {
  OpDef conv;
  conv.name = "QLinearConv";
  conv.min_inputs = 8;
  conv.max_inputs = 9;
  conv.infer = infer_conv;
  conv.evaluate = evaluate_conv;
  r.add(std::move(conv));
  OpDef mm;
  mm.name = "QLinearMatMul";
  mm.min_inputs = mm.max_inputs = 8;
  mm.infer = infer_matmul;
  mm.evaluate = evaluate_matmul;
  r.add(std::move(mm));
  OpDef dynamic;
  dynamic.name = "DynamicQuantizeLinear";
  dynamic.max_outputs = 3;
  dynamic.infer = [](const OpContext& c) {
    require_type(c, 0, kFloats);
    return std::vector<TensorType>{{DType::u8, c.shape(0)}, {c.type(0).dtype, {}}, {DType::u8, {}}};
  };
  dynamic.evaluate = evaluate_dynamic;
  r.add(std::move(dynamic));
}

}  // namespace assay
