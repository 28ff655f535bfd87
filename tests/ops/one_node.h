#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/ops/op.h"

// Graphs of one node for tests.

namespace assay {

using Attribute = std::pair<std::string, AttributeValue>;
using Ints = std::vector<std::int64_t>;

struct OneNode {
  Graph g;
  NodeId node;
  std::vector<std::shared_ptr<const Tensor>> values;  ///< by operand; nullptr: absent
  std::vector<Tensor> evaluate() const { return evaluate_node(g, node, values); }
};

/// `inputs`: a tensor, or an empty optional for an absent operand. `constant`: values are visible to shape rules and
/// nests; otherwise the operands are inputs of the graph. Types are inferred.
OneNode one_node(const std::string& op, int version, const std::vector<std::optional<Tensor>>& inputs,
                 const std::vector<Attribute>& attributes = {}, std::size_t outputs = 1, bool constant = true);

Tensor random_tensor(Random& random, DType t, const Shape& shape, double lo = -2, double hi = 2);
Tensor floats(Shape shape, std::vector<float> values);
Tensor ints(std::vector<std::int64_t> values);  ///< 1-D int64
Tensor ints(Shape shape, std::vector<std::int64_t> values);
Tensor number(std::int64_t value);  ///< int64 scalar
Tensor typed(DType t, Shape shape, std::vector<double> values);

/// The message of the InputError that building and inferring the node throws; empty if it does not.
std::string rejection(const std::string& op, int version, const std::vector<std::optional<Tensor>>& inputs,
                      const std::vector<Attribute>& attributes = {}, std::size_t outputs = 1, bool constant = true);

}  // namespace assay
