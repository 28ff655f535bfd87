#include "workloads/families/net.h"

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/ops/op.h"

namespace assay {

Net::Net(const std::string& name, const FamilyOptions& options) : options_(options) { graph_.name = name; }

TensorId Net::input(const std::string& name, Shape shape) { return input(name, std::move(shape), options_.dtype); }

TensorId Net::input(const std::string& name, Shape shape, DType dtype) {
  return graph_.add_input(name, {dtype, std::move(shape)});
}

TensorId Net::weight(const std::string& name, Shape shape, WeightRole role, std::int64_t fan_in) {
  const TensorType type{options_.dtype, std::move(shape)};
  if (options_.weights == WeightMode::absent) return graph_.add_weight(name, type);
  weight_bytes_ += type.bytes();
  if (weight_bytes_ > options_.max_weight_bytes)
    throw InputError("family '" + graph_.name + "'",
                     fmt::format("its weights are larger than {} bytes at '{}'; 'weights: absent' keeps their shapes "
                                 "only",
                                 options_.max_weight_bytes, name));
  return graph_.add_constant(name,
                             std::make_shared<const Tensor>(seeded_weight(name, type, role, fan_in, options_.seed)));
}

TensorId Net::constant(const std::string& name, Tensor value) {
  return graph_.add_constant(name, std::make_shared<const Tensor>(std::move(value)));
}

TensorId Net::ints(const std::string& name, std::vector<std::int64_t> values) {
  const auto n = static_cast<std::int64_t>(values.size());
  return constant(name, Tensor::of<std::int64_t>(DType::i64, {n}, values));
}

TensorId Net::number(const std::string& name, double value) {
  return constant(name, Tensor::scalar(options_.dtype, value));
}

TensorId Net::table(const std::string& name, Shape shape, const std::vector<double>& values) {
  Tensor t({options_.dtype, std::move(shape)});
  ASSAY_CHECK(t.size() == static_cast<std::int64_t>(values.size()), "table '" + name + "' and its shape");
  for (std::size_t i = 0; i < values.size(); ++i) t.set(static_cast<std::int64_t>(i), values[i]);
  return constant(name, std::move(t));
}

NodeId Net::add(const std::string& name, const std::string& op, std::vector<TensorId> inputs, AttributeList attributes,
                int version, std::size_t outputs) {
  Node node;
  node.name = name;
  node.op = op;
  node.version = version;
  node.sources = {name};
  for (auto& [key, value] : attributes) node.attributes.set(key, std::move(value));
  node.inputs = std::move(inputs);
  for (std::size_t i = 0; i < outputs; ++i)
    node.outputs.push_back(graph_.add_tensor(outputs == 1 ? name : fmt::format("{}.{}", name, i), {}));
  const NodeId n = graph_.add_node(std::move(node));
  const std::vector<TensorType> types = infer_node(op_context(graph_, n));
  for (std::size_t i = 0; i < outputs; ++i) graph_.set_type(graph_.node(n).outputs[i], types[i]);
  return n;
}

TensorId Net::op(const std::string& name, const std::string& op, std::vector<TensorId> inputs, AttributeList attributes,
                 int version) {
  return graph_.node(add(name, op, std::move(inputs), std::move(attributes), version, 1)).outputs[0];
}

std::vector<TensorId> Net::split(const std::string& name, TensorId x, std::int64_t axis,
                                 std::vector<std::int64_t> sizes) {
  const std::size_t n = sizes.size();
  const TensorId lengths = ints(name + ".sizes", std::move(sizes));
  return graph_.node(add(name, "Split", {x, lengths}, {{"axis", axis}}, kOpset, n)).outputs;
}

TensorId Net::reshape(const std::string& name, TensorId x, Shape shape) {
  return op(name, "Reshape", {x, ints(name + ".shape", std::move(shape))});
}

TensorId Net::transpose(const std::string& name, TensorId x, std::vector<std::int64_t> perm) {
  return op(name, "Transpose", {x}, {{"perm", std::move(perm)}});
}

}  // namespace assay
