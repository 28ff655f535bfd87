#include "core/loopnest/child_mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/math.h"

namespace assay {
namespace {

using Ints = std::vector<std::int64_t>;
using Sharing = std::map<std::int64_t, std::int64_t>;

constexpr std::size_t kMostChildren = 1'000'000;

/// Groups of two independent directions.
void combine(Sharing& into, const Sharing& more) {
  Sharing out;
  for (const auto& [m, n] : into) {
    for (const auto& [k, c] : more) out[checked_mul(m, k)] += checked_mul(n, c);
  }
  into = std::move(out);
}

/// Where `from` must be moved to become `to`; nothing if they differ in shape.
std::optional<Ints> translation(std::vector<Box> from, std::vector<Box> to) {
  if (from.size() != to.size() || from.empty()) return std::nullopt;
  std::sort(from.begin(), from.end());
  std::sort(to.begin(), to.end());
  Ints motion;
  for (std::size_t x = 0; x < from[0].size(); ++x) motion.push_back(to[0][x].lo - from[0][x].lo);
  for (std::size_t i = 0; i < from.size(); ++i) {
    for (std::size_t x = 0; x < motion.size(); ++x) {
      if (to[i][x].lo - from[i][x].lo != motion[x] || to[i][x].hi - from[i][x].hi != motion[x]) return std::nullopt;
    }
  }
  return motion;
}

}  // namespace

ChildMesh::ChildMesh(std::vector<MeshLoop> loops, std::size_t axes, bool multicast, bool packed, MeshExtent fanout,
                     MeshExtent used, std::string tensor)
    : loops_(std::move(loops)),
      axes_(axes),
      multicast_(multicast),
      packed_(packed),
      row_(std::max(fanout.x, used.x)),
      column_(std::max(fanout.y, used.y)),
      tensor_(std::move(tensor)) {}

void ChildMesh::too_many() const {
  throw InputError("nest",
                   fmt::format("more than {} children of one fan-out to compare for '{}'", kMostChildren, tensor_));
}

const Sharing& ChildMesh::shared(const Ints& trips) { return layout(trips).shared; }

ChildMesh::Layout& ChildMesh::layout(const Ints& trips) {
  const auto known = layouts_.find(trips);
  if (known != layouts_.end()) return known->second;
  Layout l;
  if (multicast_) {
    l.shared[1] = 1;
    for (std::size_t a = 0; a < axes_; ++a) combine(l.shared, along_axis(trips, static_cast<int>(a)));
    for (std::size_t j = 0; j < loops_.size(); ++j) {
      if (loops_[j].axis < 0) combine(l.shared, {{trips[j], 1}});
    }
  } else {
    l.shared[1] = checked_product(trips);
  }
  return layouts_.emplace(trips, std::move(l)).first->second;
}

/// How many children stand at the same place of one axis → places.
Sharing ChildMesh::along_axis(const Ints& trips, int axis) const {
  std::vector<std::size_t> mine;
  for (std::size_t j = 0; j < loops_.size(); ++j) {
    if (loops_[j].axis == axis && trips[j] > 1) mine.push_back(j);
  }
  if (mine.empty()) return {{1, 1}};
  if (mine.size() == 1) return {{1, trips[mine[0]]}};
  std::map<std::int64_t, std::int64_t> places{{0, 1}};
  for (const std::size_t j : mine) {
    if (static_cast<std::size_t>(trips[j]) > kMostChildren / places.size()) too_many();
    std::map<std::int64_t, std::int64_t> next;
    for (const auto& [place, n] : places) {
      for (std::int64_t k = 0; k < trips[j]; ++k) next[place + k * loops_[j].words] += n;
    }
    places = std::move(next);
  }
  Sharing out;
  for (const auto& [place, n] : places) ++out[n];
  return out;
}

void ChildMesh::list(const Ints& trips, Layout& l) const {
  l.listed = true;
  std::vector<std::size_t> order;  // outermost first: y, then x
  for (const LoopKind kind : {LoopKind::spatial_y, LoopKind::spatial_x}) {
    for (std::size_t j = 0; j < loops_.size(); ++j) {
      if (loops_[j].kind != kind) continue;
      order.push_back(j);
      if (kind == LoopKind::spatial_x) l.row = checked_mul(l.row, trips[j]);
    }
  }
  const std::int64_t all = checked_product(trips);
  if (all > static_cast<std::int64_t>(kMostChildren)) too_many();
  std::map<Ints, int> number;
  for (std::int64_t child = 0; child < all; ++child) {
    Ints offset(axes_, 0);
    std::int64_t left = child;
    for (std::size_t o = order.size(); o-- > 0;) {
      const MeshLoop& m = loops_[order[o]];
      const std::int64_t k = left % trips[order[o]];
      left /= trips[order[o]];
      if (m.axis >= 0) offset[static_cast<std::size_t>(m.axis)] += k * m.words;
    }
    if (multicast_) {
      l.group.push_back(number.emplace(offset, static_cast<int>(number.size())).first->second);
    } else {
      l.group.push_back(static_cast<int>(child));
    }
    l.offset.push_back(std::move(offset));
  }
  l.groups = multicast_ ? static_cast<int>(number.size()) : static_cast<int>(all);
}

std::optional<ChildMesh::Handed> ChildMesh::handed_on(const std::vector<Box>& then, const Ints& trips_then,
                                                      const std::vector<Box>& now, const Ints& trips) {
  const std::optional<Ints> motion = translation(then, now);
  if (!motion) return std::nullopt;
  Layout& before = layout(trips_then);
  if (!before.listed) list(trips_then, before);
  Layout& here = layout(trips);
  if (!here.listed) list(trips, here);
  Handed h;
  std::vector<std::int64_t> members(static_cast<std::size_t>(here.groups), 0);
  for (std::size_t i = 0; i < here.offset.size(); ++i) {
    if (neighbour_had(i, here, before, *motion)) {
      ++h.children;
    } else {
      ++members[static_cast<std::size_t>(here.group[i])];
    }
  }
  int left = 0;
  for (const std::int64_t m : members) {
    if (m == 0) continue;
    ++h.shared[m];
    ++left;
  }
  if (left == here.groups) return std::nullopt;
  return h;
}

bool ChildMesh::neighbour_had(std::size_t child, const Layout& now, const Layout& then, const Ints& motion) const {
  const auto lin = static_cast<std::int64_t>(child);
  const std::int64_t here = packed_ ? lin : lin / now.row * row_ + lin % now.row;
  constexpr std::int64_t kSteps[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
  for (const auto& step : kSteps) {
    const std::int64_t v = here / row_ + step[0], h = here % row_ + step[1];
    if (v < 0 || h < 0 || v >= column_ || h >= row_) continue;
    if (!packed_ && h >= then.row) continue;
    const std::int64_t other = packed_ ? v * row_ + h : v * then.row + h;
    if (other >= static_cast<std::int64_t>(then.offset.size())) continue;
    bool same = true;
    for (std::size_t a = 0; a < motion.size() && same; ++a)
      same = then.offset[static_cast<std::size_t>(other)][a] - now.offset[child][a] == motion[a];
    if (same) return true;
  }
  return false;
}

}  // namespace assay
