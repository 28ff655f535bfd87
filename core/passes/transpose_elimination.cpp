#include "core/passes/transpose_elimination.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/passes/rewrite.h"

namespace assay {
namespace {

bool is_view(const std::string& op) {
  return op == "Reshape" || op == "Flatten" || op == "Squeeze" || op == "Unsqueeze";
}

// Elementwise whatever the shape, with every operand but the first a single element (or absent).
bool is_pointwise(const Graph& g, const Node& n) {
  static const std::set<std::string> kUnary = {"Abs",      "Neg",         "Sign",       "Floor", "Ceil",
                                               "Round",    "Sqrt",        "Reciprocal", "Exp",   "Log",
                                               "Sin",      "Cos",         "Tanh",       "Erf",   "Sigmoid",
                                               "Relu",     "LeakyRelu",   "Elu",        "Selu",  "Softplus",
                                               "Softsign", "HardSigmoid", "HardSwish",  "Gelu",  "Mish",
                                               "Not",      "Cast",        "Clip",       "Celu",  "ThresholdedRelu"};
  static const std::set<std::string> kBinary = {
      "Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "QuantizeLinear", "DequantizeLinear"};
  if (n.outputs.size() != 1 || n.inputs.empty()) return false;
  if (!kUnary.contains(n.op) && !kBinary.contains(n.op)) return false;
  for (std::size_t i = 1; i < n.inputs.size(); ++i) {
    if (!n.inputs[i].valid()) continue;
    const Shape& shape = g.tensor(n.inputs[i]).type.shape;
    // Rank 0 or 1: a higher rank could add dimensions to the result.
    if (shape.size() > 1 || element_count(shape) != 1) return false;
  }
  return g.tensor(n.outputs[0]).type.shape == g.tensor(n.inputs[0]).type.shape;
}

// Does `outer` undo `inner`, seen from the elements' order?
bool undoes(const Graph& g, NodeId outer, NodeId inner) {
  const Shape& before = g.tensor(g.node(inner).inputs[0]).type.shape;
  const Shape& after = g.tensor(g.node(outer).outputs[0]).type.shape;
  if (before != after) return false;
  const bool outer_view = is_view(g.node(outer).op), inner_view = is_view(g.node(inner).op);
  if (outer_view || inner_view) return outer_view && inner_view;
  const std::vector<std::int64_t> p = permutation(g, outer), q = permutation(g, inner);
  for (std::size_t i = 0; i < p.size(); ++i)
    if (q[static_cast<std::size_t>(p[i])] != static_cast<std::int64_t>(i)) return false;
  return true;
}

bool moves(const Node& n) { return n.op == "Transpose" || is_view(n.op); }

// T'(f(T(x))) → f(x). `n` is T'.
bool cancel_around_chain(Rewrite& r, NodeId n) {
  Graph& g = r.graph();
  std::vector<NodeId> chain;
  TensorId t = g.node(n).inputs[0];
  while (true) {
    const auto p = g.producer(t);
    if (!p || !used_once(g, t)) return false;
    if (moves(g.node(*p))) {
      if (chain.empty() || !undoes(g, n, *p)) return false;
      t = g.node(*p).inputs[0];
      break;
    }
    if (!is_pointwise(g, g.node(*p))) return false;
    chain.push_back(*p);
    t = g.node(*p).inputs[0];
  }
  std::reverse(chain.begin(), chain.end());
  for (const NodeId c : chain) {
    const Node node = g.node(c);
    std::vector<TensorId> inputs = node.inputs;
    inputs[0] = t;
    Attributes attributes = node.attributes;
    if (node.op == "QuantizeLinear" || node.op == "DequantizeLinear") attributes.erase("axis");  // one scale
    if (!r.infer(node.op, inputs, attributes, node.version)) return false;
    t = r.insert(node.op, inputs, attributes, node.name + "_moved", node.sources, node.version);
  }
  return r.replace(g.node(n).outputs[0], t);
}

bool swaps_last_two(const std::vector<std::int64_t>& perm) {
  const std::size_t rank = perm.size();
  if (rank < 2) return false;
  std::vector<std::int64_t> swap(rank);
  std::iota(swap.begin(), swap.end(), 0);
  std::swap(swap[rank - 1], swap[rank - 2]);
  return perm == swap;
}

// T(MatMul(T(x), w)) → MatMul(T(w), x), which is (xᵀ·w)ᵀ = wᵀ·x. `n` is the outer T.
bool through_matmul(Rewrite& r, NodeId n) {
  Graph& g = r.graph();
  const Node outer = g.node(n);
  if (outer.op != "Transpose" || !swaps_last_two(permutation(g, n)) || !used_once(g, outer.inputs[0])) return false;
  const auto product = producer_if(g, outer.inputs[0], "MatMul");
  if (!product) return false;
  const Node matmul = g.node(*product);
  const std::size_t rank = g.tensor(outer.inputs[0]).type.shape.size();
  bool any_transpose = false;
  for (const TensorId t : matmul.inputs) {
    const Shape& shape = g.tensor(t).type.shape;
    if (shape.size() < 2 || shape.size() > rank) return false;
    const auto inner = producer_if(g, t, "Transpose");
    const bool swapped = inner && swaps_last_two(permutation(g, *inner));
    if (!swapped && !is_constant(g, t)) return false;
    any_transpose |= swapped;
  }
  if (!any_transpose) return false;
  const auto swapped = [&](TensorId t) {
    if (const auto inner = producer_if(g, t, "Transpose")) return g.node(*inner).inputs[0];
    std::vector<std::int64_t> perm(g.tensor(t).type.shape.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return r.transpose(t, perm, g.tensor(t).name + "_t", matmul.sources);
  };
  const TensorId left = swapped(matmul.inputs[1]), right = swapped(matmul.inputs[0]);
  return r.replace(outer.outputs[0], r.insert("MatMul", {left, right}, {}, matmul.name + "_t", matmul.sources));
}

}  // namespace

std::size_t eliminate_transposes(Graph& g, PassContext&) {
  Rewrite rewrite(g);
  for (bool changed = true; changed;) {
    changed = false;
    for (const NodeId n : g.topological_order()) {
      const Node& node = g.node(n);
      if (!moves(node)) continue;
      const TensorId out = node.outputs[0];
      if (!out.valid() || (g.uses(out).empty() && !g.tensor(out).is_output)) continue;
      changed |= cancel_around_chain(rewrite, n) || through_matmul(rewrite, n);
    }
    rewrite.sweep();
  }
  return rewrite.count();
}

}  // namespace assay
