#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <iostream>

#include "hwmodels/timing.h"
#include "hwmodels/timing/walk.h"
#include "tests/models/generator.h"

// Laws 2, 4 and 7 of the design on random programs and machines.

using namespace assay;
using namespace assay::testing;

TEST_CASE("on ideal parts the analytical and the cycle model agree exactly") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Random random(seed, "ideal");
    const Machine machine = random_machine(random);
    const GemmSpec s = random_gemm(random, machine);
    CAPTURE(describe(s));
    const Program p = gemm_program(machine, s);
    const TimingResult a = analyse(p, machine, {.all_ideal = true});
    CycleOptions options;
    options.all_ideal = true;
    const TimingResult c = simulate(p, machine, options);
    REQUIRE(a.total == c.total);
    CHECK(a.lower_bound == c.lower_bound);
    CHECK(a.activity == c.activity);
    for (std::size_t g = 0; g < a.groups.size(); ++g) {
      CHECK(a.groups[g].start == c.groups[g].start);
      CHECK(a.groups[g].end == c.groups[g].end);
    }
  }
}

TEST_CASE("no model is faster than a resource, and the parts add up, on random machines") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    Random random(seed, "bounds");
    const Machine machine = random_machine(random);
    const GemmSpec s = random_gemm(random, machine);
    CAPTURE(describe(s));
    const Program p = gemm_program(machine, s);
    for (const TimingResult& r : {analyse(p, machine), simulate(p, machine)}) {
      CAPTURE(r.model);
      CHECK(r.total >= r.lower_bound);
      std::int64_t spans = 0;
      for (const GroupTime& g : r.groups) {
        CHECK(g.loss.total() == g.span);
        CHECK(g.span >= 0);
        for (const std::int64_t part : {g.loss.ideal_compute, g.loss.padding, g.loss.fill_drain, g.loss.vector,
                                        g.loss.exposed_memory, g.loss.contention, g.loss.sync, g.loss.launch})
          CHECK(part >= 0);
        CHECK(g.end <= r.total);
        CHECK(g.start <= g.end);
        spans += g.span;
      }
      CHECK(spans == r.total);
      for (const ResourceTime& t : r.resources) CHECK(t.busy <= r.total);
    }
  }
}

TEST_CASE("skipping a loop changes nothing") {
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    CAPTURE(seed);
    Random random(seed, "skip");
    const Machine machine = random_machine(random);
    GemmSpec s = random_gemm(random, machine);
    s.m *= 4;
    s.k *= 4;
    CAPTURE(describe(s));
    const Program p = gemm_program(machine, s);
    Flow flow = make_flow(p, machine, {});
    const CoreClasses classes = core_classes(flow);
    const WalkResult skipped = walk_program(flow, classes);
    const WalkResult walked = walk_program(flow, classes, {.skip = false});
    CHECK(walked.skipped_iterations == 0);
    REQUIRE(skipped.total == walked.total);
    for (std::size_t c = 0; c < classes.classes.size(); ++c) {
      CHECK(skipped.cores[c].group_end == walked.cores[c].group_end);
      CHECK(skipped.cores[c].group_start == walked.cores[c].group_start);
      for (std::size_t g = 0; g < p.trail.size(); ++g) {
        const Account &x = skipped.cores[c].accountant.account(g), &y = walked.cores[c].accountant.account(g);
        CHECK(x.span == y.span);
        CHECK(x.loss.ideal_compute == y.loss.ideal_compute);
        CHECK(x.loss.exposed_memory == y.loss.exposed_memory);
      }
    }
  }
}

TEST_CASE("classes of cores stand for all cores: every core simulated alone gives the same") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Random random(seed, "classes");
    Machine machine = random_machine(random);
    machine.grid.rows = random.between(1, 4);
    machine.grid.cols = random.between(1, 4);
    const GemmSpec s = random_gemm(random, machine);
    CAPTURE(describe(s));
    const Program p = gemm_program(machine, s);
    Flow flow = make_flow(p, machine, {});
    const CoreClasses classes = core_classes(flow);
    CHECK(walk_program(flow, classes).total == walk_program(flow, one_class_per_core(flow)).total);
  }
}

TEST_CASE("a long regular program is analysed in milliseconds by skipping") {
  const Machine machine = small_machine(8, 8);
  GemmSpec s{.m = 64 * 64, .n = 64 * 64, .k = 512};
  const Program p = gemm_program(machine, s);
  const std::clock_t start = std::clock();  // processor time: other work on the machine does not count
  const TimingResult r = analyse(p, machine);
  const double took = static_cast<double>(std::clock() - start) * 1e3 / CLOCKS_PER_SEC;
  std::cout << "analyse: " << p.grid.cores() << " cores, " << r.activity.total().commands << " commands, " << took
            << " ms\n";
  CHECK(r.skipped_iterations > 0);
  CHECK(took < 500);
  CHECK(r.activity.total().macs.at(0) == s.m * s.n * s.k);
}

TEST_CASE("the cycle model's events per second") {
  const Machine machine = small_machine(2, 2);
  const Program p = gemm_program(machine, {.m = 256, .n = 256, .k = 64});
  const std::clock_t start = std::clock();
  const TimingResult r = simulate(p, machine);
  const double took = std::max(1e-6, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  std::cout << "simulate: " << r.events << " events, " << static_cast<double>(r.events) / took / 1e6 << " M events/s\n";
  CHECK(r.events > 0);
}
