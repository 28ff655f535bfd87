#pragma once

#include "explorers/result.h"

namespace assay {

/// The figure that a point is ranked by: latency (s), energy (pJ) or energy-delay product (J·s); smaller is better.
double score(const PointResult& p, const std::string& objective);

/// Orders the feasible points (status ok, no constraint violated) and says how sure each step is. Each point's score
/// carries a relative error: the model's own (|analytical − cycle| where both ran, at least `kLeastModelError`) and the
/// mapping gap downwards. P(better than the next) takes both as normal with that deviation; neighbours with
/// P < 0.95 are tied.
void rank(SweepResult& sweep);

/// Indices of the points that no other feasible point beats in latency, energy and area at once. O(n²).
std::vector<std::size_t> pareto(const std::vector<PointResult>& points);

inline constexpr double kLeastModelError = 0.01;

}  // namespace assay
