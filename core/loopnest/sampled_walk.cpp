#include "core/loopnest/counting_sampled.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "core/base/math.h"
#include "core/loopnest/box.h"
#include "core/loopnest/child_mesh.h"

namespace assay {
namespace {

using Ints = std::vector<std::int64_t>;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

enum class Part : unsigned char { temporal, outer, child };

struct WalkLoop {
  FlatLoop loop;
  Part part = Part::temporal;
  bool last_is_full =
      false;  ///< the loop next to the boundary: what its last iterations cost is taken from the ones before
  bool imperfect = false;
  std::vector<std::pair<std::size_t, std::int64_t>> shift;  ///< (axis, words per iteration)
};

/// What a boundary remembers between visits, seen from where the loop in question stands.
struct Situation {
  bool any = false;
  Box box;                       ///< tile of the last visit
  bool moved = false;            ///< `motion` is set
  Ints motion;                   ///< the last translation that is remembered
  std::vector<Box> delta;        ///< what the last visit took (links only)
  std::optional<Ints> children;  ///< trips of the child loops then (links only)
  friend bool operator==(const Situation&, const Situation&) = default;
};

struct Counts {
  SignatureCounts accesses;
  double links = 0;
  void add(const Counts& o, double times) {
    for (const auto& [key, n] : o.accesses) accesses[key] += n * times;
    links += o.links * times;
  }
};

struct Visit {
  Situation after;
  Counts counts;
};

class SampledWalk {
 public:
  SampledWalk(const FlatNest& f, const Einsum& e, const Hierarchy& h, int tensor, int level,
              const CountingConvention& c)
      : e_(e), tensor_(e.tensors[at(tensor)]), c_(c), mac_(level == 0) {
    const Holder* child = mac_ ? nullptr : f.held(tensor, level - 1);
    const FanOut fan = f.fans[at(level)];
    const std::size_t boundary = mac_ ? f.loops.size() : child != nullptr ? child->position : fan.end;
    for (std::size_t i = 0; i < boundary; ++i) {
      WalkLoop w;
      w.loop = f.loops[i];
      if (!w.loop.temporal()) w.part = w.loop.below == level ? Part::child : Part::outer;
      w.imperfect = w.loop.trip() != w.loop.last_trip();
      for (std::size_t a = 0; a < tensor_.axes.size(); ++a) {
        for (const EinsumTerm& t : tensor_.axes[a]) {
          std::int64_t words = 0;
          if (t.dim == w.loop.dim) {
            if (mul_overflows(t.coefficient, w.loop.tile, words))
              throw InputError(tensor_.name, "an axis is longer than 2^62");
            w.shift.push_back({a, words});
          }
        }
      }
      loops_.push_back(std::move(w));
    }
    if (!mac_ && fan.empty()) {
      for (std::size_t i = boundary; i-- > f.begins[at(level)];) {
        if (loops_[i].part == Part::temporal) {
          loops_[i].last_is_full = true;
          break;
        }
      }
    }
    const LevelNetwork& network = h.levels[at(level)].network;
    const bool multicast =
        !f.unicast[at(level)][at(tensor)] && (tensor_.output ? network.reduction : network.multicast);
    links_ = c.neighbour_links && network.neighbour_links && !fan.empty() && !f.unlinked[at(level)][at(tensor)] &&
             (mac_ || child != nullptr);
    MeshExtent used;
    std::vector<MeshLoop> children;
    for (std::size_t i = fan.begin; i < fan.end; ++i) {
      std::int64_t& side = f.loops[i].kind == LoopKind::spatial_x ? used.x : used.y;
      side = checked_mul(side, f.loops[i].trip());
      const auto& shift = loops_[i].shift;
      children.push_back({f.loops[i].kind, shift.empty() ? -1 : static_cast<int>(shift[0].first),
                          shift.empty() ? 0 : shift[0].second});
    }
    mesh_.emplace(std::move(children), tensor_.axes.size(), multicast, c.packed_mesh, h.fanout(level), used,
                  tensor_.name);
    memo_.resize(loops_.size() + 1);
  }

  Counts run() {
    Ints extent;
    for (const EinsumDim& d : e_.dims) extent.push_back(d.extent);
    return visit(0, extent, {}, {}).counts;
  }

