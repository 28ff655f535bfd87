#include "core/passes/canonicalise.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/passes/rewrite.h"

namespace assay {
namespace {

// A rule looks at one node and says whether it changed the graph.
using Rule = bool (*)(Rewrite&, NodeId);

const TensorType& type_of(const Graph& g, TensorId t) { return g.tensor(t).type; }

bool bypass(Rewrite& r, NodeId n) {
  const Node& node = r.graph().node(n);
  return r.replace(node.outputs[0], node.inputs[0]);
}

bool same_type(const Graph& g, const Node& n) {
  return n.outputs[0].valid() && type_of(g, n.inputs[0]) == type_of(g, n.outputs[0]);
}

bool unused(const Graph& g, TensorId t) { return !t.valid() || (g.uses(t).empty() && !g.tensor(t).is_output); }

bool identity(Rewrite& r, NodeId n) { return bypass(r, n); }

// Inference only: training mode draws random numbers. Before opset 7 the attribute says so, since 12 an operand.
bool dropout(Rewrite& r, NodeId n) {
  const Graph& g = r.graph();
  const Node& node = g.node(n);
  if (node.outputs.size() > 1 && !unused(g, node.outputs[1])) return false;
  if (node.version < 7 && node.attributes.integer("is_test", 0) == 0) return false;
  if (const TensorId training = operand(node, 2); training.valid()) {
    const auto value = scalar_value(g, training);
    if (!value || *value != 0) return false;
  }
  return node.outputs[0].valid() && bypass(r, n);
}

bool cast_to_same(Rewrite& r, NodeId n) { return same_type(r.graph(), r.graph().node(n)) && bypass(r, n); }

bool transpose(Rewrite& r, NodeId n) {
  const Graph& g = r.graph();
  const Node node = g.node(n);
  const TensorId x = node.inputs[0];
  const Shape shape = type_of(g, x).shape;
  const std::vector<std::int64_t> perm = permutation(g, n);
  // The dimensions longer than 1 keep their order: the bytes do too.
  std::vector<std::int64_t> moved;
  for (const std::int64_t axis : perm)
    if (shape[static_cast<std::size_t>(axis)] != 1) moved.push_back(axis);
  if (std::is_sorted(moved.begin(), moved.end())) {
    return r.replace(node.outputs[0], r.reshape(x, type_of(g, node.outputs[0]).shape, node.name, node.sources));
  }
  const auto inner = producer_if(g, x, "Transpose");
  if (!inner) return false;
  // y[i] = t[perm[i]] and t[j] = x[first[j]] along dimensions.
  const std::vector<std::int64_t> first = permutation(g, *inner);
  std::vector<std::int64_t> both(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) both[i] = first[static_cast<std::size_t>(perm[i])];
  return r.replace(node.outputs[0], r.transpose(g.node(*inner).inputs[0], both, node.name, node.sources));
}

bool is_view(const std::string& op) {
  return op == "Reshape" || op == "Flatten" || op == "Squeeze" || op == "Unsqueeze";
}

bool view(Rewrite& r, NodeId n) {
  const Graph& g = r.graph();
  const Node node = g.node(n);
  if (same_type(g, node) && bypass(r, n)) return true;
  const auto inner = g.producer(node.inputs[0]);
  if (!inner || !is_view(g.node(*inner).op)) return false;
  const Shape shape = type_of(g, node.outputs[0]).shape;
  return r.replace(node.outputs[0], r.reshape(g.node(*inner).inputs[0], shape, node.name, node.sources));
}

bool slice_of_all(Rewrite& r, NodeId n) {
  const Graph& g = r.graph();
  const Node& node = g.node(n);
  if (!same_type(g, node)) return false;
  if (const TensorId steps = operand(node, 4); steps.valid()) {
    const auto values = ints_value(g, steps);
    if (!values || !std::all_of(values->begin(), values->end(), [](std::int64_t s) { return s == 1; })) return false;
  }
  return bypass(r, n);
}

bool pad_by_nothing(Rewrite& r, NodeId n) {
  const Graph& g = r.graph();
  const Node& node = g.node(n);
  if (!same_type(g, node)) return false;
  std::optional<std::vector<std::int64_t>> pads;
  if (operand(node, 1).valid()) {
    pads = ints_value(g, node.inputs[1]);
  } else {
    pads = node.attributes.integers("pads");
  }
  // Equal shapes are not enough: a pad of −1 before and 1 behind shifts.
  if (!pads || pads->empty() || !std::all_of(pads->begin(), pads->end(), [](std::int64_t p) { return p == 0; }))
    return false;
  return bypass(r, n);
}

bool repeat_of_nothing(Rewrite& r, NodeId n) { return same_type(r.graph(), r.graph().node(n)) && bypass(r, n); }

bool concat(Rewrite& r, NodeId n) {
  const Graph& g = r.graph();
  const Node& node = g.node(n);
  if (node.inputs.size() == 1) return bypass(r, n);
  const auto split = producer_if(g, node.inputs[0], "Split");
  if (!split) return false;
  const Node& source = g.node(*split);
  const std::size_t rank = type_of(g, source.inputs[0]).shape.size();
  return source.outputs == node.inputs &&
         positive_axis(source.attributes.integer("axis", 0), rank) ==
             positive_axis(node.attributes.integer("axis", 1), rank) &&
         r.replace(node.outputs[0], source.inputs[0]);
}

bool split(Rewrite& r, NodeId n) {
  const Graph& g = r.graph();
  const Node node = g.node(n);
  if (node.outputs.size() == 1) return same_type(g, node) && bypass(r, n);
  const auto concat_node = producer_if(g, node.inputs[0], "Concat");
  if (!concat_node) return false;
  const Node source = g.node(*concat_node);
  const std::size_t rank = type_of(g, node.inputs[0]).shape.size();
  if (source.inputs.size() != node.outputs.size() || positive_axis(source.attributes.integer("axis", 1), rank) !=
                                                         positive_axis(node.attributes.integer("axis", 0), rank))
    return false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i].valid() && type_of(g, source.inputs[i]) != type_of(g, node.outputs[i])) return false;
  bool changed = false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (!unused(g, node.outputs[i])) changed |= r.replace(node.outputs[i], source.inputs[i]);
  return changed;
}

