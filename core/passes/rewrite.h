#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/ops/op.h"

// What every pass needs to look at a graph and to change it without breaking its interface.

namespace assay {

/// Opset of the nodes that passes create. All operations they create have had their present meaning since then.
inline constexpr int kNewNodeVersion = 17;
/// ONNX's number of a type, as Cast's `to` has it.
std::int64_t onnx_type_number(DType t);

// Looking.

bool is_constant(const Graph& g, TensorId t);                    ///< valid and a constant, with or without a value
const Tensor* value_of(const Graph& g, TensorId t);              ///< nullptr unless it is a constant with a value
std::optional<double> scalar_value(const Graph& g, TensorId t);  ///< of a constant with exactly one element
std::optional<std::vector<std::int64_t>> ints_value(const Graph& g, TensorId t);
TensorId operand(const Node& n, std::size_t i);  ///< invalid id if absent
bool used_once(const Graph& g, TensorId t);      ///< one use, and not an output of the graph
std::optional<NodeId> producer_if(const Graph& g, TensorId t, const std::string& op);
/// The node that is the only use of `t`, if it is an `op`.
std::optional<NodeId> sole_user_if(const Graph& g, TensorId t, const std::string& op);
/// `axis` counted from the front: -1 of rank 4 is 3.
std::int64_t positive_axis(std::int64_t axis, std::size_t rank);
/// Transpose's permutation, reversed dimensions where the attribute is absent.
std::vector<std::int64_t> permutation(const Graph& g, NodeId transpose);
/// Axes of a reduction: attribute or constant operand 1; nullopt if they are not known or are "all by default".
std::optional<std::vector<std::int64_t>> reduction_axes(const Graph& g, NodeId reduce);
/// A node that yields other values each time it is executed, or runs a graph of its own: never merged or folded.
bool is_pure(const Node& n);

/// A sequence of edits that ends with the removal of what they made unused. Owned by one pass, on its stack.
class Rewrite {
 public:
  explicit Rewrite(Graph& g) : g_(g) {}
  Graph& graph() { return g_; }
  const Graph& graph() const { return g_; }

  /// The type that `op` would have on these operands, or nullopt if the operation or its rules refuse them.
  std::optional<TensorType> infer(const std::string& op, const std::vector<TensorId>& inputs,
                                  const Attributes& attributes, int version = kNewNodeVersion) const;
  /// Adds a node with one output and returns that. Throws InputError if the operation's rules refuse it: ask infer
  /// first where that can happen.
  TensorId insert(const std::string& op, std::vector<TensorId> inputs, Attributes attributes, const std::string& hint,
                  const std::vector<std::string>& sources, int version = kNewNodeVersion);
  TensorId constant(const std::string& hint, Tensor value);
  TensorId constant_ints(const std::string& hint, const std::vector<std::int64_t>& values);
  /// `x` seen with another shape: Reshape, or `x` itself if that is its shape.
  TensorId reshape(TensorId x, Shape shape, const std::string& hint, const std::vector<std::string>& sources);
  TensorId transpose(TensorId x, const std::vector<std::int64_t>& perm, const std::string& hint,
                     const std::vector<std::string>& sources);
  TensorId cast(TensorId x, DType to, const std::string& hint, const std::vector<std::string>& sources);

  /// Everything that reads `old` reads `now` instead; what produced `old` becomes dead. Where `old` is an output of
  /// the graph, `now` takes its name, so that the interface stays. False, and nothing changes, where that can't be:
  /// `now` is an input, a constant or another output of the graph, or produced by something dead.
  bool replace(TensorId old, TensorId now);
  std::size_t count() const { return count_; }  ///< replacements and other edits made
  void note_edit() { ++count_; }

  /// Removes nodes that replacements left unused, then what fed only them, and nodes and constants made here that
  /// nothing reads. Called between sweeps of a pass.
  void sweep();

 private:
  Graph& g_;
  std::size_t count_ = 0;
  std::vector<std::pair<TensorId, std::string>> constants_;  ///< created here, with their names
  std::vector<NodeId> superseded_;                           ///< to be removed if nothing reads them
};

/// Removes `start` and, transitively, the nodes and constants that only they used. Nodes still in use are kept.
void remove_unused(Graph& g, std::vector<NodeId> start);

}  // namespace assay
