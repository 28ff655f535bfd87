#include "core/loopnest/exact_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/math.h"

namespace assay {
namespace {

using Ints = std::vector<std::int64_t>;

void add_shares(AxisShares& to, const AxisShares& more, Int128 times) {
  for (const auto& [share, n] : more) to[share] += n * times;
}

}  // namespace

void StepBudget::spend(Int128 steps) {
  if (steps > left_)
    throw InputError("nest",
                     fmt::format("{}: more than 100,000,000 steps to count. Its spatial loops (several over one "
                                 "axis, or handed on between neighbours) have no closed form",
                                 what_));
  left_ -= steps;
}

ExactAxis::ExactAxis(const FlatNest& f, const Einsum& e, const std::vector<EinsumTerm>& terms, std::size_t boundary,
                     int level, bool overlaps)
    : overlaps_(overlaps) {
  for (const EinsumTerm& t : terms) {
    dims_.emplace_back(f, t.dim, e.dims[static_cast<std::size_t>(t.dim)].extent, boundary, level);
    coefficients_.push_back(t.coefficient);
    for (const ExactDim::Loop& l : dims_.back().loops()) {
      if (l.role != ExactDim::Role::child) continue;
      child_loops_.push_back({l.index, l.trip, l.slot, &l - dims_.back().loops().data(), dims_.size() - 1});
    }
  }
  std::sort(child_loops_.begin(), child_loops_.end(),
            [](const ChildLoop& a, const ChildLoop& b) { return a.index < b.index; });
}

Int128 ExactAxis::children() const {
  Int128 n = 1;
  for (const ChildLoop& l : child_loops_) {
    n *= l.trip;
    if (n > (Int128{1} << 62)) return n;  // more than any budget
  }
  return n;
}

template <class Visit>
void ExactAxis::for_classes(const StepChoice& choice, const Ints& place, Visit&& visit) const {
  std::vector<std::vector<StepClass>> lists;
  for (const ExactDim& d : dims_) {
    lists.push_back(d.steps(choice, place));
    if (lists.back().empty()) return;
  }
  std::vector<std::size_t> at(lists.size(), 0);
  std::vector<const StepClass*> step(lists.size());
  for (;;) {
    Int128 count = 1;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      step[i] = &lists[i][at[i]];
      count *= step[i]->count;
    }
    visit(step, count);
    std::size_t i = 0;
    while (i < lists.size() && ++at[i] == lists[i].size()) at[i++] = 0;
    if (i == lists.size()) return;
  }
}

bool ExactAxis::child_at(const StepChoice& choice, WordFlow flow, const std::vector<const StepClass*>& step,
                         const Ints& place, AxisChild& child) const {
  Span1 now{0, 1}, before{0, 1};
  const bool ends = choice.kind == StepChoice::Kind::end;
  const bool had = ends || choice.kind == StepChoice::Kind::advance;
  const auto add = [](Span1& to, const Span1& points, std::int64_t coefficient) {
    to.lo += coefficient * points.lo;
    to.hi += coefficient * (points.hi - 1);
  };
  for (std::size_t d = 0; d < dims_.size(); ++d) {
    if (!ends) {
      const auto p = dims_[d].points(*step[d], place);
      if (!p) return false;
      add(now, *p, coefficients_[d]);
    }
    if (had) {
      const auto p = dims_[d].points_before(choice, *step[d], place);
      if (!p) {
        ASSAY_CHECK(ends, "a child that works in a step worked in the one before");
        return false;
      }
      add(before, *p, coefficients_[d]);
    }
  }
  if (ends) {
    child.moved = before;
    child.other = {};
  } else if (!had) {
    child.moved = now;
    child.other = {};
  } else {
    child.moved = flow == WordFlow::enter ? now : before;
    child.other = flow == WordFlow::enter ? before : now;
  }
  return true;
}

std::vector<AxisChild> ExactAxis::listed(const StepChoice& choice, WordFlow flow,
                                         const std::vector<const StepClass*>& step, Ints& place,
                                         StepBudget& budget) const {
  const Int128 all = children();
  budget.spend(all);
  std::vector<AxisChild> out;
  for (std::int64_t n = 0; n < static_cast<std::int64_t>(all); ++n) {
    std::int64_t left = n;
    for (std::size_t l = child_loops_.size(); l-- > 0;) {
      place[child_loops_[l].index] = left % child_loops_[l].trip;
      left /= child_loops_[l].trip;
    }
    AxisChild c;
    c.number = n;
    if (child_at(choice, flow, step, place, c)) out.push_back(c);
  }
  for (const ChildLoop& l : child_loops_) place[l.index] = 0;
  return out;
}

