#include <doctest/doctest.h>

#include <cstdlib>
#include <iostream>

#include "core/base/error.h"
#include "tests/loopnest/brute_count.h"
#include "tests/loopnest/random_nest.h"

using namespace assay;

namespace {

CountingConvention random_switches(Random& r) {
  CountingConvention c = assay_convention();
  const auto half = [&r] { return r.between(0, 1) == 1; };
  if (half()) return c;
  c.neighbour_links = half();
  c.drain_reads = half();
  c.first_read_elision = half();
  c.reduce_in_place = half();
  c.one_fetch = half();
  if (!c.neighbour_links) c.shared_overlaps = half();
  return c;
}

void compare(std::uint64_t seed, int cases, const NestRange& range) {
  if (const char* more = std::getenv("ASSAY_NEST_CASES")) cases = std::atoi(more);
  std::cout << "seed " << seed << ": " << cases << " nests\n";
  for (int i = 0; i < cases; ++i) {
    Random r(seed + static_cast<std::uint64_t>(i));
    const RandomNest n = random_nest(r, range);
    const CountingConvention c = random_switches(r);
    CAPTURE(seed + static_cast<std::uint64_t>(i));
    REQUIRE_NOTHROW(check(n.machine));
    REQUIRE_NOTHROW(check(n.nest, n.einsum, n.machine));
    const NestCost cost = count_accesses(n.nest, n.einsum, n.machine, c);
    const auto differences = brute_differences(cost, brute_count(n.nest, n.einsum, n.machine, c), n.machine);
    if (differences.empty()) continue;
    std::string all = describe(n);
    for (const std::string& d : differences) all += "\n  " + d;
    FAIL(all);
  }
}

}  // namespace

TEST_CASE("the exact counter equals the enumeration of words, imperfect nests") { compare(1000, 2500, {}); }
TEST_CASE("the exact counter equals the enumeration of words, perfect nests") {
  compare(500000, 1000, {.imperfect = false});
}
TEST_CASE("the exact counter equals the enumeration of words, wide fan-outs") {
  compare(900000, 120, {.most_macs = 3000, .most_levels = 3, .most_extent = 90, .most_children = 64});
}
