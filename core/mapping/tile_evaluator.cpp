#include "core/mapping/tile_evaluator.h"

#include <algorithm>

#include "core/base/math.h"

namespace assay {
namespace {

bool is_load(TensorUse use) {
  return use == TensorUse::main_in0 || use == TensorUse::main_in1 || use == TensorUse::side_input;
}

/// Along one grid axis: how many cores hold the same part of a tensor.
double receivers(bool row, const std::vector<SpatialSplit>& splits, std::uint32_t relevant, const Kernel& k) {
  for (const SpatialSplit& s : splits) {
    if (!(row ? s.axes.row : s.axes.col)) continue;
    if ((relevant >> s.dim) & 1U) return 1;
    // A split over the whole grid fans out over both axes together: counted once, on rows.
    if (s.axes.row && s.axes.col && !row) return 1;
    return static_cast<double>(ceil_div(k.dims[static_cast<std::size_t>(s.dim)].extent, s.chunk));
  }
  return 1;
}

}  // namespace

TileEvaluator::TileEvaluator(const Evaluator& tables)
    : e_(tables), dims_(tables.k_.dims.size()), tensors_(tables.plans_.size()), memo_(tensors_) {
  if (e_.k_.has_contraction()) extents_.resize(e_.k_.nests.front().dims.size());
  for (std::size_t t = 0; t < tensors_; ++t) {
    const TensorPlan& p = e_.plans_[t];
    const bool shares = is_load(p.use) && !p.gathered && p.path.multicast;
    served_.push_back(
        shares ? receivers(true, e_.splits_, p.relevant, e_.k_) * receivers(false, e_.splits_, p.relevant, e_.k_) : 1);
    stored_.push_back(p.use == TensorUse::output ||
                      (p.use == TensorUse::psum && e_.k_.tensors[t].kind == KernelTensorKind::output));
    if (!p.resident && (is_load(p.use) || stored_[t])) overlap_ = overlap_ && p.path.overlaps;
  }
}

double TileEvaluator::matrix_cycles(const FlatMapping& m, std::size_t fixed) {
  const KernelNest& nest = e_.k_.nests.front();
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    const int s = nest.shared[i];
    extents_[i] = s < 0                                 ? nest.dims[i].extent
                  : static_cast<std::size_t>(s) < fixed ? m.tile[static_cast<std::size_t>(s)]
                                                        : share_[static_cast<std::size_t>(s)];
  }
  return contraction_cycles(e_.env_.matrix[e_.unit_],
                            e_.k_.tensors[static_cast<std::size_t>(nest.ins[0].tensor)].type.dtype, e_.array_, extents_,
                            e_.classes_);
}

TileEvaluator::Moved TileEvaluator::as_moved(const TensorPlan& p, const Evaluator::Box& b) const {
  Moved x;
  x.elements = b.elements;
  x.bytes = static_cast<double>(b.elements * p.element_bytes);
  const double requests =
      static_cast<double>(ceil_div(b.elements, b.run) * ceil_div(b.run * p.element_bytes, p.path.max_request));
  x.one =
      std::max(x.bytes * p.path.cycles_per_byte, requests * p.path.latency / static_cast<double>(p.path.outstanding));
  return x;
}

const TileEvaluator::Moved& TileEvaluator::moved(std::size_t t, const FlatMapping& m, int depth) {
  const std::uint32_t mask = prefix_[static_cast<std::size_t>(depth)] & e_.plans_[t].relevant;
  std::vector<Moved>& known = memo_[t];
  for (const Moved& x : known) {
    if (x.mask == mask) return x;
  }
  known.push_back(as_moved(e_.plans_[t], e_.box(t, m, mask)));
  known.back().mask = mask;
  return known.back();
}

TileEvaluator::Moved TileEvaluator::gathered(std::size_t table, const FlatMapping& m) {
  for (const KernelNest& nest : e_.k_.nests) {
    if (!is_gather(nest) || nest.ins[0].tensor != static_cast<int>(table)) continue;
    const auto out = static_cast<std::size_t>(nest.out.tensor);
    Evaluator::Box b = e_.box(out, m, prefix_[static_cast<std::size_t>(m.depth[out])]);
    // Rows of the table are contiguous; how many elements one index brings is the run.
    const Shape& s = e_.shapes_[table].shape;
    b.run = s.empty() ? 1 : std::max<std::int64_t>(1, std::min(b.elements, s.back()));
    return as_moved(e_.plans_[table], b);
  }
  return {};
}

