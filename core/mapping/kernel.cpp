#include "core/mapping/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/error.h"
#include "core/base/math.h"
#include "core/ops/op.h"

namespace assay {
namespace {

/// The contraction's or last nest's output written as `coordinate i = Σ terms of parallel nest dimensions`, which is
/// what an elementwise consumer's dimension d_i is replaced by.
bool is_elementwise(const Nest& nest, const Shape& out_shape) {
  if (nest.combine != Combine::none || nest.contraction) return false;
  if (nest.dims.size() != out_shape.size() || nest.out.dims.size() != out_shape.size()) return false;
  for (std::size_t i = 0; i < nest.out.dims.size(); ++i) {
    const AccessDim& d = nest.out.dims[i];
    if (d.offset != 0 || d.index_operand) return false;
    // A dimension of extent 1 may be left out of the access.
    if (d.terms.empty() ? out_shape[i] != 1 : d.terms != std::vector<std::pair<int, std::int64_t>>{{int(i), 1}}) {
      return false;
    }
  }
  for (const ScalarInstr& s : nest.body.code) {
    if (s.op == ScalarOp::index) return false;  // coordinates would have to be rewritten in the body
  }
  return std::none_of(nest.ins.begin(), nest.ins.end(), [](const Access& a) {
    return a.fill ||
           std::any_of(a.dims.begin(), a.dims.end(), [](const AccessDim& d) { return d.index_operand.has_value(); });
  });
}

/// Reads exactly the element that the nest writes: the operand through which a producer may be fused.
bool reads_pointwise(const Access& a, const Access& out) {
  if (a.dims.size() != out.dims.size()) return false;
  for (std::size_t i = 0; i < a.dims.size(); ++i) {
    if (a.dims[i].offset != 0 || a.dims[i].terms != out.dims[i].terms) return false;
  }
  return true;
}

class Builder {
 public:
  Builder(const Graph& g, const KernelOptions& options, bool host_allowed)
      : g_(g), options_(options), host_allowed_(host_allowed) {}

  KernelGraph build() {
    find_roots();
    const std::vector<NodeId> order = g_.topological_order();
    for (const NodeId n : order) {
      if (done_.contains(n)) continue;
      start_kernel(n);
    }
    refuse_unsupported();
    sort_kernels(order);
    result_.free_ops.assign(free_.begin(), free_.end());
    return std::move(result_);
  }

 private:
  void find_roots() {
    std::size_t highest = 0;
    for (const TensorId t : g_.tensors()) highest = std::max(highest, t.index() + 1);
    result_.root.resize(highest);
    for (const TensorId t : g_.tensors()) result_.root[t.index()] = t;
    for (const NodeId n : g_.topological_order()) {
      const Node& node = g_.node(n);
      const OpDef* def = operations().find(node.op);
      ASSAY_CHECK(def != nullptr, node.op);
      if (def->kind != OpKind::view) continue;
      ++free_[node.op];
      done_.insert({n, true});
      for (const TensorId out : node.outputs) {
        if (out.valid()) result_.root[out.index()] = result_.root[node.inputs.front().index()];
      }
    }
  }

  int tensor_of(Kernel& k, TensorId t, KernelTensorKind kind) {
    for (std::size_t i = 0; i < k.tensors.size(); ++i) {
      if (k.tensors[i].graph_tensor == t) return static_cast<int>(i);
    }
    const GraphTensor& gt = g_.tensor(t);
    k.tensors.push_back({gt.name, gt.type, kind, t, gt.kind == TensorKind::constant});
    return static_cast<int>(k.tensors.size() - 1);
  }

  std::optional<NestProgram> nests_of(NodeId n, OpContext& ctx) {
    const OpDef& def = *operations().find(g_.node(n).op);
    if (def.kind != OpKind::nest || !def.nests) return std::nullopt;
    ctx = op_context(g_, n);
    ctx.outputs.clear();
    for (const TensorId t : g_.node(n).outputs) ctx.outputs.push_back(t.valid() ? g_.tensor(t).type : TensorType{});
    return def.nests(ctx);
  }

