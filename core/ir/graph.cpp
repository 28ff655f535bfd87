#include "core/ir/graph.h"

#include <boost/graph/adjacency_list.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "core/base/check.h"
#include "core/base/error.h"

namespace assay {
namespace {

// One vertex per tensor and per node. Edges tensor → node are uses, node → tensor productions; `position` is the
// operand's or result's number (BGL keeps edges in insertion order, which is not operand order).
struct Vertex {
  bool is_node = false;
  std::uint32_t id = 0;
};
struct Edge {
  std::uint32_t position = 0;
};
using Structure = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Vertex, Edge>;
using Handle = boost::graph_traits<Structure>::vertex_descriptor;

// Names in use, and for each base name the suffix to try next: making n equal names unique is O(n).
struct Names {
  std::unordered_map<std::string, std::uint32_t> ids;
  std::unordered_map<std::string, std::uint32_t> next_suffix;

  std::string claim(const std::string& wanted, std::uint32_t id) {
    if (ids.emplace(wanted, id).second) return wanted;
    for (std::uint32_t& k = next_suffix[wanted];;) {
      std::string name = wanted + "_" + std::to_string(++k);
      if (ids.emplace(name, id).second) return name;
    }
  }
};

}  // namespace

struct Graph::Impl {
  Structure structure;
  std::vector<GraphTensor> tensors;
  std::vector<Node> nodes;
  std::vector<Handle> tensor_vertex, node_vertex;
  std::vector<bool> tensor_live, node_live;
  std::vector<TensorId> inputs, outputs;
  Names tensor_names, node_names;
  std::size_t live_nodes = 0;

  std::size_t at(TensorId t) const {
    ASSAY_CHECK(t.valid() && t.index() < tensors.size() && tensor_live[t.index()],
                fmt::format("tensor id {} of {}", t.value, tensors.size()));
    return t.index();
  }
  std::size_t at(NodeId n) const {
    ASSAY_CHECK(n.valid() && n.index() < nodes.size() && node_live[n.index()],
                fmt::format("node id {} of {}", n.value, nodes.size()));
    return n.index();
  }

  Handle add_vertex(Vertex v) {
    const Handle handle = boost::add_vertex(structure);
    structure[handle] = v;
    return handle;
  }

  TensorId add(const std::string& name, TensorType type, TensorKind kind,
               std::shared_ptr<const Tensor> value = nullptr) {
    GraphTensor t;
    t.name = name;
    t.type = std::move(type);
    t.kind = kind;
    t.value = std::move(value);
    return add(std::move(t));
  }

  TensorId add(GraphTensor t) {
    const auto id = static_cast<std::uint32_t>(tensors.size());
    t.name = tensor_names.claim(t.name, id);
    tensors.push_back(std::move(t));
    tensor_live.push_back(true);
    tensor_vertex.push_back(add_vertex({false, id}));
    return TensorId(id);
  }

  void connect_use(TensorId t, NodeId n, std::size_t operand) {
    boost::add_edge(tensor_vertex[at(t)], node_vertex[at(n)], Edge{static_cast<std::uint32_t>(operand)}, structure);
  }

  void disconnect_use(TensorId t, NodeId n, std::size_t operand) {
    const auto [first, last] = boost::in_edges(node_vertex[at(n)], structure);
    for (auto e = first; e != last; ++e) {
      if (structure[*e].position == operand && boost::source(*e, structure) == tensor_vertex[at(t)]) {
        boost::remove_edge(*e, structure);
        return;
      }
    }
    ASSAY_CHECK(false, fmt::format("no edge for operand {} of node '{}'", operand, nodes[n.index()].name));
  }

