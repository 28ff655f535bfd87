#include "core/passes/composite_recognition.h"

#include <algorithm>

#include "core/passes/rewrite.h"

namespace assay {
namespace {

const char* const kPass = "composite-recognition";
constexpr int kRmsNormalizationVersion = 23;

class Recognition {
 public:
  Recognition(Graph& g, PassContext& context) : rewrite_(g), g_(g), context_(context) {}

  std::size_t run() {
    for (const NodeId n : g_.topological_order()) {
      const std::string& op = g_.node(n).op;
      pieces_.clear();
      if (op == "Div" && (layer_norm(n) || rms_norm(n) || softmax(n))) continue;
      if (op == "Mul") rms_norm(n);
    }
    rewrite_.sweep();
    return rewrite_.count();
  }

 private:
  // --- matching: every node that is accepted is noted as a piece ---

  std::optional<NodeId> piece(TensorId t, const std::string& op) {
    const auto p = producer_if(g_, t, op);
    if (p) pieces_.push_back(*p);
    return p;
  }

  // x of a reduction over `axes`, keeping dimensions.
  std::optional<TensorId> reduced(TensorId t, const std::string& op, std::vector<std::int64_t>& axes) {
    const auto p = piece(t, op);
    if (!p || g_.node(*p).attributes.integer("keepdims", 1) != 1) return std::nullopt;
    const auto found = reduction_axes(g_, *p);
    if (!found || (!axes.empty() && *found != axes)) return std::nullopt;
    axes = *found;
    return g_.node(*p).inputs[0];
  }

  // x of Pow(x, 2) or Mul(x, x).
  std::optional<TensorId> squared(TensorId t) {
    if (const auto p = piece(t, "Pow")) {
      const auto exponent = scalar_value(g_, g_.node(*p).inputs[1]);
      if (exponent && *exponent == 2.0) return g_.node(*p).inputs[0];
      return std::nullopt;
    }
    const auto p = piece(t, "Mul");
    if (!p || g_.node(*p).inputs[0] != g_.node(*p).inputs[1]) return std::nullopt;
    return g_.node(*p).inputs[0];
  }

  // d and ε of Sqrt(Add(ReduceMean(d²), ε)).
  struct Deviation {
    TensorId d;
    double epsilon = 0;
  };
  std::optional<Deviation> deviation(TensorId t, std::vector<std::int64_t>& axes) {
    const auto root = piece(t, "Sqrt");
    if (!root) return std::nullopt;
    const auto sum = piece(g_.node(*root).inputs[0], "Add");
    if (!sum) return std::nullopt;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto epsilon = scalar_value(g_, g_.node(*sum).inputs[1 - i]);
      if (!epsilon) continue;
      const auto square = reduced(g_.node(*sum).inputs[i], "ReduceMean", axes);
      if (!square) return std::nullopt;
      const auto d = squared(*square);
      if (!d) return std::nullopt;
      return Deviation{*d, *epsilon};
    }
    return std::nullopt;
  }

  // Are the results of all pieces used by pieces only (or by `last`, whose result is replaced)?
  bool closed(NodeId last) {
    std::vector<NodeId> inside = pieces_;
    inside.push_back(last);
    for (const NodeId n : pieces_) {
      const TensorId t = g_.node(n).outputs[0];
      if (g_.tensor(t).is_output) return false;
      for (const Use& u : g_.uses(t))
        if (std::find(inside.begin(), inside.end(), u.node) == inside.end()) return false;
    }
    return true;
  }

  static bool is_suffix(const std::vector<std::int64_t>& axes, std::size_t rank) {
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (axes[i] != static_cast<std::int64_t>(rank - axes.size() + i)) return false;
    return true;
  }

  // The operand of the commutative `op` that is the sole user of `t`, if its shape is exactly `shape`.
  std::optional<std::pair<NodeId, TensorId>> followed_by(TensorId t, const std::string& op, const Shape& shape) {
    const auto n = sole_user_if(g_, t, op);
    if (!n) return std::nullopt;
    const Node& node = g_.node(*n);
    const TensorId other = node.inputs[0] == t ? node.inputs[1] : node.inputs[0];
    if (g_.tensor(other).type.shape != shape) return std::nullopt;
    return std::pair(*n, other);
  }

  std::vector<std::string> sources(NodeId last) const {
    std::vector<NodeId> all = pieces_;
    all.push_back(last);
    std::sort(all.begin(), all.end());
    std::vector<std::string> names;
    for (const NodeId n : all)
      for (const std::string& s : g_.node(n).sources)
        if (std::find(names.begin(), names.end(), s) == names.end()) names.push_back(s);
    return names;
  }

  bool refuse(NodeId n, const std::string& what, const std::string& why) {
    context_.remark(kPass, g_.node(n).name, "not made " + what + ": " + why);
    return false;
  }

  // --- the composites ---

