#include "core/loopnest/exact_links.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "core/base/math.h"

namespace assay {
namespace {

using Ints = std::vector<std::int64_t>;
using Place = std::pair<std::int64_t, std::int64_t>;  // x, y

bool meet(const Span1& a, const Span1& b) { return std::max(a.lo, b.lo) < std::min(a.hi, b.hi); }
bool covers(const Span1& a, const Span1& b) { return a.lo <= b.lo && b.hi <= a.hi; }

/// The children of one step on their mesh.
class HandOn {
 public:
  HandOn(const LinkQuestion& q, const std::vector<const AxisStep*>& step, StepBudget& budget)
      : q_(q), step_(step), budget_(budget) {
    strides();
    place();
  }

  ExactTraffic run() { return any_to_hand_on() ? word_by_word() : by_axis(); }

 private:
  const AxisChild& child(std::size_t axis, std::size_t i) const { return step_[axis]->children[i]; }

  /// Mesh steps of every child loop: those along x (or y) are the digits of the place along x (or y).
  void strides() {
    struct Digit {
      std::size_t index, axis, loop;
      std::int64_t trip;
    };
    std::vector<Digit> digits;
    step_of_.resize(q_.axes.size());
    for (std::size_t a = 0; a < q_.axes.size(); ++a) {
      const auto& loops = q_.axes[a].child_loops();
      step_of_[a].resize(loops.size());
      for (std::size_t l = 0; l < loops.size(); ++l) digits.push_back({loops[l].index, a, l, loops[l].trip});
    }
    std::sort(digits.begin(), digits.end(), [](const Digit& a, const Digit& b) { return a.index > b.index; });
    std::int64_t x = 1, y = 1;
    for (const Digit& d : digits) {
      if (q_.nest.loops[d.index].kind == LoopKind::spatial_x) {
        step_of_[d.axis][d.loop] = {x, 0};
        x = checked_mul(x, d.trip);
      } else {
        step_of_[d.axis][d.loop] = {0, y};
        y = checked_mul(y, d.trip);
      }
    }
  }

  Place place_of(std::size_t axis, std::int64_t number) const {
    Place at{0, 0};
    const auto& loops = q_.axes[axis].child_loops();
    for (std::size_t l = loops.size(); l-- > 0;) {
      const std::int64_t digit = number % loops[l].trip;
      number /= loops[l].trip;
      at.first += digit * step_of_[axis][l].first;
      at.second += digit * step_of_[axis][l].second;
    }
    return at;
  }

  /// All children, as indices by axis, and where they stand.
  void place() {
    Int128 all = 1;
    for (const AxisStep* s : step_) all *= static_cast<Int128>(s->children.size());
    budget_.spend(4 * all);
    std::vector<std::size_t> pick(step_.size(), 0);
    for (bool more = true; more;) {
      Place at{0, 0};
      for (std::size_t a = 0; a < step_.size(); ++a) {
        const Place p = place_of(a, child(a, pick[a]).number);
        at.first += p.first;
        at.second += p.second;
      }
      known_.emplace(at, children_.size());
      places_.push_back(at);
      children_.push_back(pick);
      std::size_t a = step_.size();
      more = false;
      while (a-- > 0) {
        if (++pick[a] < step_[a]->children.size()) {
          more = true;
          break;
        }
        pick[a] = 0;
      }
    }
    for (const Place& p : places_) {
      std::vector<std::size_t> near;
      for (const auto& [x, y] : {Place{-1, 0}, Place{1, 0}, Place{0, -1}, Place{0, 1}}) {
        const auto it = known_.find({p.first + x, p.second + y});
        if (it != known_.end()) near.push_back(it->second);
      }
      near_.push_back(std::move(near));
    }
  }

  bool any_to_hand_on() const {
    for (std::size_t i = 0; i < children_.size(); ++i) {
      for (const std::size_t n : near_[i]) {
        bool all = true;
        for (std::size_t a = 0; a < step_.size() && all; ++a)
          all = meet(child(a, children_[i][a]).moved, child(a, children_[n][a]).other);
        if (all) return true;
      }
    }
    return false;
  }

  ExactTraffic by_axis() const {
    ExactTraffic out;
    std::map<std::pair<Int128, Int128>, Int128> products{{{1, q_.keeps ? 1 : 0}, 1}};
    for (const AxisStep* s : step_) {
      std::map<std::pair<Int128, Int128>, Int128> next;
      for (const auto& [share, n] : ExactAxis::count_shares(s->children, q_.keeps)) {
        for (const auto& [p, m] : products) next[{p.first * share.first, p.second * share.second}] += n * m;
      }
      products = std::move(next);
    }
    for (const auto& [p, words] : products) count(static_cast<std::int64_t>(p.first - p.second), words, out);
    return out;
  }

