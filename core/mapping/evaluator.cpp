#include "core/mapping/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/base/error.h"
#include "core/base/math.h"

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

/// One grid axis seen from the splits: how many cores along it hold the same part of a tensor.
struct SplitView {
  bool row;
  double receivers(const std::vector<SpatialSplit>& splits, std::uint32_t relevant, const Kernel& k) const {
    for (const SpatialSplit& s : splits) {
      if (!(row ? s.axes.row : s.axes.col)) continue;
      if ((relevant >> s.dim) & 1U) return 1;
      // A split over the whole grid fans out over both axes together: counted once, on rows.
      if (s.axes.row && s.axes.col && !row) return 1;
      return static_cast<double>(ceil_div(k.dims[static_cast<std::size_t>(s.dim)].extent, s.chunk));
    }
    return 1;
  }
};

}  // namespace

Kernel with_drain(Kernel k, const MapEnvironment& env) {
  if (env.grid.cores() > 1 &&
      std::none_of(k.dims.begin(), k.dims.end(), [](const KernelDim& d) { return !d.reduction; })) {
    // Work that can't be divided is given a dimension of one, so that one core does it and the others stand by.
    k.dims.push_back({"one", 1, false});
    for (KernelNest& nest : k.nests) {
      nest.dims.push_back({"one", 1, false});
      nest.shared.push_back(static_cast<int>(k.dims.size()) - 1);
    }
  }
  if (!k.has_contraction()) return k;
  KernelNest& main = k.nests.front();
  const auto psum = static_cast<std::size_t>(main.out.tensor);
  const MemoryId memory = accumulator_memory(env);
  const bool accumulator = memory.valid() && env.memories[memory.index()].kind == MemoryKind::accumulator;
  const DType wide = main.accumulator;
  if (k.tensors[psum].kind == KernelTensorKind::output) {
    if (!accumulator && k.tensors[psum].type.dtype == wide) return k;  // results are stored from where they are
    KernelNest drain;
    std::vector<int> renumber(main.dims.size(), -1);
    for (std::size_t i = 0; i < main.dims.size(); ++i) {
      if (main.dims[i].reduction) continue;
      renumber[i] = static_cast<int>(drain.dims.size());
      drain.dims.push_back(main.dims[i]);
      drain.shared.push_back(main.shared[i]);
    }
    drain.out = main.out;
    for (AccessDim& d : drain.out.dims) {
      for (auto& [dim, c] : d.terms) dim = renumber[static_cast<std::size_t>(dim)];
    }
    KernelTensor internal = k.tensors[psum];
    internal.name += ".acc";
    internal.kind = KernelTensorKind::internal;
    internal.graph_tensor = {};
    internal.type.dtype = wide;
    const int index = static_cast<int>(k.tensors.size());
    const DType out_type = k.tensors[psum].type.dtype;
    k.tensors.push_back(internal);
    main.out.tensor = index;
    KernelAccess read = drain.out;
    read.tensor = index;
    drain.ins.push_back(read);
    const int v = drain.body.input(0, wide);
    if (out_type != wide) drain.body.push(ScalarOp::cast, out_type, v);
    drain.accumulator = wide;
    k.nests.push_back(std::move(drain));
    return k;
  }
  if (k.tensors[psum].type.dtype == wide) return k;
  // Partial sums stay wide; readers see them rounded to the tensor's own type, as the graph says.
  const DType narrow = k.tensors[psum].type.dtype;
  k.tensors[psum].type.dtype = wide;
  for (std::size_t n = 1; n < k.nests.size(); ++n) {
    KernelNest& nest = k.nests[n];
    for (std::size_t i = 0; i < nest.ins.size(); ++i) {
      if (nest.ins[i].tensor != static_cast<int>(psum)) continue;
      Body rounding;
      rounding.push(ScalarOp::cast, narrow, rounding.input(0, wide));
      std::vector<int> identity(nest.ins.size());
      std::iota(identity.begin(), identity.end(), 0);
      nest.body = substitute(nest.body, static_cast<int>(i), rounding, identity, {static_cast<int>(i)});
    }
  }
  return k;
}

