#include "core/passes/batch_norm_folding.h"

#include <cmath>
#include <functional>

#include "core/passes/rewrite.h"

namespace assay {
namespace {

const char* const kPass = "batch-norm-folding";

// y = a·x + c per channel; no coefficients when the statistics have no values.
struct Affine1d {
  std::size_t channels = 0;
  bool has_values = false;
  std::vector<double> a, c;
};

// How a producer's weights are indexed: flat index = (outer · channels + channel) · inner + …, where the output
// channel of (outer, channel) may depend on both (grouped ConvTranspose).
struct WeightLayout {
  std::int64_t outer = 1, channels = 1, inner = 1;
  std::function<std::size_t(std::int64_t, std::int64_t)> output_channel = [](std::int64_t, std::int64_t c) {
    return static_cast<std::size_t>(c);
  };
};

std::int64_t product(const Shape& shape, std::size_t from, std::size_t to) {
  std::int64_t p = 1;
  for (std::size_t i = from; i < to; ++i) p *= shape[i];
  return p;
}

class Folding {
 public:
  Folding(Graph& g, PassContext& context) : rewrite_(g), g_(g), context_(context) {}

  std::size_t run() {
    for (const NodeId n : g_.topological_order())
      if (g_.node(n).op == "BatchNormalization") fold(n);
    rewrite_.sweep();
    return rewrite_.count();
  }

 private:
  void refuse(NodeId n, const std::string& why) { context_.remark(kPass, g_.node(n).name, "not folded: " + why); }

  void fold(NodeId n) {
    const Node bn = g_.node(n);
    if (!bn.outputs[0].valid()) return;
    for (std::size_t i = 1; i < bn.outputs.size(); ++i)
      if (bn.outputs[i].valid()) return refuse(n, "its running statistics are outputs (training mode)");
    if (bn.attributes.integer("training_mode", 0) != 0) return refuse(n, "training mode");
    if (bn.version < 7 && bn.attributes.integer("is_test", 0) == 0) return refuse(n, "is_test is not set");
    if (bn.version < 9 && bn.attributes.integer("spatial", 1) == 0) return refuse(n, "spatial = 0");
    const TensorType type = g_.tensor(bn.inputs[0]).type;
    if (type.shape.size() < 2) return refuse(n, "its operand has no channel dimension");
    Affine1d affine;
    affine.channels = static_cast<std::size_t>(type.shape[1]);
    affine.has_values = true;
    for (std::size_t i = 1; i < 5; ++i) {
      if (!is_constant(g_, bn.inputs[i])) return refuse(n, "its statistics are not constants");
      affine.has_values = affine.has_values && value_of(g_, bn.inputs[i]) != nullptr;
    }
    if (affine.has_values) {
      const double epsilon = bn.attributes.real("epsilon", 1e-5);
      for (std::int64_t c = 0; c < type.shape[1]; ++c) {
        const auto at = [&](std::size_t i) { return value_of(g_, bn.inputs[i])->get(c); };
        if (!(at(4) + epsilon > 0)) return refuse(n, "var + epsilon is not positive");
        affine.a.push_back(at(1) / std::sqrt(at(4) + epsilon));
        affine.c.push_back(at(2) - at(3) * affine.a.back());
      }
    }
    if (!into_producer(n, bn, affine)) standalone(bn, affine, type);
  }

  bool into_producer(NodeId n, const Node& bn, const Affine1d& affine) {
    const auto p = g_.producer(bn.inputs[0]);
    if (!p) return false;
    const Node made = g_.node(*p);
    if (made.op != "Conv" && made.op != "ConvTranspose" && made.op != "Gemm") return false;
    const auto no = [&](const std::string& why) {
      context_.remark(kPass, g_.node(n).name, "not folded into '" + made.name + "', becomes Mul and Add: " + why);
      return false;
    };
    if (!used_once(g_, bn.inputs[0])) return no("its result has another use");
    const TensorId w = made.inputs[1], b = operand(made, 2);
    if (!is_constant(g_, w)) return no("its weights are not constant");
    const auto channels = static_cast<std::int64_t>(affine.channels);
    if (b.valid() && !is_constant(g_, b)) return no("its bias is not constant");
    if (b.valid() && element_count(g_.tensor(b).type.shape) != channels)
      return no("its bias does not have one element per channel");
    const TensorType weight_type = g_.tensor(w).type;
    if (!is_float(weight_type.dtype)) return no("its weights are not floats");

    const double beta = made.op == "Gemm" ? made.attributes.real("beta", 1.0) : 1.0;
    std::vector<TensorId> inputs = {made.inputs[0], scaled(w, layout(made, weight_type.shape), affine),
                                    bias(b, beta, affine, weight_type.dtype, made.name)};
    Attributes attributes = made.attributes;
    attributes.erase("beta");
    std::vector<std::string> sources = made.sources;
    sources.insert(sources.end(), bn.sources.begin(), bn.sources.end());
    if (!rewrite_.infer(made.op, inputs, attributes, made.version))
      return no("the operation refuses the folded operands");
    return rewrite_.replace(bn.outputs[0],
                            rewrite_.insert(made.op, inputs, attributes, made.name + "_bn", sources, made.version));
  }

