#include "core/mapping/mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/base/math.h"

namespace assay {

TileShape::TileShape(const Kernel& k, const Mapping& m) {
  const auto loops = static_cast<int>(m.loops.size());
  for (const KernelDim& d : k.dims) {
    chunk_.push_back(d.extent);
    tile_.push_back(d.extent);
    position_.push_back(loops);
  }
  for (const SpatialSplit& s : m.spatial)
    chunk_[static_cast<std::size_t>(s.dim)] = tile_[static_cast<std::size_t>(s.dim)] = s.chunk;
  for (int i = 0; i < loops; ++i) {
    const TemporalLoop& l = m.loops[static_cast<std::size_t>(i)];
    tile_[static_cast<std::size_t>(l.dim)] = l.tile;
    position_[static_cast<std::size_t>(l.dim)] = i;
  }
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
