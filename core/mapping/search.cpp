#include "core/mapping/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "core/base/error.h"
#include "core/base/math.h"
#include "core/mapping/tile_evaluator.h"

namespace assay {
namespace {

/// Halvings of `extent` down to 1, rounded up to `align` while above it; at most `most` of them, largest first.
std::vector<std::int64_t> halvings(std::int64_t extent, std::int64_t align, std::size_t most) {
  std::vector<std::int64_t> tiles;
  for (std::int64_t t = extent; t >= 1; t = t == 1 ? 0 : ceil_div(t, 2)) {
    const std::int64_t aligned = t > align ? std::min(round_up(t, align), extent) : t;
    if (tiles.empty() || aligned < tiles.back()) tiles.push_back(aligned);
  }
  if (tiles.size() > most) {
    // Keep the largest ones and the smallest: the smallest decides whether anything fits.
    tiles[most - 1] = tiles.back();
    tiles.resize(most);
  }
  return tiles;
}

/// How a contraction lies on a unit, for each way worth trying.
std::vector<ArrayPlan> array_plans(const MatrixUnit& unit, const KernelNest& nest, const std::vector<int>& classes,
                                   const std::vector<std::int64_t>& extents) {
  std::vector<ArrayPlan> plans;
  const auto of_class = [&](int c) {
    std::vector<std::pair<int, std::int64_t>> v;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      if (classes[i] == c) v.push_back({static_cast<int>(i), nest.dims[i].extent});
    }
    return v;
  };
  std::vector<int> order(nest.dims.size());
  std::iota(order.begin(), order.end(), 0);
  if (unit.style != ArrayStyle::pe_array) {
    std::vector<Dataflow> flows{unit.dataflow};
    if (unit.dataflow == Dataflow::free) flows = {Dataflow::weight_stationary, Dataflow::output_stationary};
    for (const Dataflow flow : flows) {
      const bool os = flow == Dataflow::output_stationary, is = flow == Dataflow::input_stationary;
      ArrayPlan p{flow, of_class(os ? 1 : 3), of_class(is ? 1 : 2), order};
      for (auto* axis : {&p.on_rows, &p.on_cols}) {
        for (auto& [dim, factor] : *axis) factor = std::max<std::int64_t>(factor, 1);
      }
      plans.push_back(std::move(p));
    }
    return plans;
  }
  // PE array: up to two dimensions share an axis (`r x t sets` of a row-stationary array). All pairs are tried.
  struct AxisChoice {
    std::vector<std::pair<int, std::int64_t>> factors;
    double waste = 0;
  };
  const auto choices = [&](std::int64_t length) {
    std::vector<AxisChoice> all;
    const auto n = static_cast<int>(extents.size());
    for (int a = 0; a < n; ++a) {
      const std::int64_t ea = extents[static_cast<std::size_t>(a)];
      if (ea == 1) continue;
      const std::int64_t fa = std::min(ea, length);
      all.push_back({{{a, fa}}});
      for (int b = 0; b < n; ++b) {
        const std::int64_t eb = extents[static_cast<std::size_t>(b)];
        if (b == a || eb == 1 || fa * 2 > length) continue;
        const std::int64_t fb = std::min(eb, length / fa);
        if (fb > 1) all.push_back({{{a, fa}, {b, fb}}});
      }
    }
    if (all.empty()) all.push_back({});
    return all;
  };
  double best = std::numeric_limits<double>::infinity();
  ArrayPlan best_plan{Dataflow::output_stationary, {}, {}, order};
  for (const AxisChoice& rows : choices(unit.rows)) {
    for (const AxisChoice& cols : choices(unit.cols)) {
      const bool clash = std::any_of(rows.factors.begin(), rows.factors.end(), [&](const auto& r) {
        return std::any_of(cols.factors.begin(), cols.factors.end(), [&](const auto& c) { return c.first == r.first; });
      });
      if (clash) continue;
      ArrayPlan p{Dataflow::output_stationary, rows.factors, cols.factors, order};
      const double cycles = contraction_cycles(unit, unit.types.front().operand, p, extents, classes);
      if (cycles < best) {
        best = cycles;
        best_plan = std::move(p);
      }
    }
  }
  plans.push_back(best_plan);
  return plans;
}

class Search {
 public:
  Search(const Kernel& k, const KernelHomes& homes, const MapEnvironment& env)
      : k_(k), env_(env), eval_(k, homes, env) {
    if (k.has_contraction()) classes_ = dim_classes(k.nests.front());
    for (std::size_t d = 0; d < k.dims.size(); ++d) cls_.push_back(class_of(static_cast<int>(d)));
  }

