#pragma once

#include "explorers/result.h"

namespace assay {

/// The figure that a point is ranked by: latency (s), energy (pJ) or energy-delay product (J·s); smaller is better.
double score(const PointResult& p, const std::string& objective);

/// Orders the feasible points (status ok, no constraint violated) and says how sure each step is. A better mapping
/// could bring a score down to score / (1 + mapping gap): it is taken as uniform in between (for energy, which the gap
/// says nothing about, as it stands). On top comes the model's own error (|analytical − cycle| where both ran, at least
/// `kLeastModelError`), normal. Neighbours with P(better than the next) < 0.95 are tied. O(n log n).
void rank(SweepResult& sweep);

/// Indices of the points that no other feasible point beats in latency, energy and area at once. O(n²).
std::vector<std::size_t> pareto(const std::vector<PointResult>& points);

inline constexpr double kLeastModelError = 0.01;

}  // namespace assay
