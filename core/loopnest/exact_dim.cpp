#include "core/loopnest/exact_dim.h"

#include <algorithm>

#include "core/base/math.h"

namespace assay {
namespace {

using Ints = std::vector<std::int64_t>;

void tidy(Ints& v) {
  std::sort(v.begin(), v.end());
  v.erase(std::unique(v.begin(), v.end()), v.end());
}

/// What extents become inside iteration i.
Ints inside(const Ints& extents, std::int64_t tile, std::int64_t i) {
  Ints out;
  for (const std::int64_t e : extents) {
    if (e > i * tile) out.push_back(std::min(tile, e - i * tile));
  }
  tidy(out);
  return out;
}

/// What they become inside any iteration.
Ints inside_any(const Ints& extents, std::int64_t tile) {
  Ints out;
  for (const std::int64_t e : extents) {
    if (e >= tile) out.push_back(tile);
    if (e % tile != 0) out.push_back(e % tile);
  }
  tidy(out);
  return out;
}

/// Iterations at which some extent begins to be clipped, or ends.
Ints breaks_of(const Ints& extents, std::int64_t tile, std::int64_t from) {
  Ints out{from};
  for (const std::int64_t e : extents) {
    for (const std::int64_t b : {e / tile, ceil_div(e, tile)}) {
      if (b > from) out.push_back(b);
    }
  }
  tidy(out);
  return out;
}

}  // namespace

ExactDim::ExactDim(const FlatNest& f, int dim, std::int64_t extent, std::size_t boundary, int level) : extent_(extent) {
  Extents extents{extent};
  for (std::size_t i = 0; i < boundary; ++i) {
    const FlatLoop& l = f.loops[i];
    if (l.dim != dim) continue;
    Loop loop{i, l.tile, ceil_div(extents.back(), l.tile), Role::time, 0, {}};
    if (!l.temporal()) {
      loop.role = l.below > level ? Role::instance : Role::child;
      loop.slot = level - l.below;
      loop.breaks = breaks_of(extents, l.tile, 0);
    }
    loops_.push_back(std::move(loop));
    extents = inside_any(extents, l.tile);
  }
}

std::vector<StepClass> ExactDim::steps(const StepChoice& choice, const Ints& place) const {
  std::vector<StepClass> out;
  StepClass at{Ints(loops_.size(), 0), 1};
  visit(0, {extent_}, at, choice, place, out);
  return out;
}

void ExactDim::visit(std::size_t k, const Extents& extents, StepClass& at, const StepChoice& choice, const Ints& place,
                     std::vector<StepClass>& out) const {
  if (extents.empty()) return;
  if (k == loops_.size()) {
    out.push_back(at);
    return;
  }
  const Loop& l = loops_[k];
  if (l.role == Role::child) return visit(k + 1, inside_any(extents, l.tile), at, choice, place, out);
  if (l.role == Role::instance) return visit(k + 1, inside(extents, l.tile, place[l.index]), at, choice, place, out);
  const bool advances = choice.kind == StepChoice::Kind::advance && l.index == choice.loop;
  const bool free = choice.kind == StepChoice::Kind::any ||
                    (choice.kind == StepChoice::Kind::advance && l.index < choice.loop) || advances;
  if (!free) return visit(k + 1, inside(extents, l.tile, 0), at, choice, place, out);
  const Ints breaks = breaks_of(extents, l.tile, advances ? 1 : 0);
  const Int128 count = at.count;
  for (std::size_t b = 0; b + 1 < breaks.size(); ++b) {
    at.index[k] = breaks[b];
    at.count = count * (breaks[b + 1] - breaks[b]);
    visit(k + 1, inside(extents, l.tile, breaks[b]), at, choice, place, out);
  }
  at.index[k] = 0;
  at.count = count;
}

std::optional<Span1> ExactDim::points(const StepClass& step, const Ints& place) const {
  std::int64_t start = 0, extent = extent_;
  for (std::size_t k = 0; k < loops_.size(); ++k) {
    const Loop& l = loops_[k];
    const std::int64_t i = l.role == Role::time ? step.index[k] : place[l.index];
    if (i >= ceil_div(extent, l.tile)) return std::nullopt;
    start += i * l.tile;
    extent = std::min(l.tile, extent - i * l.tile);
  }
  return Span1{start, start + extent};
}

std::optional<Span1> ExactDim::points_before(const StepChoice& choice, const StepClass& step, const Ints& place) const {
  if (choice.kind == StepChoice::Kind::first) return std::nullopt;
  return before(0, 0, extent_, choice, step, place);
}

std::optional<Span1> ExactDim::before(std::size_t k, std::int64_t start, std::int64_t extent, const StepChoice& choice,
                                      const StepClass& step, const Ints& place) const {
  if (k == loops_.size()) return Span1{start, start + extent};
  const Loop& l = loops_[k];
  const std::int64_t trip = ceil_div(extent, l.tile);
  const auto at = [&](std::int64_t i) {
    return before(k + 1, start + i * l.tile, std::min(l.tile, extent - i * l.tile), choice, step, place);
  };
  if (l.role != Role::time) return place[l.index] < trip ? at(place[l.index]) : std::nullopt;
  if (choice.kind == StepChoice::Kind::advance && l.index <= choice.loop) {
    const std::int64_t i = step.index[k] - (l.index == choice.loop ? 1 : 0);
    return i < trip ? at(i) : std::nullopt;
  }
  // Inside the loop that went on: its last iteration in which this child had something to do. The one before the last is
  // whole, so that no other can be the one.
  if (auto last = at(trip - 1)) return last;
  return trip > 1 ? at(trip - 2) : std::nullopt;
}

}  // namespace assay