  SearchResult run() {
    best_.cost.cycles = std::numeric_limits<double>::infinity();
    best_.lower_bound = std::numeric_limits<double>::infinity();
    const auto splits = spatial_candidates();
    for (const auto& split : splits) {
      eval_.set_spatial(split);
      for (std::uint32_t unit = 0; unit < std::max<std::size_t>(1, k_.has_contraction() ? env_.matrix.size() : 1);
           ++unit) {
        if (k_.has_contraction() && !supports(unit)) continue;
        for (const ArrayPlan& plan : plans(split, unit)) {
          eval_.set_array(plan, unit);
          best_.lower_bound = std::min(best_.lower_bound, eval_.lower_bound());
          tiles(split);
        }
      }
    }
    if (!std::isfinite(best_.cost.cycles)) throw Infeasible(shortfall_);
    best_.lower_bound = std::min(best_.lower_bound, best_.cost.cycles);
    return best_;
  }

 private:
  bool supports(std::uint32_t unit) const {
    return env_.matrix[unit].type_for(k_.tensors[static_cast<std::size_t>(k_.nests[0].ins[0].tensor)].type.dtype) !=
           nullptr;
  }

  /// 0 G, 1 M, 2 N, 3 K for a tiled dimension; parallel dimensions of kernels without a contraction are M.
  int class_of(int dim) const {
    if (!k_.has_contraction()) return 1;
    const KernelNest& nest = k_.nests.front();
    for (std::size_t i = 0; i < nest.shared.size(); ++i) {
      if (nest.shared[i] == dim) return classes_[i];
    }
    return 1;
  }

  std::vector<ArrayPlan> plans(const std::vector<SpatialSplit>& split, std::uint32_t unit) const {
    if (!k_.has_contraction()) return {ArrayPlan{}};
    const KernelNest& nest = k_.nests.front();
    std::vector<std::int64_t> extents;
    for (std::size_t i = 0; i < nest.dims.size(); ++i) {
      std::int64_t e = nest.dims[i].extent;
      for (const SpatialSplit& s : split) {
        if (nest.shared[i] == s.dim) e = std::min(e, s.chunk);
      }
      extents.push_back(e);
    }
    return array_plans(env_.matrix[unit], nest, classes_, extents);
  }

  /// One parallel dimension per grid axis, or one over the whole grid; the few with the best balance.
  std::vector<std::vector<SpatialSplit>> spatial_candidates() const {
    if (env_.grid.cores() == 1) return {{}};
    std::vector<int> parallel;
    const std::uint32_t inner = inner_output_dims();
    for (std::size_t d = 0; d < k_.dims.size(); ++d) {
      if (!k_.dims[d].reduction && !((inner >> d) & 1U)) parallel.push_back(static_cast<int>(d));
    }
    struct Candidate {
      std::vector<SpatialSplit> split;
      double load = 0;    // share of the work of the busiest core
      double spread = 0;  // prefers splits that keep operands shared
    };
    std::vector<Candidate> all;
    const auto extent = [&](int d) { return k_.dims[static_cast<std::size_t>(d)].extent; };
    const auto share = [&](int d, std::int64_t ways) {
      return static_cast<double>(ceil_div(extent(d), ways)) / static_cast<double>(extent(d));
    };
    for (const int a : parallel) {
      all.push_back({{{a, {true, true}, ceil_div(extent(a), env_.grid.cores())}}, share(a, env_.grid.cores()), 1});
      for (const int b : parallel) {
        if (a == b) continue;
        all.push_back({{{a, {true, false}, ceil_div(extent(a), env_.grid.rows)},
                        {b, {false, true}, ceil_div(extent(b), env_.grid.cols)}},
                       share(a, env_.grid.rows) * share(b, env_.grid.cols),
                       cls_[static_cast<std::size_t>(a)] == cls_[static_cast<std::size_t>(b)] ? 0.5 : 0});
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const Candidate& x, const Candidate& y) {
      return x.load != y.load ? x.load < y.load : x.spread < y.spread;
    });
    constexpr std::size_t kTried = 4;
    std::vector<std::vector<SpatialSplit>> result;
    for (std::size_t i = 0; i < all.size() && i < kTried; ++i) result.push_back(all[i].split);
    return result;
  }