Evaluator::Evaluator(const Kernel& k, const KernelHomes& homes, const MapEnvironment& env) : k_(k), env_(env) {
  if (k.dims.size() > kMaxDims || k.tensors.size() > kMaxTensors) {
    throw Infeasible(fmt::format("kernel '{}' has {} dimensions and {} tensors; the mapper handles {} and {}", k.name,
                                 k.dims.size(), k.tensors.size(), kMaxDims, kMaxTensors));
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

void Evaluator::set_spatial(const std::vector<SpatialSplit>& splits) {
  splits_ = splits;
  active_cores_ = 1;
  for (const SpatialSplit& s : splits) {
    active_cores_ *= static_cast<double>(ceil_div(k_.dims[static_cast<std::size_t>(s.dim)].extent, s.chunk));
  }
}

void Evaluator::set_array(const ArrayPlan& plan, std::uint32_t unit) {
  array_ = plan;
  unit_ = unit;
}

std::array<int, kMaxDims> Evaluator::positions(const FlatMapping& m) const {
  std::array<int, kMaxDims> p{};
  p.fill(m.loops);
  for (int i = 0; i < m.loops; ++i) p[static_cast<std::size_t>(m.order[static_cast<std::size_t>(i)])] = i;
  return p;
}

void Evaluator::place(FlatMapping& m, bool retain_in0, bool retain_in1) const {
  int reduction_from = m.loops;
  for (int i = m.loops; i-- > 0;) {
    if ((reduction_ >> m.order[static_cast<std::size_t>(i)]) & 1U) reduction_from = i;
  }
  const auto deepest = [&](std::uint32_t relevant, int limit) {
    int depth = 0;
    for (int i = 0; i < limit; ++i) {
      if ((relevant >> m.order[static_cast<std::size_t>(i)]) & 1U) depth = i + 1;
    }
    return depth;
  };
  // Retained: above the first loop that the tensor does not depend on (its tile then covers what lies inside).
  const auto retained = [&](std::uint32_t relevant) {
    int depth = 0;
    while (depth < m.loops && ((relevant >> m.order[static_cast<std::size_t>(depth)]) & 1U)) ++depth;
    return depth;
  };
  for (std::size_t t = 0; t < plans_.size(); ++t) {
    const TensorPlan& p = plans_[t];
    switch (p.use) {
      case TensorUse::main_in0:
      case TensorUse::main_in1: {
        const bool keep = p.use == TensorUse::main_in0 ? retain_in0 : retain_in1;
        m.depth[t] = keep ? retained(p.relevant) : deepest(p.relevant, m.loops);
        // Also read by the epilogue: must still be there when it runs.
        if (p.relevant != p.main_relevant) m.depth[t] = std::min(m.depth[t], reduction_from);
        break;
      }
      case TensorUse::side_input:
        m.depth[t] = deepest(p.relevant, reduction_from);
        break;
      default:
        m.depth[t] = reduction_from;
    }
    m.buffers[t] = 1;
  }
}

Evaluator::Box Evaluator::box(std::size_t tensor, const FlatMapping& m, int depth,
                              const std::array<int, kMaxDims>& position) const {
  const TensorShape& s = shapes_[tensor];
  Box b;
  bool contiguous = true;
  for (std::size_t d = s.shape.size(); d-- > 0;) {
    std::int64_t lo = 0, hi = 0, step = 0;
    bool any = false;
    for (const auto& access : s.accesses) {
      const Axis& axis = access[d];
      std::int64_t from = axis.lo, to = axis.hi;
      std::int64_t g = axis.step;
      for (const auto& [dim, c] : axis.terms) {
        const auto i = static_cast<std::size_t>(dim);
        const std::int64_t range = position[i] < depth ? m.tile[i] : m.chunk[i];
        if (range > 1) {
          (c < 0 ? from : to) += c * (range - 1);
          g = std::gcd(g, std::abs(c));
        }
      }
      if (any) g = std::gcd(g, std::abs(from - lo));
      step = std::gcd(step, g);
      lo = any ? std::min(lo, from) : from;
      hi = any ? std::max(hi, to) : to;
      any = true;
    }
    const std::int64_t extent = (hi - lo) / std::max<std::int64_t>(step, 1) + 1;
    b.elements *= extent;
    if (contiguous) {
      if (step <= 1) b.run *= std::min(extent, s.shape[d]);
      contiguous = step <= 1 && extent >= s.shape[d];
    }
  }
  return b;
}

Evaluator::Box Evaluator::gathered_box(std::size_t table, const FlatMapping& m,
                                       const std::array<int, kMaxDims>& position) const {
  for (const KernelNest& nest : k_.nests) {
    if (!is_gather(nest) || nest.ins[0].tensor != static_cast<int>(table)) continue;
    const auto out = static_cast<std::size_t>(nest.out.tensor);
    Box b = box(out, m, m.depth[out], position);
    // Rows of the table are contiguous; how many elements one index brings is the run.
    const Shape& s = shapes_[table].shape;
    b.run = s.empty() ? 1 : std::max<std::int64_t>(1, std::min(b.elements, s.back()));
    return b;
  }
  return {};
}

bool Evaluator::shared_load(const TensorPlan& p) const {
  const bool load = p.use == TensorUse::main_in0 || p.use == TensorUse::main_in1 || p.use == TensorUse::side_input;
  const Axes a = load && !p.resident && !p.gathered && p.path.multicast ? shared_axes(p) : Axes{};
  return a.any();
}

Axes Evaluator::shared_axes(const TensorPlan& p) const {
  // An axis carries one copy for all when no split along it concerns the tensor.
  const auto shared_along = [&](bool row) {
    const auto uses = [&](const SpatialSplit& s) { return row ? s.axes.row : s.axes.col; };
    return std::any_of(splits_.begin(), splits_.end(), uses) &&
           std::none_of(splits_.begin(), splits_.end(),
                        [&](const SpatialSplit& s) { return uses(s) && ((p.relevant >> s.dim) & 1U); });
  };
  return {shared_along(true) && env_.grid.rows > 1, shared_along(false) && env_.grid.cols > 1};
}

bool Evaluator::fit(FlatMapping& m) const {
  const auto position = positions(m);
  std::array<std::int64_t, kMaxTensors> bytes{};
  std::array<std::int64_t, 64> used{};
  for (std::size_t t = 0; t < plans_.size(); ++t) {
    const TensorPlan& p = plans_[t];
    if (p.resident || p.gathered || (dma_only_ && p.use == TensorUse::side_input)) continue;
    bytes[t] = box(t, m, m.depth[t], position).elements * p.element_bytes;
    used[p.memory.index()] += bytes[t];
  }
  for (std::size_t i = 0; i < env_.available.size(); ++i) {
    if (used[i] > env_.available[i]) return false;
  }
  // A second buffer where it fits, most valuable first: operands of the contraction, outputs, sides, partial sums.
  constexpr TensorUse kByValue[] = {TensorUse::main_in1, TensorUse::main_in0, TensorUse::side_input, TensorUse::output,
                                    TensorUse::psum};
  for (const TensorUse use : kByValue) {
    for (std::size_t t = 0; t < plans_.size(); ++t) {
      const TensorPlan& p = plans_[t];
      // Receivers of a multicast release its buffer independently: one counting semaphore can't tell which slot of two
      // is free at all of them, so such tiles have one buffer.
      if (shared_load(p)) continue;
      if (p.use != use || bytes[t] == 0 || !env_.memories[p.memory.index()].double_buffered || m.depth[t] == 0)
        continue;
      if (used[p.memory.index()] + bytes[t] > env_.available[p.memory.index()]) continue;
      used[p.memory.index()] += bytes[t];
      m.buffers[t] = 2;
    }
  }
  return true;
}

std::string Evaluator::shortfall(const FlatMapping& m) const {
  const auto position = positions(m);
  std::vector<std::int64_t> used(env_.available.size(), 0);
  for (std::size_t t = 0; t < plans_.size(); ++t) {
    const TensorPlan& p = plans_[t];
    if (p.resident || p.gathered || (dma_only_ && p.use == TensorUse::side_input)) continue;
    used[p.memory.index()] += box(t, m, m.depth[t], position).elements * p.element_bytes * m.buffers[t];
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i] > env_.available[i]) {
      return fmt::format("kernel '{}': its smallest tile needs {} bytes of '{}', {} are available ({} too few)",
                         k_.name, used[i], env_.memories[i].name, env_.available[i], used[i] - env_.available[i]);
    }
  }
  return "";
}