  void count(std::int64_t members, Int128 words, ExactTraffic& out) const {
    if (members == 0) return;
    if (q_.shares) {
      out.accesses[members] += words;
    } else {
      out.accesses[1] += words * members;
    }
  }

  /// A stretch of words of an axis that the same children touch.
  struct Stretch {
    std::int64_t words = 0;
    std::vector<std::size_t> movers;
    std::vector<bool> moved, other;  ///< by child of the axis
  };

  std::vector<Stretch> stretches(std::size_t axis) const {
    Ints cuts;
    for (const AxisChild& c : step_[axis]->children)
      for (const std::int64_t x : {c.moved.lo, c.moved.hi, c.other.lo, c.other.hi}) cuts.push_back(x);
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    budget_.spend(static_cast<Int128>(cuts.size()) * static_cast<Int128>(step_[axis]->children.size()));
    std::vector<Stretch> out;
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
      const Span1 span{cuts[k], cuts[k + 1]};
      Stretch s;
      s.words = span.size();
      for (std::size_t i = 0; i < step_[axis]->children.size(); ++i) {
        const AxisChild& c = child(axis, i);
        s.moved.push_back(covers(c.moved, span));
        s.other.push_back(covers(c.other, span));
        if (s.moved.back()) s.movers.push_back(i);
      }
      if (!s.movers.empty()) out.push_back(std::move(s));
    }
    return out;
  }

  ExactTraffic word_by_word() const {
    std::vector<std::vector<Stretch>> all;
    for (std::size_t a = 0; a < step_.size(); ++a) {
      all.push_back(stretches(a));
      if (all.back().empty()) return {};
    }
    ExactTraffic out;
    std::vector<const Stretch*> word(all.size());
    std::vector<std::size_t> pick(all.size(), 0);
    for (bool more = true; more;) {
      Int128 words = 1, movers = 1;
      for (std::size_t a = 0; a < all.size(); ++a) {
        word[a] = &all[a][pick[a]];
        words *= word[a]->words;
        movers *= static_cast<Int128>(word[a]->movers.size());
      }
      budget_.spend(movers);
      one_word(word, words, out);
      std::size_t a = 0;
      while (a < all.size() && ++pick[a] == all[a].size()) pick[a++] = 0;
      more = a < all.size();
    }
    return out;
  }

  bool has(const std::vector<const Stretch*>& word, const std::vector<std::size_t>& c) const {
    for (std::size_t a = 0; a < word.size(); ++a) {
      if (!word[a]->other[c[a]]) return false;
    }
    return true;
  }

  void one_word(const std::vector<const Stretch*>& word, Int128 words, ExactTraffic& out) const {
    std::int64_t members = 0, served = 0;
    std::vector<std::size_t> pick(word.size(), 0), c(word.size());
    for (bool more = true; more;) {
      std::size_t flat = 0;
      for (std::size_t a = 0; a < word.size(); ++a) {
        c[a] = word[a]->movers[pick[a]];
        flat = flat * step_[a]->children.size() + c[a];
      }
      if (!q_.keeps || !has(word, c)) {
        ++members;
        const auto gives = [&](std::size_t n) { return has(word, children_[n]); };
        if (std::any_of(near_[flat].begin(), near_[flat].end(), gives)) ++served;
      }
      std::size_t a = 0;
      while (a < word.size() && ++pick[a] == word[a]->movers.size()) pick[a++] = 0;
      more = a < word.size();
    }
    if (!q_.shares) {
      out.links += words * served;
      count(members - served, words, out);
    } else if (members > 0 && served == members) {
      out.links += words * members;
    } else {
      count(members, words, out);
    }
  }

  const LinkQuestion& q_;
  const std::vector<const AxisStep*>& step_;
  StepBudget& budget_;
  std::vector<std::vector<Place>> step_of_;  ///< [axis][child loop]
  std::vector<std::vector<std::size_t>> children_;
  std::vector<Place> places_;
  std::map<Place, std::size_t> known_;
  std::vector<std::vector<std::size_t>> near_;
};

}  // namespace

ExactTraffic handed_on(const LinkQuestion& q, const std::vector<const AxisStep*>& step, StepBudget& budget) {
  return HandOn(q, step, budget).run();
}

}  // namespace assay
