#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/ir/graph.h"
#include "core/ir/graph_text.h"

namespace assay {
namespace {

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
          out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else
          out += c;
    }
  }
  return out + "\"";
}

std::string word(const std::string& s) {
  if (s.empty() || s == "_") return quoted(s);
  for (const char c : s)
    if (!is_word_char(c)) return quoted(s);
  return s;
}

// Shortest text that reads back to the same double, always recognisable as a real number.
std::string real_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  std::string s(buffer, end);
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}

std::string element_text(const Tensor& t, std::int64_t i) {
  if (is_float(t.dtype())) return real_text(t.get(i));
  if (t.dtype() == DType::u64) return std::to_string(static_cast<std::uint64_t>(t.get_int(i)));
  return std::to_string(t.get_int(i));
}

std::string elements_text(const Tensor& t) {
  std::string out = "[";
  for (std::int64_t i = 0; i < t.size(); ++i) out += (i != 0 ? ", " : "") + element_text(t, i);
  return out + "]";
}

std::string value_text(const Tensor& t) {
  if (t.size() <= kInlineElements) return elements_text(t);
  const std::string_view bytes(reinterpret_cast<const char*>(t.bytes().data()), t.bytes().size());
  return "sha256 " + sha256_hex(bytes);
}

template <class T, class F>
std::string list_text(const std::vector<T>& values, const char* kind, F&& text) {
  if (values.empty()) return std::string(kind) + "[]";
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) out += (i != 0 ? ", " : "") + text(values[i]);
  return out + "]";
}

struct AttributeText {
  const std::string& node;
  const std::string& key;
  std::string operator()(std::int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return real_text(v); }
  std::string operator()(const std::string& v) const { return quoted(v); }
  std::string operator()(const std::vector<std::int64_t>& v) const {
    return list_text(v, "ints", [](std::int64_t x) { return std::to_string(x); });
  }
  std::string operator()(const std::vector<double>& v) const { return list_text(v, "reals", real_text); }
  std::string operator()(const std::vector<std::string>& v) const { return list_text(v, "texts", quoted); }
  std::string operator()(const std::shared_ptr<const Tensor>& v) const {
    return "tensor " + to_string(v->type()) + " = " + elements_text(*v);
  }
  std::string operator()(const std::shared_ptr<const Graph>&) const {
    throw InputError("node '" + node + "'", "attribute '" + key + "' is a graph, which the text form cannot hold");
  }
};

std::string tensor_ref(const Graph& g, TensorId t) { return t.valid() ? "%" + word(g.tensor(t).name) : "_"; }
std::string declaration(const GraphTensor& t) { return "%" + word(t.name) + " : " + to_string(t.type); }

std::string node_text(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  std::string out = "node " + word(node.name) + " : ";
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const TensorId t = node.outputs[i];
    out += (i != 0 ? ", " : "") + (t.valid() ? declaration(g.tensor(t)) : std::string("_"));
  }
  out += fmt::format(" = {} {}(", word(node.op), node.version);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) out += (i != 0 ? ", " : "") + tensor_ref(g, node.inputs[i]);
  out += ")";
  if (!node.attributes.values().empty()) {
    out += " {";
    const char* separator = "";
    for (const auto& [key, value] : node.attributes.values()) {
      out += separator + word(key) + " = " + std::visit(AttributeText{node.name, key}, value);
      separator = ", ";
    }
    out += "}";
  }
  if (!node.sources.empty()) out += " from [" + list_text(node.sources, "", word).substr(1);
  return out + "\n";
}

}  // namespace

std::string print_graph(const Graph& g) {
  std::string out = "graph " + word(g.name) + "\n";
  for (const TensorId t : g.inputs()) {
    const GraphTensor& tensor = g.tensor(t);
    out += "input " + declaration(tensor);
    if (!tensor.state_alias.empty()) out += " state %" + word(tensor.state_alias);
    out += "\n";
  }
  for (const TensorId t : g.tensors()) {
    const GraphTensor& tensor = g.tensor(t);
    if (tensor.kind != TensorKind::constant) continue;
    out += tensor.value != nullptr ? "constant " + declaration(tensor) + " = " + value_text(*tensor.value)
                                   : "weight " + declaration(tensor);
    out += "\n";
  }
  for (const NodeId n : g.topological_order()) out += node_text(g, n);
  for (const TensorId t : g.outputs()) out += "output " + tensor_ref(g, t) + "\n";
  return out;
}

}  // namespace assay
