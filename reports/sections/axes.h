#pragma once

#include <string>
#include <vector>

#include "explorers/result.h"

// What the sections about a sweep's axes share.

namespace assay {

/// The distinct values of an axis over feasible points: by number where they have one, then by text.
std::vector<std::string> axis_values(const SweepResult& sweep, const std::string& axis);
/// Axes with at least two such values.
std::vector<std::string> varied_axes(const SweepResult& sweep);

}  // namespace assay
