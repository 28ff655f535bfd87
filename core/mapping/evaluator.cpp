#include "core/mapping/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/base/error.h"
#include "core/base/math.h"

namespace assay {

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

std::uint32_t Evaluator::outside(const FlatMapping& m, int depth) {
  std::uint32_t mask = 0;
  for (int i = 0; i < depth; ++i) mask |= 1U << m.order[static_cast<std::size_t>(i)];
  return mask;
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

Evaluator::Reach Evaluator::reach(std::size_t tensor, std::size_t axis, const FlatMapping& m,
                                  std::uint32_t outside) const {
  Reach r;
  bool any = false;
  for (const auto& access : shapes_[tensor].accesses) {
    const Axis& a = access[axis];
    std::int64_t from = a.lo, to = a.hi;
    std::int64_t g = a.step;
    for (const auto& [dim, c] : a.terms) {
      const auto i = static_cast<std::size_t>(dim);
      const std::int64_t range = (outside >> i) & 1U ? m.tile[i] : m.chunk[i];
      if (range > 1) {
        (c < 0 ? from : to) += c * (range - 1);
        g = std::gcd(g, std::abs(c));
      }
    }
    if (any) g = std::gcd(g, std::abs(from - r.lo));
    r.step = std::gcd(r.step, g);
    r.lo = any ? std::min(r.lo, from) : from;
    r.hi = any ? std::max(r.hi, to) : to;
    any = true;
  }
  return r;
}

Evaluator::Box Evaluator::box(std::size_t tensor, const FlatMapping& m, std::uint32_t outside) const {
  const Shape& shape = shapes_[tensor].shape;
  Box b;
  bool contiguous = true;
  for (std::size_t d = shape.size(); d-- > 0;) {
    const Reach r = reach(tensor, d, m, outside);
    const std::int64_t extent = r.extent();
    b.elements *= extent;
    if (contiguous) {
      if (r.step <= 1) b.run *= std::min(extent, shape[d]);
      contiguous = r.step <= 1 && extent >= shape[d];
    }
  }
  return b;
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

std::string Evaluator::shortfall(const FlatMapping& m) const {
  std::vector<std::int64_t> used(env_.available.size(), 0);
  for (std::size_t t = 0; t < plans_.size(); ++t) {
    const TensorPlan& p = plans_[t];
    if (p.resident || p.gathered || (dma_only_ && p.use == TensorUse::side_input)) continue;
    used[p.memory.index()] += box(t, m, outside(m, m.depth[t])).elements * p.element_bytes * m.buffers[t];
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i] > env_.available[i]) {
      return fmt::format("kernel '{}': its smallest tile needs {} bytes of '{}', {} are available ({} too few)",
                         k_.name, used[i], env_.memories[i].name, env_.available[i], used[i] - env_.available[i]);
    }
  }
  return "";
}

std::int64_t Evaluator::whole(std::size_t tensor) const {
  FlatMapping m;
  for (std::size_t d = 0; d < k_.dims.size(); ++d) m.chunk[d] = m.tile[d] = k_.dims[d].extent;
  return box(tensor, m, 0).elements;
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