 private:
  void shift(Situation& s, const WalkLoop& w, std::int64_t times) const {
    for (const auto& [axis, words] : w.shift) {
      const std::int64_t by = words * times;
      if (s.any) {
        s.box[axis].lo += by;
        s.box[axis].hi += by;
      }
      for (Box& b : s.delta) {
        b[axis].lo += by;
        b[axis].hi += by;
      }
    }
  }

  /// Everything inside loop i, for extents and child trips as they are there.
  Visit visit(std::size_t i, const Ints& extent, const Ints& children, const Situation& before) {
    Ints key = extent;
    key.insert(key.end(), children.begin(), children.end());
    append(key, before);
    const auto found = memo_[i].find(key);
    if (found != memo_[i].end()) return found->second;
    constexpr std::size_t kMost = 1'000'000;
    if (++situations_ > kMost)
      throw InputError("nest", fmt::format("more than {} different situations of '{}' to count", kMost, tensor_.name));
    Visit v;
    if (i == loops_.size()) {
      v = leaf(extent, children, before);
    } else {
      const WalkLoop& w = loops_[i];
      const std::int64_t here = extent[at(w.loop.dim)];
      if (w.part == Part::temporal) {
        v = iterate(i, extent, children, before);
      } else {  // the first child stands for all
        Ints inside = extent, trips = children;
        inside[at(w.loop.dim)] = std::min(here, w.loop.tile);
        if (w.part == Part::child) trips.push_back(ceil_div(here, w.loop.tile));
        v = visit(i + 1, inside, trips, before);
      }
    }
    memo_[i].emplace(std::move(key), v);
    return v;
  }

  static void append(Ints& key, const Situation& s) {
    key.push_back(s.any);
    for (const Span1& x : s.box) key.insert(key.end(), {x.lo, x.hi});
    key.push_back(s.moved);
    key.insert(key.end(), s.motion.begin(), s.motion.end());
    key.push_back(static_cast<std::int64_t>(s.delta.size()));
    for (const Box& b : s.delta) {
      for (const Span1& x : b) key.insert(key.end(), {x.lo, x.hi});
    }
    key.push_back(s.children.has_value());
    if (s.children) key.insert(key.end(), s.children->begin(), s.children->end());
  }

  /// One iteration k of loop i, seen from the loop.
  Counts step(std::size_t i, std::int64_t k, const Ints& extent, const Ints& children, Situation& s) {
    const WalkLoop& w = loops_[i];
    Ints inside = extent;
    std::int64_t& e = inside[at(w.loop.dim)];
    e = std::min(w.loop.tile, e - k * w.loop.tile);
    shift(s, w, -k);
    Visit v = visit(i + 1, inside, children, s);
    s = std::move(v.after);
    shift(s, w, k);
    return std::move(v.counts);
  }

  Visit iterate(std::size_t i, const Ints& extent, const Ints& children, const Situation& before) {
    const WalkLoop& w = loops_[i];
    const std::int64_t here = extent[at(w.loop.dim)], n = ceil_div(here, w.loop.tile);
    const bool shorter = here - (n - 1) * w.loop.tile != w.loop.tile;
    Visit v{before, {}};
    if (c_.every_iteration) {
      every(i, n, shorter, extent, children, v);
    } else {
      sampled(i, n, shorter, extent, children, v);
    }
    return v;
  }

  /// All iterations. As soon as one begins as an earlier one did, whole periods are skipped.
  void every(std::size_t i, std::int64_t n, bool shorter, const Ints& extent, const Ints& children, Visit& v) {
    const WalkLoop& w = loops_[i];
    const std::int64_t full = shorter ? n - 1 : n;
    std::vector<Situation> began;
    std::vector<Counts> cost;
    for (std::int64_t k = 0; k < full;) {
      Situation relative = v.after;
      shift(relative, w, -k);
      const auto same = std::find(began.begin(), began.end(), relative);
      if (same != began.end()) {
        const std::int64_t period = began.end() - same;
        const std::int64_t skipped = (full - k) / period;
        const auto from = static_cast<std::size_t>(same - began.begin());
        for (std::size_t j = from; j < began.size(); ++j) v.counts.add(cost[j], static_cast<double>(skipped));
        shift(v.after, w, skipped * period);
        k += skipped * period;
        for (; k < full; ++k) v.counts.add(step(i, k, extent, children, v.after), 1);
        break;
      }
      began.push_back(std::move(relative));
      cost.push_back(step(i, k, extent, children, v.after));
      v.counts.add(cost.back(), 1);
      ++k;
    }
    if (shorter) v.counts.add(step(i, n - 1, extent, children, v.after), 1);
  }

