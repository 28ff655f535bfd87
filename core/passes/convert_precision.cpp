#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/passes/quantise.h"
#include "core/passes/rewrite.h"

namespace assay {
namespace {

// Operations (or operands of them) whose float type is fixed by their definition.
bool keeps_operand(const std::string& op, std::size_t operand) {
  if (op == "Resize" || op == "Upsample") return operand > 0;
  return op == "QuantizeLinear" || op == "DequantizeLinear" || op == "DynamicQuantizeLinear" || op == "Range" ||
         op == "QLinearConv" || op == "QLinearMatMul";
}
bool keeps_results(const std::string& op) {
  return op == "DequantizeLinear" || op == "DynamicQuantizeLinear" || op == "Range";
}

Tensor converted(const Tensor& value, DType to) {
  if (to != DType::f16) return value.cast(to);
  // Mask constants such as −3.4e38 would become infinite, and ∞ − ∞ is NaN.
  constexpr double kLargest = 65504;
  Tensor out({to, value.shape()});
  for (std::int64_t i = 0; i < value.size(); ++i) {
    const double v = value.get(i);
    out.set(i, std::isfinite(v) ? std::clamp(v, -kLargest, kLargest) : v);
  }
  return out;
}

class Converter {
 public:
  Converter(const Graph& g, DType to) : from_(g), to_(to), suffix_("_" + std::string(name(to))) {
    for (const TensorId t : from_.inputs()) {
      if (from_.tensor(t).state_alias.empty()) continue;
      states_.push_back(from_.tensor(t).name);
      states_.push_back(from_.tensor(t).state_alias);
    }
  }

  Graph run() {
    out_.name = from_.name;
    for (const TensorId t : from_.inputs()) input(t);
    for (const NodeId n : from_.topological_order()) node(n);
    for (const TensorId t : from_.outputs()) out_.mark_output(original(t));
    for (const TensorId t : from_.inputs())
      if (!from_.tensor(t).state_alias.empty()) out_.set_state_alias(originals_.at(t), from_.tensor(t).state_alias);
    infer_types(out_);
    return std::move(out_);
  }

 private:
  bool changes(const TensorType& type) const { return is_float(type.dtype) && type.dtype != to_; }
  TensorType changed(TensorType type) const {
    if (is_float(type.dtype)) type.dtype = to_;
    return type;
  }
  bool is_state(const std::string& tensor) const {
    return std::find(states_.begin(), states_.end(), tensor) != states_.end();
  }

  TensorId cast(TensorId x, DType to, const std::string& result, const std::vector<std::string>& sources) {
    const TensorId y = out_.add_tensor(result, {to, out_.tensor(x).type.shape});
    Attributes attributes;
    attributes.set("to", onnx_type_number(to));
    out_.add_node({.name = result + "_cast",
                   .op = "Cast",
                   .version = kNewNodeVersion,
                   .attributes = attributes,
                   .inputs = {x},
                   .outputs = {y},
                   .sources = sources});
    return y;
  }

  void input(TensorId t) {
    const GraphTensor& tensor = from_.tensor(t);
    const bool is_internal = is_state(tensor.name);
    originals_[t] = out_.add_input(tensor.name, is_internal ? changed(tensor.type) : tensor.type);
    values_[t] = originals_[t];
    if (!is_internal && changes(tensor.type) && !from_.uses(t).empty())
      values_[t] = cast(originals_[t], to_, tensor.name + suffix_, {});
  }

  // The tensor with its own type: for the interface and for operands whose type is fixed.
  TensorId original(TensorId t) {
    if (const auto it = originals_.find(t); it != originals_.end()) return it->second;
    const GraphTensor& tensor = from_.tensor(t);
    if (tensor.kind == TensorKind::constant) {
      return originals_[t] = tensor.value != nullptr ? out_.add_constant(tensor.name, tensor.value)
                                                     : out_.add_weight(tensor.name, tensor.type);
    }
    const TensorId value = values_.at(t);
    if (!changes(tensor.type) || is_state(tensor.name)) return originals_[t] = value;
    return originals_[t] =
               cast(value, tensor.type.dtype,
                    tensor.is_output ? tensor.name : tensor.name + "_" + std::string(name(tensor.type.dtype)), {});
  }

  // The tensor as the converted graph computes with it.
  TensorId value(TensorId t) {
    if (const auto it = values_.find(t); it != values_.end()) return it->second;
    const GraphTensor& tensor = from_.tensor(t);  // a constant: everything else has been visited
    if (!changes(tensor.type)) return values_[t] = original(t);
    const std::string wanted = tensor.is_output ? tensor.name + suffix_ : tensor.name;
    return values_[t] = tensor.value != nullptr
                            ? out_.add_constant(wanted, std::make_shared<const Tensor>(converted(*tensor.value, to_)))
                            : out_.add_weight(wanted, changed(tensor.type));
  }

  void node(NodeId n) {
    Node copy = from_.node(n);
    for (auto [key, attribute] : copy.attributes.values()) {
      if (std::holds_alternative<std::shared_ptr<const Graph>>(attribute))
        throw InputError(
            "node '" + copy.name + "'",
            fmt::format("conversion to {} of a node that holds a graph ({}) is not supported", name(to_), copy.op));
      const auto* constant = std::get_if<std::shared_ptr<const Tensor>>(&attribute);
      if (constant != nullptr && *constant != nullptr && changes((*constant)->type()))
        copy.attributes.set(key, std::make_shared<const Tensor>(converted(**constant, to_)));
    }
    const bool fixed = keeps_results(copy.op);
    const char* const type_attribute = copy.op == "Cast" ? "to" : copy.op == "EyeLike" ? "dtype" : nullptr;
    const DType made = from_.tensor(copy.outputs[0]).type.dtype;
    if (type_attribute != nullptr && copy.attributes.has(type_attribute) && is_float(made))
      copy.attributes.set(type_attribute, onnx_type_number(to_));
    for (std::size_t i = 0; i < copy.inputs.size(); ++i) {
      TensorId& t = copy.inputs[i];
      if (t.valid()) t = keeps_operand(copy.op, i) ? original(t) : value(t);
    }
    const std::vector<TensorId> results = copy.outputs;
    for (TensorId& t : copy.outputs) {
      if (!t.valid()) continue;
      const TensorId source = t;
      const GraphTensor& tensor = from_.tensor(source);
      const bool renamed = !fixed && tensor.is_output && changes(tensor.type) && !is_state(tensor.name);
      t = out_.add_tensor(renamed ? tensor.name + suffix_ : tensor.name, fixed ? tensor.type : changed(tensor.type));
      (fixed ? originals_ : values_)[source] = t;
    }
    const std::vector<std::string> sources = copy.sources;
    out_.add_node(std::move(copy));
    if (!fixed) return;
    for (const TensorId t : results)
      if (t.valid())
        values_[t] = changes(from_.tensor(t).type) ? cast(originals_[t], to_, from_.tensor(t).name + suffix_, sources)
                                                   : originals_[t];
  }

  const Graph& from_;
  DType to_;
  std::string suffix_;
  Graph out_;
  std::vector<std::string> states_;
  std::map<TensorId, TensorId> originals_, values_;  ///< tensor of from_ → tensor of out_
};

}  // namespace

Graph convert_precision(const Graph& g, DType to) {
  if (to != DType::f32 && to != DType::f16 && to != DType::bf16)
    throw InputError("--precision",
                     fmt::format("conversion to {} is not possible; expected fp32, fp16 or bf16", name(to)));
  Graph out = Converter(g, to).run();
  verify_graph(out);
  return out;
}

}  // namespace assay
