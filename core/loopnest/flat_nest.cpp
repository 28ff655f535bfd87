#include "core/loopnest/flat_nest.h"

#include <algorithm>

namespace assay {
namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// `rest` of every loop: what is left of the dimension on the way to its last point.
void fill_rest(FlatNest& f, const Einsum& e) {
  std::vector<std::int64_t> rest;
  for (const EinsumDim& d : e.dims) rest.push_back(d.extent);
  for (FlatLoop& l : f.loops) {
    std::int64_t& r = rest[at(l.dim)];
    l.rest = r;
    r -= (l.last_trip() - 1) * l.tile;
  }
}

}  // namespace

const Holder* FlatNest::held(int tensor, int level) const {
  for (const Holder& h : holders[at(tensor)]) {
    if (h.level == level) return &h;
  }
  return nullptr;
}

std::vector<std::int64_t> FlatNest::extents(const Einsum& e, std::size_t position) const {
  std::vector<std::int64_t> out;
  for (const EinsumDim& d : e.dims) out.push_back(d.extent);
  for (std::size_t i = 0; i < position; ++i) out[at(loops[i].dim)] = loops[i].tile;
  return out;
}

FlatNest flatten(const LoopNest& nest, const Einsum& e, const Hierarchy& h) {
  FlatNest f;
  const std::size_t levels = h.levels.size();
  f.holders.resize(e.tensors.size());
  f.begins.assign(levels, kNowhere);
  f.unicast.assign(levels, std::vector<bool>(e.tensors.size(), false));
  f.unlinked = f.unicast;
  std::vector<FanOut> fans(levels, {kNowhere, kNowhere});
  std::vector<std::int64_t> extent;
  for (const EinsumDim& d : e.dims) extent.push_back(d.extent);
  for (const NestNode& node : nest.nodes) {
    const std::size_t here = f.loops.size();
    if (const auto* s = std::get_if<StorageNode>(&node)) {
      if (f.begins[at(s->level)] == kNowhere) f.begins[at(s->level)] = here;
      for (const int t : s->tensors) f.holders[at(t)].push_back({s->level, here});
      continue;
    }
    const auto& l = std::get<LoopNode>(node);
    const bool spatial = l.kind != LoopKind::temporal;
    if (spatial && fans[at(l.below)].begin == kNowhere) fans[at(l.below)] = {here, here};
    std::int64_t& outside = extent[at(l.dim)];
    if (l.tile < outside) f.loops.push_back({l.dim, l.tile, outside, outside, l.kind, spatial ? l.below : -1});
    outside = l.tile;
    if (spatial) fans[at(l.below)].end = f.loops.size();
  }
  for (std::size_t d = 0; d < extent.size(); ++d) {
    if (extent[d] > 1) f.loops.push_back({static_cast<int>(d), 1, extent[d], extent[d], LoopKind::temporal, -1});
  }
  fill_rest(f, e);
  // A level without nodes or spatial loops begins, and fans out, where the next one outside ends.
  std::size_t outer_end = 0;
  for (std::size_t i = levels; i-- > 0;) {
    std::size_t& begin = f.begins[i];
    if (begin == kNowhere) begin = fans[i].begin != kNowhere ? std::max(outer_end, fans[i].begin) : outer_end;
    if (fans[i].begin == kNowhere) {
      std::size_t end = f.loops.size();
      for (std::size_t j = i; j-- > 0;) {
        if (f.begins[j] != kNowhere) {
          end = f.begins[j];
          break;
        }
        if (fans[j].begin != kNowhere) {
          end = fans[j].begin;
          break;
        }
      }
      fans[i] = {std::max(end, begin), std::max(end, begin)};
    }
    outer_end = fans[i].end;
  }
  f.fans = std::move(fans);
  for (const NetworkLimit& n : nest.networks) {
    for (const int t : n.unicast) f.unicast[at(n.below)][at(t)] = true;
    for (const int t : n.unlinked) f.unlinked[at(n.below)][at(t)] = true;
  }
  return f;
}

}  // namespace assay