double TileEvaluator::vector_once(const FlatMapping& m, std::uint32_t outside) {
  for (const auto& [mask, cycles] : vector_memo_) {
    if (mask == outside) return cycles;
  }
  double once = 0;
  for (std::size_t n = 0; n < e_.k_.nests.size(); ++n) {
    if (e_.nest_cost_[n] == 0) continue;
    const KernelNest& nest = e_.k_.nests[n];
    double points = 1;
    for (std::size_t i = 0; i < nest.dims.size(); ++i) {
      const int s = nest.shared[i];
      points *= static_cast<double>(s < 0                 ? nest.dims[i].extent
                                    : (outside >> s) & 1U ? m.tile[static_cast<std::size_t>(s)]
                                                          : m.chunk[static_cast<std::size_t>(s)]);
    }
    const VectorUnit& u = e_.env_.vector.front();
    once += points * e_.nest_cost_[n] +
            static_cast<double>(u.issue_cycles + u.pipeline_cycles) * e_.env_.vector_clock_ratio.front();
  }
  vector_memo_.push_back({outside, once});
  return once;
}

void TileEvaluator::set_candidates(const std::vector<std::vector<std::int64_t>>& candidates) {
  share_.clear();
  least_.clear();
  FlatMapping whole;
  for (std::size_t d = 0; d < dims_; ++d) {
    share_.push_back(candidates[d].front());
    least_.push_back(candidates[d].back());
    whole.chunk[d] = whole.tile[d] = share_.back();
  }
  vector_floor_ = load_floor_ = store_floor_ = shared_floor_ = 0;
  for (std::size_t n = 0; n < e_.k_.nests.size(); ++n) {
    double points = e_.nest_cost_[n];
    const KernelNest& nest = e_.k_.nests[n];
    for (std::size_t i = 0; i < nest.dims.size(); ++i) {
      points *= static_cast<double>(nest.shared[i] < 0 ? nest.dims[i].extent
                                                       : share_[static_cast<std::size_t>(nest.shared[i])]);
    }
    vector_floor_ += points;
  }
  for (std::size_t t = 0; t < tensors_; ++t) {
    const TensorPlan& p = e_.plans_[t];
    if (p.resident || p.gathered || (!is_load(p.use) && !stored_[t])) continue;
    const double bytes = least_traffic(t, candidates) * static_cast<double>(p.element_bytes);
    (stored_[t] ? store_floor_ : load_floor_) += bytes * p.path.cycles_per_byte;
    shared_floor_ += bytes * e_.active_cores_ / served_[t] * p.path.shared_cycles_per_byte;
  }
}

double TileEvaluator::least_traffic(std::size_t t, const std::vector<std::vector<std::int64_t>>& candidates) const {
  // Per axis: the least extent times trips over the tiles of the one dimension that may be cut there. Windows with
  // holes between them are covered more cheaply in pieces than whole, so the minimum is taken, not the whole.
  const Evaluator::TensorShape& s = e_.shapes_[t];
  FlatMapping m;
  for (std::size_t d = 0; d < dims_; ++d) m.chunk[d] = m.tile[d] = share_[d];
  double elements = 1;
  std::uint32_t cut = 0;
  for (std::size_t d = 0; d < s.shape.size(); ++d) {
    int dim = -1;
    for (const auto& access : s.accesses) {
      for (const auto& [other, c] : access[d].terms) {
        if (candidates[static_cast<std::size_t>(other)].size() < 2 || other == dim) continue;
        if (dim >= 0) return 0;  // two dimensions cut along one axis: no claim
        dim = other;
      }
    }
    if (dim < 0) {
      elements *= static_cast<double>(e_.reach(t, d, m, 0).extent());
      continue;
    }
    if ((cut >> dim) & 1U) return 0;  // a diagonal: its trips must not be counted twice
    cut |= 1U << dim;
    const auto i = static_cast<std::size_t>(dim);
    double least = static_cast<double>(e_.reach(t, d, m, 0).extent());
    for (const std::int64_t tile : candidates[i]) {
      m.tile[i] = tile;
      least = std::min(least, static_cast<double>(e_.reach(t, d, m, 1U << dim).extent()) *
                                  static_cast<double>(ceil_div(share_[i], tile)));
    }
    m.tile[i] = share_[i];
    elements *= least;
  }
  return elements;
}

double TileEvaluator::floor(const FlatMapping& m, std::size_t fixed) {
  double matrix = 0;
  if (e_.k_.has_contraction()) {
    double iterations = 1;
    for (std::size_t d = 0; d < fixed; ++d) iterations *= static_cast<double>(ceil_div(m.chunk[d], m.tile[d]));
    matrix = iterations * matrix_cycles(m, fixed) * e_.env_.matrix_clock_ratio[e_.unit_];
  }
  const double compute = std::max(matrix, vector_floor_);
  return overlap_ ? std::max({compute, load_floor_, store_floor_, shared_floor_})
                  : std::max(load_floor_ + store_floor_, shared_floor_) + compute;
}

bool TileEvaluator::may_fit(const FlatMapping& m, std::size_t fixed) {
  FlatMapping least = m;
  for (std::size_t d = fixed; d < dims_; ++d) {
    least.tile[d] = least_[d];
    least.chunk[d] = round_up(share_[d], least_[d]);
  }
  std::array<std::int64_t, kMaxMemories> used{};
  for (std::size_t t = 0; t < tensors_; ++t) {
    const TensorPlan& p = e_.plans_[t];
    if (p.resident || p.gathered || (e_.dma_only_ && p.use == TensorUse::side_input)) continue;
    used[p.memory.index()] += e_.box(t, least, p.relevant).elements * p.element_bytes;
  }
  for (std::size_t i = 0; i < e_.env_.available.size(); ++i) {
    if (used[i] > e_.env_.available[i]) return false;
  }
  return true;
}

