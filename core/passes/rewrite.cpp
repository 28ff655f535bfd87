#include "core/passes/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "core/base/check.h"
#include "core/base/error.h"

namespace assay {

std::int64_t onnx_type_number(DType t) {
  switch (t) {
    case DType::f32:
      return 1;
    case DType::u8:
      return 2;
    case DType::i8:
      return 3;
    case DType::u16:
      return 4;
    case DType::i16:
      return 5;
    case DType::i32:
      return 6;
    case DType::i64:
      return 7;
    case DType::boolean:
      return 9;
    case DType::f16:
      return 10;
    case DType::f64:
      return 11;
    case DType::u32:
      return 12;
    case DType::u64:
      return 13;
    case DType::bf16:
      return 16;
    case DType::u4:
      return 21;
    case DType::i4:
      return 22;
  }
  fail_check(__FILE__, __LINE__, "dtype", std::to_string(static_cast<int>(t)));
}

bool is_constant(const Graph& g, TensorId t) { return t.valid() && g.tensor(t).kind == TensorKind::constant; }

const Tensor* value_of(const Graph& g, TensorId t) { return is_constant(g, t) ? g.tensor(t).value.get() : nullptr; }

std::optional<double> scalar_value(const Graph& g, TensorId t) {
  const Tensor* v = value_of(g, t);
  if (v == nullptr || v->size() != 1) return std::nullopt;
  return v->get(0);
}

std::optional<std::vector<std::int64_t>> ints_value(const Graph& g, TensorId t) {
  const Tensor* v = value_of(g, t);
  if (v == nullptr || !is_integer(v->dtype())) return std::nullopt;
  return v->to_ints();
}

TensorId operand(const Node& n, std::size_t i) { return i < n.inputs.size() ? n.inputs[i] : TensorId(); }

bool used_once(const Graph& g, TensorId t) { return !g.tensor(t).is_output && g.uses(t).size() == 1; }

std::optional<NodeId> producer_if(const Graph& g, TensorId t, const std::string& op) {
  if (!t.valid()) return std::nullopt;
  const auto p = g.producer(t);
  if (!p || g.node(*p).op != op) return std::nullopt;
  return p;
}

std::optional<NodeId> sole_user_if(const Graph& g, TensorId t, const std::string& op) {
  if (!used_once(g, t)) return std::nullopt;
  const NodeId n = g.uses(t).front().node;
  if (g.node(n).op != op) return std::nullopt;
  return n;
}

std::int64_t positive_axis(std::int64_t axis, std::size_t rank) {
  return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
}

std::vector<std::int64_t> permutation(const Graph& g, NodeId transpose) {
  const Node& n = g.node(transpose);
  std::vector<std::int64_t> reversed(g.tensor(n.inputs[0]).type.shape.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return n.attributes.integers("perm", reversed);
}

std::optional<std::vector<std::int64_t>> reduction_axes(const Graph& g, NodeId reduce) {
  const Node& n = g.node(reduce);
  std::vector<std::int64_t> axes = n.attributes.integers("axes");
  if (const TensorId t = operand(n, 1); t.valid()) {
    const auto values = ints_value(g, t);
    if (!values) return std::nullopt;
    axes = *values;
  }
  if (axes.empty()) return std::nullopt;
  const std::size_t rank = g.tensor(n.inputs[0]).type.shape.size();
  for (std::int64_t& a : axes) a = positive_axis(a, rank);
  std::sort(axes.begin(), axes.end());
  return axes;
}

bool is_pure(const Node& n) {
  static const std::set<std::string> kRandom = {"RandomNormal",      "RandomUniform", "RandomNormalLike",
                                                "RandomUniformLike", "Bernoulli",     "Multinomial"};
  if (kRandom.contains(n.op)) return false;
  return std::none_of(n.attributes.values().begin(), n.attributes.values().end(), [](const auto& entry) {
    return std::holds_alternative<std::shared_ptr<const Graph>>(entry.second);
  });
}

std::optional<TensorType> Rewrite::infer(const std::string& op, const std::vector<TensorId>& inputs,
                                         const Attributes& attributes, int version) const {
  if (operations().find(op) == nullptr) return std::nullopt;
  OpContext context;
  context.node_name = op;
  context.op = op;
  context.version = version;
  context.attributes = &attributes;
  for (const TensorId t : inputs) {
    context.inputs.push_back(t.valid() ? std::optional(g_.tensor(t).type) : std::nullopt);
    context.values.push_back(t.valid() ? g_.tensor(t).value : nullptr);
  }
  try {
    return infer_node(context).at(0);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

TensorId Rewrite::insert(const std::string& op, std::vector<TensorId> inputs, Attributes attributes,
                         const std::string& hint, const std::vector<std::string>& sources, int version) {
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  const std::optional<TensorType> type = infer(op, inputs, attributes, version);
  if (!type) throw InputError("node '" + hint + "'", "operation " + op + " refuses the operands of this rewrite");
  const TensorId out = g_.add_tensor(hint, *type);
  // Candidates for removal too: a rule may give up half-way.
  superseded_.push_back(g_.add_node({.name = hint,
                                     .op = op,
                                     .version = version,
                                     .attributes = std::move(attributes),
                                     .inputs = std::move(inputs),
                                     .outputs = {out},
                                     .sources = sources}));
  return out;
}

TensorId Rewrite::constant(const std::string& hint, Tensor value) {
  const TensorId t = g_.add_constant(hint, std::make_shared<const Tensor>(std::move(value)));
  constants_.emplace_back(t, g_.tensor(t).name);
  return t;
}

TensorId Rewrite::constant_ints(const std::string& hint, const std::vector<std::int64_t>& values) {
  return constant(hint, Tensor::of<std::int64_t>(DType::i64, {static_cast<std::int64_t>(values.size())}, values));
}

TensorId Rewrite::reshape(TensorId x, Shape shape, const std::string& hint, const std::vector<std::string>& sources) {
  if (g_.tensor(x).type.shape == shape) return x;
  Attributes attributes;
  // A zero in the shape operand would otherwise mean "as in the input".
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) attributes.set("allowzero", std::int64_t{1});
  const TensorId target = constant_ints(hint + "_shape", shape);
  return insert("Reshape", {x, target}, std::move(attributes), hint, sources);
}

TensorId Rewrite::transpose(TensorId x, const std::vector<std::int64_t>& perm, const std::string& hint,
                            const std::vector<std::string>& sources) {
  Attributes attributes;
  attributes.set("perm", perm);
  return insert("Transpose", {x}, std::move(attributes), hint, sources);
}

TensorId Rewrite::cast(TensorId x, DType to, const std::string& hint, const std::vector<std::string>& sources) {
  if (g_.tensor(x).type.dtype == to) return x;
  Attributes attributes;
  attributes.set("to", onnx_type_number(to));
  return insert("Cast", {x}, std::move(attributes), hint, sources);
}

bool Rewrite::replace(TensorId old, TensorId now) {
  if (old == now) return false;
  const std::string interface_name = g_.tensor(old).name;
  const bool is_output = g_.tensor(old).is_output;
  const std::optional<NodeId> maker = g_.producer(old), heir = g_.producer(now);
  if (is_output && (g_.tensor(now).is_output || !heir)) return false;
  ASSAY_CHECK(g_.tensor(old).type == g_.tensor(now).type,
              fmt::format("'{}' is {}, '{}' is {}", interface_name, to_string(g_.tensor(old).type), g_.tensor(now).name,
                          to_string(g_.tensor(now).type)));
  g_.replace_uses(old, now);
  if (is_output) {
    g_.set_name(old, interface_name + "_replaced");
    g_.set_name(now, interface_name);
  }
  if (maker) {
    if (heir && heir != maker) g_.add_sources(*heir, std::vector<std::string>(g_.node(*maker).sources));
    superseded_.push_back(*maker);
  }
  ++count_;
  return true;
}

void Rewrite::sweep() {
  remove_unused(g_, std::exchange(superseded_, {}));
  for (const auto& [t, name] : std::exchange(constants_, {})) {
    if (g_.find_tensor(name) != t) continue;  // removed already
    if (g_.uses(t).empty() && !g_.tensor(t).is_output) g_.remove_tensor(t);
  }
}

void remove_unused(Graph& g, std::vector<NodeId> start) {
  std::set<NodeId> removed;
  while (!start.empty()) {
    const NodeId n = start.back();
    start.pop_back();
    if (removed.contains(n)) continue;
    const Node node = g.node(n);
    const auto in_use = [&](TensorId t) { return t.valid() && (g.tensor(t).is_output || !g.uses(t).empty()); };
    if (std::any_of(node.outputs.begin(), node.outputs.end(), in_use)) continue;
    g.remove_node(n);
    removed.insert(n);
    for (const TensorId t : node.outputs)
      if (t.valid()) g.remove_tensor(t);
    std::set<TensorId> seen;
    for (const TensorId t : node.inputs) {
      if (!t.valid() || !seen.insert(t).second) continue;
      if (const auto p = g.producer(t)) {
        start.push_back(*p);
      } else if (is_constant(g, t) && !in_use(t)) {
        g.remove_tensor(t);
      }
    }
  }
}

}  // namespace assay
