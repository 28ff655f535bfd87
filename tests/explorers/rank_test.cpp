#include <doctest/doctest.h>

#include "explorers/rank.h"

using namespace assay;

namespace {

PointResult point(double latency, double energy, double area, double error = 0) {
  PointResult p;
  p.latency_s = latency;
  p.energy_pj = energy;
  p.area_mm2 = area;
  p.model_error = error;
  return p;
}

}  // namespace

TEST_CASE("points are ranked by the objective, and neighbours inside the error bars are tied") {
  SweepResult s;
  s.objective = "latency";
  s.points = {point(2.0, 1, 1), point(1.0, 3, 1), point(1.005, 2, 1)};
  rank(s);
  REQUIRE(s.ranking.size() == 3);
  CHECK(s.ranking[0].point == 1);
  CHECK(s.ranking[1].point == 2);
  CHECK(s.ranking[0].tied_with_next);        // 0.5 % apart, each known to 1 %
  CHECK_FALSE(s.ranking[1].tied_with_next);  // a factor of two
  CHECK(s.ranking[1].p_better_than_next > 0.999);
}

TEST_CASE("a design whose mapping could be much better is tied with the one before it") {
  SweepResult s;
  s.objective = "latency";
  s.points = {point(1.0, 1, 1), point(1.5, 1, 1)};
  for (PointResult& p : s.points) p.mapping_gap = 0;
  rank(s);
  CHECK_FALSE(s.ranking[0].tied_with_next);
  s.points[1].mapping_gap = 1;  // perhaps only its mapping lost: down to 0.75 is possible
  rank(s);
  CHECK(s.ranking[0].tied_with_next);
  // Uniform in [0.75, 1.5] against 1: better in two cases of three.
  CHECK(s.ranking[0].p_better_than_next == doctest::Approx(2.0 / 3).epsilon(0.02));
  s.objective = "energy";
  s.points[1].energy_pj = 1.5;
  rank(s);
  CHECK_FALSE(s.ranking[0].tied_with_next);
}

TEST_CASE("a point that breaks a constraint or failed is not ranked") {
  SweepResult s;
  s.objective = "energy";
  s.points = {point(1, 1, 1), point(1, 2, 1), point(1, 3, 1)};
  s.points[0].constraint_violations = {"area"};
  s.points[1].status = "infeasible";
  rank(s);
  REQUIRE(s.ranking.size() == 1);
  CHECK(s.ranking[0].point == 2);
}

TEST_CASE("the frontier holds exactly the points that nothing beats in latency, energy and area") {
  const std::vector<PointResult> points{point(1, 5, 5), point(2, 4, 5), point(3, 3, 9), point(3, 4, 9), point(2, 5, 4)};
  CHECK(pareto(points) == std::vector<std::size_t>{0, 1, 4, 2});
}
