#include <fmt/format.h>

#include "core/ops/build_nest.h"
#include "core/ops/convolution.h"
#include "core/ops/eval.h"
#include "core/ops/kernels.h"
#include "core/ops/matmul_shape.h"

// Conv and ConvInteger.

namespace assay {
namespace {

void check_bias(const OpContext& c, std::size_t operand, const ConvShape& s) {
  if (c.has(operand) && c.shape(operand) != Shape{s.g * s.kg})
    c.reject(fmt::format("the bias has shape {}, expected [{}]", to_string(c.shape(operand)), s.g * s.kg));
}

void register_float(OpRegistry& r) {
  OpDef def;
  def.name = "Conv";
  def.kind = OpKind::nest;
  def.min_inputs = 2;
  def.max_inputs = 3;
  def.infer = [](const OpContext& c) {
    require_type(c, 0, kFloats);
    require_same_type(c, 0, 1);
    const ConvShape s = conv_shape(c, 0, 1);
    check_bias(c, 2, s);
    if (c.has(2)) require_same_type(c, 0, 2);
    return std::vector<TensorType>{{c.type(0).dtype, s.result()}};
  };
  def.evaluate = widened([](EvalContext& c) {
    const ConvShape s = conv_shape(c.op, 0, 1);
    visit_float(c.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      T* y = c.out[0].data<T>().data();
      convolve<T>(s, c.in(0).data<T>().data(), c.in(1).data<T>().data(), y);
      if (!c.op.has(2)) return;
      const auto bias = c.in(2).data<T>();
      const std::int64_t pixels = product(s.window.out, 0, s.window.rank());
      for (std::int64_t i = 0; i < s.n * s.g * s.kg; ++i) {
        const T b = bias[static_cast<std::size_t>(i % (s.g * s.kg))];
        for (std::int64_t j = 0; j < pixels; ++j) y[i * pixels + j] += b;
      }
    });
  });
  def.nests = [](const OpContext& c) {
    const ConvShape s = conv_shape(c, 0, 1);
    const DType out = c.outputs[0].dtype, work = work_type(out);
    NestProgram p;
    p.nests.push_back(conv_nest(s, input_slot(0), input_slot(1), c.has(2) ? temp_slot(0) : output_slot(0), work, 0));
    if (c.has(2)) {
      p.temps.push_back({work, c.outputs[0].shape});
      p.nests.push_back(conv_bias_nest(s, temp_slot(0), work, input_slot(2), out, output_slot(0), out));
    }
    return p;
  };
  r.add(std::move(def));
}

void register_integer(OpRegistry& r) {
  OpDef def;
  def.name = "ConvInteger";
  def.kind = OpKind::nest;
  def.min_inputs = 2;
  def.max_inputs = 4;
  def.infer = [](const OpContext& c) {
    for (std::size_t i = 0; i < 2; ++i) {
      const DType t = c.type(i).dtype;
      if (t != DType::i8 && t != DType::u8)
        c.reject(fmt::format("operand {} is {}, expected int8 or uint8", i, name(t)));
    }
    const ConvShape s = conv_shape(c, 0, 1);
    for (std::size_t i = 2; i < 4; ++i) {
      if (!c.has(i)) continue;
      require_same_type(c, i - 2, i);
      const std::int64_t count = element_count(c.shape(i));
      if (count != 1 && !(i == 3 && count == s.g * s.kg))
        c.reject(fmt::format("{} zero points in operand {}", count, i));
    }
    return std::vector<TensorType>{{DType::i32, s.result()}};
  };
  def.evaluate = [](EvalContext& c) {
    const ConvShape s = conv_shape(c.op, 0, 1);
    const std::vector<std::int16_t> x = centred(c.op, c.in(0), c.op.has(2) ? &c.in(2) : nullptr, 1);
    const std::vector<std::int16_t> w = centred(c.op, c.in(1), c.op.has(3) ? &c.in(3) : nullptr, 0);
    convolve_i16(s, x.data(), w.data(), c.out[0].data<std::int32_t>().data());
  };
  def.nests = [](const OpContext& c) -> std::optional<NestProgram> {
    const auto zx = uniform_zero(c, 2), zw = uniform_zero(c, 3);
    if (!zx || !zw) return std::nullopt;
    // Padding stands for the number 0, which is the zero point.
    Nest nest = conv_nest(conv_shape(c, 0, 1), input_slot(0), input_slot(1), output_slot(0), DType::i32, *zx);
    nest.zero[0] = *zx;
    nest.zero[1] = *zw;
    return single(std::move(nest));
  };
  r.add(std::move(def));
}

}  // namespace

void register_conv(OpRegistry& r) {
  register_float(r);
  register_integer(r);
}

}  // namespace assay
