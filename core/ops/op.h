#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/ops/nest.h"

// An operation is defined in one place (one file in core/ops, one line in its CMakeLists.txt).

namespace assay {

/// What a shape rule, verifier or nest builder may look at.
struct OpContext {
  std::string node_name;
  std::string op;
  int version = 0;
  const Attributes* attributes = nullptr;
  std::vector<std::optional<TensorType>> inputs;      ///< nullopt: absent optional operand
  std::vector<std::shared_ptr<const Tensor>> values;  ///< constants among the inputs, else nullptr
  std::size_t output_count = 1;
  std::vector<std::size_t> unwanted;  ///< outputs below output_count that nobody names
  std::vector<TensorType> outputs;    ///< set for nests(), not for infer()

  bool wants(std::size_t output) const;
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].has_value(); }
  const TensorType& type(std::size_t i) const;  ///< InputError if absent
  const Shape& shape(std::size_t i) const { return type(i).shape; }
  /// Integer values of a constant operand (shapes, axes, …); InputError naming node and operand if not constant.
  std::vector<std::int64_t> constant_ints(std::size_t i) const;
  [[noreturn]] void reject(const std::string& message) const;  ///< InputError `node 'x' (Op): message`
};

struct EvalContext {
  OpContext op;  ///< values[] holds every present input
  const Tensor& in(std::size_t i) const { return *op.values[i]; }
  std::vector<Tensor> out;  ///< filled by evaluate, types already inferred
};

enum class OpKind : std::uint8_t {
  nest,    ///< has a loop-nest form: runs on the machine's engines
  view,    ///< renames the same bytes (Reshape, Flatten, Identity, …): costs nothing where the layout allows
  opaque,  ///< only reference semantics: runs on the host unit, or is an error that names the operation
};

struct OpDef {
  std::string name;
  OpKind kind = OpKind::opaque;
  std::size_t min_inputs = 1, max_inputs = 1;  ///< max SIZE_MAX: variadic
  std::size_t min_outputs = 1, max_outputs = 1;
  /// Output types from operand types; throws InputError by ctx.reject on any violated rule.
  std::function<std::vector<TensorType>(const OpContext&)> infer = nullptr;
  /// Reference semantics: plain C++/Eigen, independent of nests(). Floats accumulate in at least fp32.
  std::function<void(EvalContext&)> evaluate = nullptr;
  /// Loop nests (kind == nest). Returning nullopt for a variant (say, a cubic resize) means opaque there.
  std::function<std::optional<NestProgram>(const OpContext&)> nests = nullptr;
  /// The outputs follow from the operands' types alone (Shape, Size): evaluate looks at no value.
  bool type_only = false;
};

class OpRegistry {
 public:
  void add(OpDef def);  ///< a second definition of a name is an InternalError
  const OpDef* find(const std::string& name) const;
  std::vector<std::string> names() const;  ///< sorted

 private:
  std::map<std::string, OpDef> ops_;
};

/// All operations. Built once, immutable.
const OpRegistry& operations();

OpContext op_context(const Graph& g, NodeId n);
/// Runs the operation's shape rule after checking the operand counts; one type per output that the node names.
/// InputError `node 'x' (Op): …` on any violated rule.
std::vector<TensorType> infer_node(const OpContext& ctx);
/// The values of a node's outputs if they follow from its constants, or from types alone, and have at most
/// `max_elements` elements together; nothing otherwise.
std::optional<std::vector<Tensor>> fold_node(const Graph& g, NodeId n, std::int64_t max_elements);
/// As in the operation's definition; nothing for an opaque variant, for views and for opaque operations.
std::optional<NestProgram> nests_of(const Graph& g, NodeId n);
/// Fills every tensor's type in topological order. Unknown operations are collected: one InputError lists them all
/// (name, count, first node). Values that follow from constants and shapes (chains of Shape, Gather, Concat, …) are
/// propagated, so a Reshape by a computed shape is understood before anything is folded.
void infer_types(Graph& g);
/// check_structure plus, for every node, that the recorded types are what infer says. Throws InternalError.
void verify_graph(const Graph& g);

/// Executes one node / a whole graph with reference semantics.
std::vector<Tensor> evaluate_node(const Graph& g, NodeId n, const std::vector<std::shared_ptr<const Tensor>>& inputs);
using TensorMap = std::map<std::string, std::shared_ptr<const Tensor>>;
struct EvaluateOptions {
  bool keep_all = false;  ///< return every intermediate too (for bisecting), else outputs only
};
TensorMap evaluate_graph(const Graph& g, const TensorMap& inputs, const EvaluateOptions& options = {});

/// Executes the nests of an operation literally (slow, for tests: evaluate == nests on every operation).
std::vector<Tensor> evaluate_nests(const OpContext& ctx, const std::vector<std::shared_ptr<const Tensor>>& inputs);

/// Multiply-accumulates that a node needs (Σ over contraction nests of the product of extents); 0 for others.
std::int64_t mac_count(const Graph& g, NodeId n);
std::int64_t mac_count(const Graph& g);

}  // namespace assay
