#include <fmt/format.h>

#include <algorithm>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/ops/op.h"

namespace assay {

void register_all(OpRegistry& registry);  // generated from this folder's CMakeLists.txt

bool OpContext::wants(std::size_t output) const {
  return output < output_count && std::find(unwanted.begin(), unwanted.end(), output) == unwanted.end();
}

const TensorType& OpContext::type(std::size_t i) const {
  if (!has(i)) reject(fmt::format("operand {} is missing", i));
  return *inputs[i];
}

std::vector<std::int64_t> OpContext::constant_ints(std::size_t i) const {
  type(i);
  if (i >= values.size() || values[i] == nullptr)
    reject(
        fmt::format("operand {} decides the shape of the result, so it must be known before the model runs "
                    "(a constant, or computed from constants and shapes)",
                    i));
  return values[i]->to_ints();
}

void OpContext::reject(const std::string& message) const {
  throw InputError(fmt::format("node '{}' ({})", node_name, op), message);
}

void OpRegistry::add(OpDef def) {
  ASSAY_CHECK(def.infer != nullptr && def.evaluate != nullptr, "operation '" + def.name + "' is incomplete");
  ASSAY_CHECK((def.kind == OpKind::nest) == (def.nests != nullptr), "operation '" + def.name + "' and its nests");
  const std::string name = def.name;
  ASSAY_CHECK(ops_.emplace(name, std::move(def)).second, "operation '" + name + "' is defined twice");
}

const OpDef* OpRegistry::find(const std::string& name) const {
  const auto it = ops_.find(name);
  return it == ops_.end() ? nullptr : &it->second;
}

std::vector<std::string> OpRegistry::names() const {
  std::vector<std::string> out;
  for (const auto& [name, def] : ops_) out.push_back(name);
  return out;
}

const OpRegistry& operations() {
  static const OpRegistry registry = [] {
    OpRegistry r;
    register_all(r);
    return r;
  }();
  return registry;
}

OpContext op_context(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  OpContext c;
  c.node_name = node.name;
  c.op = node.op;
  c.version = node.version;
  c.attributes = &node.attributes;
  for (const TensorId t : node.inputs) {
    c.inputs.push_back(t.valid() ? std::optional(g.tensor(t).type) : std::nullopt);
    c.values.push_back(t.valid() ? g.tensor(t).value : nullptr);
  }
  c.output_count = node.outputs.size();
  while (c.output_count > 0 && !node.outputs[c.output_count - 1].valid()) --c.output_count;
  for (std::size_t i = 0; i < c.output_count; ++i) {
    const TensorId t = node.outputs[i];
    if (!t.valid()) c.unwanted.push_back(i);
    c.outputs.push_back(t.valid() ? g.tensor(t).type : TensorType{});
  }
  return c;
}

std::vector<TensorType> infer_node(const OpContext& ctx) {
  const OpDef* def = operations().find(ctx.op);
  if (def == nullptr) ctx.reject("the operation is not supported");
  std::size_t given = ctx.inputs.size();
  while (given > 0 && !ctx.inputs[given - 1]) --given;
  const auto count_text = [](std::size_t lo, std::size_t hi) {
    if (hi == SIZE_MAX) return fmt::format("{} or more", lo);
    return lo == hi ? fmt::format("{}", lo) : fmt::format("{} to {}", lo, hi);
  };
  if (given < def->min_inputs || given > def->max_inputs)
    ctx.reject(fmt::format("{} operands, expected {}", given, count_text(def->min_inputs, def->max_inputs)));
  // The rules and references write their results without asking whether anybody wants one.
  if (ctx.output_count < def->min_outputs || ctx.output_count > def->max_outputs)
    ctx.reject(
        fmt::format("{} results, expected {}", ctx.output_count, count_text(def->min_outputs, def->max_outputs)));
  try {
    std::vector<TensorType> types = def->infer(ctx);
    if (types.size() < ctx.output_count)
      ctx.reject(fmt::format("{} results are named, but there are {}", ctx.output_count, types.size()));
    types.resize(ctx.output_count);
    for (const TensorType& t : types) t.bytes();  // throws where the size does not fit 64 bits
    return types;
  } catch (const InputError& e) {
    // Attribute and size errors do not know the node.
    const Diagnostic& d = e.diagnostics().front();
    if (d.path.starts_with("node '")) throw;
    ctx.reject(d.path + ": " + d.message);
  }
}

std::optional<NestProgram> nests_of(const Graph& g, NodeId n) {
  const OpDef* def = operations().find(g.node(n).op);
  if (def == nullptr || def->nests == nullptr) return std::nullopt;
  return def->nests(op_context(g, n));
}

namespace {

std::int64_t macs_in(const NestProgram& program) {
  std::int64_t macs = 0;
  for (const Nest& nest : program.nests) {
    if (!nest.contraction) continue;
    std::int64_t points = 1;
    for (const NestDim& d : nest.dims) points *= d.extent;
    macs += points;
  }
  return macs;
}

}  // namespace

std::int64_t mac_count(const Graph& g, NodeId n) {
  const auto program = nests_of(g, n);
  return program ? macs_in(*program) : 0;
}

std::int64_t mac_count(const Graph& g) {
  std::int64_t macs = 0;
  for (const NodeId n : g.nodes()) macs += mac_count(g, n);
  return macs;
}

}  // namespace assay
