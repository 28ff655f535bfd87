#pragma once

#include "core/base/random.h"
#include "core/loopnest/counting.h"

namespace assay {

/// A random problem that passes check(): an einsum, a hierarchy with room for it, a nest.
struct RandomNest {
  Einsum einsum;
  Hierarchy machine;
  LoopNest nest;
};

struct NestRange {
  std::int64_t most_macs = 2000;
  int most_levels = 4;
  std::int64_t most_extent = 9, most_children = 16;  ///< children: along x and along y
  bool imperfect = true;                             ///< tiles need not divide
  bool windows = true;                               ///< several dimensions, or a stride, along an axis of a tensor
  double holds = 0.65;                               ///< how often a level holds a tensor
};

RandomNest random_nest(Random& r, const NestRange& range = {});
std::string describe(const RandomNest& n);  ///< einsum, machine in short, nest

}  // namespace assay