void TileEvaluator::start(const FlatMapping& m) {
  for (auto& known : memo_) known.clear();
  vector_memo_.clear();
  if (e_.k_.has_contraction()) matrix_ = matrix_cycles(m, dims_);
}

void TileEvaluator::set_loops(const FlatMapping& m) {
  outside_[0] = 1;
  prefix_[0] = 0;
  for (int i = 0; i < m.loops; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto d = static_cast<std::size_t>(m.order[at]);
    outside_[at + 1] = outside_[at] * static_cast<double>(ceil_div(m.chunk[d], m.tile[d]));
    prefix_[at + 1] = prefix_[at] | 1U << d;
  }
}

std::optional<MappingCost> TileEvaluator::evaluate(FlatMapping& m) {
  set_loops(m);
  if (!fit(m)) return std::nullopt;
  return cost_of_loops(m);
}

MappingCost TileEvaluator::cost(const FlatMapping& m) {
  set_loops(m);
  return cost_of_loops(m);
}

bool TileEvaluator::fit(FlatMapping& m) {
  std::array<std::int64_t, kMaxTensors> bytes{};
  std::array<std::int64_t, kMaxMemories> used{};
  for (std::size_t t = 0; t < tensors_; ++t) {
    const TensorPlan& p = e_.plans_[t];
    if (p.resident || p.gathered || (e_.dma_only_ && p.use == TensorUse::side_input)) continue;
    bytes[t] = moved(t, m, m.depth[t]).elements * p.element_bytes;
    used[p.memory.index()] += bytes[t];
  }
  for (std::size_t i = 0; i < e_.env_.available.size(); ++i) {
    if (used[i] > e_.env_.available[i]) return false;
  }
  // A second buffer where it fits, most valuable first: operands of the contraction, outputs, sides, partial sums.
  constexpr TensorUse kByValue[] = {TensorUse::main_in1, TensorUse::main_in0, TensorUse::side_input, TensorUse::output,
                                    TensorUse::psum};
  for (const TensorUse use : kByValue) {
    for (std::size_t t = 0; t < tensors_; ++t) {
      const TensorPlan& p = e_.plans_[t];
      if (p.use != use || bytes[t] == 0 || !e_.env_.memories[p.memory.index()].double_buffered || m.depth[t] == 0)
        continue;
      if (used[p.memory.index()] + bytes[t] > e_.env_.available[p.memory.index()]) continue;
      used[p.memory.index()] += bytes[t];
      m.buffers[t] = 2;
    }
  }
  return true;
}

MappingCost TileEvaluator::cost_of_loops(const FlatMapping& m) {
  MappingCost c;
  double fill = 0, drain = 0, serial = 0;
  int epilogue_depth = m.loops;
  for (std::size_t t = 0; t < tensors_; ++t) {
    const TensorUse use = e_.plans_[t].use;
    if (use == TensorUse::psum || use == TensorUse::output) epilogue_depth = std::min(epilogue_depth, m.depth[t]);
  }
  for (std::size_t t = 0; t < tensors_; ++t) {
    const TensorPlan& p = e_.plans_[t];
    const bool store = stored_[t];
    if (p.resident || (!store && !is_load(p.use))) continue;
    const Moved x = p.gathered ? gathered(t, m) : moved(t, m, m.depth[t]);
    const double times = outside_[static_cast<std::size_t>(p.gathered ? epilogue_depth : m.depth[t])];
    (store ? c.store : c.load) += times * (x.one + p.path.latency / 4);
    const double all = times * x.bytes * e_.active_cores_ / served_[t];
    c.bytes += all;
    c.shared += all * p.path.shared_cycles_per_byte;
    if (store)
      drain = std::max(drain, x.one + p.path.latency);
    else
      fill += x.one;
    if (m.buffers[t] == 1 && m.depth[t] > 0) serial += times * x.one * 0.9;
  }
  if (e_.k_.has_contraction())
    c.matrix = outside_[static_cast<std::size_t>(m.loops)] * matrix_ * e_.env_.matrix_clock_ratio[e_.unit_];
  const double once = vector_once(m, prefix_[static_cast<std::size_t>(epilogue_depth)]);
  c.vector = once * outside_[static_cast<std::size_t>(epilogue_depth)];
  const double steady = overlap_ ? std::max({c.matrix, c.vector, c.load, c.store, c.shared})
                                 : std::max(c.load + c.store, c.shared) + std::max(c.matrix, c.vector);
  c.cycles = steady + (overlap_ ? fill + drain + once : 0) + serial;
  return c;
}

}  // namespace assay
