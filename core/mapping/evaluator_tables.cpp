#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/mapping/evaluator.h"

// A kernel and its environment → the flat tables that the search's inner loop reads.

namespace assay {
namespace {

bool moves_bytes_only(const Kernel& k) {
  return std::all_of(k.nests.begin(), k.nests.end(), [&](const KernelNest& n) {
    return n.combine == Combine::none && !n.contraction && n.body.is_identity() &&
           k.tensors[static_cast<std::size_t>(n.out.tensor)].kind == KernelTensorKind::output &&
           k.tensors[static_cast<std::size_t>(n.ins[0].tensor)].type.dtype ==
               k.tensors[static_cast<std::size_t>(n.out.tensor)].type.dtype;
  });
}

[[noreturn]] void no_path(const Kernel& k, const KernelTensor& t, const char* what, const std::string& from) {
  throw Infeasible(fmt::format("kernel '{}': tensor '{}': no memory of a core {} and is joined to '{}' by a dma link",
                               k.name, t.name, what, from));
}

}  // namespace

Evaluator::Evaluator(const Kernel& k, const KernelHomes& homes, const MapEnvironment& env) : k_(k), env_(env) {
  if (k.dims.size() > kMaxDims || k.tensors.size() > kMaxTensors) {
    throw Infeasible(fmt::format("kernel '{}' has {} dimensions and {} tensors; the mapper handles {} and {}", k.name,
                                 k.dims.size(), k.tensors.size(), kMaxDims, kMaxTensors));
  }
  if (env.memories.size() > kMaxMemories) {
    throw Infeasible(
        fmt::format("the machine has {} memories; the mapper handles {}", env.memories.size(), kMaxMemories));
  }
  for (std::size_t d = 0; d < k.dims.size(); ++d) {
    if (k.dims[d].reduction) reduction_ |= 1U << d;
  }
  if (k.has_contraction()) classes_ = dim_classes(k.nests.front());
  shapes_.resize(k.tensors.size());
  plans_.resize(k.tensors.size());
  for (std::size_t t = 0; t < k.tensors.size(); ++t) {
    shapes_[t].shape = k.tensors[t].type.shape;
    plans_[t].element_bytes = std::max(1, bits(k.tensors[t].type.dtype) / 8);
    plans_[t].home = homes.home[t];
  }
  const auto add_access = [&](const KernelNest& nest, const KernelAccess& a) {
    std::vector<Axis> axes;
    for (const AccessDim& d : a.dims) {
      Axis axis{d.offset, d.offset, 0, {}};
      for (const auto& [dim, c] : d.terms) {
        const int shared = nest.shared[static_cast<std::size_t>(dim)];
        const std::int64_t extent = nest.dims[static_cast<std::size_t>(dim)].extent;
        if (shared >= 0) {
          axis.terms.push_back({shared, c});
          plans_[static_cast<std::size_t>(a.tensor)].relevant |= 1U << shared;
          if (nest.contraction) plans_[static_cast<std::size_t>(a.tensor)].main_relevant |= 1U << shared;
        } else if (extent > 1) {
          (c < 0 ? axis.lo : axis.hi) += c * (extent - 1);
          axis.step = std::gcd(axis.step, std::abs(c));
        }
      }
      axes.push_back(std::move(axis));
    }
    shapes_[static_cast<std::size_t>(a.tensor)].accesses.push_back(std::move(axes));
  };
  for (const KernelNest& nest : k.nests) {
    for (const KernelAccess& a : nest.ins) add_access(nest, a);
    add_access(nest, nest.out);
  }
  // Roles, memories and paths.
  const bool contraction = k.has_contraction();
  const auto name_of = [&](MemoryId m) { return env.memories[m.index()].name; };
  dma_only_ = !contraction && moves_bytes_only(k);
  for (std::size_t t = 0; t < k.tensors.size(); ++t) {
    TensorPlan& p = plans_[t];
    const KernelTensor& tensor = k.tensors[t];
    const auto is = [&](const KernelAccess& a) { return a.tensor == static_cast<int>(t); };
    if (contraction && is(k.nests[0].out))
      p.use = TensorUse::psum;
    else if (tensor.kind == KernelTensorKind::output)
      p.use = TensorUse::output;
    else if (tensor.kind == KernelTensorKind::internal)
      p.use = TensorUse::temp;
    else if (contraction && is(k.nests[0].ins[0]))
      p.use = TensorUse::main_in0;
    else if (contraction && is(k.nests[0].ins[1]))
      p.use = TensorUse::main_in1;
    else
      p.use = TensorUse::side_input;
    const bool local_home = p.home.valid() && env.memories[p.home.index()].scope == Scope::core;
    switch (p.use) {
      case TensorUse::psum:
        p.memory = accumulator_memory(env);
        if (!p.memory.valid()) no_path(k, tensor, "holds partial sums", "-");
        if (tensor.kind == KernelTensorKind::output) {
          // Stored from where they are accumulated (no accumulator memory on this machine).
          if (local_home)
            p.resident = true, p.memory = p.home;
          else
            p.path = env.store[p.home.index()][p.memory.index()];
          if (!p.resident && !p.path.exists) no_path(k, tensor, "holds outputs", name_of(p.home));
        }
        break;
      case TensorUse::temp:
        p.memory = tile_memory(env, Role::output, MemoryId());
        if (!p.memory.valid()) no_path(k, tensor, "holds outputs", "-");
        break;
      case TensorUse::output:
        if (local_home) {
          p.resident = true;
          p.memory = p.home;
          break;
        }
        p.memory = tile_memory(env, Role::output, p.home);
        if (!p.memory.valid()) no_path(k, tensor, "holds outputs", name_of(p.home));
        p.path = env.store[p.home.index()][p.memory.index()];
        break;
      default: {
        const Role role = p.use == TensorUse::main_in1 ? Role::weight : Role::input;
        if (local_home) {
          p.resident = true;
          p.memory = p.home;
          break;
        }
        p.memory = tile_memory(env, role, p.home);
        if (!p.memory.valid())
          no_path(k, tensor, role == Role::weight ? "holds weights" : "holds inputs", name_of(p.home));
        p.path = env.load[p.home.index()][p.memory.index()];
      }
    }
  }
  if (dma_only_) {
    for (const TensorPlan& p : plans_) dma_only_ = dma_only_ && !p.resident;
  }
  // What the DMA engine moves by itself is loaded straight into the place it will be stored from.
  if (dma_only_) {
    for (TensorPlan& p : plans_) {
      if (p.use == TensorUse::output) {
        for (TensorPlan& in : plans_) {
          if (in.use == TensorUse::side_input) {
            in.path = env.load[in.home.index()][p.memory.index()];
            if (!in.path.exists) dma_only_ = false;
          }
        }
      }
    }
  }
  for (const KernelNest& nest : k.nests) {
    if (!is_gather(nest)) continue;
    const auto table = static_cast<std::size_t>(nest.ins[0].tensor), out = static_cast<std::size_t>(nest.out.tensor);
    if (!nest.body.is_identity() || plans_[table].resident || plans_[out].resident) {
      throw Infeasible(fmt::format(
          "kernel '{}': a gather is executed by a DMA engine and can only move elements from main memory", k.name));
    }
    plans_[table].gathered = true;
    plans_[table].path = env.load[plans_[table].home.index()][plans_[out].memory.index()];
    if (!plans_[table].path.exists) no_path(k, k.tensors[table], "holds outputs", name_of(plans_[table].home));
  }
  nest_cost_.assign(k.nests.size(), 0);
  for (std::size_t n = 0; n < k.nests.size() && !dma_only_; ++n) {
    if (k.nests[n].contraction || is_gather(k.nests[n])) continue;
    if (env.vector.empty())
      throw Infeasible(fmt::format("kernel '{}' needs a vector unit and the machine has none", k.name));
    const VectorUnit& u = env.vector.front();
    const double rate = [&] {
      const auto it = u.types.find(k.nests[n].accumulator);
      return it != u.types.end() && it->second > 0 ? it->second : 1.0;
    }();
    nest_cost_[n] = body_cost(u, k.nests[n].body) / rate / static_cast<double>(u.lanes * std::max(u.count, 1)) *
                    env.vector_clock_ratio.front();
  }
}

}  // namespace assay