  /// Iteration 0, iteration 1 for the rest; where the last one is shorter, it is counted too, and so is the one before
  /// it in a loop that is itself imperfect.
  void sampled(std::size_t i, std::int64_t n, bool last, const Ints& extent, const Ints& children, Visit& v) {
    const bool second_last = last && loops_[i].imperfect;
    v.counts.add(step(i, 0, extent, children, v.after), 1);
    Counts middle;
    const std::int64_t stands_for = n - 1 - (last ? 1 : 0) - (second_last ? 1 : 0);
    const bool has_middle = stands_for >= 1;
    const bool copied = loops_[i].last_is_full && has_middle;
    if (has_middle) {
      middle = step(i, 1, extent, children, v.after);
      v.counts.add(middle, static_cast<double>(stands_for));
    }
    if (second_last && n >= 3) {
      const Counts own = step(i, n - 2, extent, children, v.after);
      v.counts.add(copied ? middle : own, 1);
    }
    if (last && n >= 2) {
      const Counts own = step(i, n - 1, extent, children, v.after);
      v.counts.add(copied && !second_last ? middle : own, 1);
    }
  }

  static std::int64_t rounded_half(std::int64_t doubled) {
    return doubled < 0 ? -((-doubled + 1) / 2) : (doubled + 1) / 2;
  }

  Visit leaf(const Ints& extent, const Ints& children, const Situation& before) {
    Visit v{before, {}};
    Situation& s = v.after;
    Box box;
    for (const std::int64_t n : box_extents(tensor_, extent)) box.push_back({0, n});
    std::vector<Box> delta{box};
    if (!mac_) delta = take(box, s);
    Int128 words = 0;
    for (const Box& b : delta) words += box_size(b);
    const auto size = static_cast<double>(words);
    if (children.empty()) {
      if (words > 0) v.counts.accesses[{1, 1}] += size;
      return v;
    }
    std::map<std::int64_t, std::int64_t> shared = mesh_->shared(children);  // members → groups
    if (links_) {
      if (words > 0 && before.children) {
        if (auto handed = mesh_->handed_on(before.delta, *before.children, delta, children)) {
          shared = std::move(handed->shared);
          v.counts.links += size * static_cast<double>(handed->children);
        }
      }
      s.delta = delta;
      s.children = children;
    }
    if (words == 0) return v;
    for (const auto& [members, count] : shared)
      v.counts.accesses[{members, count}] += size * static_cast<double>(count);
    return v;
  }

  /// What a tile costs after the one before, and what is remembered of it.
  std::vector<Box> take(const Box& box, Situation& s) const {
    if (!s.any) {
      s.any = true;
      s.box = box;
      return {box};
    }
    Ints motion;
    bool still = true;
    for (std::size_t a = 0; a < box.size(); ++a) {  // of the centres: a shorter tile moves by half of what it lacks
      motion.push_back(rounded_half(box[a].lo + box[a].hi - s.box[a].lo - s.box[a].hi));
      still = still && motion.back() == 0;
    }
    const Box last = s.box;
    s.box = box;
    if (c_.halo_everywhere || still || !s.moved || motion == s.motion) {
      if (!c_.halo_everywhere && !still && !s.moved) {
        s.moved = true;
        s.motion = motion;
      }
      return last == box ? std::vector<Box>{} : box_difference(box, last);
    }
    s.moved = false;
    s.motion.clear();
    return {box};
  }

  const Einsum& e_;
  const EinsumTensor& tensor_;
  const CountingConvention& c_;
  bool mac_ = false, links_ = false;
  std::vector<WalkLoop> loops_;
  std::optional<ChildMesh> mesh_;
  std::vector<std::map<Ints, Visit>> memo_;
  std::size_t situations_ = 0;
};

}  // namespace

SampledTraffic sample_network(const FlatNest& f, const Einsum& e, const Hierarchy& h, int tensor, int level,
                              const CountingConvention& c) {
  Counts n = SampledWalk(f, e, h, tensor, level, c).run();
  return {std::move(n.accesses), n.links};
}

}  // namespace assay
