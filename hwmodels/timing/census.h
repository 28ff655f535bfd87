#pragma once

#include <vector>

#include "hwmodels/timing/flow.h"

// What a program does, counted in closed form without playing it: activity, and how long each resource works at
// least (the bounds of law 4).

namespace assay {

struct Census {
  Activity activity;
  std::vector<ResourceTime> resources;                     ///< whole program, in order of the machine's parts
  std::vector<std::vector<ResourceTime>> group_resources;  ///< per group; parts without work are left out
  std::int64_t lower_bound = 0;
};
/// O(distinct instances of every command). Shared resources count all cores; a resource of every core counts its
/// busiest one. Parts of Fidelity::ideal are not shared and bound only the engines that use them.
Census take_census(Flow& flow, const CoreClasses& classes);

/// Activity of the instances issued: times[model][instance].
Activity activity_of(const Flow& flow, const std::vector<std::vector<std::int64_t>>& times);

/// Fills everything of the groups that follows from the census and from start, end and span: resources, binding.
/// `latency` binds where no resource works for half of the group's span.
void describe_groups(const Census& census, std::vector<GroupTime>& groups);

}  // namespace assay
