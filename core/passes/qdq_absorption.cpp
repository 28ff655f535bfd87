#include "core/passes/qdq_absorption.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/passes/quantisation.h"
#include "core/passes/rewrite.h"

namespace assay {
namespace {

const char* const kPass = "qdq-absorption";

// One operand of a contraction: the integers and what they mean.
struct Quantised {
  TensorId q;
  Quantisation how;
};

class Absorption {
 public:
  Absorption(Graph& g, PassContext& context) : rewrite_(g), g_(g), context_(context) {}

  std::size_t run() {
    for (const NodeId n : g_.topological_order()) {
      const Node node = g_.node(n);
      if (node.op == "Conv") {
        conv(node);
      } else if (node.op == "MatMul") {
        matmul(node);
      } else if (node.op == "QLinearConv") {
        qlinear_conv(node);
      } else if (node.op == "QLinearMatMul") {
        qlinear_matmul(node);
      } else if (node.op == "ConvTranspose" && producer_if(g_, node.inputs[0], "DequantizeLinear")) {
        stay(node, "there is no integer ConvTranspose");
      }
    }
    rewrite_.sweep();
    return rewrite_.count();
  }

 private:
  void stay(const Node& node, const std::string& why) { context_.remark(kPass, node.name, "stays on floats: " + why); }

  std::optional<Quantised> dequantised(TensorId t) const {
    const auto dq = producer_if(g_, t, "DequantizeLinear");
    if (!dq) return std::nullopt;
    const auto how = quantisation_of(g_, *dq);
    if (!how) return std::nullopt;
    return Quantised{g_.node(*dq).inputs[0], *how};
  }

  void conv(const Node& node) {
    const auto x = dequantised(node.inputs[0]), w = dequantised(node.inputs[1]);
    if (!x && !w) return;
    if (!x || !w) return stay(node, "one operand is not dequantised by constant scales");
    const Shape shape = g_.tensor(w->q).type.shape;
    const std::int64_t length = element_count(Shape(shape.begin() + 1, shape.end()));
    if (const std::string why = illegal(*x, *w, 0, length); !why.empty()) return stay(node, why);
    const auto sum = integer_product("ConvInteger", node, node.attributes, *x, *w);
    if (!sum) return;
    TensorId y = rescaled(node, *sum, *x, *w, shape.size() - 2);
    if (const TensorId b = operand(node, 2); b.valid()) y = biased(node, y, b, shape.size() - 2);
    rewrite_.replace(node.outputs[0], y);
  }

  void matmul(const Node& node) {
    const auto a = dequantised(node.inputs[0]), b = dequantised(node.inputs[1]);
    if (!a && !b) return;
    if (!a || !b) return stay(node, "one operand is not dequantised by constant scales");
    const Shape shape = g_.tensor(b->q).type.shape;
    const std::int64_t last = static_cast<std::int64_t>(shape.size()) - 1;
    if (!b->how.per_tensor() && last == 0) return stay(node, "the vector operand has several scales");
    const std::int64_t length = last == 0 ? shape[0] : shape[static_cast<std::size_t>(last) - 1];
    if (const std::string why = illegal(*a, *b, last, length); !why.empty()) return stay(node, why);
    const auto sum = integer_product("MatMulInteger", node, {}, *a, *b);
    if (sum) rewrite_.replace(node.outputs[0], rescaled(node, *sum, *a, *b, 0));
  }

  void qlinear_conv(const Node& node) {
    const auto x = quantisation_of(g_, node.inputs[0], node.inputs[1], node.inputs[2], 0);
    const auto w = quantisation_of(g_, node.inputs[3], node.inputs[4], node.inputs[5], 0);
    if (!x || !w) return stay(node, "its scales and zero points are not constants");
    const Quantised data{node.inputs[0], *x}, weights{node.inputs[3], *w};
    const Shape shape = g_.tensor(weights.q).type.shape;
    const std::int64_t length = element_count(Shape(shape.begin() + 1, shape.end()));
    if (const std::string why = illegal(data, weights, 0, length); !why.empty()) return stay(node, why);
    auto sum = integer_product("ConvInteger", node, node.attributes, data, weights);
    if (!sum) return;
    // The bias is in units of sx·sw: it is added to the integers.
    if (const TensorId b = operand(node, 8); b.valid()) sum = biased(node, *sum, b, shape.size() - 2);
    requantise(node, rescaled(node, *sum, data, weights, shape.size() - 2), node.inputs[6], node.inputs[7]);
  }

