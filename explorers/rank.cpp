#include "explorers/rank.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

bool feasible(const PointResult& p) { return p.status == "ok" && p.constraint_violations.empty(); }

double deviation(const PointResult& p, double s) { return s * std::max(p.model_error, kLeastModelError); }

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
    const double da = deviation(sweep.points[row.point], row.score),
                 db = deviation(sweep.points[next.point], next.score);
    const double spread = std::sqrt(da * da + db * db);
    row.p_better_than_next = spread > 0 ? 0.5 * std::erfc(-(next.score - row.score) / (spread * std::sqrt(2.0))) : 1;
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
