#include "workloads/families/transformer.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace assay {

TensorId linear(Net& net, const std::string& name, TensorId x, std::int64_t out, bool bias) {
  const std::int64_t in = net.shape(x).back();
  const TensorId w = net.weight(name + ".weight", {in, out}, WeightRole::matrix, in);
  const TensorId y = net.op(name + (bias ? ".matmul" : ""), "MatMul", {x, w});
  if (!bias) return y;
  return net.op(name, "Add", {y, net.weight(name + ".bias", {out}, WeightRole::bias)});
}

TensorId layer_norm(Net& net, const std::string& name, TensorId x, double epsilon) {
  const std::int64_t c = net.shape(x).back();
  const TensorId scale = net.weight(name + ".weight", {c}, WeightRole::scale);
  const TensorId bias = net.weight(name + ".bias", {c}, WeightRole::bias);
  return net.op(name, "LayerNormalization", {x, scale, bias}, {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
}

TensorId rms_norm(Net& net, const std::string& name, TensorId x, double epsilon) {
  const std::int64_t c = net.shape(x).back();
  const TensorId square = net.op(name + ".square", "Mul", {x, x});
  const TensorId mean = net.op(name + ".mean", "ReduceMean", {square},
                               {{"axes", std::vector<std::int64_t>{-1}}, {"keepdims", std::int64_t{1}}});
  const TensorId shifted = net.op(name + ".shift", "Add", {mean, net.number(name + ".epsilon", epsilon)});
  const TensorId root = net.op(name + ".root", "Sqrt", {shifted});
  const TensorId normal = net.op(name + ".normal", "Div", {x, root});
  return net.op(name, "Mul", {normal, net.weight(name + ".weight", {c}, WeightRole::scale)});
}

TensorId gelu_erf(Net& net, const std::string& name, TensorId x) {
  const TensorId scaled = net.op(name + ".scaled", "Div", {x, net.number(name + ".sqrt2", std::numbers::sqrt2)});
  const TensorId erf = net.op(name + ".erf", "Erf", {scaled});
  const TensorId shifted = net.op(name + ".shift", "Add", {erf, net.number(name + ".one", 1)});
  const TensorId product = net.op(name + ".product", "Mul", {x, shifted});
  return net.op(name, "Mul", {product, net.number(name + ".half", 0.5)});
}

TensorId gelu_tanh(Net& net, const std::string& name, TensorId x) {
  const TensorId square = net.op(name + ".square", "Mul", {x, x});
  const TensorId cube = net.op(name + ".cube", "Mul", {square, x});
  const TensorId small = net.op(name + ".small", "Mul", {cube, net.number(name + ".c", 0.044715)});
  const TensorId sum = net.op(name + ".sum", "Add", {x, small});
  const TensorId inner =
      net.op(name + ".inner", "Mul", {sum, net.number(name + ".s", std::sqrt(2.0 / std::numbers::pi))});
  const TensorId tanh = net.op(name + ".tanh", "Tanh", {inner});
  const TensorId shifted = net.op(name + ".shift", "Add", {tanh, net.number(name + ".one", 1)});
  const TensorId product = net.op(name + ".product", "Mul", {x, shifted});
  return net.op(name, "Mul", {product, net.number(name + ".half", 0.5)});
}

TensorId attend(Net& net, const std::string& name, TensorId q, TensorId k, TensorId v, std::int64_t heads,
                std::optional<TensorId> mask) {
  const Shape in = net.shape(q);
  const std::int64_t b = in[0], s = in[1], d = in[2] / heads;
  const auto by_head = [&](const std::string& which, TensorId x, std::vector<std::int64_t> perm) {
    const TensorId split = net.reshape(name + "." + which + ".heads", x, {b, net.shape(x)[1], heads, d});
    return net.transpose(name + "." + which + ".by_head", split, std::move(perm));
  };
  const TensorId qh = by_head("q", q, {0, 2, 1, 3});
  const TensorId kh = by_head("k", k, {0, 2, 3, 1});
  const TensorId vh = by_head("v", v, {0, 2, 1, 3});
  const TensorId raw = net.op(name + ".scores", "MatMul", {qh, kh});
  const TensorId scale = net.number(name + ".scale", 1 / std::sqrt(static_cast<double>(d)));
  TensorId scores = net.op(name + ".scaled", "Mul", {raw, scale});
  if (mask) scores = net.op(name + ".masked", "Add", {scores, *mask});
  const TensorId weights = net.op(name + ".softmax", "Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const TensorId mixed = net.op(name + ".mixed", "MatMul", {weights, vh});
  const TensorId back = net.transpose(name + ".by_token", mixed, {0, 2, 1, 3});
  return net.reshape(name + ".merged", back, {b, s, heads * d});
}

TensorId causal_mask(Net& net, const std::string& name, std::int64_t tokens) {
  Tensor t({net.dtype(), {1, 1, tokens, tokens}});
  for (std::int64_t i = 0; i < tokens; ++i)
    for (std::int64_t j = i + 1; j < tokens; ++j) t.set(i * tokens + j, -10000);
  return net.constant(name, std::move(t));
}

TensorId last_token(Net& net, const std::string& name, TensorId x) {
  const std::int64_t s = net.shape(x)[1];
  return net.op(name, "Slice",
                {x, net.ints(name + ".from", {s - 1}), net.ints(name + ".to", {s}), net.ints(name + ".axis", {1})});
}

std::optional<std::string> must_divide(const FamilyParams& p, const std::string& whole, const std::string& part) {
  if (p[whole] % p[part] == 0) return std::nullopt;
  return fmt::format("{} ({}) must be a multiple of {} ({})", whole, p[whole], part, p[part]);
}

}  // namespace assay
