#include "core/mapping/mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/base/math.h"

namespace assay {

TileShape::TileShape(const Kernel& k, const Mapping& m) : loops_(m.loops) {
  for (const KernelDim& d : k.dims) chunk_.push_back(d.extent);
  for (const SpatialSplit& s : m.spatial) chunk_[static_cast<std::size_t>(s.dim)] = s.chunk;
}

std::int64_t TileShape::range(int dim, int depth) const {
  for (int i = depth; i-- > 0;) {
    if (loops_[static_cast<std::size_t>(i)].dim == dim) return loops_[static_cast<std::size_t>(i)].tile;
  }
  return chunk(dim);
}

std::int64_t TileShape::trip(int loop) const {
  const TemporalLoop& l = loops_[static_cast<std::size_t>(loop)];
  return ceil_div(range(l.dim, loop), l.tile);
}

namespace {

[[noreturn]] void refuse(const Kernel& k, const std::string& what, const std::string& why) {
  throw InputError("mapping of '" + k.name + "'", what + ": " + why);
}

void check_loops(const Kernel& k, const Mapping& m, const Grid& grid) {
  const auto dims = static_cast<int>(k.dims.size());
  std::vector<std::int64_t> range;
  std::vector<bool> split(k.dims.size(), false), looped(k.dims.size(), false);
  for (const KernelDim& d : k.dims) range.push_back(d.extent);
  bool row = false, col = false;
  for (const SpatialSplit& s : m.spatial) {
    if (s.dim < 0 || s.dim >= dims) refuse(k, fmt::format("spatial split of dimension {}", s.dim), "no such dimension");
    const KernelDim& d = k.dims[static_cast<std::size_t>(s.dim)];
    const std::string what = "spatial split of " + d.name;
    if (d.reduction) refuse(k, what, "a reduction is not split over cores");
    if (!s.axes.any()) refuse(k, what, "it names no grid axis");
    if ((s.axes.row && row) || (s.axes.col && col)) refuse(k, what, "another split uses the same grid axis");
    row = row || s.axes.row, col = col || s.axes.col;
    if (split[static_cast<std::size_t>(s.dim)]) refuse(k, what, "the dimension is split twice");
    split[static_cast<std::size_t>(s.dim)] = true;
    const std::int64_t ways = (s.axes.row ? grid.rows : 1) * (s.axes.col ? grid.cols : 1);
    if (s.chunk < 1 || ceil_div(d.extent, s.chunk) > ways)
      refuse(k, what, fmt::format("shares of {} on {} cores do not cover {}", s.chunk, ways, d.extent));
    range[static_cast<std::size_t>(s.dim)] = s.chunk;
  }
  for (const TemporalLoop& l : m.loops) {
    if (l.dim < 0 || l.dim >= dims) refuse(k, fmt::format("loop over dimension {}", l.dim), "no such dimension");
    const auto d = static_cast<std::size_t>(l.dim);
    const std::string what = "loop over " + k.dims[d].name;
    if (l.tile < 1 || l.tile > round_up(range[d], std::max<std::int64_t>(l.tile, 1)))
      refuse(k, what, fmt::format("a tile of {} in a range of {}", l.tile, range[d]));
    if (range[d] % l.tile != 0 && (looped[d] || split[d]))
      refuse(k, what, fmt::format("a tile of {} does not divide the range of {} outside it", l.tile, range[d]));
    looped[d] = true;
    range[d] = l.tile;
  }
}

/// Boxes stay boxes: one tiled dimension per coordinate, and none that runs backwards.
void check_windows(const Kernel& k, const Mapping& m) {
  std::vector<bool> tiled(k.dims.size(), false);
  for (const SpatialSplit& s : m.spatial) tiled[static_cast<std::size_t>(s.dim)] = s.chunk > 1;
  for (const TemporalLoop& l : m.loops) tiled[static_cast<std::size_t>(l.dim)] = true;
  const auto scan = [&](const KernelNest& nest, const KernelAccess& a) {
    for (const AccessDim& d : a.dims) {
      std::string first;
      for (const auto& [dim, c] : d.terms) {
        const int s = nest.shared[static_cast<std::size_t>(dim)];
        if (s < 0 || !tiled[static_cast<std::size_t>(s)]) continue;
        const std::string& name = k.dims[static_cast<std::size_t>(s)].name;
        const std::string& tensor = k.tensors[static_cast<std::size_t>(a.tensor)].name;
        if (c < 0) refuse(k, "tiles of " + name, "a coordinate of " + tensor + " runs backwards along it");
        if (!first.empty()) refuse(k, "tiles of " + first + " and " + name, "they share a coordinate of " + tensor);
        first = name;
      }
    }
  };
  for (const KernelNest& nest : k.nests) {
    for (const KernelAccess& a : nest.ins) scan(nest, a);
    scan(nest, nest.out);
  }
}

/// What is written in tiles must fill them: a box with holes would carry bytes that nothing computed.
void check_holes(const Kernel& k, const Mapping& m) {
  const TileShape shape(k, m);
  for (const KernelNest& nest : k.nests) {
    const Placement& p = m.placements[static_cast<std::size_t>(nest.out.tensor)];
    if (p.resident || !p.memory.valid()) continue;
    for (const AccessDim& d : nest.out.dims) {
      std::vector<std::pair<std::int64_t, std::int64_t>> terms;  // (coefficient, range)
      for (const auto& [dim, c] : d.terms) {
        const int s = nest.shared[static_cast<std::size_t>(dim)];
        const std::int64_t range = s >= 0 ? shape.range(s, p.depth) : nest.dims[static_cast<std::size_t>(dim)].extent;
        if (range > 1) terms.push_back({std::abs(c), range});
      }
      std::sort(terms.begin(), terms.end());
      std::int64_t filled = 1;
      for (std::size_t i = 0; i < terms.size(); ++i) {
        const std::int64_t step = terms[i].first / terms.front().first;
        if (step > filled)
          refuse(k, "placement of " + k.tensors[static_cast<std::size_t>(nest.out.tensor)].name,
                 fmt::format("its tile has holes: runs of {} elements every {}", filled, step));
        filled += step * (terms[i].second - 1);
      }
    }
  }
}

}  // namespace

void check_mapping(const Kernel& k, const Mapping& m, const Grid& grid) {
  check_loops(k, m, grid);
  check_windows(k, m);
  if (m.placements.size() != k.tensors.size())
    refuse(k, "placements", fmt::format("{} for {} tensors", m.placements.size(), k.tensors.size()));
  const auto loops = static_cast<int>(m.loops.size());
  int reduction = loops;
  for (int i = loops; i-- > 0;) {
    if (k.dims[static_cast<std::size_t>(m.loops[static_cast<std::size_t>(i)].dim)].reduction) reduction = i;
  }
  for (std::size_t t = 0; t < m.placements.size(); ++t) {
    const Placement& p = m.placements[t];
    const KernelTensor& tensor = k.tensors[t];
    const std::string what = "placement of " + tensor.name;
    if (p.tensor != static_cast<int>(t)) refuse(k, what, fmt::format("it is in place {} of the list", p.tensor));
    if (p.depth < 0 || p.depth > loops) refuse(k, what, fmt::format("depth {} of {} loops", p.depth, loops));
    if (p.buffers < 1 || (p.depth == 0 && p.buffers > 1))
      refuse(k, what, fmt::format("{} buffers with {} loops outside", p.buffers, p.depth));
    if (tensor.kind != KernelTensorKind::input && p.depth > reduction)
      refuse(k, what, "partial sums would leave their memory inside the reduction");
  }
  check_holes(k, m);
}

std::int64_t TensorBox::elements() const {
  return std::accumulate(extent.begin(), extent.end(), std::int64_t{1}, std::multiplies<>());
}

namespace {

/// Bounds of one access along one dimension, and of the box so far.
struct Span {
  bool any = false;
  std::int64_t lo = 0, hi = 0, step = 0;

