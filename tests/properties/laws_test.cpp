#include <doctest/doctest.h>

#include <cstdlib>

#include "core/base/error.h"
#include "core/compiler/compiler.h"
#include "core/isa/text.h"
#include "core/isa/verify.h"
#include "core/passes/value_check.h"
#include "core/spec/load.h"
#include "hwmodels/functional/machine.h"
#include "hwmodels/timing.h"
#include "tests/support/machines.h"
#include "tests/support/random_graph.h"

// The laws of the design on random graphs × machines: compile, prove, execute, time.

using namespace assay;

namespace {

int cases() {
  const char* n = std::getenv("ASSAY_PROPERTY_CASES");
  return n != nullptr ? std::atoi(n) : 40;
}

struct Compiled {
  Graph graph;
  TensorMap inputs;
  CompiledModel model;
};

/// Nothing when the machine is honestly too small for the graph, or lacks an operation.
std::optional<Compiled> compiled(std::uint64_t seed, const Machine& machine) {
  Random random(seed);
  RandomGraphOptions o;
  o.max_nodes = 12;
  Compiled c;
  c.graph = random_graph(random, o);
  c.inputs = random_inputs(c.graph, seed);
  MappingCache cache;
  try {
    c.model = compile(c.graph, machine, {}, cache);
  } catch (const Infeasible& e) {
    return std::nullopt;
  } catch (const InputError& e) {
    return std::nullopt;
  }
  return c;
}

void set_inputs(FunctionalMachine& fm, const Compiled& c) {
  for (const auto& [name, buffer] : c.model.program.inputs) fm.set(name, *c.inputs.at(name));
  for (const auto& [name, buffer] : c.model.program.constants)
    fm.set(name, *c.model.graph.tensor(*c.model.graph.find_tensor(name)).value);
}

void check_laws(const Machine& machine) {
  int done = 0;
  for (int i = 0; i < cases(); ++i) {
    const auto seed = static_cast<std::uint64_t>(1000 + i);
    CAPTURE(seed);
    const auto c = compiled(seed, machine);
    if (!c) continue;
    ++done;
    const Program& p = c->model.program;

    const VerifyResult v = verify_program(p, machine);
    for (const Violation& x : v.violations) FAIL_CHECK(x.rule << ": " << x.where << ": " << x.message);
    CHECK(parse_program(print_program(p), "printed") == p);
    if (!v.ok()) continue;

    // Law 1, meaning: under two interleavings of the queues.
    const TensorMap expected = evaluate_graph(c->graph, c->inputs);
    for (const std::uint64_t interleave : {0ULL, 7ULL}) {
      FunctionalOptions fo;
      fo.interleave_seed = interleave;
      FunctionalMachine fm(p, machine, fo);
      set_inputs(fm, *c);
      fm.run();
      TensorMap got;
      for (const auto& [name, buffer] : p.outputs) got[name] = std::make_shared<Tensor>(fm.get(name));
      CHECK(explain_difference(c->graph, got, expected, 1e-4) == "");
      if (interleave != 0) continue;
      // Laws 2 and 3, traffic and work: three independent counts.
      const TimingResult a = analyse(p, machine), s = simulate(p, machine);
      CHECK(fm.activity() == a.activity);
      CHECK(fm.activity() == s.activity);
      std::int64_t macs = 0;
      for (const auto& [unit, n] : fm.activity().total().macs) macs += n;
      CHECK(macs == mac_count(c->model.graph));
      // Law 4, time: no model is faster than its busiest resource.
      CHECK(a.total >= a.lower_bound);
      CHECK(s.total >= s.lower_bound);
      std::int64_t spans = 0;
      for (const GroupTime& g : s.groups) {
        spans += g.span;
        CHECK(g.loss.total() == g.span);
      }
      CHECK(spans == s.total);
      AnalyticalOptions ai;
      CycleOptions ci;
      ai.all_ideal = ci.all_ideal = true;
      CHECK(analyse(p, machine, ai).total == simulate(p, machine, ci).total);
    }
  }
  CHECK(done > cases() / 2);
}

}  // namespace

TEST_CASE("the laws hold for random graphs on a systolic core") {
  check_laws(parse_machine(test_machines::kSystolic, "systolic.yaml"));
}

TEST_CASE("the laws hold for random graphs on a grid of cores with shared memory and multicast") {
  check_laws(parse_machine(test_machines::kGrid, "grid.yaml"));
}

TEST_CASE("compiling twice gives the same program text") {
  const Machine machine = parse_machine(test_machines::kSystolic, "systolic.yaml");
  const auto a = compiled(77, machine), b = compiled(77, machine);
  REQUIRE(a.has_value());
  REQUIRE(b.has_value());
  CHECK(print_program(a->model.program) == print_program(b->model.program));
}
