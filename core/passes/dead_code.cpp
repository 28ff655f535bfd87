#include "core/passes/dead_code.h"

#include <algorithm>

#include "core/passes/rewrite.h"

namespace assay {

std::size_t remove_dead_code(Graph& g, PassContext&) {
  std::size_t removed = 0;
  std::vector<NodeId> order = g.topological_order();
  std::reverse(order.begin(), order.end());
  for (const NodeId n : order) {
    const std::vector<TensorId> outputs = g.node(n).outputs;
    const bool used = std::any_of(outputs.begin(), outputs.end(), [&](TensorId t) {
      return t.valid() && (g.tensor(t).is_output || !g.uses(t).empty());
    });
    if (used) continue;
    g.remove_node(n);
    for (const TensorId t : outputs)
      if (t.valid()) g.remove_tensor(t);
    ++removed;
  }
  for (const TensorId t : g.tensors()) {
    const GraphTensor& tensor = g.tensor(t);
    if (tensor.kind == TensorKind::input || tensor.is_output || !g.uses(t).empty() || g.producer(t)) continue;
    g.remove_tensor(t);
    ++removed;
  }
  return removed;
}

}  // namespace assay