  /// Alignment of a dimension's tile: what fills the array along its class.
  std::int64_t alignment(int dim) const {
    if (!k_.has_contraction() || env_.matrix.empty()) return 1;
    const MatrixUnit& u = env_.matrix.front();
    const int c = cls_[static_cast<std::size_t>(dim)];
    if (u.style == ArrayStyle::intrinsic) return c == 3 ? u.k : c == 2 ? u.n * u.count : c == 1 ? u.m : 1;
    if (u.style == ArrayStyle::systolic) return c == 3 ? u.rows : c == 2 ? u.cols * u.count : 1;
    return 1;
  }

  void tiles(const std::vector<SpatialSplit>& split) {
    FlatMapping m;
    candidates_.assign(k_.dims.size(), {});
    std::size_t tiled = 0;
    for (std::size_t d = 0; d < k_.dims.size(); ++d) {
      std::int64_t extent = k_.dims[d].extent;
      for (const SpatialSplit& s : split) {
        if (s.dim == static_cast<int>(d)) extent = s.chunk;
      }
      m.chunk[d] = extent;
      if (extent > 1) ++tiled;
    }
    // Windows (two tiled dimensions in one coordinate) keep the smaller one whole, so that every box is a box.
    const std::uint32_t whole = window_dims() | inner_output_dims();
    const std::size_t most = tiled <= 4 ? 9 : tiled <= 6 ? 7 : 5;
    for (std::size_t d = 0; d < k_.dims.size(); ++d) {
      const std::int64_t extent = m.chunk[d];
      candidates_[d] = (whole >> d) & 1U ? std::vector<std::int64_t>{extent}
                                         : halvings(extent, alignment(static_cast<int>(d)), most);
    }
    TileEvaluator tiles(eval_);
    tiles.set_candidates(candidates_);
    enumerate(tiles, m, 0);
    if (!std::isfinite(best_.cost.cycles)) note_shortfall(m);
  }

  /// What the smallest tiles lack: said when nothing fits.
  void note_shortfall(FlatMapping m) {
    m.loops = 0;
    for (std::size_t d = 0; d < k_.dims.size(); ++d) {
      m.tile[d] = candidates_[d].back();
      m.chunk[d] = round_up(candidates_[d].front(), m.tile[d]);
    }
    for (const int cls : {0, 1, 2, 3}) {
      for (std::size_t d = 0; d < k_.dims.size(); ++d) {
        if (cls_[d] == cls && m.tile[d] < m.chunk[d])
          m.order[static_cast<std::size_t>(m.loops++)] = static_cast<int>(d);
      }
    }
    eval_.place(m, false, false);
    if (std::string short_by = eval_.shortfall(m); !short_by.empty()) shortfall_ = std::move(short_by);
  }

  /// Dimensions that move a coordinate of a written tensor in smaller steps than another one (k of g·K + k): tiles of
  /// them would have holes.
  std::uint32_t inner_output_dims() const {
    std::uint32_t mask = 0;
    for (const KernelNest& nest : k_.nests) {
      for (const AccessDim& d : nest.out.dims) {
        std::int64_t largest = 0;
        const auto each = [&](auto f) {
          for (const auto& [dim, c] : d.terms) {
            const int s = nest.shared[static_cast<std::size_t>(dim)];
            if (nest.dims[static_cast<std::size_t>(dim)].extent > 1) f(s, std::abs(c));
          }
        };
        each([&](int, std::int64_t c) { largest = std::max(largest, c); });
        each([&](int s, std::int64_t c) {
          if (s >= 0 && c < largest) mask |= 1U << s;
        });
      }
    }
    return mask;
  }

  /// The smaller dimension of each pair that shares a coordinate of a tensor.
  std::uint32_t window_dims() const {
    std::uint32_t mask = 0;
    for (const KernelNest& nest : k_.nests) {
      const auto scan = [&](const KernelAccess& a) {
        for (const AccessDim& d : a.dims) {
          std::vector<int> dims;
          for (const auto& [dim, c] : d.terms) {
            const int s = nest.shared[static_cast<std::size_t>(dim)];
            if (s >= 0 && c < 0) mask |= 1U << s;  // reversed accesses are not tiled
            if (s >= 0) dims.push_back(s);
          }
          if (dims.size() < 2) continue;
          std::sort(dims.begin(), dims.end(), [&](int x, int y) {
            return k_.dims[static_cast<std::size_t>(x)].extent > k_.dims[static_cast<std::size_t>(y)].extent;
          });
          for (std::size_t i = 1; i < dims.size(); ++i) mask |= 1U << dims[i];
        }
      };
      for (const KernelAccess& a : nest.ins) scan(a);
      scan(nest.out);
    }
    return mask;
  }