MappingCost Evaluator::cost(const FlatMapping& m) const {
  const auto position = positions(m);
  MappingCost c;
  std::array<double, kMaxDims + 1> outside{};  // Π trips of the loops outside depth i
  outside[0] = 1;
  for (int i = 0; i < m.loops; ++i) {
    const auto d = static_cast<std::size_t>(m.order[static_cast<std::size_t>(i)]);
    outside[static_cast<std::size_t>(i) + 1] =
        outside[static_cast<std::size_t>(i)] * static_cast<double>(ceil_div(m.chunk[d], m.tile[d]));
  }
  double fill = 0, drain = 0, serial = 0;
  bool overlap = true;
  int epilogue_depth = m.loops;
  for (std::size_t t = 0; t < plans_.size(); ++t) {
    if (plans_[t].use == TensorUse::psum || plans_[t].use == TensorUse::output)
      epilogue_depth = std::min(epilogue_depth, m.depth[t]);
  }
  for (std::size_t t = 0; t < plans_.size(); ++t) {
    const TensorPlan& p = plans_[t];
    const bool store =
        p.use == TensorUse::output || (p.use == TensorUse::psum && k_.tensors[t].kind == KernelTensorKind::output);
    const bool load = p.use == TensorUse::main_in0 || p.use == TensorUse::main_in1 || p.use == TensorUse::side_input;
    if (p.resident || (!store && !load)) continue;
    const Box b = p.gathered ? gathered_box(t, m, position) : box(t, m, m.depth[t], position);
    const double bytes = static_cast<double>(b.elements * p.element_bytes);
    const double times = outside[static_cast<std::size_t>(p.gathered ? epilogue_depth : m.depth[t])];
    const double requests =
        static_cast<double>(ceil_div(b.elements, b.run) * ceil_div(b.run * p.element_bytes, p.path.max_request));
    const double one =
        std::max(bytes * p.path.cycles_per_byte, requests * p.path.latency / static_cast<double>(p.path.outstanding));
    double receivers = 1;
    if (load && !p.gathered && p.path.multicast) {
      for (const SplitView v : {SplitView{true}, SplitView{false}}) receivers *= v.receivers(splits_, p.relevant, k_);
    }
    (store ? c.store : c.load) += times * (one + p.path.latency / 4);
    c.bytes += times * bytes * active_cores_ / receivers;
    c.shared += times * bytes * active_cores_ / receivers * p.path.shared_cycles_per_byte;
    overlap = overlap && p.path.overlaps;
    if (store)
      drain = std::max(drain, one + p.path.latency);
    else
      fill += one;
    if (m.buffers[t] == 1 && m.depth[t] > 0) serial += times * one * 0.9;
  }
  double iterations = outside[static_cast<std::size_t>(m.loops)];
  if (k_.has_contraction()) {
    const KernelNest& nest = k_.nests.front();
    std::vector<std::int64_t> extents(nest.dims.size());
    for (std::size_t i = 0; i < extents.size(); ++i) {
      extents[i] = nest.shared[i] >= 0 ? m.tile[static_cast<std::size_t>(nest.shared[i])] : nest.dims[i].extent;
    }
    c.matrix =
        iterations *
        contraction_cycles(env_.matrix[unit_], k_.tensors[static_cast<std::size_t>(nest.ins[0].tensor)].type.dtype,
                           array_, extents, classes_) *
        env_.matrix_clock_ratio[unit_];
  }
  double vector_once = 0;
  for (std::size_t n = 0; n < k_.nests.size(); ++n) {
    if (nest_cost_[n] == 0) continue;
    const KernelNest& nest = k_.nests[n];
    double points = 1;
    for (std::size_t i = 0; i < nest.dims.size(); ++i) {
      const int s = nest.shared[i];
      points *= static_cast<double>(s < 0 ? nest.dims[i].extent
                                    : position[static_cast<std::size_t>(s)] < epilogue_depth
                                        ? m.tile[static_cast<std::size_t>(s)]
                                        : m.chunk[static_cast<std::size_t>(s)]);
    }
    const VectorUnit& u = env_.vector.front();
    vector_once += points * nest_cost_[n] +
                   static_cast<double>(u.issue_cycles + u.pipeline_cycles) * env_.vector_clock_ratio.front();
  }
  c.vector = vector_once * outside[static_cast<std::size_t>(epilogue_depth)];
  const double steady = overlap ? std::max({c.matrix, c.vector, c.load, c.store, c.shared})
                                : std::max(c.load + c.store, c.shared) + std::max(c.matrix, c.vector);
  c.cycles = steady + (overlap ? fill + drain + vector_once : 0) + serial;
  return c;
}

