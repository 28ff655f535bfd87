#include "hwmodels/functional/counting.h"

#include <algorithm>
#include <array>
#include <map>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/math.h"
#include "core/isa/byte_set.h"

namespace assay {
namespace {

bool varies(const Operand& o, std::size_t dim) {
  for (const ViewDim& d : o.dims)
    for (const auto& [i, c] : d.iter)
      if (static_cast<std::size_t>(i) == dim && c != 0) return true;
  return false;
}

/// The points of one fold: how many, and the sum of their values.
struct Fold {
  std::int64_t points = 0, sum = 0;
};

/// Folds of a role over an array axis of `size`, of the points whose axis position is in [begin, end).
std::vector<Fold> folds(const std::vector<RolePoint>& points, std::int64_t size,
                        const std::vector<std::int64_t>& values, std::int64_t begin, std::int64_t end) {
  std::map<std::pair<std::int64_t, std::int64_t>, Fold> by_position;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].axis < begin || points[i].axis >= end) continue;
    Fold& f = by_position[{points[i].rest, (points[i].axis - begin) / size}];
    ++f.points;
    if (!values.empty()) f.sum += values[i];
  }
  std::vector<Fold> result;
  for (const auto& [position, f] : by_position) result.push_back(f);
  return result;
}

/// [begin, end) of each instance's share of n things.
std::vector<std::pair<std::int64_t, std::int64_t>> shares(std::int64_t n, std::int64_t instances) {
  std::vector<std::pair<std::int64_t, std::int64_t>> result;
  for (std::int64_t i = 0, at = 0; i < instances && at < n; ++i) {
    const std::int64_t size = n / instances + (i < n % instances);
    result.emplace_back(at, at + size);
    at += size;
  }
  return result;
}

}  // namespace

std::vector<DimRole> dim_roles(const Command& command) {
  std::vector<DimRole> roles;
  for (std::size_t i = 0; i < command.iter.size(); ++i) {
    const bool a = varies(command.in[0], i), b = varies(command.in[1], i);
    if (command.iter[i].reduction)
      roles.push_back(DimRole::k);
    else
      roles.push_back(a && b ? DimRole::g : b ? DimRole::n : DimRole::m);
  }
  return roles;
}

std::vector<RolePoint> role_points(const Command& command, const std::vector<DimRole>& roles, DimRole role,
                                   std::span<const std::int64_t> extents) {
  std::vector<bool> listed(extents.size(), false);
  bool any = false;
  for (const auto* on : {&command.array->on_rows, &command.array->on_cols})
    for (const auto& [dim, factor] : *on) {
      listed[static_cast<std::size_t>(dim)] = true;
      any = any || roles[static_cast<std::size_t>(dim)] == role;
    }
  std::vector<RolePoint> points = {{0, 0}};
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (roles[d] != role) continue;
    const bool on_axis = listed[d] || !any;
    std::vector<RolePoint> next;
    for (const RolePoint& p : points)
      for (std::int64_t i = 0; i < extents[d]; ++i)
        next.push_back(on_axis ? RolePoint{p.axis * extents[d] + i, p.rest}
                               : RolePoint{p.axis, p.rest * extents[d] + i});
    points = std::move(next);
  }
  return points;
}

void count_folds(const MatrixUnit& unit, Dataflow dataflow, std::span<const std::vector<RolePoint>> points,
                 const ValidRows& valid, bool accumulate, ContractCounts& counts) {
  const bool intrinsic = unit.style == ArrayStyle::intrinsic;
  const bool os = !intrinsic && dataflow == Dataflow::output_stationary;
  const bool is = !intrinsic && dataflow == Dataflow::input_stationary;
  const std::int64_t rows = intrinsic ? unit.k : unit.rows, cols = intrinsic ? unit.n : unit.cols;
  const auto& m = points[static_cast<std::size_t>(DimRole::m)];
  const auto& n = points[static_cast<std::size_t>(DimRole::n)];
  const auto& k = points[static_cast<std::size_t>(DimRole::k)];
  const auto all = [](const std::vector<RolePoint>& p) {
    std::int64_t end = 0;
    for (const RolePoint& x : p) end = std::max(end, x.axis + 1);
    return end;
  };
  const auto m_count = static_cast<std::int64_t>(m.size()), k_count = static_cast<std::int64_t>(k.size());
  const std::vector<Fold> k_folds = os ? std::vector<Fold>{} : folds(k, rows, {}, 0, all(k));
  const std::vector<Fold> m_folds = os   ? folds(m, rows, valid.a, 0, all(m))
                                    : is ? folds(m, cols, valid.a, 0, all(m))
                                         : std::vector<Fold>{};
  std::int64_t a_elements = 0, slots = 0;
  for (const std::int64_t v : valid.a) a_elements += v;
  for (const auto& [begin, end] : shares(all(n), unit.count)) {
    const std::vector<Fold> whole = folds(n, end - begin, valid.b, begin, end);  // one per `rest`
    std::int64_t width = 0, b_elements = 0;
    for (const Fold& f : whole) width += f.points, b_elements += f.sum;
    const auto partial_sums = [&](std::int64_t elements, bool first) {
      counts.out_writes += elements;
      if (!first || accumulate) counts.out_reads += elements;
    };
    if (os) {
      for (const Fold& nf : folds(n, cols, valid.b, begin, end))
        for (const Fold& mf : m_folds) {
          counts.a_reads += mf.sum;
          counts.b_reads += nf.sum;
          partial_sums(mf.points * nf.points, true);
          slots += rows * cols * k_count;
        }
    } else if (is) {
      counts.a_reads += a_elements;
      for (const Fold& mf : m_folds) {
        counts.b_reads += b_elements;
        for (std::size_t kf = 0; kf < k_folds.size(); ++kf) {
          partial_sums(mf.points * width, kf == 0);
          slots += rows * cols * width;
        }
      }
    } else {
      for (const Fold& nf : folds(n, cols, valid.b, begin, end)) {
        counts.a_reads += a_elements;
        counts.b_reads += nf.sum;
        for (std::size_t kf = 0; kf < k_folds.size(); ++kf) {
          partial_sums(m_count * nf.points, kf == 0);
          slots += rows * cols * (intrinsic ? round_up(m_count, unit.m) : m_count);
        }
      }
    }
  }
  const std::int64_t macs = m_count * static_cast<std::int64_t>(n.size()) * k_count;
  counts.macs += macs;
  counts.padded_macs += slots - macs;
}