  void start_kernel(NodeId n) {
    const Node& node = g_.node(n);
    Kernel k;
    k.name = node.name;
    k.layer_kind = node.op;
    k.nodes = {n};
    k.sources = node.sources.empty() ? std::vector<std::string>{node.name} : node.sources;
    done_.insert({n, true});
    OpContext ctx;
    std::optional<NestProgram> program = nests_of(n, ctx);
    if (!program) {
      host_kernel(std::move(k), n);
      return;
    }
    std::vector<int> slot_in(node.inputs.size(), -1), slot_out(node.outputs.size(), -1), slot_temp;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].valid()) slot_in[i] = tensor_of(k, node.inputs[i], KernelTensorKind::input);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].valid()) slot_out[i] = tensor_of(k, node.outputs[i], KernelTensorKind::output);
    }
    for (const TensorType& t : program->temps) {
      slot_temp.push_back(static_cast<int>(k.tensors.size()));
      k.tensors.push_back(
          {fmt::format("{}.t{}", node.name, slot_temp.size() - 1), t, KernelTensorKind::internal, {}, false});
    }
    const auto access = [&](const Access& a) {
      const auto number = static_cast<std::size_t>(a.slot.number);
      const int tensor = a.slot.kind == Slot::Kind::input    ? slot_in[number]
                         : a.slot.kind == Slot::Kind::output ? slot_out[number]
                                                             : slot_temp[number];
      return KernelAccess{tensor, a.dims, a.fill};
    };
    for (const Nest& nest : program->nests) {
      KernelNest kn{nest.dims,
                    {},
                    {},
                    access(nest.out),
                    nest.body,
                    nest.combine,
                    nest.accumulator,
                    nest.contraction,
                    {nest.zero[0], nest.zero[1]}};
      if (kn.out.tensor < 0) continue;  // an optional output that nobody wants
      for (const Access& a : nest.ins) kn.ins.push_back(access(a));
      k.nests.push_back(std::move(kn));
    }
    for (KernelNest& nest : k.nests) inline_scalars(k, nest);
    share_dims(k);
    if (options_.fuse_epilogues) absorb_consumers(k, n);
    drop_unused_tensors(k);
    result_.kernels.push_back(std::move(k));
  }

  /// A constant of one element becomes an immediate of the body: nothing has to be loaded for it.
  void inline_scalars(const Kernel& k, KernelNest& nest) const {
    if (nest.contraction) return;
    for (std::size_t i = nest.ins.size(); i-- > 0;) {
      const KernelTensor& t = k.tensors[static_cast<std::size_t>(nest.ins[i].tensor)];
      if (!t.constant || nest.ins[i].fill || nest.ins.size() == 1) continue;
      const auto& value = g_.tensor(t.graph_tensor).value;
      if (!value || value->size() != 1) continue;
      const double v = value->get(0);
      if (is_integer(t.type.dtype) && std::abs(v) > 1e15) continue;  // would not survive the immediate
      const bool indexed = std::any_of(nest.ins.begin(), nest.ins.end(), [&](const KernelAccess& a) {
        return std::any_of(a.dims.begin(), a.dims.end(),
                           [](const AccessDim& d) { return d.index_operand.has_value(); });
      });
      if (indexed) return;
      const int operand = static_cast<int>(i);
      for (ScalarInstr& s : nest.body.code) {
        if (s.op != ScalarOp::input) continue;
        if (s.a == operand)
          s = {.op = ScalarOp::constant, .type = s.type, .a = -1, .b = -1, .c = -1, .imm = v};
        else if (s.a > operand)
          --s.a;
      }
      nest.ins.erase(nest.ins.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  /// Dimensions that may be tiled: parallel in every nest of the kernel (matched by name and extent). The contraction
  /// adds its reduction dimensions.
  static void share_dims(Kernel& k) {
    for (const NestDim& d : k.nests.front().dims) {
      const bool everywhere = std::all_of(k.nests.begin(), k.nests.end(), [&](const KernelNest& nest) {
        return std::any_of(nest.dims.begin(), nest.dims.end(),
                           [&](const NestDim& e) { return e.name == d.name && e.extent == d.extent && !e.reduction; });
      });
      // A body that reads a coordinate needs the whole dimension in one command.
      const bool coordinate_read = std::any_of(k.nests.begin(), k.nests.end(), [&](const KernelNest& nest) {
        return std::any_of(nest.body.code.begin(), nest.body.code.end(), [&](const ScalarInstr& s) {
          return s.op == ScalarOp::index && nest.dims[static_cast<std::size_t>(s.a)].name == d.name;
        });
      });
      if (coordinate_read) continue;
      const bool own_reduction = d.reduction && k.nests.front().contraction;
      if (everywhere || own_reduction) k.dims.push_back({d.name, d.extent, d.reduction});
    }
    for (KernelNest& nest : k.nests) match_dims(k, nest);
  }

  static void match_dims(const Kernel& k, KernelNest& nest) {
    nest.shared.assign(nest.dims.size(), -1);
    for (std::size_t i = 0; i < nest.dims.size(); ++i) {
      for (std::size_t j = 0; j < k.dims.size(); ++j) {
        const bool may = !k.dims[j].reduction || (nest.contraction && nest.dims[i].reduction);
        if (may && k.dims[j].name == nest.dims[i].name) nest.shared[i] = static_cast<int>(j);
      }
    }
  }

  /// While the kernel's output has exactly one reader and that reader is elementwise, the reader joins.
  void absorb_consumers(Kernel& k, NodeId last) {
    for (;;) {
      const Node& node = g_.node(last);
      if (std::count_if(node.outputs.begin(), node.outputs.end(), [](TensorId t) { return t.valid(); }) != 1) return;
      const TensorId out =
          *std::find_if(node.outputs.begin(), node.outputs.end(), [](TensorId t) { return t.valid(); });
      if (g_.tensor(out).is_output) return;
      const std::vector<Use> uses = g_.uses(out);
      if (uses.empty() ||
          std::any_of(uses.begin(), uses.end(), [&](const Use& u) { return u.node != uses.front().node; }))
        return;
      const NodeId next = uses.front().node;
      if (done_.contains(next)) return;
      OpContext ctx;
      const std::optional<NestProgram> program = nests_of(next, ctx);
      if (!program || program->nests.size() != 1 || !program->temps.empty()) return;
      const Nest& nest = program->nests.front();
      const Node& consumer = g_.node(next);
      if (consumer.outputs.size() != 1 || !is_elementwise(nest, g_.tensor(consumer.outputs.front()).type.shape)) return;
      if (!others_ready(consumer, out, k)) return;
      for (const Access& a : nest.ins) {
        const bool reads_out =
            a.slot.kind == Slot::Kind::input && consumer.inputs[static_cast<std::size_t>(a.slot.number)] == out;
        if (reads_out && !reads_pointwise(a, nest.out)) {
          result_.remarks.push_back(fmt::format(
              "not fused: '{}' into '{}': it reads the result at other points than it writes", consumer.name, k.name));
          return;
        }
      }
      if (g_.tensor(consumer.outputs.front()).type.shape != g_.tensor(out).type.shape) {
        result_.remarks.push_back(
            fmt::format("not fused: '{}' into '{}': it keeps only a part of the result", consumer.name, k.name));
        return;
      }
      if (!append_elementwise(k, nest, consumer, out)) {
        result_.remarks.push_back(
            fmt::format("not fused: '{}' into '{}': the result is written through a strided or gathered access",
                        consumer.name, k.name));
        return;
      }
      done_.insert({next, true});
      k.nodes.push_back(next);
      const auto& src = consumer.sources.empty() ? std::vector<std::string>{consumer.name} : consumer.sources;
      k.sources.insert(k.sources.end(), src.begin(), src.end());
      last = next;
    }
  }

  /// The consumer's other operands must not depend on a kernel that comes later: constants, graph inputs, or tensors
  /// whose producers are already in a kernel (kernels are started in topological order, views resolved to roots).
  bool others_ready(const Node& consumer, TensorId via, const Kernel&) const {
    for (const TensorId t : consumer.inputs) {
      if (!t.valid() || t == via) continue;
      const auto p = g_.producer(result_.root[t.index()]);
      if (p && !done_.contains(*p)) return false;
    }
    return true;
  }

  bool append_elementwise(Kernel& k, const Nest& nest, const Node& consumer, TensorId via) {
    KernelNest& tail = k.nests.back();
    // d_i → Σ coefficient · (dimension of the tail nest), from the tail's output access.
    const int via_tensor = tail.out.tensor;
    for (const AccessDim& d : tail.out.dims) {
      if (d.offset != 0 || d.index_operand) return false;
    }
    // A gather stays alone: the DMA engine executes it, and that moves bytes only.
    for (const KernelAccess& a : tail.ins) {
      if (std::any_of(a.dims.begin(), a.dims.end(), [](const AccessDim& d) { return d.index_operand.has_value(); }))
        return false;
    }
    // Concat and the like write one output by several nests: its elements are complete only after the last of them.
    if (std::count_if(k.nests.begin(), k.nests.end(),
                      [&](const KernelNest& e) { return e.out.tensor == via_tensor; }) != 1)
      return false;
    std::vector<NestDim> dims;
    std::vector<int> renumber(tail.dims.size(), -1);
    for (std::size_t i = 0; i < tail.dims.size(); ++i) {
      if (tail.dims[i].reduction) continue;
      renumber[i] = static_cast<int>(dims.size());
      dims.push_back(tail.dims[i]);
    }
    const auto rewrite = [&](const std::vector<AccessDim>& in) {
      std::vector<AccessDim> out;
      for (const AccessDim& d : in) {
        AccessDim e{d.offset, {}, std::nullopt};
        for (const auto& [dim, c] : d.terms) {
          for (const auto& [tail_dim, tc] : tail.out.dims[static_cast<std::size_t>(dim)].terms) {
            e.terms.push_back({renumber[static_cast<std::size_t>(tail_dim)], c * tc});
          }
        }
        out.push_back(std::move(e));
      }
      return out;
    };
    KernelNest fused;
    fused.dims = dims;
    for (const Access& a : nest.ins) {
      const TensorId t = consumer.inputs[static_cast<std::size_t>(a.slot.number)];
      const int tensor = t == via ? via_tensor : tensor_of(k, t, KernelTensorKind::input);
      fused.ins.push_back({tensor, rewrite(a.dims), std::nullopt});
    }
    fused.body = nest.body;
    fused.accumulator = nest.accumulator;
    inline_scalars(k, fused);
    k.tensors[static_cast<std::size_t>(via_tensor)].kind = KernelTensorKind::internal;
    fused.out = {tensor_of(k, consumer.outputs.front(), KernelTensorKind::output), rewrite(nest.out.dims),
                 std::nullopt};
    // Two elementwise nests become one body; a fold (contraction, reduction) keeps its own nest.
    if (tail.combine == Combine::none && !tail.contraction) {
      merge_bodies(k, fused, via_tensor);
      k.nests.back() = std::move(fused);
      match_dims(k, k.nests.back());
    } else {
      k.nests.push_back(std::move(fused));
      match_dims(k, k.nests.back());
    }
    return true;
  }

  /// body(…, producer body(…), …): the producer is the kernel's last nest, `fused` the consumer over the same dims.
  static void merge_bodies(const Kernel& k, KernelNest& fused, int via) {
    const KernelNest& producer = k.nests.back();
    std::vector<KernelAccess> ins;
    const auto number_of = [&](const KernelAccess& a) {
      for (std::size_t i = 0; i < ins.size(); ++i) {
        const bool same =
            ins[i].tensor == a.tensor && ins[i].fill == a.fill && ins[i].dims.size() == a.dims.size() &&
            std::equal(a.dims.begin(), a.dims.end(), ins[i].dims.begin(), [](const AccessDim& x, const AccessDim& y) {
              return x.offset == y.offset && x.terms == y.terms && x.index_operand == y.index_operand;
            });
        if (same) return static_cast<int>(i);
      }
      ins.push_back(a);
      return static_cast<int>(ins.size() - 1);
    };
    std::vector<int> inner_map, outer_map;
    for (const KernelAccess& a : producer.ins) {
      inner_map.push_back(number_of(a));
    }
    std::vector<int> via_operands;
    for (std::size_t i = 0; i < fused.ins.size(); ++i) {
      if (fused.ins[i].tensor == via) {
        via_operands.push_back(static_cast<int>(i));
        outer_map.push_back(-1);
      } else {
        outer_map.push_back(number_of(fused.ins[i]));
      }
    }
    Body body = fused.body;
    // The value may be read more than once (x · x): all reads go through one substituted copy each.
    std::vector<int> outer = outer_map;
    if (via_operands.size() > 1) {
      for (ScalarInstr& s : body.code) {
        if (s.op == ScalarOp::input && std::find(via_operands.begin(), via_operands.end(), s.a) != via_operands.end())
          s.a = via_operands.front();
      }
    }
    fused.body = substitute(body, via_operands.front(), producer.body, outer, inner_map);
    fused.ins = std::move(ins);
  }

  static void drop_unused_tensors(Kernel& k) {
    std::vector<bool> used(k.tensors.size(), false);
    for (const KernelNest& nest : k.nests) {
      for (const KernelAccess& a : nest.ins) used[static_cast<std::size_t>(a.tensor)] = true;
      used[static_cast<std::size_t>(nest.out.tensor)] = true;
    }
    std::vector<int> renumber(k.tensors.size(), -1);
    std::vector<KernelTensor> kept;
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) continue;
      renumber[i] = static_cast<int>(kept.size());
      kept.push_back(std::move(k.tensors[i]));
    }
    k.tensors = std::move(kept);
    for (KernelNest& nest : k.nests) {
      for (KernelAccess& a : nest.ins) a.tensor = renumber[static_cast<std::size_t>(a.tensor)];
      nest.out.tensor = renumber[static_cast<std::size_t>(nest.out.tensor)];
    }
  }

  void host_kernel(Kernel k, NodeId n) {
    if (!host_allowed_) {
      auto& u = unsupported_[g_.node(n).op];
      if (u.first++ == 0) u.second = g_.node(n).name;
      return;
    }
    k.host_node = n;
    for (const TensorId t : g_.node(n).inputs) {
      if (t.valid()) tensor_of(k, t, KernelTensorKind::input);
    }
    for (const TensorId t : g_.node(n).outputs) {
      if (t.valid()) tensor_of(k, t, KernelTensorKind::output);
    }
    result_.kernels.push_back(std::move(k));
  }

  void refuse_unsupported() const {
    if (unsupported_.empty()) return;
    std::vector<Diagnostic> ds;
    for (const auto& [op, u] : unsupported_) {
      ds.push_back({{},
                    op,
                    fmt::format("{} node(s), first '{}': no engine of this machine executes it and it has no host unit "
                                "(units: {{kind: host}})",
                                u.first, u.second),
                    ""});
    }
    throw InputError(std::move(ds));
  }

  /// A fused consumer may have pulled its kernel before the producer of another operand: order by last node.
  void sort_kernels(const std::vector<NodeId>& order) {
    std::map<NodeId, std::size_t> position;
    for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
    std::stable_sort(result_.kernels.begin(), result_.kernels.end(), [&](const Kernel& a, const Kernel& b) {
      return position.at(a.nodes.front()) < position.at(b.nodes.front());
    });
  }

  const Graph& g_;
  KernelOptions options_;
  bool host_allowed_;
  KernelGraph result_;
  std::map<NodeId, bool> done_;
  std::map<std::string, std::int64_t> free_;
  std::map<std::string, std::pair<std::int64_t, std::string>> unsupported_;
};

}  // namespace

bool is_gather(const KernelNest& nest) {
  return std::any_of(nest.ins.begin(), nest.ins.end(), [](const KernelAccess& a) {
    return std::any_of(a.dims.begin(), a.dims.end(), [](const AccessDim& d) { return d.index_operand.has_value(); });
  });
}

std::int64_t Kernel::macs() const {
  if (!has_contraction()) return 0;
  std::int64_t n = 1;
  for (const NestDim& d : nests.front().dims) n = checked_mul(n, d.extent);
  return n;
}

KernelGraph make_kernels(const Graph& g, const KernelOptions& options, bool host_allowed) {
  return Builder(g, options, host_allowed).build();
}

}  // namespace assay
