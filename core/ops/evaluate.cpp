#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/ops/op.h"

namespace assay {

std::vector<Tensor> evaluate_node(const Graph& g, NodeId n, const std::vector<std::shared_ptr<const Tensor>>& inputs) {
  const OpDef* def = operations().find(g.node(n).op);
  EvalContext c;
  c.op = op_context(g, n);
  if (def == nullptr) c.op.reject("the operation is not supported");
  ASSAY_CHECK(inputs.size() == c.op.inputs.size(),
              fmt::format("{} values for {} operands of '{}'", inputs.size(), c.op.inputs.size(), c.op.node_name));
  c.op.values = inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!c.op.inputs[i]) continue;
    if (inputs[i] == nullptr) c.op.reject(fmt::format("operand {} has no value", i));
    if (inputs[i]->type() != *c.op.inputs[i])
      c.op.reject(fmt::format("operand {} is declared {} and given a {}", i, to_string(*c.op.inputs[i]),
                              to_string(inputs[i]->type())));
  }
  // Also gives the types of outputs that nobody names.
  c.op.outputs = infer_node(c.op);
  for (const TensorType& t : c.op.outputs) c.out.emplace_back(t);
  def->evaluate(c);
  return std::move(c.out);
}

TensorMap evaluate_graph(const Graph& g, const TensorMap& inputs, const EvaluateOptions& options) {
  std::vector<std::shared_ptr<const Tensor>> value;
  std::vector<std::size_t> pending;  // uses still to come: a value is dropped after its last one
  for (const TensorId t : g.tensors()) {
    value.resize(t.index() + 1);
    pending.resize(t.index() + 1, 0);
    const GraphTensor& tensor = g.tensor(t);
    value[t.index()] = tensor.value;
    pending[t.index()] = g.uses(t).size() + (tensor.is_output ? 1 : 0);
  }
  for (const TensorId t : g.inputs()) {
    const GraphTensor& tensor = g.tensor(t);
    const auto it = inputs.find(tensor.name);
    if (it == inputs.end() || it->second == nullptr)
      throw InputError("graph '" + g.name + "'", "no value for input '" + tensor.name + "'");
    if (it->second->type() != tensor.type)
      throw InputError("graph '" + g.name + "'", fmt::format("input '{}' is {}, expected {}", tensor.name,
                                                             to_string(it->second->type()), to_string(tensor.type)));
    value[t.index()] = it->second;
  }
  TensorMap result;
  for (const NodeId n : g.topological_order()) {
    const Node& node = g.node(n);
    std::vector<std::shared_ptr<const Tensor>> operands;
    for (const TensorId t : node.inputs) {
      operands.push_back(t.valid() ? value[t.index()] : nullptr);
      if (t.valid() && operands.back() == nullptr)
        throw InputError(
            "graph '" + g.name + "'",
            fmt::format("'{}' has no value (a weight by shape only): the graph can't be executed", g.tensor(t).name));
    }
    std::vector<Tensor> outputs = evaluate_node(g, n, operands);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const TensorId t = node.outputs[i];
      if (!t.valid()) continue;
      ASSAY_CHECK(outputs[i].type() == g.tensor(t).type,
                  fmt::format("'{}' is recorded as {}, but evaluates to {}", g.tensor(t).name,
                              to_string(g.tensor(t).type), to_string(outputs[i].type())));
      value[t.index()] = std::make_shared<const Tensor>(std::move(outputs[i]));
      if (options.keep_all) result[g.tensor(t).name] = value[t.index()];
    }
    for (const TensorId t : node.inputs)
      if (t.valid() && --pending[t.index()] == 0) value[t.index()] = nullptr;
  }
  for (const TensorId t : g.outputs()) {
    if (value[t.index()] == nullptr)
      throw InputError("graph '" + g.name + "'", "output '" + g.tensor(t).name + "' has no value");
    result[g.tensor(t).name] = value[t.index()];
  }
  return result;
}

}  // namespace assay
