#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/loopnest/einsum.h"
#include "core/loopnest/exact_dim.h"

// Words along one axis of a tensor, with the number of children that touch each. A dimension stands in one axis only, so
// a child's box is a product of spans, one per axis, and so is what stays of it from one step to the next. The word
// (w₁, w₂, …) is then moved for
//
//   c₁(w₁)·c₂(w₂)·… − k₁(w₁)·k₂(w₂)·…        children
//
// c: children whose span holds the word, k: those whose span held it before as well. Sums over steps and over words
// factor axis by axis: each axis is counted alone, and whatever two steps or children share is counted exactly.

namespace assay {

/// (c, k) → words. All counts are exact.
using AxisShares = std::map<std::pair<std::int64_t, std::int64_t>, Int128>;

/// Bounds what must be enumerated.
class StepBudget {
 public:
  explicit StepBudget(std::string what) : what_(std::move(what)) {}
  /// InputError naming what is counted when all steps together exceed 10^8.
  void spend(Int128 steps);

 private:
  std::string what_;
  Int128 left_ = 100'000'000;
};

/// What a step moves of a child's span: what it takes in (words now that were not there before) or gives up (words
/// before that are not there now).
enum class WordFlow : std::uint8_t { enter, leave };

/// A child along one axis.
struct AxisChild {
  std::int64_t number = 0;  ///< mixed radix over the child loops of the axis, outermost first
  Span1 moved, other;       ///< the span asked about; the other one of the same child (empty: none)
  Span1 kept() const { return {std::max(moved.lo, other.lo), std::min(moved.hi, other.hi)}; }
};

/// One class of steps and all its children.
struct AxisStep {
  Int128 count = 1;
  std::vector<AxisChild> children;  ///< that take part, by number; never empty
};

class ExactAxis {
 public:
  /// Axis of a tensor at a boundary, seen from an instance of `level`. A term with coefficient 0 stands for a dimension
  /// that the tensor does not depend on: one word wide, whatever its children do.
  /// `overlaps` false: only children of the same span, of which the same stays, count as touching the same words.
  ExactAxis(const FlatNest& f, const Einsum& e, const std::vector<EinsumTerm>& terms, std::size_t boundary, int level,
            bool overlaps);

  /// Words × steps by (c, k), summed over the steps of `choice`. `shares`: by slot (ExactDim::Loop), whether the
  /// children of that fan-out share an access; in slot 1 and further inside, a word that several of a group take is then
  /// one request of the group. `keeps`: false if nothing stays in the children (MACs). `place`: slots of the instance;
  /// those of child loops are used and left 0. Cost: classes × (one child loop: the reach of a span in children; else
  /// all children).
  AxisShares shares(const StepChoice& choice, WordFlow flow, bool keeps, const std::vector<bool>& shares,
                    std::vector<std::int64_t>& place, StepBudget& budget) const;

  /// All classes with their children, for who must know who stands where.
  std::vector<AxisStep> steps(const StepChoice& choice, WordFlow flow, std::vector<std::int64_t>& place,
                              StepBudget& budget) const;

  /// Different words that the children of the instance at `place` meet in all steps.
  Int128 distinct(std::vector<std::int64_t>& place, StepBudget& budget) const;

  struct ChildLoop {
    std::size_t index = 0;  ///< in FlatNest::loops
    std::int64_t trip = 1;
    int slot = 0;
    std::ptrdiff_t own = 0;  ///< in the loops of its dimension
    std::size_t dim = 0;     ///< term of the axis
  };
  /// (c, k) of the words of one list of children, each of them a request.
  static AxisShares count_shares(const std::vector<AxisChild>& children, bool keeps);

  /// Outermost first: the digits of AxisChild::number.
  const std::vector<ChildLoop>& child_loops() const { return child_loops_; }

 private:
  struct Segment {
    std::int64_t lo = 0, hi = 0, taken = 0, kept = 0;
  };

  Int128 children() const;  ///< product of trips
  template <class Visit>
  void for_classes(const StepChoice& choice, const std::vector<std::int64_t>& place, Visit&& visit) const;
  bool child_at(const StepChoice& choice, WordFlow flow, const std::vector<const StepClass*>& step,
                const std::vector<std::int64_t>& place, AxisChild& child) const;
  std::vector<AxisChild> listed(const StepChoice& choice, WordFlow flow, const std::vector<const StepClass*>& step,
                                std::vector<std::int64_t>& place, StepBudget& budget) const;
  AxisShares in_runs(const StepChoice& choice, WordFlow flow, bool keeps, const std::vector<const StepClass*>& step,
                     std::vector<std::int64_t>& place, const std::vector<bool>& shares, StepBudget& budget) const;
  std::vector<Segment> profile(const AxisChild* begin, const AxisChild* end, int slot, bool keeps,
                               const std::vector<bool>& shares) const;
  static std::vector<Segment> sweep(const std::vector<Segment>& pieces);
  static void set_apart(std::vector<AxisChild>& children, bool keeps);
  static void as_one(std::vector<Segment>& requests);
  static void add_pieces(const AxisChild& child, bool keeps, std::int64_t times, std::vector<Segment>& out);

  std::vector<ExactDim> dims_;
  std::vector<std::int64_t> coefficients_;  ///< by dimension
  std::vector<ChildLoop> child_loops_;
  bool overlaps_;
};

}  // namespace assay