// Is `t` a constant with every element equal to `value`, and of that sign?
bool is_all(const Graph& g, TensorId t, double value) {
  const Tensor* v = value_of(g, t);
  if (v == nullptr) return false;
  for (std::int64_t i = 0; i < v->size(); ++i)
    if (v->get(i) != value || std::signbit(v->get(i)) != std::signbit(value)) return false;
  return true;
}

// Keeps operand `kept` if the other one is the neutral element and broadcasts nothing.
bool drop_neutral(Rewrite& r, NodeId n, std::size_t kept, double neutral) {
  const Graph& g = r.graph();
  const Node& node = g.node(n);
  return type_of(g, node.inputs[kept]) == type_of(g, node.outputs[0]) && is_all(g, node.inputs[1 - kept], neutral) &&
         r.replace(node.outputs[0], node.inputs[kept]);
}

bool multiply(Rewrite& r, NodeId n) { return drop_neutral(r, n, 0, 1.0) || drop_neutral(r, n, 1, 1.0); }
bool divide(Rewrite& r, NodeId n) { return drop_neutral(r, n, 0, 1.0); }
bool subtract(Rewrite& r, NodeId n) { return drop_neutral(r, n, 0, 0.0); }

bool add(Rewrite& r, NodeId n) {
  const Graph& g = r.graph();
  // −0 + 0 is 0, so only −0 is neutral for floats.
  const double neutral = is_float(type_of(g, g.node(n).outputs[0]).dtype) ? -0.0 : 0.0;
  return drop_neutral(r, n, 0, neutral) || drop_neutral(r, n, 1, neutral);
}

bool negate(Rewrite& r, NodeId n) {
  const Graph& g = r.graph();
  const auto inner = producer_if(g, g.node(n).inputs[0], "Neg");
  return inner && r.replace(g.node(n).outputs[0], g.node(*inner).inputs[0]);
}

const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> kRules = {
      {"Identity", identity},
      {"Dropout", dropout},
      {"Cast", cast_to_same},
      {"CastLike", cast_to_same},
      {"Transpose", transpose},
      {"Reshape", view},
      {"Flatten", view},
      {"Squeeze", view},
      {"Unsqueeze", view},
      {"Slice", slice_of_all},
      {"Pad", pad_by_nothing},
      {"Expand", repeat_of_nothing},
      {"Tile", repeat_of_nothing},
      {"Concat", concat},
      {"Split", split},
      {"Mul", multiply},
      {"Div", divide},
      {"Sub", subtract},
      {"Add", add},
      {"Neg", negate},
  };
  return kRules;
}

}  // namespace

std::size_t canonicalise(Graph& g, PassContext&) {
  Rewrite rewrite(g);
  for (bool changed = true; changed;) {
    changed = false;
    for (const NodeId n : g.topological_order()) {
      const auto rule = rules().find(g.node(n).op);
      if (rule == rules().end()) continue;
      // Replaced in this sweep already, waiting for removal: its operands still count it as a use.
      const std::vector<TensorId> outputs = g.node(n).outputs;
      if (std::all_of(outputs.begin(), outputs.end(), [&](TensorId t) { return unused(g, t); })) continue;
      changed |= rule->second(rewrite, n);
    }
    rewrite.sweep();
  }
  return rewrite.count();
}

}  // namespace assay