  std::size_t use_count(TensorId t) const { return boost::out_degree(tensor_vertex[at(t)], structure); }
};

Graph::Graph() : impl_(std::make_unique<Impl>()) {}
Graph::~Graph() = default;
Graph::Graph(const Graph& other) : name(other.name), impl_(std::make_unique<Impl>(*other.impl_)) {}
Graph& Graph::operator=(const Graph& other) {
  if (this != &other) {
    name = other.name;
    impl_ = std::make_unique<Impl>(*other.impl_);
  }
  return *this;
}
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

TensorId Graph::add_input(const std::string& tensor_name, TensorType type) {
  const TensorId t = impl_->add(tensor_name, std::move(type), TensorKind::input);
  impl_->inputs.push_back(t);
  return t;
}

TensorId Graph::add_constant(const std::string& tensor_name, std::shared_ptr<const Tensor> value) {
  ASSAY_CHECK(value != nullptr, "constant '" + tensor_name + "' has no value");
  const TensorType type = value->type();
  return impl_->add(tensor_name, type, TensorKind::constant, std::move(value));
}

TensorId Graph::add_weight(const std::string& tensor_name, TensorType type) {
  return impl_->add(tensor_name, std::move(type), TensorKind::constant);
}

TensorId Graph::add_tensor(const std::string& tensor_name, TensorType type) {
  return impl_->add(tensor_name, std::move(type), TensorKind::intermediate);
}

NodeId Graph::add_node(Node node) {
  Impl& g = *impl_;
  const auto id = static_cast<std::uint32_t>(g.nodes.size());
  for (const TensorId t : node.inputs)
    if (t.valid()) g.at(t);
  for (const TensorId t : node.outputs) {
    if (!t.valid()) continue;
    ASSAY_CHECK(!producer(t) && g.tensors[g.at(t)].kind == TensorKind::intermediate,
                fmt::format("node '{}' writes '{}', which is written already", node.name, g.tensors[t.index()].name));
    ASSAY_CHECK(std::count(node.outputs.begin(), node.outputs.end(), t) == 1,
                fmt::format("node '{}' writes '{}' twice", node.name, g.tensors[t.index()].name));
  }
  node.name = g.node_names.claim(node.name, id);
  g.nodes.push_back(std::move(node));
  g.node_live.push_back(true);
  ++g.live_nodes;
  g.node_vertex.push_back(g.add_vertex({true, id}));
  const Node& n = g.nodes.back();
  for (std::size_t i = 0; i < n.inputs.size(); ++i)
    if (n.inputs[i].valid()) g.connect_use(n.inputs[i], NodeId(id), i);
  for (std::size_t i = 0; i < n.outputs.size(); ++i)
    if (n.outputs[i].valid())
      boost::add_edge(g.node_vertex.back(), g.tensor_vertex[n.outputs[i].index()], Edge{static_cast<std::uint32_t>(i)},
                      g.structure);
  return NodeId(id);
}

void Graph::mark_output(TensorId t) {
  GraphTensor& tensor = impl_->tensors[impl_->at(t)];
  ASSAY_CHECK(!tensor.is_output, "'" + tensor.name + "' is an output already");
  tensor.is_output = true;
  impl_->outputs.push_back(t);
}

void Graph::unmark_output(TensorId t) {
  impl_->tensors[impl_->at(t)].is_output = false;
  std::erase(impl_->outputs, t);
}

std::vector<NodeId> Graph::nodes() const {
  std::vector<NodeId> out;
  out.reserve(impl_->live_nodes);
  for (std::size_t i = 0; i < impl_->nodes.size(); ++i)
    if (impl_->node_live[i]) out.emplace_back(i);
  return out;
}

std::vector<TensorId> Graph::tensors() const {
  std::vector<TensorId> out;
  for (std::size_t i = 0; i < impl_->tensors.size(); ++i)
    if (impl_->tensor_live[i]) out.emplace_back(i);
  return out;
}

std::vector<NodeId> Graph::topological_order() const {
  const Impl& g = *impl_;
  // Kahn's algorithm with the smallest id first. A node waits for its operands that have a producer.
  std::vector<std::uint32_t> waiting(g.nodes.size(), 0);
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    if (!g.node_live[i]) continue;
    for (const TensorId t : g.nodes[i].inputs)
      if (t.valid() && boost::in_degree(g.tensor_vertex[t.index()], g.structure) != 0) ++waiting[i];
    if (waiting[i] == 0) ready.push(static_cast<std::uint32_t>(i));
  }
  std::vector<NodeId> order;
  order.reserve(g.live_nodes);
  while (!ready.empty()) {
    const NodeId n(ready.top());
    ready.pop();
    order.push_back(n);
    for (const TensorId t : g.nodes[n.index()].outputs) {
      if (!t.valid()) continue;
      const auto [first, last] = boost::out_edges(g.tensor_vertex[t.index()], g.structure);
      for (auto e = first; e != last; ++e) {
        const std::uint32_t user = g.structure[boost::target(*e, g.structure)].id;
        if (--waiting[user] == 0) ready.push(user);
      }
    }
  }
  if (order.size() != g.live_nodes) {
    // Walking back from a stuck node along stuck producers must close a cycle.
    std::size_t at = 0;
    while (!g.node_live[at] || waiting[at] == 0) ++at;
    std::vector<std::size_t> path;
    std::vector<bool> seen(g.nodes.size(), false);
    while (!seen[at]) {
      seen[at] = true;
      path.push_back(at);
      for (const TensorId t : g.nodes[at].inputs) {
        const auto p = t.valid() ? producer(t) : std::nullopt;
        if (p && waiting[p->index()] != 0) {
          at = p->index();
          break;
        }
      }
    }
    path.erase(path.begin(), std::find(path.begin(), path.end(), at));
    std::reverse(path.begin(), path.end());  // now in the direction of the edges; begin with the smallest id
    std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
    std::vector<std::string> names;
    for (const std::size_t n : path) names.push_back("'" + g.nodes[n].name + "'");
    if (names.size() > 12) names.resize(12), names.emplace_back("…");
    throw InputError("graph '" + name + "'", fmt::format("the nodes {} form a cycle", fmt::join(names, " -> ")));
  }
  return order;
}

