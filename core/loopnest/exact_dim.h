#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/loopnest/box.h"
#include "core/loopnest/flat_nest.h"

// One dimension as it runs outside a boundary (a storage node, or the MACs), exactly, clipped tiles included. Steps that
// look alike are one class, so that the cost does not depend on trip counts.
//
//   m = 10 by 4      steps 0, 1 (4 points each), 2 (2 points)       two classes: {0, 1} and {2}

namespace assay {

/// Which steps are asked for. A step is one iteration of all temporal loops outside the boundary.
struct StepChoice {
  enum class Kind : std::uint8_t {
    first,    ///< the first of all
    any,      ///< every one
    advance,  ///< those in which `loop` goes on by one and all temporal loops inside it begin anew
    end       ///< after the last one
  };
  Kind kind = Kind::first;
  std::size_t loop = 0;  ///< index in FlatNest::loops
};

/// Steps that differ in place only: `index` (by loop of the dimension; temporal ones) is one of `count`.
struct StepClass {
  std::vector<std::int64_t> index;
  Int128 count = 1;
};

class ExactDim {
 public:
  enum class Role : std::uint8_t {
    time,
    instance,  ///< spatial, outside the level looked at: which instance it is
    child      ///< spatial, below it
  };
  struct Loop {
    std::size_t index = 0;  ///< in FlatNest::loops
    std::int64_t tile = 1, trip = 1;
    Role role = Role::time;
    int slot = 0;                      ///< child: 0 for the fan-out of the level itself, 1 of the next one inside, …
    std::vector<std::int64_t> breaks;  ///< spatial: slots between two of these behave alike at all times
  };

  /// Loops of `dim` outside `boundary`, seen from an instance of `level`.
  ExactDim(const FlatNest& f, int dim, std::int64_t extent, std::size_t boundary, int level);

  const std::vector<Loop>& loops() const { return loops_; }
  std::int64_t extent() const { return extent_; }

  /// Classes in which at least one child takes part. `place`: slots of spatial loops, by index in FlatNest::loops; only
  /// those of the instance are read.
  std::vector<StepClass> steps(const StepChoice& choice, const std::vector<std::int64_t>& place) const;
  /// Points of the child at `place` in a step (nothing: it stands idle).
  std::optional<Span1> points(const StepClass& step, const std::vector<std::int64_t>& place) const;
  /// Points in the last step before that in which it took part. Which step that is follows from `choice` alone: index 0
  /// of a loop is its largest, so who takes part in a step took part in the one before of the loop that went on.
  std::optional<Span1> points_before(const StepChoice& choice, const StepClass& step,
                                     const std::vector<std::int64_t>& place) const;

 private:
  using Extents = std::vector<std::int64_t>;
  void visit(std::size_t k, const Extents& extents, StepClass& at, const StepChoice& choice,
             const std::vector<std::int64_t>& place, std::vector<StepClass>& out) const;
  std::optional<Span1> before(std::size_t k, std::int64_t start, std::int64_t extent, const StepChoice& choice,
                              const StepClass& step, const std::vector<std::int64_t>& place) const;

  std::int64_t extent_;
  std::vector<Loop> loops_;
};

}  // namespace assay
