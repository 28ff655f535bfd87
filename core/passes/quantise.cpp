#include "core/passes/quantise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/passes/gemm_to_matmul.h"
#include "core/passes/rewrite.h"

namespace assay {
namespace {

const char* const kPass = "quantise-int8";
constexpr double kLargest = 127;  // symmetric: −128 is not used

// A range of zero, or one whose steps would be denormal, needs a scale too: any will do.
double scale_of(double largest) { return largest < 1e-30 ? 1.0 : largest / kLargest; }

bool lacks_values(const Graph& g) {
  const std::vector<TensorId> tensors = g.tensors();
  return std::any_of(tensors.begin(), tensors.end(), [&](TensorId t) {
    return g.tensor(t).kind == TensorKind::constant && g.tensor(t).value == nullptr;
  });
}

// Largest magnitude of every float tensor over all calibration runs, by name.
std::map<std::string, double> calibrate(const Graph& g, const std::vector<TensorMap>& runs) {
  std::map<std::string, double> largest;
  for (const TensorMap& inputs : runs) {
    TensorMap values = evaluate_graph(g, inputs, {.keep_all = true});
    values.insert(inputs.begin(), inputs.end());
    for (const auto& [name, value] : values) {
      if (!is_float(value->dtype())) continue;
      double& range = largest[name];
      const auto widen = [&range](double v) {
        if (!std::isnan(range) && !(std::abs(v) <= range)) range = std::abs(v);  // NaN is found and kept
      };
      if (value->dtype() == DType::f32) {
        for (const float v : value->data<float>()) widen(v);
      } else {
        for (std::int64_t i = 0; i < value->size(); ++i) widen(value->get(i));
      }
    }
  }
  return largest;
}

// Symmetric int8 values of `w`, one scale per index of `axis` (or one in all if there is no axis).
struct Int8Weights {
  Tensor values;
  std::vector<double> scales;
};
Int8Weights quantised(const Tensor& w, std::optional<std::size_t> axis, const std::string& name) {
  const Shape& shape = w.shape();
  std::int64_t channels = 1, inner = std::max<std::int64_t>(1, w.size());
  if (axis) {
    channels = shape[*axis];
    inner = element_count(Shape(shape.begin() + static_cast<std::ptrdiff_t>(*axis) + 1, shape.end()));
  }
  const std::vector<double> x = w.to_doubles();
  Int8Weights out{Tensor({DType::i8, shape}), std::vector<double>(static_cast<std::size_t>(channels), 0.0)};
  const auto channel = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner % channels);
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i])) throw InputError("weight '" + name + "'", "can't be quantised: it holds infinity or NaN");
    double& s = out.scales[channel(i)];
    s = std::max(s, std::abs(x[i]));
  }
  for (double& s : out.scales) s = static_cast<double>(static_cast<float>(scale_of(s)));
  const std::span<std::int8_t> q = out.values.data<std::int8_t>();
  for (std::size_t i = 0; i < x.size(); ++i)
    q[i] = static_cast<std::int8_t>(std::clamp(std::nearbyint(x[i] / out.scales[channel(i)]), -kLargest, kLargest));
  return out;
}

class Quantiser {
 public:
  Quantiser(Graph& g, std::map<std::string, double> ranges, bool by_shape)
      : rewrite_(g), g_(g), ranges_(std::move(ranges)), by_shape_(by_shape) {}

  std::size_t run() {
    for (const NodeId n : g_.topological_order()) {
      const Node node = g_.node(n);
      if (node.op == "Conv") conv(node);
      if (node.op == "MatMul") matmul(node);
    }
    rewrite_.sweep();
    return quantised_nodes_;
  }
  std::vector<std::string> remarks() { return std::move(context_.remarks); }

 private:
  // An operand as int8 with its scales (nullopt: without values).
  struct Operand {
    TensorId q;
    std::optional<std::vector<double>> scales;
    std::size_t channels = 1;
  };

