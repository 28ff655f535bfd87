#include <fmt/format.h>

#include <cmath>

#include "core/ops/eval.h"
#include "core/ops/onnx_types.h"

// Operations that make values from attributes and shapes: Constant, ConstantOfShape, Range, EyeLike. Folding turns all
// of them into constants.

namespace assay {
namespace {

// The one attribute that gives a Constant's value.
Tensor constant_value(const OpContext& c) {
  const Attributes& a = *c.attributes;
  if (const auto t = a.tensor("value")) return *t;
  if (a.has("value_int")) {
    const std::int64_t v = a.integer("value_int", 0);
    return Tensor::of<std::int64_t>(DType::i64, {}, std::span(&v, 1));
  }
  if (a.has("value_float")) return Tensor::scalar(DType::f32, a.real("value_float", 0));
  if (a.has("value_ints")) {
    const std::vector<std::int64_t> v = a.integers("value_ints");
    return Tensor::of<std::int64_t>(DType::i64, {static_cast<std::int64_t>(v.size())}, v);
  }
  if (a.has("value_floats")) {
    const std::vector<double> v = a.reals("value_floats");
    return Tensor::of<double>(DType::f64, {static_cast<std::int64_t>(v.size())}, v).cast(DType::f32);
  }
  c.reject(
      "needs one of value, value_int, value_ints, value_float, value_floats (strings and sparse tensors are not "
      "supported)");
}

void register_constant(OpRegistry& r) {
  OpDef def;
  def.name = "Constant";
  def.min_inputs = def.max_inputs = 0;
  def.type_only = true;
  def.infer = [](const OpContext& c) { return std::vector{constant_value(c).type()}; };
  def.evaluate = [](EvalContext& c) { c.out[0] = constant_value(c.op); };
  r.add(std::move(def));
}

void register_constant_of_shape(OpRegistry& r) {
  OpDef def;
  def.name = "ConstantOfShape";
  const auto value = [](const OpContext& c) {
    const auto t = c.attributes->tensor("value");
    if (t == nullptr) return Tensor({DType::f32, {1}});
    if (t->size() != 1) c.reject(fmt::format("the value has shape {}, expected one element", to_string(t->shape())));
    return *t;
  };
  def.infer = [value](const OpContext& c) {
    const Shape s = c.constant_ints(0);
    for (const std::int64_t d : s)
      if (d < 0) c.reject(fmt::format("the shape {} has a negative dimension", to_string(s)));
    return std::vector<TensorType>{{value(c).dtype(), s}};
  };
  def.evaluate = [value](EvalContext& c) { fill_with(c.out[0], value(c.op)); };
  r.add(std::move(def));
}

void register_range(OpRegistry& r) {
  OpDef def;
  def.name = "Range";
  def.min_inputs = def.max_inputs = 3;
  def.infer = [](const OpContext& c) {
    require_type(c, 0, kNumbers);
    double v[3] = {};
    for (std::size_t i = 0; i < 3; ++i) {
      require_same_type(c, 0, i);
      if (c.constant_ints(i).size() != 1) c.reject("start, limit and delta must be scalars");
      v[i] = c.values[i]->get(0);
    }
    if (v[2] == 0) c.reject("delta is 0");
    const double count = std::max(0.0, std::ceil((v[1] - v[0]) / v[2]));
    if (!(count < 1e15)) c.reject("the range is infinite");
    return std::vector<TensorType>{{c.type(0).dtype, {static_cast<std::int64_t>(count)}}};
  };
  def.evaluate = widened([](EvalContext& c) {
    visit_numeric(c.out[0].dtype(), [&](auto tag) {
      using T = decltype(tag);
      const T start = c.in(0).data<T>()[0], delta = c.in(2).data<T>()[0];
      const auto out = c.out[0].data<T>();
      for (std::size_t i = 0; i < out.size(); ++i) {
        if constexpr (std::is_floating_point_v<T>)
          out[i] = start + static_cast<T>(i) * delta;
        else
          out[i] = static_cast<T>(static_cast<std::uint64_t>(start) + i * static_cast<std::uint64_t>(delta));
      }
    });
  });
  r.add(std::move(def));
}

void register_eye(OpRegistry& r) {
  OpDef def;
  def.name = "EyeLike";
  def.type_only = true;
  def.infer = [](const OpContext& c) {
    require_rank(c, 0, 2);
    const std::int64_t to = c.attributes->integer("dtype", 0);
    return std::vector<TensorType>{{to != 0 ? onnx_dtype(c, to) : c.type(0).dtype, c.shape(0)}};
  };
  def.evaluate = [](EvalContext& c) {
    const std::int64_t k = c.op.attributes->integer("k", 0);
    const std::int64_t rows = c.out[0].shape()[0], cols = c.out[0].shape()[1];
    if (k <= -rows || k >= cols) return;
    for (std::int64_t i = std::max<std::int64_t>(0, -k); i < rows && i + k < cols; ++i)
      c.out[0].set(i * cols + i + k, 1);
  };
  r.add(std::move(def));
}

}  // namespace

void register_generate(OpRegistry& r) {
  register_constant(r);
  register_constant_of_shape(r);
  register_range(r);
  register_eye(r);
}

}  // namespace assay
