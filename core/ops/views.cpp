#include <fmt/format.h>

#include <algorithm>

#include "core/base/math.h"
#include "core/ops/eval.h"

// Operations that keep the bytes and change the shape: Reshape, Flatten, Squeeze, Unsqueeze, Identity, Dropout.

namespace assay {
namespace {

void copy_elements(EvalContext& c) { c.out[0] = c.in(0).reshaped(c.op.outputs[0].shape); }

OpDef view(const std::string& name, std::size_t max_inputs) {
  OpDef def;
  def.name = name;
  def.kind = OpKind::view;
  def.max_inputs = max_inputs;
  def.evaluate = copy_elements;
  return def;
}

std::vector<TensorType> infer_reshape(const OpContext& c) {
  const Shape& in = c.shape(0);
  if (!c.has(1) && !c.attributes->has("shape")) c.reject("the shape is missing");
  Shape out = ints_from(c, "shape", 1);
  const bool allow_zero = c.attributes->integer("allowzero", 0) != 0;
  std::optional<std::size_t> open;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == -1) {
      if (open) c.reject("two dimensions are -1");
      open = i;
      continue;
    }
    if (out[i] == 0 && !allow_zero) {
      if (i >= in.size()) c.reject(fmt::format("dimension {} is copied from {}, which has none", i, to_string(in)));
      out[i] = in[i];
    }
    if (out[i] < 0) c.reject(fmt::format("dimension {} is {}", i, out[i]));
    known = checked_mul(known, out[i]);
  }
  const std::int64_t count = element_count(in);
  if (open) {
    if (known == 0 ? count != 0 : count % known != 0)
      c.reject(fmt::format("{} elements do not divide by {}", count, known));
    out[*open] = known == 0 ? 0 : count / known;
  }
  if (element_count(out) != count) c.reject(fmt::format("{} cannot become {}", to_string(in), to_string(out)));
  return {{c.type(0).dtype, out}};
}

std::vector<TensorType> infer_flatten(const OpContext& c) {
  const Shape& in = c.shape(0);
  const std::int64_t axis = c.attributes->integer("axis", 1);
  const std::size_t split = axis == static_cast<std::int64_t>(in.size()) ? in.size() : normal_axis(c, axis, in.size());
  const Shape left(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(split));
  const Shape right(in.begin() + static_cast<std::ptrdiff_t>(split), in.end());
  return {{c.type(0).dtype, {element_count(left), element_count(right)}}};
}

std::vector<TensorType> infer_squeeze(const OpContext& c) {
  const Shape& in = c.shape(0);
  std::vector<bool> drop(in.size(), false);
  const bool given = c.has(1) || c.attributes->has("axes");
  for (const std::size_t a : normal_axes(c, ints_from(c, "axes", 1), in.size())) {
    if (in[a] != 1) c.reject(fmt::format("axis {} of {} is not 1", a, to_string(in)));
    drop[a] = true;
  }
  Shape out;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (!(given ? drop[i] : in[i] == 1)) out.push_back(in[i]);
  return {{c.type(0).dtype, out}};
}

std::vector<TensorType> infer_unsqueeze(const OpContext& c) {
  if (!c.has(1) && !c.attributes->has("axes")) c.reject("the axes are missing");
  const std::vector<std::int64_t> axes = ints_from(c, "axes", 1);
  Shape out = c.shape(0);
  for (const std::size_t a : normal_axes(c, axes, out.size() + axes.size()))
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(a), 1);
  return {{c.type(0).dtype, out}};
}

std::vector<TensorType> infer_dropout(const OpContext& c) {
  for (std::size_t i = 1; i < c.inputs.size(); ++i)
    if (c.has(i) && element_count(c.shape(i)) != 1)
      c.reject(fmt::format("operand {} has shape {}, expected one element", i, to_string(c.shape(i))));
  if (c.has(2)) {
    require_type(c, 2, kBooleans);
    const double ratio = c.has(1) && is_constant(c, 1) ? c.values[1]->get(0) : 0.5;
    if (c.constant_ints(2) != std::vector<std::int64_t>{0} && ratio != 0) c.reject("training mode is not supported");
  }
  if (c.version < 7 && c.attributes->integer("is_test", 0) == 0 && c.version > 0 && c.output_count > 1)
    c.reject("training mode is not supported");
  return {c.type(0), {c.version < 10 ? c.type(0).dtype : DType::boolean, c.shape(0)}};
}

void evaluate_dropout(EvalContext& c) {
  c.out[0] = c.in(0);
  if (c.out.size() > 1) fill_with(c.out[1], Tensor::scalar(c.op.outputs[1].dtype, 1));
}

}  // namespace

void register_views(OpRegistry& r) {
  OpDef reshape = view("Reshape", 2);
  reshape.infer = infer_reshape;
  r.add(std::move(reshape));
  OpDef flatten = view("Flatten", 1);
  flatten.infer = infer_flatten;
  r.add(std::move(flatten));
  OpDef squeeze = view("Squeeze", 2);
  squeeze.infer = infer_squeeze;
  r.add(std::move(squeeze));
  OpDef unsqueeze = view("Unsqueeze", 2);
  unsqueeze.infer = infer_unsqueeze;
  r.add(std::move(unsqueeze));
  OpDef identity = view("Identity", 1);
  identity.infer = [](const OpContext& c) { return std::vector{c.type(0)}; };
  r.add(std::move(identity));
  OpDef dropout = view("Dropout", 3);
  dropout.max_outputs = 2;
  dropout.infer = infer_dropout;
  dropout.evaluate = evaluate_dropout;
  r.add(std::move(dropout));
}

}  // namespace assay