std::int64_t Evaluator::whole(std::size_t tensor) const {
  FlatMapping m;
  for (std::size_t d = 0; d < k_.dims.size(); ++d) m.chunk[d] = m.tile[d] = k_.dims[d].extent;
  return box(tensor, m, 0, positions(m)).elements;
}

double Evaluator::lower_bound() const {
  double compute = 0;
  if (k_.has_contraction()) {
    const MatrixUnit& u = env_.matrix[unit_];
    const MatrixType* type = u.type_for(k_.tensors[static_cast<std::size_t>(k_.nests[0].ins[0].tensor)].type.dtype);
    compute = static_cast<double>(k_.macs()) / static_cast<double>(u.macs_per_cycle() * u.count * env_.grid.cores()) /
              (type != nullptr ? type->rate : 1) * env_.matrix_clock_ratio[unit_];
  }
  double shared = 0;
  for (std::size_t t = 0; t < plans_.size(); ++t) {
    const TensorPlan& p = plans_[t];
    if (p.resident || p.gathered || !p.path.exists) continue;
    const double bytes =
        static_cast<double>(std::min(element_count(shapes_[t].shape), whole(t))) * static_cast<double>(p.element_bytes);
    shared += bytes *
              std::max(p.path.shared_cycles_per_byte, p.path.cycles_per_byte / static_cast<double>(env_.grid.cores()));
  }
  return std::max(compute, shared);
}

