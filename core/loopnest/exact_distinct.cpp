#include <algorithm>
#include <set>
#include <utility>

#include "core/base/math.h"
#include "core/loopnest/exact_axis.h"

// The different words of an axis over all steps.

namespace assay {
namespace {

using Ints = std::vector<std::int64_t>;

Int128 union_size(std::vector<Span1>& spans) {
  std::sort(spans.begin(), spans.end());
  Int128 n = 0;
  std::int64_t end = 0;
  bool any = false;
  for (const Span1& s : spans) {
    if (s.size() == 0) continue;
    const std::int64_t from = any ? std::max(s.lo, end) : s.lo;
    if (s.hi > from) n += s.hi - from;
    end = any ? std::max(end, s.hi) : s.hi;
    any = true;
  }
  return n;
}

/// A stretch of a dimension without gaps, and the tiles in which it is met.
struct Block {
  std::int64_t start = 0, extent = 0;
};

/// Stretches of a dimension that one instance meets: behind the last loop that tells instances apart, all of it.
void blocks_of(const ExactDim& d, std::size_t k, std::size_t end, Block at, const Ints& place, StepBudget& budget,
               std::vector<Block>& out) {
  if (k == end) {
    budget.spend(1);
    out.push_back(at);
    return;
  }
  const ExactDim::Loop& l = d.loops()[k];
  const std::int64_t trip = ceil_div(at.extent, l.tile);
  const bool fixed = l.role == ExactDim::Role::instance;
  const std::int64_t from = fixed ? place[l.index] : 0, to = fixed ? std::min(trip, from + 1) : trip;
  for (std::int64_t i = from; i < to; ++i)
    blocks_of(d, k + 1, end, {at.start + i * l.tile, std::min(l.tile, at.extent - i * l.tile)}, place, budget, out);
}

std::int64_t shortest_tile(const ExactDim& d, std::size_t from, std::int64_t extent) {
  std::set<std::int64_t> extents{extent};
  for (std::size_t k = from; k < d.loops().size(); ++k) {
    std::set<std::int64_t> inside;
    for (const std::int64_t e : extents) {
      if (e >= d.loops()[k].tile) inside.insert(d.loops()[k].tile);
      if (e % d.loops()[k].tile != 0) inside.insert(e % d.loops()[k].tile);
    }
    extents = std::move(inside);
  }
  return *extents.begin();
}

}  // namespace

Int128 ExactAxis::distinct(Ints& place, StepBudget& budget) const {
  if (dims_.empty()) return 1;
  if (dims_.size() == 1) {  // tiles of one dimension do not overlap
    Int128 n = 0;
    int slots = 1;
    for (const ChildLoop& l : child_loops_) slots = std::max(slots, l.slot + 1);
    const std::vector<bool> apart(static_cast<std::size_t>(slots), false);
    for (const auto& [share, words] : shares({StepChoice::Kind::any, 0}, WordFlow::enter, false, apart, place, budget))
      n += words;
    return n;
  }
  std::vector<std::vector<Block>> blocks(dims_.size());
  std::vector<std::size_t> inside(dims_.size(), 0);  // first loop behind those of the instance
  for (std::size_t d = 0; d < dims_.size(); ++d) {
    const auto& loops = dims_[d].loops();
    for (std::size_t k = 0; k < loops.size(); ++k) {
      if (loops[k].role == ExactDim::Role::instance) inside[d] = k + 1;
    }
    blocks_of(dims_[d], 0, inside[d], {0, dims_[d].extent()}, place, budget, blocks[d]);
    if (blocks[d].empty()) return 0;
  }
  std::vector<Span1> met;
  std::vector<std::size_t> at(dims_.size(), 0);
  for (;;) {
    budget.spend(1);
    // From the smallest coefficient to the largest: tiles of a dimension follow without gaps if the others alone cover
    // the step from one of its points to the next. Those that come later may all stand at their shortest tile.
    struct Stretch {
      std::int64_t coefficient, shortest, whole;
    };
    std::vector<Stretch> stretches;
    Span1 all{0, 1};
    std::int64_t cover = 1;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      const Block& b = blocks[d][at[d]];
      const Stretch s{coefficients_[d], coefficients_[d] * (shortest_tile(dims_[d], inside[d], b.extent) - 1),
                      coefficients_[d] * (b.extent - 1)};
      all.lo += coefficients_[d] * b.start;
      all.hi += coefficients_[d] * b.start + s.whole;
      cover += s.shortest;
      if (s.shortest < s.whole) stretches.push_back(s);
    }
    std::sort(stretches.begin(), stretches.end(),
              [](const Stretch& x, const Stretch& y) { return x.coefficient < y.coefficient; });
    bool gaps = false;
    for (const Stretch& s : stretches) {
      gaps = gaps || cover - s.shortest < s.coefficient;
      cover += s.whole - s.shortest;
    }
    if (gaps) {
      std::vector<Span1> spans{{0, 1}};
      for (std::size_t d = 0; d < dims_.size(); ++d) {
        std::vector<Block> tiles;
        blocks_of(dims_[d], inside[d], dims_[d].loops().size(), blocks[d][at[d]], place, budget, tiles);
        budget.spend(static_cast<Int128>(spans.size()) * static_cast<Int128>(tiles.size()));
        std::vector<Span1> next;
        for (const Span1& s : spans) {
          for (const Block& t : tiles)
            next.push_back({s.lo + coefficients_[d] * t.start, s.hi + coefficients_[d] * (t.start + t.extent - 1)});
        }
        spans = std::move(next);
      }
      met.insert(met.end(), spans.begin(), spans.end());
    } else {
      met.push_back(all);
    }
    std::size_t d = 0;
    while (d < at.size() && ++at[d] == blocks[d].size()) at[d++] = 0;
    if (d == at.size()) break;
  }
  return union_size(met);
}

}  // namespace assay
