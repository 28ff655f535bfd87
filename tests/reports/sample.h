#pragma once

#include "explorers/result.h"

namespace assay::sample {

struct Options {
  int designs_per_family = 8;  ///< of three families; some are infeasible besides
  int layers = 60;
  bool checked = true;  ///< the first ones fully
};

/// A made-up sweep that looks like a real one: sums are consistent (layers to phases, waterfalls to times, phases to
/// the suite), names are as odd as users' names are. Same options, same result.
SweepResult sweep(const Options& options = {});
/// One point of it as a run of its own.
SweepResult single_run();
/// Everything that could break out of markup, in every string; non-finite and negative numbers too.
SweepResult hostile();

}  // namespace assay::sample