  void conv(const Node& node) {
    const Shape shape = g_.tensor(node.inputs[1]).type.shape;
    if (!is_constant(g_, node.inputs[1])) return stay(node, "its weights are not constant");
    const std::int64_t length = element_count(Shape(shape.begin() + 1, shape.end()));
    if (!may_quantise(node, length)) return;
    const Operand x = activation(node.inputs[0]), w = weights(node.inputs[1], 0);
    const TensorId sum = rewrite_.insert("ConvInteger", {x.q, w.q}, node.attributes, node.name + "_int8", node.sources);
    finish(node, sum, x, w, shape.size() - 2, rewrite_bias(node, shape.size() - 2));
  }

  void matmul(const Node& node) {
    const Shape shape = g_.tensor(node.inputs[1]).type.shape;
    const std::int64_t length = shape.size() == 1 ? shape[0] : shape[shape.size() - 2];
    if (!may_quantise(node, length)) return;
    const bool per_column = is_constant(g_, node.inputs[1]) && shape.size() >= 2;
    const Operand a = is_constant(g_, node.inputs[0]) ? weights(node.inputs[0], {}) : activation(node.inputs[0]);
    Operand b;
    if (per_column) {
      b = weights(node.inputs[1], shape.size() - 1);
    } else {
      b = is_constant(g_, node.inputs[1]) ? weights(node.inputs[1], {}) : activation(node.inputs[1]);
    }
    const TensorId sum = rewrite_.insert("MatMulInteger", {a.q, b.q}, {}, node.name + "_int8", node.sources);
    finish(node, sum, a, b, 0, {});
  }

  void stay(const Node& node, const std::string& why) { context_.remark(kPass, node.name, "stays on floats: " + why); }

  bool may_quantise(const Node& node, std::int64_t length) {
    if (!is_float(g_.tensor(node.outputs[0]).type.dtype)) return false;
    if (static_cast<double>(length) * kLargest * kLargest > std::numeric_limits<std::int32_t>::max()) {
      stay(node, fmt::format("a sum of {} products could overflow int32", length));
      return false;
    }
    return true;
  }

  // The activation quantised once, however many products read it.
  Operand activation(TensorId x) {
    if (const auto it = done_.find(x); it != done_.end()) return it->second;
    const GraphTensor tensor = g_.tensor(x);
    const std::optional<NodeId> maker = g_.producer(x);
    const std::vector<std::string> sources = maker ? g_.node(*maker).sources : std::vector<std::string>{};
    Operand out;
    TensorId scale;
    if (by_shape_) {
      scale = g_.add_weight(tensor.name + "_scale", {DType::f32, {}});
    } else {
      const double range = ranges_.at(original_name(tensor.name));
      if (!std::isfinite(range))
        throw InputError("tensor '" + tensor.name + "'",
                         "can't be quantised: the calibration run gave infinity or NaN");
      const Tensor value = Tensor::scalar(DType::f32, scale_of(range));
      out.scales = {value.get(0)};
      scale = rewrite_.constant(tensor.name + "_scale", value);
    }
    const TensorId zero = rewrite_.constant(tensor.name + "_zero", Tensor::scalar(DType::i8, 0));
    const TensorId real = rewrite_.cast(x, DType::f32, tensor.name + "_fp32", sources);
    out.q = rewrite_.insert("QuantizeLinear", {real, scale, zero}, {}, tensor.name + "_int8", sources);
    return done_[x] = out;
  }

  Operand weights(TensorId w, std::optional<std::size_t> axis) {
    const GraphTensor tensor = g_.tensor(w);
    Operand out;
    if (axis) out.channels = static_cast<std::size_t>(tensor.type.shape[*axis]);
    if (tensor.value == nullptr) {
      out.q = g_.add_weight(tensor.name + "_int8", {DType::i8, tensor.type.shape});
      return out;
    }
    Int8Weights q = quantised(*tensor.value, axis, tensor.name);
    out.q = rewrite_.constant(tensor.name + "_int8", std::move(q.values));
    out.scales = std::move(q.scales);
    return out;
  }

