#include "core/passes/dequantise_sinking.h"

#include <algorithm>
#include <set>

#include "core/passes/quantisation.h"
#include "core/passes/rewrite.h"

namespace assay {
namespace {

const char* const kPass = "dequantise-sinking";

class Sinking {
 public:
  Sinking(Graph& g, PassContext& context) : rewrite_(g), g_(g), context_(context) {}

  // One sweep in topological order is enough: what a node becomes is a DequantizeLinear that its users, which come
  // later, see as their operand.
  std::size_t run() {
    for (const NodeId n : g_.topological_order()) {
      const Node node = g_.node(n);
      if (node.inputs.empty() || !node.inputs[0].valid()) continue;
      const auto dq = producer_if(g_, node.inputs[0], "DequantizeLinear");
      if (!dq) continue;
      const std::optional<Quantisation> q = quantisation_of(g_, *dq);
      if (!q) continue;
      if (node.op == "QuantizeLinear") {
        cancel(n, node, *dq, *q);
      } else if (node.op == "Concat") {
        concat(node, *dq, *q);
      } else if (node.op == "MaxPool") {
        max_pool(node, *dq, *q);
      } else if (node.op == "Transpose") {
        move(node, *dq, moved_axis(permutation(g_, n), *q));
      } else if (moves_data(node.op) && q->per_tensor()) {
        move(node, *dq, 0);
      }
    }
    rewrite_.sweep();
    return rewrite_.count();
  }

 private:
  static bool moves_data(const std::string& op) {
    static const std::set<std::string> kMovers = {"Reshape", "Flatten", "Squeeze",      "Unsqueeze",   "Slice",
                                                  "Gather",  "Split",   "DepthToSpace", "SpaceToDepth"};
    return kMovers.contains(op);
  }

  static std::int64_t moved_axis(const std::vector<std::int64_t>& perm, const Quantisation& q) {
    if (q.per_tensor()) return 0;
    return std::find(perm.begin(), perm.end(), q.axis) - perm.begin();
  }

  // DequantizeLinear with the parameters of `dq` on another value.
  TensorId dequantised(TensorId q, NodeId dq, std::int64_t axis) {
    const Node node = g_.node(dq);
    std::vector<TensorId> inputs = node.inputs;
    inputs[0] = q;
    Attributes attributes = node.attributes;
    if (attributes.has("axis")) attributes.set("axis", axis);
    if (!attributes.has("axis") && g_.tensor(inputs[1]).type.shape.size() == 1) attributes.set("axis", axis);
    // An axis of a single scale has no meaning, but must exist.
    if (g_.tensor(inputs[1]).value->size() == 1) attributes.erase("axis");
    return rewrite_.insert("DequantizeLinear", inputs, attributes, g_.tensor(q).name + "_dq", node.sources,
                           node.version);
  }

  void move(const Node& node, NodeId dq, std::int64_t axis) {
    const std::vector<std::string>& sources = node.sources;
    std::vector<TensorId> inputs = node.inputs;
    inputs[0] = g_.node(dq).inputs[0];
    if (node.outputs.size() != 1) return split(node, dq, inputs);
    if (!rewrite_.infer(node.op, inputs, node.attributes, node.version)) return;
    const TensorId moved = rewrite_.insert(node.op, inputs, node.attributes, node.name + "_q", sources, node.version);
    rewrite_.replace(node.outputs[0], dequantised(moved, dq, axis));
  }

  void split(const Node& node, NodeId dq, const std::vector<TensorId>& inputs) {
    Node integer = node;
    integer.name += "_q";
    integer.inputs = inputs;
    for (TensorId& t : integer.outputs) {
      if (!t.valid()) continue;
      const GraphTensor out = g_.tensor(t);
      t = g_.add_tensor(out.name + "_q", {g_.tensor(inputs[0]).type.dtype, out.type.shape});
    }
    g_.add_node(integer);
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i].valid()) rewrite_.replace(node.outputs[i], dequantised(integer.outputs[i], dq, 0));
  }

  void concat(const Node& node, NodeId dq, const Quantisation& q) {
    if (!q.per_tensor()) return;
    std::vector<TensorId> inputs;
    for (const TensorId t : node.inputs) {
      const auto other = producer_if(g_, t, "DequantizeLinear");
      if (!other || quantisation_of(g_, *other) != q) {
        context_.remark(kPass, node.name, "stays on floats: its operands are quantised differently");
        return;
      }
      inputs.push_back(g_.node(*other).inputs[0]);
    }
    if (!rewrite_.infer(node.op, inputs, node.attributes, node.version)) return;
    const TensorId joined =
        rewrite_.insert(node.op, inputs, node.attributes, node.name + "_q", node.sources, node.version);
    rewrite_.replace(node.outputs[0], dequantised(joined, dq, 0));
  }

  void max_pool(const Node& node, NodeId dq, const Quantisation& q) {
    const auto stay = [&](const char* why) {
      context_.remark(kPass, node.name, std::string("stays on floats: ") + why);
    };
    if (!q.per_tensor() || !q.scales_positive()) return stay("its operand's scale is not one positive number");
    if (node.outputs.size() > 1 && node.outputs[1].valid()) return stay("its indices are used");
    // A window of padding only gives −inf on floats and the smallest integer here.
    const std::vector<std::int64_t> kernel = node.attributes.integers("kernel_shape");
    const std::vector<std::int64_t> pads = node.attributes.integers("pads");
    for (std::size_t i = 0; i < pads.size(); ++i)
      if (kernel.empty() || pads[i] >= kernel[i % kernel.size()]) return stay("its padding is as large as its window");
    if (node.attributes.integer("ceil_mode", 0) != 0 && node.attributes.has("dilations"))
      return stay("dilated windows may lie in the padding");
    const std::vector<TensorId> inputs = {g_.node(dq).inputs[0]};
    if (!rewrite_.infer(node.op, inputs, node.attributes)) return stay("it does not take the integer type");
    const TensorId pooled = rewrite_.insert(node.op, inputs, node.attributes, node.name + "_q", node.sources);
    rewrite_.replace(node.outputs[0], dequantised(pooled, dq, 0));
  }

  void cancel(NodeId n, const Node& node, NodeId dq, const Quantisation& from) {
    // Exact for positive scales: (q − zero) · scale / scale is within half a unit of q − zero.
    const std::optional<Quantisation> to = quantisation_of(g_, n);
    if (!to || *to != from || !from.scales_positive() || bits(from.type) > 16 || from.real != DType::f32) return;
    rewrite_.replace(node.outputs[0], g_.node(dq).inputs[0]);
  }

  Rewrite rewrite_;
  Graph& g_;
  PassContext& context_;
};

}  // namespace

std::size_t sink_dequantise(Graph& g, PassContext& context) { return Sinking(g, context).run(); }

}  // namespace assay
