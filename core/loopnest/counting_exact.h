#pragma once

#include "core/loopnest/counting.h"
#include "core/loopnest/flat_nest.h"

// Counting word by word: the rules of the `assay` convention. All children run the same temporal iterations in step (one
// iteration of all temporal loops outside a boundary is a *step*); a child whose clipped share has no such iteration is
// idle and keeps what it has.
//
// - A tile is the bounding box of the iterations inside its storage node. What of it was in the instance's tile of the
//   last step in which it took part stays; the rest enters. MACs keep nothing and take every operand in every step.
// - A word of an output leaves when its instance turns to a tile without it, or after the last step.
// - Below one instance of a level, children that move the same word in the same step share one access (multicast,
//   reduction), also when the rest of what they move differs. A level that does not hold the tensor passes requests on:
//   where its network shares, one for each word; else all of them, which a network further out may still share.
// - A child may take a word from a 4-neighbour that takes part in the step and had it in the one before (an output:
//   leave it to one that has it now), if the parent then has no access for it. Only between a level that holds the tensor
//   and the next one inside that does too, or operands of MACs.
// - Outputs: what comes up is an update; all but the first to arrive of each word in an instance are added to the old
//   value, which is read. Of the children that bring a word together one was filled with that old value.
//
// The counts are exact, for clipped factors too. Per axis, tensor, level and loop there are a few classes of steps
// (first, steady, clipped last), so the cost does not depend on trip counts; it grows with the children along an axis
// only where several spatial loops stand over one axis, and with children × words in stretches where neighbours hand on.

namespace assay {

/// Called by count_accesses. Needs every_iteration, halo_everywhere, shared_overlaps, true_imperfect_spatial and not
/// packed_mesh. InputError naming tensor and level beyond 10^8 steps or 10^4 classes of instances.
NestCost count_exact(const FlatNest& f, const Einsum& e, const Hierarchy& h, const CountingConvention& c);

}  // namespace assay
