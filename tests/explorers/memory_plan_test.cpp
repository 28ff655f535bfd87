#include <doctest/doctest.h>

#include "core/base/random.h"
#include "core/mapping/memory_plan.h"

using namespace assay;

TEST_CASE("buffers that are never live together share addresses") {
  const PlanProblem p{{{0, 2, 100}, {2, 4, 100}, {1, 3, 50}}, 150, 1};
  const auto r = solve_plan(p);
  REQUIRE(r.has_value());
  CHECK(r->peak == 150);
  CHECK(r->lower_bound == 150);
  CHECK(verify_plan(p, *r) == "");
}

TEST_CASE("a plan that can't fit is refused, one byte more is enough") {
  PlanProblem p{{{0, 2, 100}, {1, 3, 50}}, 149, 1};
  CHECK_FALSE(solve_plan(p).has_value());
  p.capacity = 150;
  CHECK(solve_plan(p).has_value());
}

TEST_CASE("every plan that is found passes the independent check") {
  Random random(11);
  for (int i = 0; i < 200; ++i) {
    CAPTURE(i);
    PlanProblem p;
    p.alignment = std::int64_t{1} << random.between(0, 4);
    const auto n = random.between(1, 30);
    for (std::int64_t j = 0; j < n; ++j) {
      const auto lower = random.between(0, 20);
      p.items.push_back({lower, lower + random.between(1, 8), random.between(0, 500)});
    }
    p.capacity = 2 * plan_lower_bound(p) + 16 * n;
    const auto r = solve_plan(p);
    REQUIRE(r.has_value());
    CHECK(verify_plan(p, *r) == "");
    CHECK(r->peak >= r->lower_bound);
  }
}

TEST_CASE("the independent check notices an overlap and an end beyond the capacity") {
  const PlanProblem p{{{0, 2, 100}, {1, 3, 50}}, 200, 1};
  CHECK(verify_plan(p, {{0, 99}, 149, 150}) == "items 0 and 1 overlap");
  CHECK(verify_plan(p, {{0, 160}, 210, 150}) == "item 1 ends at 210 of 200");
}