FlatMapping Evaluator::flatten(const Mapping& m) const {
  FlatMapping f;
  const TileShape shape(k_, m);
  for (std::size_t d = 0; d < k_.dims.size(); ++d) {
    f.chunk[d] = shape.chunk(static_cast<int>(d));
    f.tile[d] = shape.tile(static_cast<int>(d));
  }
  for (const TemporalLoop& l : m.loops) f.order[static_cast<std::size_t>(f.loops++)] = l.dim;
  for (std::size_t t = 0; t < m.placements.size(); ++t) {
    f.depth[t] = m.placements[t].depth;
    f.buffers[t] = static_cast<std::int8_t>(m.placements[t].buffers);
  }
  return f;
}

Mapping Evaluator::expand(const FlatMapping& f) const {
  Mapping m;
  m.spatial = splits_;
  for (SpatialSplit& s : m.spatial) s.chunk = f.chunk[static_cast<std::size_t>(s.dim)];
  for (int i = 0; i < f.loops; ++i) {
    const int d = f.order[static_cast<std::size_t>(i)];
    m.loops.push_back({d, f.tile[static_cast<std::size_t>(d)]});
  }
  for (std::size_t t = 0; t < plans_.size(); ++t) {
    const TensorPlan& p = plans_[t];
    Placement place{static_cast<int>(t), p.memory, f.depth[t], f.buffers[t], p.resident, {}};
    const bool load = p.use == TensorUse::main_in0 || p.use == TensorUse::main_in1 || p.use == TensorUse::side_input;
    if (load && !p.resident && !p.gathered && p.path.multicast) {
      place.multicast = shared_axes(p);
    }
    if (p.gathered || (dma_only_ && p.use == TensorUse::side_input)) place.memory = MemoryId();
    m.placements.push_back(place);
  }
  m.array = array_;
  m.matrix_unit = unit_;
  m.dma_only = dma_only_;
  return m;
}

}  // namespace assay