void ExactAxis::add_pieces(const AxisChild& child, bool keeps, std::int64_t times, std::vector<Segment>& out) {
  out.push_back({child.moved.lo, child.moved.hi, times, 0});
  const Span1 kept = child.kept();
  if (keeps && kept.size() > 0) out.push_back({kept.lo, kept.hi, 0, times});
}

std::vector<ExactAxis::Segment> ExactAxis::sweep(const std::vector<Segment>& pieces) {
  struct Edge {
    std::int64_t at, taken, kept;
  };
  if (pieces.size() == 1) return pieces;
  std::vector<Edge> edges;
  edges.reserve(2 * pieces.size());
  for (const Segment& p : pieces) {
    edges.push_back({p.lo, p.taken, p.kept});
    edges.push_back({p.hi, -p.taken, -p.kept});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  std::vector<Segment> out;
  std::int64_t taken = 0, kept = 0;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    taken += edges[i].taken;
    kept += edges[i].kept;
    if (edges[i + 1].at == edges[i].at || taken == 0) continue;
    if (!out.empty() && out.back().hi == edges[i].at && out.back().taken == taken && out.back().kept == kept) {
      out.back().hi = edges[i + 1].at;
    } else {
      out.push_back({edges[i].at, edges[i + 1].at, taken, kept});
    }
  }
  return out;
}

/// Moves children that differ apart, so that they touch no word in common.
void ExactAxis::set_apart(std::vector<AxisChild>& children, bool keeps) {
  std::map<std::pair<Span1, Span1>, std::int64_t> known;
  std::int64_t end = 0;
  for (AxisChild& c : children) {
    Span1 kept = c.kept();
    if (!keeps || kept.size() == 0) kept = {c.moved.lo, c.moved.lo};
    const auto [it, fresh] = known.emplace(std::pair{c.moved, kept}, end - c.moved.lo);
    if (fresh) end += c.moved.size();
    const std::int64_t by = it->second;
    c.other = {kept.lo + by, kept.hi + by};
    c.moved = {c.moved.lo + by, c.moved.hi + by};
  }
}

void ExactAxis::as_one(std::vector<Segment>& requests) {
  for (Segment& s : requests) {
    s.kept = s.kept == s.taken ? 1 : 0;
    s.taken = 1;
  }
}

std::vector<ExactAxis::Segment> ExactAxis::profile(const AxisChild* begin, const AxisChild* end, int slot, bool keeps,
                                                   const std::vector<bool>& shares) const {
  std::vector<Segment> pieces;
  if (slot + 1 == static_cast<int>(shares.size())) {
    for (const AxisChild* c = begin; c != end; ++c) add_pieces(*c, keeps, 1, pieces);
    return sweep(pieces);
  }
  std::int64_t inside = 1;
  for (const ChildLoop& l : child_loops_) {
    if (l.slot > slot) inside *= l.trip;
  }
  for (const AxisChild* from = begin; from != end;) {
    const AxisChild* to = from;
    while (to != end && to->number / inside == from->number / inside) ++to;
    std::vector<Segment> group = profile(from, to, slot + 1, keeps, shares);
    if (shares[static_cast<std::size_t>(slot) + 1]) as_one(group);
    pieces.insert(pieces.end(), group.begin(), group.end());
    from = to;
  }
  return sweep(pieces);
}

AxisShares ExactAxis::count_shares(const std::vector<AxisChild>& children, bool keeps) {
  std::vector<Segment> pieces;
  for (const AxisChild& c : children) add_pieces(c, keeps, 1, pieces);
  AxisShares out;
  for (const Segment& s : sweep(pieces)) out[{s.taken, s.kept}] += s.hi - s.lo;
  return out;
}