  void qlinear_matmul(const Node& node) {
    const Shape shape = g_.tensor(node.inputs[3]).type.shape;
    const std::int64_t last = static_cast<std::int64_t>(shape.size()) - 1;
    const auto a = quantisation_of(g_, node.inputs[0], node.inputs[1], node.inputs[2], -2);
    const auto b = quantisation_of(g_, node.inputs[3], node.inputs[4], node.inputs[5], last);
    if (!a || !b) return stay(node, "its scales and zero points are not constants");
    if (!b->per_tensor() && last == 0) return stay(node, "the vector operand has several scales");
    const Quantised left{node.inputs[0], *a}, right{node.inputs[3], *b};
    const std::int64_t length = last == 0 ? shape[0] : shape[static_cast<std::size_t>(last) - 1];
    if (const std::string why = illegal(left, right, last, length); !why.empty()) return stay(node, why);
    const auto sum = integer_product("MatMulInteger", node, {}, left, right);
    if (sum) requantise(node, rescaled(node, *sum, left, right, 0), node.inputs[6], node.inputs[7]);
  }

  // Why the product of these operands may not run on integers; empty if it may. `length` products are summed.
  std::string illegal(const Quantised& x, const Quantised& w, std::int64_t weight_axis, std::int64_t length) const {
    const auto is_byte = [](DType t) { return t == DType::i8 || t == DType::u8; };
    if (!is_byte(x.how.type) || !is_byte(w.how.type))
      return fmt::format("operands of {} and {}, expected 8 bits", name(x.how.type), name(w.how.type));
    if (x.how.real != DType::f32 || w.how.real != DType::f32) return "scales that are not fp32";
    if (!x.how.per_tensor()) return "the first operand has several scales";
    if (!w.how.per_tensor() && w.how.axis != weight_axis)
      return fmt::format("weights scaled along axis {}, expected {}", w.how.axis, weight_axis);
    if (!w.how.uniform_zero()) return "several zero points";
    const double largest =
        static_cast<double>(length) * static_cast<double>(largest_value(x)) * static_cast<double>(largest_value(w));
    if (largest > std::numeric_limits<std::int32_t>::max())
      return fmt::format("a sum of {} products can reach {:.3g}, which overflows int32", length, largest);
    return "";
  }

  std::int64_t largest_value(const Quantised& x) const {
    const std::int64_t zero = *x.how.uniform_zero();
    const Tensor* value = value_of(g_, x.q);
    if (value == nullptr) return largest_offset(x.how.type, zero);
    std::int64_t largest = 0;
    for (const std::int64_t q : value->to_ints()) largest = std::max(largest, std::abs(q - zero));
    return largest;
  }

  std::optional<TensorId> integer_product(const std::string& op, const Node& node, const Attributes& attributes,
                                          const Quantised& x, const Quantised& w) {
    const auto zero_of = [&](const Quantised& v, const char* suffix) {
      const auto zero = static_cast<double>(*v.how.uniform_zero());
      return zero == 0 ? TensorId() : rewrite_.constant(node.name + suffix, Tensor::scalar(v.how.type, zero));
    };
    const std::vector<TensorId> inputs = {x.q, w.q, zero_of(x, "_x_zero"), zero_of(w, "_w_zero")};
    if (!rewrite_.infer(op, inputs, attributes)) {
      stay(node, op + " refuses the operands");
      return std::nullopt;
    }
    return rewrite_.insert(op, inputs, attributes, node.name + "_int", node.sources);
  }

  // Multiplies by sx·sw; per-channel factors are followed by `trailing` dimensions.
  TensorId rescaled(const Node& node, TensorId sum, const Quantised& x, const Quantised& w, std::size_t trailing) {
    const TensorId real = rewrite_.cast(sum, DType::f32, node.name + "_real", node.sources);
    Shape shape;
    if (!w.how.per_tensor()) {
      shape.assign(1 + trailing, 1);
      shape[0] = static_cast<std::int64_t>(w.how.scale.size());
    }
    Tensor factors({DType::f32, shape});
    for (std::size_t i = 0; i < w.how.scale.size(); ++i)
      factors.set(static_cast<std::int64_t>(i), x.how.scale[0] * w.how.scale[i]);
    const TensorId factor = rewrite_.constant(node.name + "_scale", std::move(factors));
    return rewrite_.insert("Mul", {real, factor}, {}, node.name + "_scaled", node.sources);
  }

  TensorId biased(const Node& node, TensorId y, TensorId b, std::size_t trailing) {
    Shape shape(1 + trailing, 1);
    shape[0] = element_count(g_.tensor(b).type.shape);
    const std::string hint = node.name + "_bias";
    const TensorId column = value_of(g_, b) != nullptr ? rewrite_.constant(hint, value_of(g_, b)->reshaped(shape))
                                                       : rewrite_.reshape(b, shape, hint, node.sources);
    return rewrite_.insert("Add", {y, column}, {}, node.name + "_biased", node.sources);
  }

  void requantise(const Node& node, TensorId y, TensorId scale, TensorId zero) {
    rewrite_.replace(node.outputs[0],
                     rewrite_.insert("QuantizeLinear", {y, scale, zero}, {}, node.name + "_q", node.sources));
  }

  Rewrite rewrite_;
  Graph& g_;
  PassContext& context_;
};

}  // namespace

std::size_t absorb_qdq(Graph& g, PassContext& context) { return Absorption(g, context).run(); }

}  // namespace assay
