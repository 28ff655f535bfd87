#include <doctest/doctest.h>

#include "core/base/check.h"
#include "core/base/error.h"
#include "hwmodels/timing.h"
#include "tests/models/generator.h"

using namespace assay;
using namespace assay::testing;

namespace {

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "no error";
}

// The first wait of the program asks for a token that nobody gives.
void starve(std::vector<Stmt>& body) {
  for (Stmt& s : body) {
    if (auto* l = std::get_if<Loop>(&s.node)) return starve(l->body);
    if (auto* w = std::get_if<Wait>(&s.node)) {
      w->count = 100;
      return;
    }
  }
}

Command& first_command(std::vector<Stmt>& body) {
  for (Stmt& s : body) {
    if (auto* l = std::get_if<Loop>(&s.node)) return first_command(l->body);
    if (auto* c = std::get_if<Command>(&s.node)) return *c;
  }
  FAIL("no command");
  static Command none;
  return none;
}

}  // namespace

TEST_CASE("clocks without a common time base are refused") {
  Machine m = small_machine();
  m.clocks = {{"core", 999'999'937}, {"io", 1'000'000'007}};
  CHECK_THROWS_WITH_AS(
      tick_base(m),
      "clocks.io: the clocks have no common time base: their least common multiple exceeds 10^13 Hz; round "
      "the frequencies (for example to whole MHz)",
      InputError);
  m.clocks = {{"core", 0}};
  CHECK_THROWS_WITH_AS(tick_base(m), "clocks.core: a clock of 0 Hz", InputError);
  m.clocks = {{"core", 800'000'000}, {"io", 60'000'000}};
  CHECK(tick_base(m).ticks_per_second == 2'400'000'000);
}

TEST_CASE("a program that deadlocks is an error in both models, which prints the queues") {
  const Machine machine = small_machine();
  Program p = gemm_program(machine, {});
  starve(p.body);
  CHECK(message_of([&] { analyse(p, machine); })
            .find("deadlock in written order: engine 'mxu' waits for 100 of semaphore "
                  "'free.acc'") != std::string::npos);
  const std::string queues = message_of([&] { simulate(p, machine); });
  CHECK(queues.find("deadlock:") != std::string::npos);
  CHECK(queues.find("core (0, 0) mxu: waits for free.acc, which holds 1") != std::string::npos);
  CHECK_THROWS_AS(simulate(p, machine), InternalError);
}

TEST_CASE("an event limit ends a simulation as a timeout") {
  const Machine machine = small_machine();
  CycleOptions options;
  options.max_events = 10;
  CHECK_THROWS_AS(simulate(gemm_program(machine, {.m = 64, .n = 64, .k = 64}), machine, options), Infeasible);
}

TEST_CASE("structural faults are named") {
  const Machine machine = small_machine();
  const Program good = gemm_program(machine, {});
  const auto broken = [&](auto change) {
    Program p = good;
    change(p);
    return message_of([&] { analyse(p, machine); });
  };
  CHECK(broken([](Program& p) { first_command(p.body).trail = 7; }) ==
        "program: a command's trail entry 7 of 1 does not exist");
  CHECK(broken([](Program& p) { first_command(p.body).engine = EngineId(std::size_t{9}); }) ==
        "program: a command names engine 9 of 4");
  CHECK(broken([](Program& p) { first_command(p.body).engine = EngineId(std::size_t{2}); }) ==
        "program: a command stands in the queue of engine 'mxu', which does not execute commands of its kind");
  CHECK(broken([](Program& p) { first_command(p.body).out.buffer = BufferId(std::size_t{99}); }) ==
        "program: a command names buffer 99 of 8");
  CHECK(broken([](Program& p) { first_command(p.body).in.clear(); }) ==
        "program: a command on engine 'dma.load' has 0 inputs");
  CHECK(broken([](Program& p) { first_command(p.body).in[0].dims[0].offset = Affine::of(VarId(std::size_t{40})); }) ==
        "program: an expression uses variable 40 outside its loop");
  CHECK(broken([](Program& p) {
          first_command(p.body).in[0].dims[0].iter = {{5, 1}};
        }) == "program: a view names iteration dimension 5 of 2");
  CHECK(broken([](Program& p) { first_command(p.body).in[0].dims[0].index_operand = 3; }) ==
        "program: a view gathers through operand 3, which does not exist");
  CHECK(broken([](Program& p) {
          first_command(p.body).iter[0].extent.available = Affine::of(VarId(std::size_t{40}));
        }) == "program: an expression uses variable 40 outside its loop");
  CHECK(broken([](Program& p) {
          first_command(p.body).iter[0].extent.available = Affine::of(kCoreRow, INT64_MAX / 2, INT64_MAX / 2);
        }) == "program: the values of an expression do not fit 62 bits");
  CHECK(broken([](Program& p) { std::get<Loop>(p.body[0].node).trip = -1; }) ==
        "program: loop 'm' has a trip count of -1");
  CHECK(broken([](Program& p) { std::get<Loop>(p.body[0].node).var = VarId(std::size_t{0}); }) ==
        "program: loop 'm' has variable 0 of 5");
  CHECK(broken([](Program& p) { p.grid.rows = 0; }) ==
        "program: a grid of 0 x 1 cores; between 1 and 4096 can be timed");
}

TEST_CASE("a path without bandwidth is named") {
  Machine machine = small_machine();
  const Program p = gemm_program(machine, {});
  machine.links[0].bandwidth = 0;
  CHECK(message_of([&] { analyse(p, machine); }) == "dma: copies pass here, but it has no bandwidth");
  machine = small_machine();
  machine.memories[2].read_bandwidth = 0;
  CHECK(message_of([&] { analyse(p, machine); }) == "acc: operands stand here, but it has no bandwidth");
}

TEST_CASE("doubling an unknown resource suggests a name") {
  const Machine machine = small_machine();
  const Program p = gemm_program(machine, {});
  CHECK(message_of([&] { analyse_with_doubled(p, machine, "mxv"); }) ==
        "resource: 'mxv' is no memory, link or engine of the machine\n    did you mean 'mxu'?");
}