AxisShares ExactAxis::in_runs(const StepChoice& choice, WordFlow flow, bool keeps,
                              const std::vector<const StepClass*>& step, Ints& place, const std::vector<bool>& shares,
                              StepBudget& budget) const {
  const ChildLoop& loop = child_loops_[0];
  const ExactDim::Loop& l = dims_[loop.dim].loops()[static_cast<std::size_t>(loop.own)];
  std::int64_t shift = coefficients_[loop.dim] * l.tile;
  struct Run {
    std::int64_t length = 0;
    AxisChild first;  ///< seen from its own slot
  };
  std::vector<Run> runs;  // who is idle comes last: clips shorten
  std::int64_t low = 0, high = 0;
  for (std::size_t b = 0; b + 1 < l.breaks.size(); ++b) {
    Run r;
    r.length = l.breaks[b + 1] - l.breaks[b];
    place[l.index] = l.breaks[b];
    if (!child_at(choice, flow, step, place, r.first)) continue;
    const std::int64_t by = l.breaks[b] * shift;
    for (Span1* s : {&r.first.moved, &r.first.other}) {
      if (s->size() == 0) continue;
      s->lo -= by;
      s->hi -= by;
      low = runs.empty() && s == &r.first.moved ? s->lo : std::min(low, s->lo);
      high = runs.empty() && s == &r.first.moved ? s->hi : std::max(high, s->hi);
    }
    runs.push_back(r);
  }
  place[l.index] = 0;
  const bool one = std::any_of(shares.begin() + 1, shares.begin() + 1 + loop.slot, [](bool s) { return s; });
  const auto count = [&](const Ints& lengths) {
    std::vector<Segment> pieces;
    std::int64_t at = 0;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      budget.spend(shift == 0 ? 1 : lengths[r]);
      if (shift == 0) {
        add_pieces(runs[r].first, keeps, lengths[r], pieces);
        continue;
      }
      for (std::int64_t n = 0; n < lengths[r]; ++n, at += shift) {
        AxisChild c = runs[r].first;
        for (Span1* s : {&c.moved, &c.other}) {
          if (s->size() == 0) continue;
          s->lo += at;
          s->hi += at;
        }
        add_pieces(c, keeps, 1, pieces);
      }
    }
    std::vector<Segment> segments = sweep(pieces);
    if (one) as_one(segments);
    AxisShares out;
    for (const Segment& s : segments) out[{s.taken, s.kept}] += s.hi - s.lo;
    return out;
  };
  if (!overlaps_ && shift > 0) shift = std::max(shift, high - low);
  // Beyond the reach of a child's spans every further child of a run adds the same words.
  Ints lengths;
  for (const Run& r : runs) lengths.push_back(shift == 0 ? r.length : std::min(r.length, (high - low) / shift + 2));
  const AxisShares base = count(lengths);
  AxisShares out = base;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const std::int64_t more = runs[r].length - lengths[r];
    if (more == 0) continue;
    ++lengths[r];
    const AxisShares next = count(lengths);
    --lengths[r];
    add_shares(out, next, more);
    add_shares(out, base, -more);
  }
  return out;
}

AxisShares ExactAxis::shares(const StepChoice& choice, WordFlow flow, bool keeps, const std::vector<bool>& shares,
                             Ints& place, StepBudget& budget) const {
  AxisShares out;
  for_classes(choice, place, [&](const std::vector<const StepClass*>& step, Int128 count) {
    budget.spend(1);
    if (child_loops_.size() == 1) {
      add_shares(out, in_runs(choice, flow, keeps, step, place, shares, budget), count);
      return;
    }
    std::vector<AxisChild> children = listed(choice, flow, step, place, budget);
    if (children.empty()) return;
    if (!overlaps_) set_apart(children, keeps);
    for (const Segment& s : profile(children.data(), children.data() + children.size(), 0, keeps, shares))
      out[{s.taken, s.kept}] += count * (s.hi - s.lo);
  });
  return out;
}

std::vector<AxisStep> ExactAxis::steps(const StepChoice& choice, WordFlow flow, Ints& place, StepBudget& budget) const {
  std::vector<AxisStep> out;
  for_classes(choice, place, [&](const std::vector<const StepClass*>& step, Int128 count) {
    AxisStep s{count, listed(choice, flow, step, place, budget)};
    if (!s.children.empty()) out.push_back(std::move(s));
  });
  return out;
}

}  // namespace assay