  void enumerate(TileEvaluator& tiles, FlatMapping& m, std::size_t d) {
    if (good_enough()) return;
    if (d == k_.dims.size()) {
      tiles.start(m);
      orders(tiles, m);
      return;
    }
    // A core's share is a whole number of tiles: only the end of the data is ragged.
    const std::int64_t share = candidates_[d].front();
    for (const std::int64_t t : candidates_[d]) {
      m.tile[d] = t;
      m.chunk[d] = round_up(share, t);
      // Only what is worse than the best by more than rounding is cut: of equals, the first and leanest wins.
      if (tiles.floor(m, d + 1) > best_.cost.cycles * (1 + 1e-9)) continue;
      if (!tiles.may_fit(m, d + 1)) continue;
      enumerate(tiles, m, d + 1);
    }
    m.chunk[d] = share;
  }

  bool good_enough() const { return best_.cost.cycles <= 1.02 * best_.lower_bound && std::isfinite(best_.lower_bound); }

  /// Loop orders by operand class: the dimensions of one class stay together, batch-like ones outside.
  void orders(TileEvaluator& tiles, FlatMapping& m) {
    static constexpr int kOrders[6][3] = {{1, 2, 3}, {2, 1, 3}, {1, 3, 2}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};
    std::uint32_t looped = 0;
    for (std::size_t d = 0; d < k_.dims.size(); ++d) {
      if (m.tile[d] < m.chunk[d]) looped |= 1U << d;
    }
    std::uint32_t seen[6];
    int distinct = 0;
    for (const auto& order : kOrders) {
      m.loops = 0;
      std::uint32_t signature = 0;
      const auto append = [&](int cls) {
        for (std::size_t d = 0; d < k_.dims.size(); ++d) {
          if (cls_[d] == cls && ((looped >> d) & 1U)) {
            m.order[static_cast<std::size_t>(m.loops++)] = static_cast<int>(d);
            signature = signature * 16 + static_cast<std::uint32_t>(d) + 1;
          }
        }
      };
      append(0);
      for (const int cls : order) append(cls);
      if (std::find(seen, seen + distinct, signature) != seen + distinct) continue;
      seen[distinct++] = signature;
      std::array<std::array<int, kMaxTensors>, 4> placed;
      std::size_t variants = 0;
      for (const bool keep0 : {false, true}) {
        for (const bool keep1 : {false, true}) {
          if ((keep0 || keep1) && (!k_.has_contraction() || m.loops == 0)) continue;
          eval_.place(m, keep0, keep1);
          if (std::find(placed.begin(), placed.begin() + variants, m.depth) != placed.begin() + variants) continue;
          placed[variants++] = m.depth;
          ++best_.evaluated;
          const std::optional<MappingCost> c = tiles.evaluate(m);
          if (c && *c < best_.cost) {
            best_.cost = *c;
            best_.mapping = eval_.expand(m);
          }
        }
      }
    }
  }

  const Kernel& k_;
  const MapEnvironment& env_;
  Evaluator eval_;
  std::vector<int> classes_, cls_;
  std::vector<std::vector<std::int64_t>> candidates_;
  SearchResult best_;
  std::string shortfall_;
};

}  // namespace

SearchResult search_mapping(const Kernel& k, const KernelHomes& homes, const MapEnvironment& env) {
  if (k.has_contraction()) {
    const DType operand = k.tensors[static_cast<std::size_t>(k.nests[0].ins[0].tensor)].type.dtype;
    const bool any = std::any_of(env.matrix.begin(), env.matrix.end(),
                                 [&](const MatrixUnit& u) { return u.type_for(operand) != nullptr; });
    if (!any) {
      throw Infeasible(
          fmt::format("kernel '{}': no matrix unit multiplies {}; a float model can be quantised with --precision int8 "
                      "(or converted with fp16, bf16) where the machine has that type",
                      k.name, name(operand)));
    }
  }
  return Search(k, homes, env).run();
}

}  // namespace assay
