#include "explorers/rank.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

bool feasible(const PointResult& p) { return p.status == "ok" && p.constraint_violations.empty(); }

double deviation(const PointResult& p, double s) { return s * std::max(p.model_error, kLeastModelError); }

/// What the score could come down to under a better mapping. The gap is one of time: it says nothing about energy.
double floor_of(const PointResult& p, double s, const std::string& objective) {
  return objective == "energy" ? s : s / (1 + std::max(0.0, p.mapping_gap));
}

/// P(a < b), each uniform between its floor and its score, plus normal errors. Midpoint rule: deterministic, and exact
/// to a few thousandths.
double probability_less(double a_floor, double a, double b_floor, double b, double spread) {
  constexpr int kSteps = 32;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double x = a_floor + (a - a_floor) * (i + 0.5) / kSteps;
    for (int j = 0; j < kSteps; ++j) {
      const double y = b_floor + (b - b_floor) * (j + 0.5) / kSteps;
      sum += spread > 0 ? 0.5 * std::erfc((x - y) / (spread * std::sqrt(2.0))) : x < y ? 1.0 : x == y ? 0.5 : 0.0;
    }
  }
  return sum / (kSteps * kSteps);
}

}  // namespace

double score(const PointResult& p, const std::string& objective) {
  if (objective == "energy") return p.energy_pj;
  if (objective == "edp") return p.edp;
  return p.latency_s;
}

void rank(SweepResult& sweep) {
  sweep.ranking.clear();
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    if (feasible(sweep.points[i])) sweep.ranking.push_back({i, score(sweep.points[i], sweep.objective), 1, false});
  }
  std::stable_sort(sweep.ranking.begin(), sweep.ranking.end(),
                   [](const RankRow& a, const RankRow& b) { return a.score < b.score; });
  for (std::size_t i = 0; i + 1 < sweep.ranking.size(); ++i) {
    RankRow& row = sweep.ranking[i];
    const RankRow& next = sweep.ranking[i + 1];
    const PointResult &p = sweep.points[row.point], &q = sweep.points[next.point];
    const double spread = std::hypot(deviation(p, row.score), deviation(q, next.score));
    row.p_better_than_next = probability_less(floor_of(p, row.score, sweep.objective), row.score,
                                              floor_of(q, next.score, sweep.objective), next.score, spread);
    row.tied_with_next = row.p_better_than_next < 0.95;
  }
  sweep.frontier = pareto(sweep.points);
}

std::vector<std::size_t> pareto(const std::vector<PointResult>& points) {
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!feasible(points[i])) continue;
    const auto beats = [&](const PointResult& a, const PointResult& b) {
      const bool no_worse = a.latency_s <= b.latency_s && a.energy_pj <= b.energy_pj && a.area_mm2 <= b.area_mm2;
      return no_worse && (a.latency_s < b.latency_s || a.energy_pj < b.energy_pj || a.area_mm2 < b.area_mm2);
    };
    const bool beaten = std::any_of(points.begin(), points.end(),
                                    [&](const PointResult& p) { return feasible(p) && beats(p, points[i]); });
    if (!beaten) front.push_back(i);
  }
  std::sort(front.begin(), front.end(), [&](std::size_t a, std::size_t b) {
    return points[a].latency_s != points[b].latency_s ? points[a].latency_s < points[b].latency_s : a < b;
  });
  return front;
}

}  // namespace assay