void count_pe_array(const Machine& machine, const MatrixUnit& unit, const Command& command,
                    std::span<const std::int64_t> extents, std::int64_t a_elements, std::int64_t b_elements,
                    bool accumulate, ContractCounts& counts) {
  const ArrayPlan& plan = *command.array;
  const std::size_t dims = command.iter.size();
  const std::vector<DimRole> roles = dim_roles(command);
  std::vector<std::int64_t> unroll(dims, 1);
  for (const auto* on : {&plan.on_rows, &plan.on_cols})
    for (const auto& [dim, factor] : *on) unroll[static_cast<std::size_t>(dim)] *= factor;
  std::vector<std::size_t> order;
  for (const int d : plan.order) order.push_back(static_cast<std::size_t>(d));
  for (std::size_t d = 0; d < dims; ++d)
    if (std::find(order.begin(), order.end(), d) == order.end()) order.push_back(d);
  const auto split = static_cast<std::size_t>(std::find(roles.begin(), roles.end(), DimRole::n) - roles.begin());
  const std::int64_t whole = split < dims ? extents[split] : 1;

  std::int64_t delivered[3] = {0, 0, 0};
  for (const auto& [begin, end] : shares(whole, unit.count)) {
    std::vector<std::int64_t> part(extents.begin(), extents.end());
    if (split < dims) part[split] = end - begin;
    const auto trips = [&](std::size_t d) { return ceil_div(part[d], unroll[d]); };
    // Walks the loops from the innermost outward: a loop that the operand does not vary with repeats its fetches once
    // an own loop stands inside it.
    const auto walk = [&](const auto& own, std::int64_t& revisits, std::int64_t& receivers) {
      revisits = receivers = 1;
      bool own_inside = false;
      for (std::size_t i = order.size(); i-- > 0;) {
        const std::size_t d = order[i];
        if (own(d)) {
          own_inside = own_inside || trips(d) > 1;
        } else {
          if (own_inside) revisits *= trips(d);
          receivers *= own_inside ? part[d] : std::min(unroll[d], part[d]);
        }
      }
    };
    std::int64_t revisits = 1, receivers = 1;
    walk([&](std::size_t d) { return varies(command.in[0], d); }, revisits, receivers);
    counts.a_reads += a_elements * revisits;  // A does not vary with the split dimension
    delivered[0] += a_elements * receivers;
    walk([&](std::size_t d) { return varies(command.in[1], d); }, revisits, receivers);
    const std::int64_t b_part = b_elements / whole * (end - begin);
    counts.b_reads += b_part * revisits;
    delivered[1] += b_part * receivers;
    walk([&](std::size_t d) { return !command.iter[d].reduction; }, revisits, receivers);
    std::int64_t outputs = 1, macs = 1, steps = 1;
    for (std::size_t d = 0; d < dims; ++d) {
      if (!command.iter[d].reduction) outputs *= part[d];
      macs *= part[d];
      steps *= trips(d);
    }
    const std::int64_t reads = outputs * (revisits - 1 + (accumulate ? 1 : 0));
    counts.out_writes += outputs * revisits;
    counts.out_reads += reads;
    delivered[2] += reads;
    counts.macs += macs;
    counts.padded_macs += steps * unit.rows * unit.cols - macs;
  }

  std::int64_t macs = 1;
  for (const std::int64_t e : extents) macs *= e;
  const DType types[3] = {command.in[0].type, command.in[1].type, command.accumulator};
  const Role held[3] = {Role::input, Role::weight, Role::output};
  for (std::size_t x = 0; x < 3; ++x) {
    const auto file = std::find_if(unit.pe_memories.begin(), unit.pe_memories.end(),
                                   [&](MemoryId id) { return machine.memory(id).may_hold(held[x]); });
    if (file == unit.pe_memories.end()) continue;
    const std::int64_t size = element_bytes(types[x]);
    counts.register_files.push_back({*file, macs * size, (delivered[x] + (x == 2 ? macs : 0)) * size});
  }
}

}  // namespace assay
