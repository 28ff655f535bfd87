#include <fmt/format.h>

#include <unordered_set>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/ir/graph.h"

namespace assay {

void check_structure(const Graph& g) {
  std::size_t tensor_bound = 0;
  const std::vector<TensorId> tensors = g.tensors();
  if (!tensors.empty()) tensor_bound = tensors.back().index() + 1;
  std::vector<std::vector<Use>> uses(tensor_bound);
  std::vector<std::optional<NodeId>> producers(tensor_bound);

  std::unordered_set<std::string> node_names;
  for (const NodeId n : g.nodes()) {
    const Node& node = g.node(n);
    ASSAY_CHECK(!node.op.empty(), "node '" + node.name + "' has no operation");
    ASSAY_CHECK(node_names.insert(node.name).second, "two nodes are called '" + node.name + "'");
    ASSAY_CHECK(g.find_node(node.name) == n, "node '" + node.name + "' is not found by its name");
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      g.tensor(node.inputs[i]);  // checks that it is live
      uses[node.inputs[i].index()].push_back({n, i});
    }
    for (const TensorId t : node.outputs) {
      if (!t.valid()) continue;
      const GraphTensor& tensor = g.tensor(t);
      ASSAY_CHECK(tensor.kind == TensorKind::intermediate,
                  fmt::format("node '{}' writes '{}', which is an input or a constant", node.name, tensor.name));
      ASSAY_CHECK(!producers[t.index()], fmt::format("'{}' is written twice", tensor.name));
      producers[t.index()] = n;
    }
  }

  std::unordered_set<std::string> tensor_names;
  for (const TensorId t : tensors) {
    const GraphTensor& tensor = g.tensor(t);
    ASSAY_CHECK(tensor_names.insert(tensor.name).second, "two tensors are called '" + tensor.name + "'");
    ASSAY_CHECK(g.find_tensor(tensor.name) == t, "tensor '" + tensor.name + "' is not found by its name");
    ASSAY_CHECK(g.uses(t) == uses[t.index()],
                "the operand lists and the edges disagree about the uses of '" + tensor.name + "'");
    ASSAY_CHECK(g.producer(t) == producers[t.index()],
                "the result lists and the edges disagree about the producer of '" + tensor.name + "'");
    for (const std::int64_t d : tensor.type.shape)
      ASSAY_CHECK(d >= 0, fmt::format("'{}' has type {}", tensor.name, to_string(tensor.type)));
    ASSAY_CHECK(tensor.value == nullptr || tensor.value->type() == tensor.type,
                fmt::format("'{}' is declared {} and holds a {}", tensor.name, to_string(tensor.type),
                            tensor.value == nullptr ? "" : to_string(tensor.value->type())));
    const bool connected = tensor.is_output || !uses[t.index()].empty();
    ASSAY_CHECK(tensor.kind != TensorKind::intermediate || producers[t.index()] || !connected,
                "'" + tensor.name + "' is read, but nothing writes it");
    if (!tensor.state_alias.empty()) {
      const auto alias = g.find_tensor(tensor.state_alias);
      ASSAY_CHECK(alias && g.tensor(*alias).is_output,
                  fmt::format("state '{}' is aliased to '{}', which is no output", tensor.name, tensor.state_alias));
    }
  }
  for (const TensorId t : g.outputs())
    ASSAY_CHECK(g.tensor(t).is_output, "'" + g.tensor(t).name + "' is not marked as an output");
  for (const TensorId t : g.inputs())
    ASSAY_CHECK(g.tensor(t).kind == TensorKind::input, "'" + g.tensor(t).name + "' is not an input");
  try {
    g.topological_order();
  } catch (const InputError& e) {
    throw InternalError(e.what());
  }
}

}  // namespace assay
