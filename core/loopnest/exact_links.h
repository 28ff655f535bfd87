#pragma once

#include <vector>

#include "core/loopnest/exact_network.h"

// Words that children hand on to their 4-neighbours: the one part of exact counting that does not factor by axis.

namespace assay {

struct LinkQuestion {
  const std::vector<ExactAxis>& axes;
  const FlatNest& nest;
  bool shares = true;  ///< a word is one access of the parent however many take it
  bool keeps = true;   ///< what a child has it need not take again
};

/// Traffic of one step that is a class of each axis (their counts not applied). A word is left to the neighbours if that
/// saves an access, which with sharing means that every child that moves it has a 4-neighbour with the word in its other
/// span. Cost: children; where neighbours have something to hand on, stretches of words × children that move them.
ExactTraffic handed_on(const LinkQuestion& q, const std::vector<const AxisStep*>& step, StepBudget& budget);

}  // namespace assay