const std::vector<TensorId>& Graph::inputs() const { return impl_->inputs; }
const std::vector<TensorId>& Graph::outputs() const { return impl_->outputs; }
const Node& Graph::node(NodeId n) const { return impl_->nodes[impl_->at(n)]; }
const GraphTensor& Graph::tensor(TensorId t) const { return impl_->tensors[impl_->at(t)]; }

std::optional<TensorId> Graph::find_tensor(const std::string& tensor_name) const {
  const auto it = impl_->tensor_names.ids.find(tensor_name);
  if (it == impl_->tensor_names.ids.end()) return std::nullopt;
  return TensorId(it->second);
}

std::optional<NodeId> Graph::find_node(const std::string& node_name) const {
  const auto it = impl_->node_names.ids.find(node_name);
  if (it == impl_->node_names.ids.end()) return std::nullopt;
  return NodeId(it->second);
}

std::optional<NodeId> Graph::producer(TensorId t) const {
  const Structure& s = impl_->structure;
  const auto [first, last] = boost::in_edges(impl_->tensor_vertex[impl_->at(t)], s);
  if (first == last) return std::nullopt;
  return NodeId(s[boost::source(*first, s)].id);
}

std::vector<Use> Graph::uses(TensorId t) const {
  const Structure& s = impl_->structure;
  const auto [first, last] = boost::out_edges(impl_->tensor_vertex[impl_->at(t)], s);
  std::vector<Use> out;
  for (auto e = first; e != last; ++e) out.push_back({NodeId(s[boost::target(*e, s)].id), s[*e].position});
  std::sort(out.begin(), out.end());
  return out;
}

std::size_t Graph::node_count() const { return impl_->live_nodes; }

Attributes& Graph::attributes(NodeId n) { return impl_->nodes[impl_->at(n)].attributes; }
void Graph::set_op(NodeId n, const std::string& op) { impl_->nodes[impl_->at(n)].op = op; }
void Graph::set_type(TensorId t, TensorType type) { impl_->tensors[impl_->at(t)].type = std::move(type); }

void Graph::set_name(TensorId t, const std::string& wanted) {
  GraphTensor& tensor = impl_->tensors[impl_->at(t)];
  if (tensor.name == wanted) return;
  impl_->tensor_names.ids.erase(tensor.name);
  tensor.name = impl_->tensor_names.claim(wanted, t.value);
}

void Graph::set_value(TensorId t, std::shared_ptr<const Tensor> value) {
  ASSAY_CHECK(value != nullptr, "a constant needs a value");
  GraphTensor& tensor = impl_->tensors[impl_->at(t)];
  ASSAY_CHECK(tensor.kind != TensorKind::input, "'" + tensor.name + "' is an input of the graph");
  if (const auto p = producer(t)) {
    // The producer no longer writes it.
    Node& node = impl_->nodes[p->index()];
    boost::clear_in_edges(impl_->tensor_vertex[t.index()], impl_->structure);
    for (TensorId& out : node.outputs)
      if (out == t) out = TensorId();
  }
  tensor.kind = TensorKind::constant;
  tensor.type = value->type();
  tensor.value = std::move(value);
}

