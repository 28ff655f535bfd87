#include <fmt/format.h>

#include <map>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/ops/op.h"

namespace assay {
namespace {

// Shape computations are small; anything larger is data and left to the folding pass.
constexpr std::int64_t kPropagatedElements = 1024;

std::optional<std::vector<Tensor>> fold(const OpContext& ctx, std::int64_t max_elements) {
  const OpDef* def = operations().find(ctx.op);
  if (def == nullptr) return std::nullopt;
  if (!def->type_only)
    for (std::size_t i = 0; i < ctx.inputs.size(); ++i)
      if (ctx.inputs[i] && ctx.values[i] == nullptr) return std::nullopt;
  std::int64_t elements = 0;
  for (const TensorType& t : ctx.outputs) elements += element_count(t.shape);
  if (elements > max_elements) return std::nullopt;
  EvalContext c;
  c.op = ctx;
  for (const TensorType& t : ctx.outputs) c.out.emplace_back(t);
  def->evaluate(c);
  return std::move(c.out);
}

// Types and small values of one graph, node by node.
class Inference {
 public:
  explicit Inference(const Graph& g) : g_(g) {}

  /// Types of the node's outputs, from the operand types that `g` holds now.
  std::vector<TensorType> visit(NodeId n) {
    OpContext ctx = op_context(g_, n);
    const Node& node = g_.node(n);
    bool small = true;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      if (const auto it = known_.find(node.inputs[i]); it != known_.end()) ctx.values[i] = it->second;
      small = small && (ctx.values[i] == nullptr || ctx.values[i]->size() <= kPropagatedElements);
    }
    std::vector<TensorType> types = infer_node(ctx);
    ctx.outputs = types;
    if (!small) return types;
    if (auto values = fold(ctx, kPropagatedElements))
      for (std::size_t i = 0; i < values->size(); ++i)
        if (node.outputs[i].valid()) known_[node.outputs[i]] = std::make_shared<const Tensor>(std::move((*values)[i]));
    return types;
  }

 private:
  const Graph& g_;
  std::map<TensorId, std::shared_ptr<const Tensor>> known_;
};

void refuse_unknown(const Graph& g) {
  std::map<std::string, std::pair<std::size_t, std::string>> unknown;  // name → count, first node
  for (const NodeId n : g.nodes()) {
    const Node& node = g.node(n);
    if (operations().find(node.op) != nullptr) continue;
    auto& entry = unknown[node.op];
    if (entry.first++ == 0) entry.second = node.name;
  }
  if (unknown.empty()) return;
  std::string list;
  for (const auto& [op, entry] : unknown)
    list += fmt::format("{}{} ({}x, first at node '{}')", list.empty() ? "" : ", ", op, entry.first, entry.second);
  throw InputError("graph '" + g.name + "'", "operations that are not supported: " + list);
}

}  // namespace

std::optional<std::vector<Tensor>> fold_node(const Graph& g, NodeId n, std::int64_t max_elements) {
  OpContext ctx = op_context(g, n);
  if (!ctx.unwanted.empty()) ctx.outputs = infer_node(ctx);
  return fold(ctx, max_elements);
}

void infer_types(Graph& g) {
  refuse_unknown(g);
  Inference inference(g);
  for (const NodeId n : g.topological_order()) {
    const std::vector<TensorType> types = inference.visit(n);
    for (std::size_t i = 0; i < types.size(); ++i) {
      const TensorId t = g.node(n).outputs[i];
      if (t.valid()) g.set_type(t, types[i]);
    }
  }
}

void verify_graph(const Graph& g) {
  check_structure(g);
  Inference inference(g);
  for (const NodeId n : g.topological_order()) {
    const Node& node = g.node(n);
    std::vector<TensorType> types;
    try {
      types = inference.visit(n);
    } catch (const InputError& e) {
      throw InternalError(e.what());
    }
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      const GraphTensor& t = g.tensor(node.outputs[i]);
      ASSAY_CHECK(t.type == types[i], fmt::format("node '{}' ({}): '{}' is recorded as {}, but the operation gives {}",
                                                  node.name, node.op, t.name, to_string(t.type), to_string(types[i])));
    }
  }
}

}  // namespace assay
