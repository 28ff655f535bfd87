#include "tests/loopnest/random_nest.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }
bool chance(Random& r, double p) { return r.uniform() < p; }

Einsum random_einsum(Random& r, const NestRange& range) {
  Einsum e;
  const int dims = static_cast<int>(r.between(1, 5));
  std::int64_t macs = 1;
  for (int d = 0; d < dims; ++d) {
    std::int64_t extent = r.between(1, range.most_extent);
    extent = std::min(extent, std::max<std::int64_t>(1, range.most_macs / macs));
    macs *= extent;
    e.dims.push_back({std::string(1, static_cast<char>('a' + d)), extent});
  }
  const int operands = static_cast<int>(r.between(1, 3));
  for (int t = 0; t <= operands; ++t) {
    EinsumTensor tensor{std::string(1, static_cast<char>('A' + t)), t == operands, {}};
    if (t == operands) tensor.name = "Z";
    for (int d = 0; d < dims; ++d) {
      if (chance(r, 0.4)) continue;
      const EinsumTerm term{d, chance(r, 0.8) || !range.windows ? 1 : r.between(2, 3)};
      if (range.windows && !tensor.axes.empty() && chance(r, 0.35)) {
        tensor.axes[static_cast<std::size_t>(r.between(0, static_cast<std::int64_t>(tensor.axes.size()) - 1))]
            .push_back(term);
      } else {
        tensor.axes.push_back({term});
      }
    }
    e.tensors.push_back(tensor);
  }
  return e;
}

std::int64_t random_tile(Random& r, std::int64_t extent, bool imperfect) {
  for (;;) {
    const std::int64_t tile = r.between(1, extent);
    if (imperfect || extent % tile == 0) return tile;
  }
}

}  // namespace

RandomNest random_nest(Random& r, const NestRange& range) {
  RandomNest n;
  n.einsum = random_einsum(r, range);
  const int dims = static_cast<int>(n.einsum.dims.size()), tensors = static_cast<int>(n.einsum.tensors.size());
  const int levels = static_cast<int>(r.between(1, range.most_levels));
  std::int64_t side = 1;
  n.machine.levels.resize(at(levels));
  for (int i = levels; i-- > 0;) {
    HierarchyLevel& l = n.machine.levels[at(i)];
    l.name = fmt::format("L{}", i);
    l.mesh = {side, side};
    side *= range.most_children;
    l.read_rate = static_cast<double>(r.between(0, 3));
    l.write_rate = static_cast<double>(r.between(0, 3));
    l.shared_rate = static_cast<double>(r.between(0, 3));
    l.adds_in_place = chance(r, 0.7);
    l.network.multicast = chance(r, 0.8);
    l.network.reduction = chance(r, 0.8);
    l.network.neighbour_links = chance(r, 0.4);
  }
  n.machine.compute = {side, side};
  std::vector<std::int64_t> extent;
  for (const EinsumDim& d : n.einsum.dims) extent.push_back(d.extent);
  const auto loop = [&](LoopKind kind, int below, std::int64_t most) {
    const int d = static_cast<int>(r.between(0, dims - 1));
    const std::int64_t tile = random_tile(r, extent[at(d)], range.imperfect);
    if ((extent[at(d)] + tile - 1) / tile > most) return std::int64_t{1};
    n.nest.nodes.emplace_back(LoopNode{d, tile, kind, below});
    const std::int64_t trip = (extent[at(d)] + tile - 1) / tile;
    extent[at(d)] = tile;
    return trip;
  };
  for (int i = levels; i-- > 0;) {
    std::vector<int> here;
    for (int t = 0; t < tensors; ++t) {
      if (i == levels - 1 || chance(r, range.holds)) here.push_back(t);
    }
    if (i == levels - 1) {
      n.nest.nodes.emplace_back(StorageNode{i, here});
      here.clear();
    }
    for (std::int64_t left = r.between(0, 3); left > 0; --left) {
      if (!here.empty() && chance(r, 0.4)) {
        const std::size_t some = static_cast<std::size_t>(r.between(1, static_cast<std::int64_t>(here.size())));
        n.nest.nodes.emplace_back(StorageNode{i, {here.end() - static_cast<std::ptrdiff_t>(some), here.end()}});
        here.resize(here.size() - some);
      }
      loop(LoopKind::temporal, 0, 100);
    }
    if (!here.empty() || i + 1 < levels) n.nest.nodes.emplace_back(StorageNode{i, here});
    std::int64_t x = 1, y = 1;
    for (std::int64_t left = r.between(0, 3); left > 0; --left) {
      if (chance(r, 0.5)) {
        x *= loop(LoopKind::spatial_x, i, range.most_children / x);
      } else {
        y *= loop(LoopKind::spatial_y, i, range.most_children / y);
      }
    }
    if (chance(r, 0.2)) {
      NetworkLimit limit{i, {}, {}};
      (chance(r, 0.5) ? limit.unicast : limit.unlinked).push_back(static_cast<int>(r.between(0, tensors - 1)));
      n.nest.networks.push_back(limit);
    }
  }
  return n;
}

std::string describe(const RandomNest& n) {
  std::string out;
  for (const EinsumDim& d : n.einsum.dims) out += fmt::format("{}={} ", d.name, d.extent);
  out += print_einsum(n.einsum) + "\n" + print_loop_nest(n.nest, n.einsum, n.machine);
  for (const HierarchyLevel& l : n.machine.levels)
    out += fmt::format("{}: multicast {} reduction {} links {} adds {}\n", l.name, l.network.multicast,
                       l.network.reduction, l.network.neighbour_links, l.adds_in_place);
  for (const NetworkLimit& l : n.nest.networks)
    out += fmt::format("below {}: unicast {} unlinked {}\n", l.below, l.unicast.empty() ? -1 : l.unicast[0],
                       l.unlinked.empty() ? -1 : l.unlinked[0]);
  return out;
}

}  // namespace assay