  bool layer_norm(NodeId division) {
    pieces_.clear();
    const Node div = g_.node(division);
    const auto difference = piece(div.inputs[0], "Sub");
    if (!difference) return false;
    std::vector<std::int64_t> axes;
    const auto spread = deviation(div.inputs[1], axes);
    if (!spread || spread->d != div.inputs[0]) return false;
    const TensorId x = g_.node(*difference).inputs[0];
    const auto mean = reduced(g_.node(*difference).inputs[1], "ReduceMean", axes);
    if (!mean || *mean != x) return false;
    return normalisation(division, x, axes, spread->epsilon, "LayerNormalization", kNewNodeVersion);
  }

  bool rms_norm(NodeId n) {
    pieces_.clear();
    if (operations().find("RMSNormalization") == nullptr) return false;
    const Node node = g_.node(n);
    std::vector<std::int64_t> axes;
    if (node.op == "Div") {
      const auto spread = deviation(node.inputs[1], axes);
      if (!spread || spread->d != node.inputs[0]) return false;
      return normalisation(n, spread->d, axes, spread->epsilon, "RMSNormalization", kRmsNormalizationVersion);
    }
    for (std::size_t i = 0; i < 2; ++i) {  // x · 1/√…
      pieces_.clear();
      TensorId root;
      if (const auto r = piece(node.inputs[i], "Reciprocal")) {
        root = g_.node(*r).inputs[0];
      } else if (const auto d = piece(node.inputs[i], "Div")) {
        if (scalar_value(g_, g_.node(*d).inputs[0]) == 1.0) root = g_.node(*d).inputs[1];
      }
      if (!root.valid()) continue;
      const auto spread = deviation(root, axes);
      if (!spread || spread->d != node.inputs[1 - i]) continue;
      return normalisation(n, spread->d, axes, spread->epsilon, "RMSNormalization", kRmsNormalizationVersion);
    }
    return false;
  }

  // `normal` computes the normalised x; what follows may scale it by γ and shift it by β.
  bool normalisation(NodeId normal, TensorId x, const std::vector<std::int64_t>& axes, double epsilon,
                     const std::string& op, int version) {
    const TensorType type = g_.tensor(x).type;
    if (type.dtype != DType::f32) return refuse(normal, op, "it is computed in another type than fp32");
    if (!is_suffix(axes, type.shape.size())) return refuse(normal, op, "it does not reduce the last axes");
    if (g_.tensor(g_.node(normal).outputs[0]).type != type) return refuse(normal, op, "its pieces broadcast");
    const Shape inner(type.shape.begin() + axes.front(), type.shape.end());
    if (!closed(normal)) return refuse(normal, op, "a piece has another use");
    const auto scale = followed_by(g_.node(normal).outputs[0], "Mul", inner);
    if (!scale) return refuse(normal, op, "no scale of the normalised shape follows");
    pieces_.push_back(normal);
    NodeId last = scale->first;
    std::vector<TensorId> inputs = {x, scale->second};
    if (op == "LayerNormalization") {
      if (const auto shift = followed_by(g_.node(last).outputs[0], "Add", inner)) {
        pieces_.push_back(last);
        last = shift->first;
        inputs.push_back(shift->second);
      }
    }
    Attributes attributes;
    attributes.set("axis", axes.front());
    attributes.set("epsilon", epsilon);
    if (!rewrite_.infer(op, inputs, attributes, version))
      return refuse(normal, op, "the operation refuses the operands");
    const TensorId out = g_.node(last).outputs[0];
    return rewrite_.replace(
        out, rewrite_.insert(op, inputs, attributes, g_.node(last).name + "_norm", sources(last), version));
  }

  bool softmax(NodeId division) {
    pieces_.clear();
    const Node div = g_.node(division);
    const auto exponential = piece(div.inputs[0], "Exp");
    if (!exponential) return false;
    std::vector<std::int64_t> axes;
    const auto sum = reduced(div.inputs[1], "ReduceSum", axes);
    if (!sum || *sum != div.inputs[0]) return false;
    const auto difference = piece(g_.node(*exponential).inputs[0], "Sub");
    if (!difference) return false;
    const TensorId x = g_.node(*difference).inputs[0];
    const auto largest = reduced(g_.node(*difference).inputs[1], "ReduceMax", axes);
    if (!largest || *largest != x) return false;
    if (axes.size() != 1) return refuse(division, "Softmax", "it reduces several axes");
    if (g_.tensor(x).type.dtype != DType::f32) return refuse(division, "Softmax", "it is not computed in fp32");
    if (!closed(division)) return refuse(division, "Softmax", "a piece has another use");
    Attributes attributes;
    attributes.set("axis", axes[0]);
    return rewrite_.replace(div.outputs[0],
                            rewrite_.insert("Softmax", {x}, attributes, div.name + "_softmax", sources(division)));
  }

  Rewrite rewrite_;
  Graph& g_;
  PassContext& context_;
  std::vector<NodeId> pieces_;
};

}  // namespace

std::size_t recognise_composites(Graph& g, PassContext& context) { return Recognition(g, context).run(); }

}  // namespace assay
