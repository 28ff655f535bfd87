#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/ir/graph.h"
#include "workloads/families/family.h"

namespace assay {

/// Builds a graph node by node with types inferred as it goes. Every result has the name of its node.
class Net {
 public:
  using AttributeList = std::vector<std::pair<std::string, AttributeValue>>;
  /// The opset in which the families' operations are to be read.
  static constexpr int kOpset = 17;

  Net(const std::string& name, const FamilyOptions& options);
  DType dtype() const { return options_.dtype; }

  TensorId input(const std::string& name, Shape shape);  ///< of the family's dtype
  TensorId input(const std::string& name, Shape shape, DType dtype);
  /// A parameter of the family's dtype: seeded or without a value. InputError when the weights exceed the limit.
  TensorId weight(const std::string& name, Shape shape, WeightRole role, std::int64_t fan_in = 1);
  TensorId ints(const std::string& name, std::vector<std::int64_t> values);  ///< int64[n]
  TensorId number(const std::string& name, double value);                    ///< a scalar of the family's dtype
  TensorId table(const std::string& name, Shape shape, const std::vector<double>& values);

  TensorId constant(const std::string& name, Tensor value);

  TensorId op(const std::string& name, const std::string& op, std::vector<TensorId> inputs,
              AttributeList attributes = {}, int version = kOpset);
  std::vector<TensorId> split(const std::string& name, TensorId x, std::int64_t axis, std::vector<std::int64_t> sizes);
  TensorId reshape(const std::string& name, TensorId x, Shape shape);
  TensorId transpose(const std::string& name, TensorId x, std::vector<std::int64_t> perm);

  const Shape& shape(TensorId t) const { return graph_.tensor(t).type.shape; }
  void output(TensorId t) { graph_.mark_output(t); }
  /// `state` (an input) is updated by `update` (an output).
  void state(TensorId state, TensorId update) { graph_.set_state_alias(state, graph_.tensor(update).name); }
  Graph finish() { return std::move(graph_); }

 private:
  NodeId add(const std::string& name, const std::string& op, std::vector<TensorId> inputs, AttributeList attributes,
             int version, std::size_t outputs);
  Graph graph_;
  FamilyOptions options_;
  std::int64_t weight_bytes_ = 0;
};

}  // namespace assay