  void include(const KernelNest& nest, const AccessDim& access, const TileShape& shape, int depth) {
    std::int64_t from = access.offset, to = access.offset;
    for (const auto& [dim, c] : access.terms) {
      const int shared = nest.shared[static_cast<std::size_t>(dim)];
      const std::int64_t range =
          shared >= 0 ? shape.range(shared, depth) : nest.dims[static_cast<std::size_t>(dim)].extent;
      (c < 0 ? from : to) += c * (range - 1);
      if (range > 1) step = std::gcd(step, std::abs(c));
    }
    if (any) step = std::gcd(step, std::abs(from - lo));
    lo = any ? std::min(lo, from) : from;
    hi = any ? std::max(hi, to) : to;
    any = true;
  }
};

}  // namespace

TensorBox tensor_box(const Kernel& k, const TileShape& shape, int tensor, int depth) {
  const std::size_t rank = k.tensors[static_cast<std::size_t>(tensor)].type.shape.size();
  std::vector<Span> spans(rank);
  const auto include = [&](const KernelNest& nest, const KernelAccess& a) {
    if (a.tensor != tensor) return;
    for (std::size_t d = 0; d < rank; ++d) spans[d].include(nest, a.dims[d], shape, depth);
  };
  for (const KernelNest& nest : k.nests) {
    for (const KernelAccess& a : nest.ins) include(nest, a);
    include(nest, nest.out);
  }
  TensorBox box;
  for (const Span& s : spans) {
    const std::int64_t step = std::max<std::int64_t>(s.step, 1);
    box.lo.push_back(s.lo);
    box.step.push_back(step);
    box.extent.push_back((s.hi - s.lo) / step + 1);
  }
  return box;
}

std::string mapping_key(const Mapping& m) {
  std::string text;
  const auto axes = [](Axes a) { return (a.row ? 1 : 0) + (a.col ? 2 : 0); };
  for (const SpatialSplit& s : m.spatial) text += fmt::format("s{}:{}:{} ", s.dim, axes(s.axes), s.chunk);
  for (const TemporalLoop& l : m.loops) text += fmt::format("l{}:{} ", l.dim, l.tile);
  for (const Placement& p : m.placements)
    text +=
        fmt::format("p{}:{}:{}:{}:{}:{} ", p.tensor, p.memory.value, p.depth, p.buffers, p.resident, axes(p.multicast));
  text += fmt::format("a{} ", static_cast<int>(m.array.dataflow));
  for (const auto& [d, f] : m.array.on_rows) text += fmt::format("r{}:{} ", d, f);
  for (const auto& [d, f] : m.array.on_cols) text += fmt::format("c{}:{} ", d, f);
  for (const int d : m.array.order) text += fmt::format("o{} ", d);
  return text + fmt::format("u{}:{}:{}", m.matrix_unit, m.vector_unit, m.dma_only);
}

std::string print_mapping(const Kernel& k, const Mapping& m, const Machine& machine) {
  std::string out;
  const auto axes = [](Axes a) { return a.row && a.col ? "rows+cols" : a.row ? "rows" : "cols"; };
  for (const SpatialSplit& s : m.spatial) {
    out += fmt::format("spatial {} {} over {}; ", k.dims[static_cast<std::size_t>(s.dim)].name, s.chunk, axes(s.axes));
  }
  for (std::size_t depth = 0; depth <= m.loops.size(); ++depth) {
    for (const Placement& p : m.placements) {
      if (p.depth != static_cast<int>(depth) || !p.memory.valid()) continue;
      out += fmt::format("{} in {}{}{}; ", k.tensors[static_cast<std::size_t>(p.tensor)].name,
                         machine.memory(p.memory).name,
                         p.resident      ? " (resident)"
                         : p.buffers > 1 ? fmt::format(" x{}", p.buffers)
                                         : "",
                         p.multicast.any() ? fmt::format(" multicast {}", axes(p.multicast)) : "");
    }
    if (depth < m.loops.size()) {
      const TemporalLoop& l = m.loops[depth];
      const KernelDim& d = k.dims[static_cast<std::size_t>(l.dim)];
      out += fmt::format("for {} by {} of {}: ", d.name, l.tile, d.extent);
    }
  }
  if (k.has_contraction()) {
    const char* names[] = {"weight stationary", "output stationary", "input stationary", "free"};
    const auto factors = [&](const std::vector<std::pair<int, std::int64_t>>& v) {
      std::string text;
      for (const auto& [dim, f] : v)
        text += fmt::format("{}{}:{}", text.empty() ? "" : " ",
                            k.nests.front().dims[static_cast<std::size_t>(dim)].name, f);
      return text.empty() ? std::string("-") : text;
    };
    out += fmt::format("{} on rows [{}] cols [{}]", names[static_cast<int>(m.array.dataflow)], factors(m.array.on_rows),
                       factors(m.array.on_cols));
  } else if (m.dma_only) {
    out += "by dma";
  }
  return out;
}

}  // namespace assay
