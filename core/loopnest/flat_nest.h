#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/loopnest/loop_nest.h"

// A checked nest as the counters read it: loops in one list, outermost first, and positions between them. Position p
// stands inside loops[0 … p−1] and outside loops[p].
//
//   loops      for m | spatial m | for k | (for n by 1: not written)
//   positions 0      1           2       3                          4

namespace assay {

struct FlatLoop {
  int dim = 0;
  std::int64_t tile = 1;
  std::int64_t outside = 1;  ///< extent of an unclipped tile outside
  std::int64_t rest = 1;     ///< extent outside on the way to the last point of the dimension
  LoopKind kind = LoopKind::temporal;
  int below = -1;  ///< spatial: the level
  bool temporal() const { return kind == LoopKind::temporal; }
  std::int64_t trip() const { return (outside + tile - 1) / tile; }
  std::int64_t last_trip() const { return (rest + tile - 1) / tile; }  ///< of the last tile outside
};

struct Holder {
  int level = 0;
  std::size_t position = 0;
};

/// Spatial loops below one level: loops[begin … end − 1]. Empty: begin == end.
struct FanOut {
  std::size_t begin = 0, end = 0;
  bool empty() const { return begin == end; }
};

struct FlatNest {
  std::vector<FlatLoop> loops;               ///< loops of one iteration are left out
  std::vector<std::vector<Holder>> holders;  ///< by tensor, outermost first
  std::vector<FanOut> fans;                  ///< by level
  std::vector<std::size_t> begins;           ///< by level: where its first storage node stands (else as its fan-out)
  std::vector<std::vector<bool>> unicast, unlinked;  ///< [level][tensor], as the mapping asks

  /// Holder of a tensor at a level, or nullptr.
  const Holder* held(int tensor, int level) const;
  /// Extents of every dimension at a position, unclipped.
  std::vector<std::int64_t> extents(const Einsum& e, std::size_t position) const;
};

/// Of a nest that passed check(). Unwritten loops are added innermost, in the order of the dimensions.
FlatNest flatten(const LoopNest& nest, const Einsum& e, const Hierarchy& h);

}  // namespace assay
