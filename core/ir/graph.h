#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/base/ids.h"
#include "core/ir/tensor.h"

// The typed SSA graph of a model. Boost.Graph holds the structure, in graph.cpp only: users see ids and spans.
//
//   tensor ──> node ──> tensor      every tensor has at most one producer and any number of uses;
//                                   a use is (node, operand position)
//
// Shapes are concrete: symbolic dimensions are bound before a Graph exists.

namespace assay {

using TensorId = Id<struct GraphTensorTag>;
using NodeId = Id<struct GraphNodeTag>;

class Graph;
using AttributeValue =
    std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                 std::vector<std::string>, std::shared_ptr<const Tensor>, std::shared_ptr<const Graph>>;

/// A node's attributes: typed look-up with the operation's default.
class Attributes {
 public:
  bool has(const std::string& name) const { return values_.contains(name); }
  std::int64_t integer(const std::string& name, std::int64_t fallback) const;
  double real(const std::string& name, double fallback) const;
  std::string text(const std::string& name, const std::string& fallback) const;
  std::vector<std::int64_t> integers(const std::string& name, std::vector<std::int64_t> fallback = {}) const;
  std::vector<double> reals(const std::string& name, std::vector<double> fallback = {}) const;
  std::shared_ptr<const Tensor> tensor(const std::string& name) const;  ///< nullptr if absent
  std::shared_ptr<const Graph> graph(const std::string& name) const;    ///< nullptr if absent
  void set(const std::string& name, AttributeValue v) { values_.insert_or_assign(name, std::move(v)); }
  void erase(const std::string& name) { values_.erase(name); }
  const std::map<std::string, AttributeValue>& values() const { return values_; }

 private:
  std::map<std::string, AttributeValue> values_;
};

enum class TensorKind : std::uint8_t { input, constant, intermediate };

struct GraphTensor {
  std::string name;  ///< unique in the graph
  TensorType type;
  TensorKind kind = TensorKind::intermediate;
  std::shared_ptr<const Tensor> value;  ///< constants; nullptr: shape-only weights (`has_value` is false)
  bool is_output = false;
  /// State (KV cache): this input is updated in place as that output. Empty: not state.
  std::string state_alias;
};

struct Node {
  std::string name;  ///< unique in the graph
  std::string op;    ///< name in the operation registry (core/ops)
  int version = 0;   ///< opset in which the operation's meaning is to be read
  Attributes attributes;
  std::vector<TensorId> inputs;      ///< by operand position; invalid id: optional and absent
  std::vector<TensorId> outputs;     ///< invalid id: not wanted
  std::vector<std::string> sources;  ///< nodes of the source model that this one stands for
};

struct Use {
  NodeId node;
  std::size_t operand = 0;
  friend auto operator<=>(const Use&, const Use&) = default;
};

class Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&);  ///< deep in structure, constants shared
  Graph& operator=(const Graph&);
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  std::string name;

  // Building. Names are made unique by a suffix where needed; the id is stable until compact().
  TensorId add_input(const std::string& name, TensorType type);
  TensorId add_constant(const std::string& name, std::shared_ptr<const Tensor> value);
  TensorId add_weight(const std::string& name, TensorType type);  ///< a constant without a value
  TensorId add_tensor(const std::string& name, TensorType type);  ///< to be produced by a node
  NodeId add_node(Node node);    ///< connects uses and producers; outputs must have no producer yet
  void mark_output(TensorId t);  ///< order of calls is the order of outputs
  void unmark_output(TensorId t);

  // Reading. Orders are deterministic: ids ascending, or topological with ties by id.
  std::vector<NodeId> nodes() const;              ///< live nodes, ascending
  std::vector<NodeId> topological_order() const;  ///< throws InputError naming the nodes of a cycle
  std::vector<TensorId> tensors() const;          ///< live tensors, ascending
  const std::vector<TensorId>& inputs() const;
  const std::vector<TensorId>& outputs() const;
  const Node& node(NodeId n) const;
  const GraphTensor& tensor(TensorId t) const;
  std::optional<TensorId> find_tensor(const std::string& name) const;
  std::optional<NodeId> find_node(const std::string& name) const;
  std::optional<NodeId> producer(TensorId t) const;
  std::vector<Use> uses(TensorId t) const;  ///< ascending; an output of the graph is not a use
  std::size_t node_count() const;

  // Editing.
  Attributes& attributes(NodeId n);
  void set_op(NodeId n, const std::string& op);
  void set_type(TensorId t, TensorType type);
  /// Made unique by a suffix where needed. Keeps the interface's names when an output gets another producer.
  void set_name(TensorId t, const std::string& wanted);
  void set_value(TensorId t, std::shared_ptr<const Tensor> value);  ///< a constant; detaches its producer
  void set_state_alias(TensorId t, const std::string& output);
  void set_input(NodeId n, std::size_t operand, TensorId t);
  void replace_uses(TensorId old_tensor, TensorId new_tensor);  ///< also where it is a graph output
  void remove_node(NodeId n);                                   ///< its outputs must be unused
  void remove_tensor(TensorId t);                               ///< no producer, no use, not an output
  void add_sources(NodeId n, const std::vector<std::string>& sources);
  void compact();  ///< drops what is removed; renumbers (ids become invalid)

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Structural invariants: operand positions consistent with edges, one producer, types present, acyclic, outputs
/// exist, names unique. Operation rules are checked by verify_graph in core/ops. Throws InternalError.
void check_structure(const Graph& g);

std::string print_graph(const Graph& g);  ///< text form; small constants inline, large ones by hash
/// Reads the text form. Constants printed by hash come back as weights without a value.
Graph parse_graph(const std::string& text, const std::string& name);
std::string graph_to_dot(const Graph& g);  ///< Graphviz, constants hidden, labels with op, name, shape

}  // namespace assay
