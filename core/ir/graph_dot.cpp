#include <fmt/format.h>

#include "core/ir/graph.h"

namespace assay {
namespace {

std::string escaped(const std::string& s) {
  std::string out;
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

}  // namespace

std::string graph_to_dot(const Graph& g) {
  std::string out =
      fmt::format("digraph \"{}\" {{\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n", escaped(g.name));
  for (const TensorId t : g.inputs())
    out += fmt::format("  t{} [shape=ellipse, label=\"{}\\n{}\"];\n", t.value, escaped(g.tensor(t).name),
                       to_string(g.tensor(t).type));
  for (const NodeId n : g.nodes()) {
    const Node& node = g.node(n);
    std::string shape;
    for (const TensorId t : node.outputs)
      if (t.valid()) shape += "\\n" + to_string(g.tensor(t).type);
    out += fmt::format("  n{} [label=\"{}\\n{}{}\"];\n", n.value, escaped(node.op), escaped(node.name), shape);
    for (const TensorId t : node.inputs) {
      if (!t.valid() || g.tensor(t).kind == TensorKind::constant) continue;
      const auto p = g.producer(t);
      out += p ? fmt::format("  n{} -> n{};\n", p->value, n.value) : fmt::format("  t{} -> n{};\n", t.value, n.value);
    }
  }
  for (const TensorId t : g.outputs()) {
    const auto p = g.producer(t);
    out += fmt::format("  o{} [shape=ellipse, label=\"{}\"];\n", t.value, escaped(g.tensor(t).name));
    const std::string from = p                                          ? fmt::format("n{}", p->value)
                             : g.tensor(t).kind == TensorKind::constant ? std::string()
                                                                        : fmt::format("t{}", t.value);
    if (!from.empty()) out += fmt::format("  {} -> o{};\n", from, t.value);
  }
  return out + "}\n";
}

}  // namespace assay