  // The bias as fp32, shaped to be added to the result; invalid if there is none.
  TensorId rewrite_bias(const Node& node, std::size_t trailing) {
    const TensorId b = operand(node, 2);
    if (!b.valid()) return {};
    const GraphTensor tensor = g_.tensor(b);
    Shape shape(1 + trailing, 1);
    shape[0] = element_count(tensor.type.shape);
    const std::string hint = node.name + "_bias";
    if (tensor.value != nullptr) return rewrite_.constant(hint, tensor.value->cast(DType::f32).reshaped(shape));
    if (tensor.kind == TensorKind::constant) return g_.add_weight(hint, {DType::f32, shape});
    const TensorId real = rewrite_.cast(b, DType::f32, hint + "_fp32", node.sources);
    return rewrite_.reshape(real, shape, hint, node.sources);
  }

  // Cast, Mul by both scales, Add of the bias, and back to the node's own type.
  void finish(const Node& node, TensorId sum, const Operand& x, const Operand& w, std::size_t trailing, TensorId bias) {
    Shape shape;
    if (w.channels != 1) {
      shape.assign(1 + trailing, 1);
      shape[0] = static_cast<std::int64_t>(w.channels);
    }
    TensorId factor;
    if (x.scales && w.scales) {
      Tensor factors({DType::f32, shape});
      for (std::size_t i = 0; i < w.scales->size(); ++i)
        factors.set(static_cast<std::int64_t>(i), (*x.scales)[0] * (*w.scales)[i]);
      factor = rewrite_.constant(node.name + "_scale", std::move(factors));
    } else {
      factor = g_.add_weight(node.name + "_scale", {DType::f32, shape});
    }
    TensorId y = rewrite_.cast(sum, DType::f32, node.name + "_real", node.sources);
    y = rewrite_.insert("Mul", {y, factor}, {}, node.name + "_scaled", node.sources);
    if (bias.valid()) y = rewrite_.insert("Add", {y, bias}, {}, node.name + "_biased", node.sources);
    y = rewrite_.cast(y, g_.tensor(node.outputs[0]).type.dtype, node.name + "_back", node.sources);
    const std::string name = g_.tensor(node.outputs[0]).name;
    if (!rewrite_.replace(node.outputs[0], y)) return;
    // Later nodes read y where the calibration knew the float result's name.
    renamed_[g_.tensor(y).name] = name;
    ++quantised_nodes_;
  }

  std::string original_name(const std::string& name) const {
    const auto it = renamed_.find(name);
    return it == renamed_.end() ? name : it->second;
  }

  Rewrite rewrite_;
  Graph& g_;
  std::map<std::string, double> ranges_;
  bool by_shape_ = false;
  std::map<TensorId, Operand> done_;
  std::map<std::string, std::string> renamed_;
  PassContext context_;
  std::size_t quantised_nodes_ = 0;
};

}  // namespace

QuantiseResult quantise_int8(const Graph& g, const QuantiseOptions& options) {
  QuantiseResult result{.graph = g, .quantised_nodes = 0, .remarks = {}};
  PassContext context;
  lower_gemm(result.graph, context);
  const bool by_shape = options.calibration.empty() && lacks_values(result.graph);
  if (options.calibration.empty() && !by_shape)
    throw InputError("graph '" + g.name + "'", "quantising to int8 needs at least one calibration input set");
  Quantiser quantiser(result.graph, calibrate(result.graph, options.calibration), by_shape);
  result.quantised_nodes = quantiser.run();
  result.remarks = std::move(context.remarks);
  for (std::string& r : quantiser.remarks()) result.remarks.push_back(std::move(r));
  result.graph.compact();
  verify_graph(result.graph);
  return result;
}

}  // namespace assay
