#include "core/compiler/compiler.h"

#include <fmt/format.h>

#include <map>

#include "core/base/error.h"
#include "core/compiler/placement.h"
#include "core/lowering/lower.h"
#include "core/mapping/evaluator.h"
#include "core/ops/attributes_json.h"

namespace assay {
namespace {

/// 4-bit tensors have no byte address of their own; packing them is not supported by the copies and views.
void refuse_unsupported_types(const Graph& g) {
  for (const TensorId t : g.tensors()) {
    const GraphTensor& gt = g.tensor(t);
    if (bits(gt.type.dtype) < 8) {
      throw InputError(gt.name,
                       fmt::format("tensors of type {} can't be compiled: a cast to int8 in front of their use can",
                                   name(gt.type.dtype)));
    }
  }
}

/// Graph outputs, and operands of host kernels, that are views: the same bytes under another shape.
BufferId view_buffer(const Graph& g, TensorId t, TensorId root, LoweringInput& in) {
  const BufferId home = in.home.at(root);
  if (t == root) return home;
  Buffer b = in.buffers[home.index()];
  b.name = g.tensor(t).name;
  b.tensor = g.tensor(t).name;
  b.type = g.tensor(t).type.dtype;
  b.shape = g.tensor(t).type.shape;
  if (b.kind == BufferKind::intermediate) b.kind = BufferKind::output;
  in.buffers.push_back(std::move(b));
  return BufferId(in.buffers.size() - 1);
}

std::string kernel_dot(const KernelGraph& kg, const std::vector<Kernel>& kernels) {
  std::string dot =
      "digraph compiled {\n  rankdir=TB;\n  node [shape=box, style=\"rounded,filled\", fillcolor=\"#eef3fb\", "
      "fontname=\"sans-serif\", fontsize=10];\n";
  const auto escape = [](const std::string& s) {
    std::string out;
    for (const char c : s) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out;
  };
  std::map<TensorId, std::size_t> producer;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    dot += fmt::format("  k{} [label=\"{}\\n{}{}\"];\n", k, escape(kernels[k].name), escape(kernels[k].layer_kind),
                       kernels[k].nodes.size() > 1 ? fmt::format(" + {} fused", kernels[k].nodes.size() - 1) : "");
    for (const KernelTensor& t : kernels[k].tensors) {
      if (t.kind == KernelTensorKind::input && t.graph_tensor.valid()) {
        const auto p = producer.find(kg.root[t.graph_tensor.index()]);
        if (p != producer.end())
          dot += fmt::format("  k{} -> k{} [label=\"{}\", fontsize=8];\n", p->second, k, to_string(t.type.shape));
      }
    }
    for (const KernelTensor& t : kernels[k].tensors) {
      if (t.kind == KernelTensorKind::output) producer[kg.root[t.graph_tensor.index()]] = k;
    }
  }
  return dot + "}\n";
}

}  // namespace

std::string CompileOptions::describe() const {
  std::string text = fmt::format("fuse={} prefetch={} residency={} multicast={} share={}", fuse_epilogues,
                                 weight_prefetch, residency, multicast, resident_share);
  for (const std::string& p : passes.disabled) text += " -" + p;
  for (const auto& [kernel, m] : fixed_mappings) text += " " + kernel + "=" + mapping_key(m);
  return text;
}

CompiledModel compile(Graph graph, const Machine& machine, const CompileOptions& options, MappingCache& cache) {
  CompiledModel out;

  // Graph → graph: fold, canonicalise, absorb; every pass is verified.
  PassContext context;
  out.passes = run_passes(graph, standard_pipeline(), options.passes, context);
  graph.compact();
  refuse_unsupported_types(graph);

  // Graph → kernels: what is tiled and lowered as one unit. Views vanish here.
  MapEnvironment env = map_environment(machine);
  if (!options.multicast) {
    for (std::vector<PathRate>& from : env.load)
      for (PathRate& path : from) path.multicast = false;
  }
  KernelGraph kg = make_kernels(graph, {options.fuse_epilogues}, !machine.hosts.empty());
  for (Kernel& k : kg.kernels) {
    if (!k.host_node) k = with_drain(std::move(k), env);
  }
  for (const auto& [name, m] : options.fixed_mappings) {
    std::vector<std::string> names;
    for (const Kernel& k : kg.kernels) names.push_back(k.name);
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw InputError(Diagnostic{
          {}, "mapping of '" + name + "'", "the model has no such kernel", nearest_name(name, names).value_or("")});
  }
  out.free_ops = kg.free_ops;

  // Kernels → mappings, homes and addresses. They depend on each other, so one planner settles them together.
  ModelPlan plan = plan_model(graph, kg, kg.kernels, machine, env, options, cache);

  // Mapped kernels → program.
  LoweringInput in;
  in.graph = &graph;
  in.machine = &machine;
  in.environment = &env;
  in.kernels = kg.kernels;
  in.mappings = plan.mappings;
  in.home = plan.home_buffer;
  in.root = kg.root;
  in.buffers = plan.buffers;
  in.tile = plan.tile;
  in.host_attributes = [](const Node& n) { return attributes_to_json(n.attributes, n.version); };
  std::map<std::string, BufferId> outputs;
  for (const TensorId t : graph.outputs()) {
    const BufferId b = view_buffer(graph, t, kg.root[t.index()], in);
    if (in.buffers[b.index()].kind == BufferKind::intermediate) in.buffers[b.index()].kind = BufferKind::output;
    outputs[graph.tensor(t).name] = b;
  }
  for (const Kernel& k : kg.kernels) {
    if (!k.host_node) continue;
    for (const KernelTensor& t : k.tensors) {
      if (!in.view.contains(t.graph_tensor))
        in.view[t.graph_tensor] = view_buffer(graph, t.graph_tensor, kg.root[t.graph_tensor.index()], in);
    }
  }
  out.program = lower(in);
  for (const TensorId t : graph.inputs()) out.program.inputs[graph.tensor(t).name] = in.home.at(t);
  for (const TensorId t : graph.tensors()) {
    if (graph.tensor(t).kind == TensorKind::constant && in.home.contains(t))
      out.program.constants[graph.tensor(t).name] = in.home.at(t);
  }
  out.program.outputs = std::move(outputs);

  std::map<std::string, std::int64_t> host;
  for (std::size_t k = 0; k < kg.kernels.size(); ++k) {
    const Kernel& kernel = kg.kernels[k];
    CompiledKernel ck;
    ck.host = kernel.host_node.has_value();
    ck.macs = kernel.macs();
    ck.contraction = kernel.has_contraction();
    if (ck.contraction) ck.operand = kernel.tensors[static_cast<std::size_t>(kernel.nests[0].ins[0].tensor)].type.dtype;
    if (ck.host) {
      ++host[kernel.layer_kind];
      ck.mapping = "host";
    } else {
      ck.mapping = print_mapping(kernel, plan.mappings[k], machine);
      ck.cost = plan.searches[k].cost;
      ck.lower_bound = plan.searches[k].lower_bound;
      ck.dma_only = plan.mappings[k].dma_only;
    }
    out.kernels.push_back(std::move(ck));
  }
  out.host_ops.assign(host.begin(), host.end());
  out.remarks = std::move(context.remarks);
  out.remarks.insert(out.remarks.end(), kg.remarks.begin(), kg.remarks.end());
  out.remarks.insert(out.remarks.end(), plan.remarks.begin(), plan.remarks.end());
  out.graph_dot = kernel_dot(kg, kg.kernels);
  out.graph = std::move(graph);
  return out;
}

}  // namespace assay
