#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/compiler/compiler.h"
#include "core/spec/load.h"
#include "explorers/prepared.h"
#include "hwmodels/energy.h"
#include "hwmodels/functional/machine.h"
#include "hwmodels/timing.h"
#include "tests/micro/document.h"

// docs/micro-cases.md, derived by hand, against what is computed. A mapping that the compiler no longer chooses shows as
// a difference of its text: then the page is derived again, it is never copied from the output.

using namespace assay;

namespace {

const std::string kRoot = std::string(ASSAY_SOURCE_DIR) + "/";

struct Run {
  Machine machine;
  CompiledModel compiled;
  TimingResult analytical, cycle;
  Activity functional;
};

Run run(const std::string& model, const std::vector<Override>& overrides = {}) {
  Run r;
  r.machine = load_machine(kRoot + "configs/micro/machine.yaml", overrides);
  const Workload w = load_workloads(kRoot + model).at(0);
  const PreparedPhase phase(w.name, w.phases.at(0), w.precision, 1);
  MappingCache cache;
  r.compiled = compile(phase.full().graph, r.machine, {}, cache);
  const Program& p = r.compiled.program;
  r.analytical = analyse(p, r.machine);
  CycleOptions options;
  options.timeline.max_events = 1000;
  r.cycle = simulate(p, r.machine, options);
  FunctionalMachine fm(p, r.machine);
  for (const auto& [name, buffer] : p.inputs) fm.set(name, *phase.full().inputs.at(name));
  for (const auto& [name, buffer] : p.constants)
    fm.set(name, *r.compiled.graph.tensor(*r.compiled.graph.find_tensor(name)).value);
  fm.run();
  r.functional = fm.activity();
  return r;
}

std::map<std::string, long long> counts(const Run& r, const Activity& activity) {
  std::map<std::string, long long> out;
  const auto add = [&](const std::string& name, std::int64_t n) {
    if (n != 0) out[name] += n;
  };
  const GroupActivity a = activity.total();
  for (const auto& [memory, bytes] : by_memory(a, r.compiled.program)) {
    add(r.machine.memories[memory].name + " reads", bytes.read_bytes);
    add(r.machine.memories[memory].name + " writes", bytes.write_bytes);
  }
  for (const auto& [link, bytes] : a.link_bytes) add(r.machine.links[link].name + " moves", bytes);
  for (const auto& [unit, n] : a.macs) add(r.machine.matrix_units[unit].name + " MACs", n);
  for (const auto& [unit, n] : a.padded_macs) add(r.machine.matrix_units[unit].name + " padding", n);
  for (const auto& [unit, classes] : a.lane_ops) {
    for (const auto& [op, n] : classes) add(r.machine.vector_units[unit].name + " operations", n);
  }
  return out;
}

std::map<std::string, double> energy(const Run& r, const TimingResult& t) {
  std::vector<double> spans;
  for (const GroupTime& g : t.groups) spans.push_back(t.base.seconds(g.span));
  const EnergyResult e =
      energy_of(r.machine, cost_table(r.machine), r.compiled.program, t.activity, t.seconds(), spans);
  std::map<std::string, double> out{{"total", e.total_pj}};
  for (const EnergyTerm& term : e.terms) out[term.part + " " + term.action] += term.pj();
  return out;
}

std::string list(std::vector<std::tuple<std::string, long long, long long>> commands) {
  std::sort(commands.begin(), commands.end());
  std::string out;
  for (const auto& [engine, start, end] : commands) out += fmt::format("{} {} {}\n", engine, start, end);
  return out;
}

std::string mappings(const Run& r) {
  std::string out;
  for (const CompiledKernel& k : r.compiled.kernels) out += (out.empty() ? "" : "\n") + k.mapping;
  return out;
}

const MicroDocument& document() {
  static const MicroDocument d = read_micro_document(kRoot + "docs/micro-cases.md");
  return d;
}

}  // namespace

TEST_CASE("the cycles, bytes and energy of docs/micro-cases.md are those of all three executions") {
  REQUIRE(document().cases.size() == 3);
  for (const MicroCase& c : document().cases) {
    CAPTURE(c.title);
    const Run r = run(c.model);
    CHECK(mappings(r) == c.mapping);

    std::vector<std::tuple<std::string, long long, long long>> derived, simulated;
    long long last = 0;
    for (const DocumentedCommand& d : c.commands) {
      derived.emplace_back(d.engine, d.starts, d.free);
      last = std::max(last, d.there);
    }
    for (const TimelineEvent& e : r.cycle.timeline)
      simulated.emplace_back(r.compiled.program.engines[e.engine].name, e.start, e.end);
    CHECK(list(simulated) == list(derived));

    std::map<std::string, long long> expected = c.counts;
    REQUIRE(expected.contains("cycles"));
    REQUIRE(expected.contains("lower bound"));
    CHECK(expected["cycles"] == last);
    REQUIRE(r.analytical.base.ticks_per_second == 1'000'000'000);
    for (const TimingResult* t : {&r.analytical, &r.cycle}) {
      CAPTURE(t->model);
      CHECK(t->total == expected["cycles"]);
      CHECK(t->lower_bound == expected["lower bound"]);
    }
    expected.erase("cycles");
    expected.erase("lower bound");
    CHECK(counts(r, r.functional) == expected);
    CHECK(counts(r, r.analytical.activity) == expected);
    CHECK(counts(r, r.cycle.activity) == expected);

    for (const TimingResult* t : {&r.analytical, &r.cycle}) {
      CAPTURE(t->model);
      const std::map<std::string, double> got = energy(r, *t);
      double sum = 0;
      for (const auto& [term, pj] : c.energy) {
        CAPTURE(term);
        REQUIRE(got.contains(term));
        CHECK(std::abs(got.at(term) - pj) < 1e-9 * pj);  // whole numbers, but for the rounding of 10^-9 s
        if (term != "total") sum += pj;
      }
      CHECK(got.size() == c.energy.size());
      CHECK(sum == c.energy.at("total"));
    }
  }
}

TEST_CASE("the edits foretold in docs/micro-cases.md do what is foretold, with the same mapping") {
  REQUIRE(document().edits.size() >= 8);
  for (const MicroEdit& e : document().edits) {
    CAPTURE(e.model);
    CAPTURE(e.path);
    const std::string model = "configs/micro/" + e.model + ".onnx";
    const Run r = run(model, {{e.path, e.value}});
    CHECK(r.analytical.total == e.cycles);
    CHECK(r.cycle.total == e.cycles);
    const auto same = std::find_if(document().cases.begin(), document().cases.end(),
                                   [&](const MicroCase& c) { return c.model == model; });
    REQUIRE(same != document().cases.end());
    if (e.path != "units.mxu.dataflow") CHECK(mappings(r) == same->mapping);
  }
}
