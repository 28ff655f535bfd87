#include "workloads/onnx_constants.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>

#include "core/base/check.h"
#include "core/base/error.h"

namespace assay {

namespace {

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& n, const std::string& name) {
  for (const auto& a : n.attribute())
    if (a.name() == name) return &a;
  return nullptr;
}

/// Other spellings of a Constant: value_int, value_floats, …
std::optional<Tensor> inline_constant(const onnx::NodeProto& n) {
  for (const auto& a : n.attribute()) {
    if (a.name() == "value_int") return Tensor::scalar(DType::i64, static_cast<double>(a.i()));
    if (a.name() == "value_float") return Tensor::scalar(DType::f32, static_cast<double>(a.f()));
    if (a.name() == "value_ints") {
      const std::vector<std::int64_t> v(a.ints().begin(), a.ints().end());
      return Tensor::of<std::int64_t>(DType::i64, {a.ints_size()}, v);
    }
    if (a.name() == "value_floats") {
      const std::vector<float> v(a.floats().begin(), a.floats().end());
      return Tensor::of<float>(DType::f32, {a.floats_size()}, v);
    }
  }
  return std::nullopt;
}

}  // namespace

ModelConstants::ModelConstants(const onnx::GraphProto& graph, const std::vector<FlatNode>& nodes,
                               const ImportOptions& options, const TensorSource& source)
    : options_(options), source_(source) {
  for (const auto& t : graph.initializer()) {
    Source s;
    s.type = tensor_type(t, source_);
    s.proto = &t;
    sources_.emplace(t.name(), std::move(s));
  }
  for (const FlatNode& n : nodes) add_node(n);
  if (options_.weights == WeightMode::as_in_file) return;
  std::map<std::string, TensorType> types;
  for (const auto& [name, s] : sources_) types.emplace(name, s.type);
  uses_ = weight_uses(nodes, types);
}

void ModelConstants::add_node(const FlatNode& node) {
  const onnx::NodeProto& n = *node.proto;
  if (n.output_size() != 1 || n.output(0).empty()) return;
  Source s;
  if (node.op == "Constant") {
    const auto* v = find_attribute(n, "value");
    if (v != nullptr && v->type() == onnx::AttributeProto::TENSOR) {
      s.type = tensor_type(v->t(), source_);
      s.proto = &v->t();
    } else if (auto t = inline_constant(n)) {
      s.type = t->type();
      s.value = std::make_shared<const Tensor>(std::move(*t));
    } else {
      throw InputError("node '" + node.name + "' (Constant)", "has no value of a supported kind");
    }
  } else if (node.op == "ConstantOfShape" && n.input_size() == 1 && sources_.contains(n.input(0))) {
    const Tensor& shape = *stored(n.input(0));
    if (!is_integer(shape.dtype()) || shape.shape().size() != 1) return;  // the operation's own rule reports it
    const auto* v = find_attribute(n, "value");
    s.fill =
        std::make_shared<const Tensor>(v == nullptr ? Tensor::scalar(DType::f32, 0) : tensor_value(v->t(), source_));
    if (s.fill->size() != 1) return;
    s.type = {s.fill->dtype(), shape.to_ints()};
    std::int64_t elements = 1;
    for (const std::int64_t d : s.type.shape) {
      if (d < 0) return;
      if (d > 0 && elements > kMaxElements / d)
        throw InputError("node '" + node.name + "' (ConstantOfShape)",
                         "its result " + to_string(s.type.shape) + " has more than 2^40 elements");
      elements *= d;
    }
  } else if (node.op == "Identity" && n.input_size() == 1 && sources_.contains(n.input(0))) {
    s.copy_of = n.input(0);
    s.type = sources_.at(n.input(0)).type;
  } else {
    return;
  }
  sources_.emplace(n.output(0), std::move(s));
}

bool ModelConstants::stands_for_constant(const FlatNode& node) const {
  if (node.op != "Constant" && node.op != "ConstantOfShape" && node.op != "Identity") return false;
  return node.proto->output_size() == 1 && has(node.proto->output(0));
}

const TensorType& ModelConstants::type(const std::string& name) const { return sources_.at(name).type; }

std::shared_ptr<const Tensor> ModelConstants::stored(const std::string& name) {
  // Iteratively: chains of Identity may be long.
  std::string at = name;
  while (!sources_.at(at).copy_of.empty()) at = sources_.at(at).copy_of;
  Source& s = sources_.at(at);
  if (s.value == nullptr && s.proto != nullptr) {
    s.value = std::make_shared<const Tensor>(tensor_value(*s.proto, source_));
  } else if (s.value == nullptr) {
    ASSAY_CHECK(s.fill != nullptr, "constant '" + at + "' has no origin");
    const std::int64_t bytes = s.type.bytes();
    if (bytes > *source_.budget)
      throw InputError("tensor '" + at + "'",
                       fmt::format("{} bytes of weights are more than may be made ({} left); 'weights: absent' keeps "
                                   "their shapes only",
                                   bytes, *source_.budget));
    *source_.budget -= bytes;
    Tensor t(s.type);
    const auto out = t.bytes();
    const auto width = static_cast<std::size_t>(storage_size(s.type.dtype));
    // Doubling: each copy repeats what is filled already.
    if (!out.empty()) std::memcpy(out.data(), s.fill->bytes().data(), width);
    for (std::size_t done = width; done < out.size(); done *= 2)
      std::memcpy(out.data() + done, out.data(), std::min(done, out.size() - done));
    s.value = std::make_shared<const Tensor>(std::move(t));
  }
  return s.value;
}

std::shared_ptr<const Tensor> ModelConstants::value(const std::string& name) {
  const Source& s = sources_.at(name);
  const auto it = uses_.find(name);
  if (options_.weights == WeightMode::as_in_file || it == uses_.end() || it->second.role == WeightRole::none)
    return stored(name);
  const WeightUse& use = it->second;
  if (options_.weights == WeightMode::absent) return nullptr;
  if (use.weak && !looks_like_parameter(*stored(name))) return stored(name);
  const std::int64_t bytes = s.type.bytes();
  if (bytes > *source_.budget)
    throw InputError("tensor '" + name + "'",
                     fmt::format("{} bytes of weights are more than may be made ({} left); 'weights: absent' keeps "
                                 "their shapes only",
                                 bytes, *source_.budget));
  *source_.budget -= bytes;
  return std::make_shared<const Tensor>(seeded_weight(name, s.type, use.role, use.fan_in, options_.seed));
}

}  // namespace assay
