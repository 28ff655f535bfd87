#include "hwmodels/timing/gemm.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/base/error.h"
#include "core/base/math.h"
#include "hwmodels/timing/view.h"

namespace assay {

std::vector<GemmRole> gemm_roles(const Command& c) {
  if (c.in.size() != 2)
    throw InputError("program", "a contract command has " + std::to_string(c.in.size()) + " inputs, expected 2");
  std::vector<GemmRole> roles;
  for (std::size_t d = 0; d < c.iter.size(); ++d) {
    const int dim = static_cast<int>(d);
    const bool a = mentions(c.in[0], dim), b = mentions(c.in[1], dim);
    if (c.iter[d].reduction)
      roles.push_back(GemmRole::k);
    else if (a && b)
      roles.push_back(GemmRole::g);
    else
      roles.push_back(b ? GemmRole::n : GemmRole::m);
  }
  return roles;
}

std::int64_t GemmShape::macs() const { return checked_product(std::array{m, n, k, g}); }
std::int64_t Folds::total() const { return checked_product(std::array{rows, cols, groups}); }
std::int64_t PeNest::steps() const { return checked_product(trips); }

GemmShape gemm_shape(const Command& c, const std::vector<GemmRole>& roles, std::span<const std::int64_t> extents) {
  std::vector<bool> listed(extents.size(), false);
  std::array<bool, 4> any_listed{};
  if (c.array) {
    for (const auto* axis : {&c.array->on_rows, &c.array->on_cols}) {
      for (const auto& [dim, factor] : *axis) {
        if (dim < 0 || static_cast<std::size_t>(dim) >= extents.size())
          throw InputError("program", "an array plan names iteration dimension " + std::to_string(dim) + " of " +
                                          std::to_string(extents.size()));
        listed[dim] = true;
        any_listed[static_cast<std::size_t>(roles[dim])] = true;
      }
    }
  }
  GemmShape s;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    // A role of which the plan lists nothing is either not on an axis (the streamed one) or flattened as a whole.
    const bool axis = listed[d] || !any_listed[static_cast<std::size_t>(roles[d])];
    const auto put = [&](std::int64_t& all, std::int64_t& on_axis, std::int64_t& rest) {
      all = checked_mul(all, extents[d]);
      (axis ? on_axis : rest) *= extents[d];
    };
    switch (roles[d]) {
      case GemmRole::m:
        put(s.m, s.m_axis, s.m_rest);
        break;
      case GemmRole::n:
        put(s.n, s.n_axis, s.n_rest);
        break;
      case GemmRole::k:
        put(s.k, s.k_axis, s.k_rest);
        break;
      case GemmRole::g:
        s.g = checked_mul(s.g, extents[d]);
        break;
    }
  }
  return s;
}

std::vector<Share> shares_of(std::int64_t n, std::int64_t instances) {
  const std::int64_t each = n / instances, more = n % instances;
  std::vector<Share> out;
  if (more > 0) out.push_back({each + 1, more});
  if (each > 0) out.push_back({each, instances - more});
  return out;
}

Dataflow dataflow_of(const Command& c, const MatrixUnit& unit) {
  const Dataflow d = c.array ? c.array->dataflow : unit.dataflow;
  if (d == Dataflow::free && unit.style == ArrayStyle::systolic)
    throw InputError(unit.name, "a contraction on a systolic array needs a plan with a definite dataflow");
  return d;
}

Folds folds_of(const GemmShape& s, const MatrixUnit& unit, Dataflow dataflow, std::int64_t share_n) {
  Folds f;
  f.groups = s.g;
  const bool intrinsic = unit.style == ArrayStyle::intrinsic;
  f.array_rows = intrinsic ? unit.k : unit.rows;
  f.array_cols = intrinsic ? unit.n : unit.cols;
  if (intrinsic) dataflow = Dataflow::weight_stationary;
  const std::int64_t n = share_n * s.n_rest;
  const auto over = [](std::int64_t axis, std::int64_t size, std::int64_t rest) { return ceil_div(axis, size) * rest; };
  switch (dataflow) {
    case Dataflow::output_stationary:
      f.rows = over(s.m_axis, f.array_rows, s.m_rest);
      f.cols = over(share_n, f.array_cols, s.n_rest);
      f.stream = s.k;
      break;
    case Dataflow::input_stationary:
      f.rows = over(s.k_axis, f.array_rows, s.k_rest);
      f.cols = over(s.m_axis, f.array_cols, s.m_rest);
      f.stream = n;
      break;
    case Dataflow::weight_stationary:
    case Dataflow::free:
      f.rows = over(s.k_axis, f.array_rows, s.k_rest);
      f.cols = over(share_n, f.array_cols, s.n_rest);
      f.stream = s.m;
      break;
  }
  return f;
}

PeNest pe_nest(const Command& c, const MatrixUnit& unit, std::span<const std::int64_t> extents) {
  PeNest nest;
  nest.spatial.assign(extents.size(), 1);
  if (c.array) {
    const auto apply = [&](const auto& axis, std::int64_t size, const char* what) {
      std::int64_t used = 1;
      for (const auto& [dim, factor] : axis) {
        if (dim < 0 || static_cast<std::size_t>(dim) >= extents.size() || factor < 1)
          throw InputError("program", "an array plan unrolls iteration dimension " + std::to_string(dim) + " by " +
                                          std::to_string(factor));
        nest.spatial[dim] *= factor;
        used = checked_mul(used, factor);
      }
      if (used > size)
        throw InputError("program", "an array plan unrolls by " + std::to_string(used) + " on the " + what + " of " +
                                        unit.name + ", which has " + std::to_string(size));
    };
    apply(c.array->on_rows, unit.rows, "rows");
    apply(c.array->on_cols, unit.cols, "columns");
    for (const int d : c.array->order)
      if (d >= 0 && static_cast<std::size_t>(d) < extents.size() &&
          std::find(nest.order.begin(), nest.order.end(), d) == nest.order.end())
        nest.order.push_back(d);
  }
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const int dim = static_cast<int>(d);
    nest.trips.push_back(ceil_div(extents[d], nest.spatial[d]));
    if (std::find(nest.order.begin(), nest.order.end(), dim) == nest.order.end()) nest.order.push_back(dim);
  }
  return nest;
}

std::vector<SplitExtents> split_extents(const std::vector<GemmRole>& roles, const MatrixUnit& unit,
                                        std::span<const std::int64_t> extents) {
  std::vector<std::int64_t> all(extents.begin(), extents.end());
  if (unit.count <= 1) return {{all, 1}};
  const auto at = std::find(roles.begin(), roles.end(), GemmRole::n);
  if (at == roles.end()) return {{all, 1}};  // nothing to split: one instance works
  std::vector<SplitExtents> out;
  const auto dim = at - roles.begin();
  for (const Share& s : shares_of(extents[dim], unit.count)) {
    all[dim] = s.n;
    out.push_back({all, s.instances});
  }
  return out;
}

}  // namespace assay