void Graph::set_state_alias(TensorId t, const std::string& output) {
  GraphTensor& tensor = impl_->tensors[impl_->at(t)];
  ASSAY_CHECK(tensor.kind == TensorKind::input, "'" + tensor.name + "' is not an input of the graph");
  tensor.state_alias = output;
}

void Graph::set_input(NodeId n, std::size_t operand, TensorId t) {
  Node& node = impl_->nodes[impl_->at(n)];
  if (operand >= node.inputs.size()) node.inputs.resize(operand + 1);
  if (node.inputs[operand].valid()) impl_->disconnect_use(node.inputs[operand], n, operand);
  node.inputs[operand] = t;
  if (t.valid()) impl_->connect_use(t, n, operand);
  while (!node.inputs.empty() && !node.inputs.back().valid()) node.inputs.pop_back();
}

void Graph::replace_uses(TensorId old_tensor, TensorId new_tensor) {
  if (old_tensor == new_tensor) return;
  for (const Use& u : uses(old_tensor)) set_input(u.node, u.operand, new_tensor);
  GraphTensor& old = impl_->tensors[impl_->at(old_tensor)];
  GraphTensor& fresh = impl_->tensors[impl_->at(new_tensor)];
  if (!old.is_output) return;
  ASSAY_CHECK(!fresh.is_output, fmt::format("'{}' and '{}' are both outputs", old.name, fresh.name));
  old.is_output = false;
  fresh.is_output = true;
  std::replace(impl_->outputs.begin(), impl_->outputs.end(), old_tensor, new_tensor);
}

void Graph::remove_node(NodeId n) {
  Impl& g = *impl_;
  const Node& node = g.nodes[g.at(n)];
  for (const TensorId t : node.outputs)
    ASSAY_CHECK(!t.valid() || (g.use_count(t) == 0 && !g.tensors[t.index()].is_output),
                fmt::format("node '{}' is removed while '{}' is used", node.name, g.tensors[t.index()].name));
  boost::clear_vertex(g.node_vertex[n.index()], g.structure);
  g.node_live[n.index()] = false;
  --g.live_nodes;
  g.node_names.ids.erase(node.name);
}

void Graph::remove_tensor(TensorId t) {
  Impl& g = *impl_;
  const GraphTensor& tensor = g.tensors[g.at(t)];
  ASSAY_CHECK(!producer(t) && g.use_count(t) == 0 && !tensor.is_output,
              fmt::format("tensor '{}' is removed while it is connected", tensor.name));
  if (tensor.kind == TensorKind::input) std::erase(g.inputs, t);
  g.tensor_live[t.index()] = false;
  g.tensor_names.ids.erase(tensor.name);
}

void Graph::add_sources(NodeId n, const std::vector<std::string>& sources) {
  std::vector<std::string>& have = impl_->nodes[impl_->at(n)].sources;
  for (const std::string& s : sources)
    if (std::find(have.begin(), have.end(), s) == have.end()) have.push_back(s);
}

void Graph::compact() {
  const Impl& old = *impl_;
  auto fresh = std::make_unique<Impl>();
  std::vector<TensorId> moved(old.tensors.size());
  const auto move_id = [&](TensorId t) { return t.valid() ? moved[t.index()] : t; };
  for (const TensorId t : tensors()) moved[t.index()] = fresh->add(old.tensors[t.index()]);
  for (const TensorId t : old.inputs) fresh->inputs.push_back(move_id(t));
  for (const TensorId t : old.outputs) fresh->outputs.push_back(move_id(t));
  std::vector<Node> kept;
  for (const NodeId n : nodes()) {
    kept.push_back(old.nodes[n.index()]);
    for (TensorId& t : kept.back().inputs) t = move_id(t);
    for (TensorId& t : kept.back().outputs) t = move_id(t);
  }
  impl_ = std::move(fresh);
  for (Node& n : kept) add_node(std::move(n));
}

}  // namespace assay