  static WeightLayout layout(const Node& made, const Shape& shape) {
    if (made.op == "Conv") return {1, shape[0], product(shape, 1, shape.size())};
    if (made.op == "Gemm") {
      if (made.attributes.integer("transB", 0) != 0) return {1, shape[0], shape[1]};
      return {shape[0], shape[1], 1};
    }
    // ConvTranspose: w[input channel, output channel within the group, …].
    const std::int64_t group = made.attributes.integer("group", 1);
    const std::int64_t in_per_group = shape[0] / group, out_per_group = shape[1];
    return {shape[0], shape[1], product(shape, 2, shape.size()), [=](std::int64_t in, std::int64_t out) {
              return static_cast<std::size_t>(in / in_per_group * out_per_group + out);
            }};
  }

  TensorId scaled(TensorId w, const WeightLayout& l, const Affine1d& affine) {
    const GraphTensor weight = g_.tensor(w);
    if (weight.value == nullptr || !affine.has_values) return g_.add_weight(weight.name + "_bn", weight.type);
    Tensor out = *weight.value;
    const auto for_each = [&](auto&& multiply) {
      for (std::int64_t o = 0; o < l.outer; ++o)
        for (std::int64_t c = 0; c < l.channels; ++c) {
          const double a = affine.a[l.output_channel(o, c)];
          const std::int64_t first = (o * l.channels + c) * l.inner;
          for (std::int64_t i = first; i < first + l.inner; ++i) multiply(i, a);
        }
    };
    if (weight.type.dtype == DType::f32) {
      const std::span<float> data = out.data<float>();
      for_each([&](std::int64_t i, double a) {
        float& v = data[static_cast<std::size_t>(i)];
        v = static_cast<float>(v * a);
      });
    } else {
      for_each([&](std::int64_t i, double a) { out.set(i, out.get(i) * a); });
    }
    return rewrite_.constant(weight.name + "_bn", std::move(out));
  }

  TensorId bias(TensorId b, double beta, const Affine1d& affine, DType dtype, const std::string& node) {
    const TensorType type{dtype, {static_cast<std::int64_t>(affine.channels)}};
    const std::string hint = node + "_bn_bias";
    if (!affine.has_values || (b.valid() && value_of(g_, b) == nullptr)) return g_.add_weight(hint, type);
    Tensor out(type);
    for (std::size_t c = 0; c < affine.channels; ++c) {
      const auto i = static_cast<std::int64_t>(c);
      const double before = b.valid() ? beta * value_of(g_, b)->get(i) : 0.0;
      out.set(i, before * affine.a[c] + affine.c[c]);
    }
    return rewrite_.constant(hint, std::move(out));
  }

  void standalone(const Node& bn, const Affine1d& affine, const TensorType& type) {
    Shape shape(type.shape.size() - 1, 1);
    shape[0] = type.shape[1];
    const auto coefficient = [&](const std::string& hint, const std::vector<double>& values) {
      if (!affine.has_values) return g_.add_weight(hint, {type.dtype, shape});
      Tensor t({type.dtype, shape});
      for (std::size_t i = 0; i < values.size(); ++i) t.set(static_cast<std::int64_t>(i), values[i]);
      return rewrite_.constant(hint, std::move(t));
    };
    const TensorId a = coefficient(bn.name + "_scale", affine.a), c = coefficient(bn.name + "_shift", affine.c);
    const TensorId product = rewrite_.insert("Mul", {bn.inputs[0], a}, {}, bn.name + "_mul", bn.sources);
    rewrite_.replace(bn.outputs[0], rewrite_.insert("Add", {product, c}, {}, bn.name + "_add", bn.sources));
  }

  Rewrite rewrite_;
  Graph& g_;
  PassContext& context_;
};

}  // namespace

std::size_t fold_batch_norm(Graph& g, PassContext& context) { return Folding(g, context).run(); }

}  // namespace assay
