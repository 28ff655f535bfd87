#include "core/passes/constant_folding.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/passes/rewrite.h"

namespace assay {
namespace {

const char* const kPass = "constant-folding";
// All results of one run together, and the multiply-accumulates spent on one node: a file full of large
// ConstantOfShape nodes must not exhaust memory or time.
constexpr std::int64_t kMaxTotalBytes = std::int64_t{1} << 30;
constexpr std::int64_t kMaxMacs = std::int64_t{1} << 31;

class Folder {
 public:
  Folder(Graph& g, PassContext& context, const FoldOptions& options) : g_(g), context_(context), options_(options) {}

  std::size_t run() {
    for (const NodeId n : g_.topological_order()) folded_ += fold(n) ? 1 : 0;
    return folded_;
  }

 private:
  bool fold(NodeId n) {
    const Node node = g_.node(n);
    const OpDef* def = operations().find(node.op);
    if (def == nullptr || !is_pure(node)) return false;
    bool has_values = true;
    if (!def->type_only) {
      for (const TensorId t : node.inputs) {
        if (t.valid() && !is_constant(g_, t)) return false;
        has_values = has_values && (!t.valid() || value_of(g_, t) != nullptr);
      }
    }
    if (kept_for_absorption(node)) return false;
    if (is_interface_copy(node)) return false;
    if (!within_limits(n, node)) return false;
    const std::string growth = growth_of(node);
    if (!(has_values ? fold_value(n, node) : fold_weight(n, node))) return false;
    if (!growth.empty()) context_.remark(kPass, node.name, growth);
    return true;
  }

  // A quantised weight that no integer product took is read as floats: more bytes than the file has.
  std::string growth_of(const Node& node) const {
    if (node.op != "DequantizeLinear") return "";
    return fmt::format("dequantised at compile time: {} instead of {} bytes", g_.tensor(node.outputs[0]).type.bytes(),
                       g_.tensor(node.inputs[0]).type.bytes());
  }

  bool kept_for_absorption(const Node& node) const {
    return options_.keep_quantised_weights && node.op == "DequantizeLinear" &&
           bits(g_.tensor(node.inputs[0]).type.dtype) <= 16;
  }

  // A constant output of the graph is an Identity of a constant: that is its folded form.
  bool is_interface_copy(const Node& node) const {
    return node.op == "Identity" && node.outputs[0].valid() && g_.tensor(node.outputs[0]).is_output;
  }

  bool within_limits(NodeId n, const Node& node) {
    std::int64_t bytes = 0, operand_bytes = 0;
    for (const TensorId t : node.outputs)
      if (t.valid()) bytes += g_.tensor(t).type.bytes();
    for (const TensorId t : node.inputs)
      if (t.valid()) operand_bytes += g_.tensor(t).type.bytes();
    std::string reason;
    // A result no larger than its operands (a transposed weight) takes their place.
    if (bytes > options_.max_bytes && bytes > operand_bytes) {
      reason = fmt::format("the result takes {} bytes, the limit is {}", bytes, options_.max_bytes);
    } else if (bytes > operand_bytes && grown_ + (bytes - operand_bytes) > kMaxTotalBytes) {
      reason = fmt::format("folded constants would take more than {} bytes together", kMaxTotalBytes);
    } else if (mac_count(g_, n) > kMaxMacs) {
      reason = fmt::format("it takes {} multiply-accumulates, the limit is {}", mac_count(g_, n), kMaxMacs);
    } else if (node.outputs.size() != 1 && any_output(node)) {
      reason = "one of its several results is an output of the graph";
    }
    if (reason.empty()) {
      grown_ += std::max<std::int64_t>(0, bytes - operand_bytes);
      return true;
    }
    context_.remark(kPass, node.name, "not folded: " + reason);
    return false;
  }

  bool any_output(const Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](TensorId t) { return t.valid() && g_.tensor(t).is_output; });
  }

  bool fold_value(NodeId n, const Node& node) {
    std::vector<Tensor> results;
    try {
      std::vector<std::shared_ptr<const Tensor>> operands;
      for (const TensorId t : node.inputs) operands.push_back(t.valid() ? g_.tensor(t).value : nullptr);
      if (operations().find(node.op)->type_only) {
        auto values = fold_node(g_, n, options_.max_bytes);
        if (!values) return false;
        results = std::move(*values);
      } else {
        results = evaluate_node(g_, n, operands);
      }
    } catch (const InputError& e) {
      context_.remark(kPass, node.name, std::string("not folded: ") + e.what());
      return false;
    }
    if (any_output(node)) {
      const GraphTensor& out = g_.tensor(node.outputs[0]);
      become_copy(n, node, g_.add_constant(out.name + "_value", std::make_shared<const Tensor>(std::move(results[0]))));
      return true;
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i].valid()) g_.set_value(node.outputs[i], std::make_shared<const Tensor>(std::move(results[i])));
    remove_unused(g_, {n});
    return true;
  }

  // Without values there is nothing to compute, but the machine would not compute it either: what is folded with
  // weights is folded without them, so that both give the same program.
  bool fold_weight(NodeId n, const Node& node) {
    if (any_output(node)) {
      const GraphTensor& out = g_.tensor(node.outputs[0]);
      become_copy(n, node, g_.add_weight(out.name + "_value", out.type));
      return true;
    }
    for (const TensorId t : node.outputs) {
      if (!t.valid()) continue;
      const std::string name = g_.tensor(t).name;
      const TensorId weight = g_.add_weight(name, g_.tensor(t).type);
      g_.replace_uses(t, weight);
      g_.set_name(t, name + "_folded");
      g_.set_name(weight, name);
    }
    remove_unused(g_, {n});
    return true;
  }

  void become_copy(NodeId n, const Node& node, TensorId constant) {
    for (std::size_t i = node.inputs.size(); i-- > 0;) g_.set_input(n, i, TensorId());
    g_.set_input(n, 0, constant);
    g_.set_op(n, "Identity");
    g_.attributes(n) = Attributes();
    // Each once: an operand may stand at several positions (x + x).
    for (const TensorId t : std::set(node.inputs.begin(), node.inputs.end()))
      if (is_constant(g_, t) && g_.uses(t).empty() && !g_.tensor(t).is_output) g_.remove_tensor(t);
  }

  Graph& g_;
  PassContext& context_;
  const FoldOptions& options_;
  std::size_t folded_ = 0;
  std::int64_t grown_ = 0;
};

}  // namespace

std::size_t fold_constants(Graph& g, PassContext& context, const FoldOptions& options) {
  return Folder(g, context, options).run();
}

}  // namespace assay
