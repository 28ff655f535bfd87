#include "core/passes/common_subexpression.h"

#include <fmt/format.h>

#include <bit>
#include <map>
#include <unordered_map>

#include "core/base/hash.h"
#include "core/passes/rewrite.h"

namespace assay {
namespace {

// Shapes, axes, scalars, scales. Larger constants are weights: equal ones are rare, and to hash them all would cost
// more than every other pass together.
constexpr std::size_t kMaxMergedBytes = 4096;

std::string content(const Tensor& t) {
  const std::string_view bytes(reinterpret_cast<const char*>(t.bytes().data()), t.bytes().size());
  return to_string(t.type()) + sha256_hex(bytes);
}

// Reals by bit pattern: 0.0 and -0.0 differ.
struct AttributeKey {
  std::string operator()(std::int64_t v) const { return fmt::format("i{}", v); }
  std::string operator()(double v) const { return fmt::format("r{:x}", std::bit_cast<std::uint64_t>(v)); }
  std::string operator()(const std::string& v) const { return fmt::format("t{}:{}", v.size(), v); }
  template <class T>
  std::string operator()(const std::vector<T>& v) const {
    std::string out = fmt::format("l{}", v.size());
    for (const T& x : v) out += (*this)(x);
    return out;
  }
  std::string operator()(const std::shared_ptr<const Tensor>& v) const { return "v" + content(*v); }
  std::string operator()(const std::shared_ptr<const Graph>&) const { return "g"; }  // not reached: is_pure
};

std::string key_of(const Node& n) {
  std::string key = fmt::format("{} {} {}", n.op, n.version, n.outputs.size());
  for (const TensorId t : n.inputs) key += fmt::format(" {}", t.value);
  for (const TensorId t : n.outputs) key += t.valid() ? "o" : "_";
  for (const auto& [name, value] : n.attributes.values()) key += "," + name + std::visit(AttributeKey{}, value);
  return key;
}

void merge_constants(Rewrite& rewrite) {
  Graph& g = rewrite.graph();
  std::map<std::string, TensorId> by_content;
  std::unordered_map<const Tensor*, TensorId> by_value;  // looked up only, never iterated
  for (const TensorId t : g.tensors()) {
    const GraphTensor& tensor = g.tensor(t);
    if (tensor.kind != TensorKind::constant || tensor.value == nullptr || tensor.is_output) continue;
    TensorId kept;
    if (tensor.value->bytes().size() <= kMaxMergedBytes) {
      kept = by_content.emplace(content(*tensor.value), t).first->second;
    } else {
      kept = by_value.emplace(tensor.value.get(), t).first->second;
    }
    if (kept == t) continue;
    g.replace_uses(t, kept);
    g.remove_tensor(t);
    rewrite.note_edit();
  }
}

}  // namespace

std::size_t merge_common_subexpressions(Graph& g, PassContext&) {
  Rewrite rewrite(g);
  merge_constants(rewrite);
  std::map<std::string, NodeId> first;
  for (const NodeId n : g.topological_order()) {
    const Node node = g.node(n);
    if (!is_pure(node)) continue;
    const auto [it, is_new] = first.emplace(key_of(node), n);
    if (is_new) continue;
    const std::vector<TensorId> kept = g.node(it->second).outputs;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const TensorId t = node.outputs[i];
      if (t.valid() && (g.tensor(t).is_output || !g.uses(t).empty())) rewrite.replace(t, kept[i]);
    }
  }
  rewrite.sweep();
  return rewrite.count();
}

}  // namespace assay
