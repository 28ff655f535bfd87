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
  const auto cores = static_cast<double>(env_.grid.cores());
  double compute = 0;
  if (k_.has_contraction()) {
    const MatrixUnit& u = env_.matrix[unit_];
    const KernelNest& nest = k_.nests.front();
    const DType operand = k_.tensors[static_cast<std::size_t>(nest.ins[0].tensor)].type.dtype;
    const MatrixType* type = u.type_for(operand);
    compute = static_cast<double>(k_.macs()) / static_cast<double>(u.macs_per_cycle() * u.count) /
              (type != nullptr ? type->rate : 1);
    if (u.style != ArrayStyle::pe_array) {
      // Cutting dimensions never makes their rounding up to the array's sides smaller, so the whole at once is a bound;
      // the constant parts (fill, issue) are left out, since cores may share the work.
      std::vector<std::int64_t> extents;
      for (const NestDim& d : nest.dims) extents.push_back(d.extent);
      const double fixed = u.style == ArrayStyle::systolic ? static_cast<double>(2 * u.rows + u.cols) : 0;
      compute = std::max(compute, contraction_cycles(u, operand, array_, extents, classes_) - fixed -
                                      static_cast<double>(u.issue_cycles + u.pipeline_cycles));
    }
    compute *= env_.matrix_clock_ratio[unit_] / cores;
  }
  double vector = 0;
  for (std::size_t n = 0; n < k_.nests.size(); ++n) {
    double points = nest_cost_[n];
    for (const NestDim& d : k_.nests[n].dims) points *= static_cast<double>(d.extent);
    vector += points / cores;
  }
  double shared = 0;
  for (std::size_t t = 0; t < plans_.size(); ++t) {
    const TensorPlan& p = plans_[t];
    if (p.resident || p.gathered || !p.path.exists) continue;
    const double bytes =
        static_cast<double>(std::min(element_count(shapes_[t].shape), whole(t))) * static_cast<double>(p.element_bytes);
    shared += bytes * std::max(p.path.shared_cycles_per_byte, p.path.cycles_per_byte / cores);
  }
  return std::max({compute, vector, shared});
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
