#include <doctest/doctest.h>

#include <cstdlib>

#include "core/base/error.h"
#include "core/compiler/compiler.h"
#include "core/compiler/placement.h"
#include "core/isa/verify.h"
#include "core/mapping/evaluator.h"
#include "core/passes/value_check.h"
#include "core/spec/load.h"
#include "hwmodels/functional/machine.h"
#include "hwmodels/timing.h"
#include "tests/support/machines.h"
#include "tests/support/random_graph.h"

// A mapping is lowered as it stands, whoever wrote it: loops of one dimension inside each other, in any order, keep the
// meaning and the counts.

using namespace assay;

namespace {

int cases() {
  const char* n = std::getenv("ASSAY_PROPERTY_CASES");
  return n != nullptr ? std::atoi(n) : 60;
}

/// Puts one more loop around: of a dimension that has a loop (outside it) or not, at a random place.
void nest_deeper(const Kernel& k, Mapping& m, Random& random) {
  if (m.dma_only || k.dims.empty()) return;
  const int dim = static_cast<int>(random.between(0, static_cast<std::int64_t>(k.dims.size()) - 1));
  const int at = static_cast<int>(random.between(0, static_cast<std::int64_t>(m.loops.size())));
  std::int64_t outside = k.dims[static_cast<std::size_t>(dim)].extent, inside = 1;
  bool divides = false;
  for (const SpatialSplit& s : m.spatial) {
    if (s.dim == dim) outside = s.chunk, divides = true;
  }
  for (int i = 0; i < static_cast<int>(m.loops.size()); ++i) {
    if (m.loops[static_cast<std::size_t>(i)].dim != dim) continue;
    if (i < at) outside = m.loops[static_cast<std::size_t>(i)].tile, divides = true;
    if (i >= at) {
      inside = m.loops[static_cast<std::size_t>(i)].tile;
      break;
    }
  }
  std::vector<std::int64_t> tiles;
  for (std::int64_t t = inside; t <= outside; t += inside) {
    if (!divides || outside % t == 0) tiles.push_back(t);
  }
  if (tiles.empty()) return;
  const std::int64_t tile =
      tiles[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(tiles.size()) - 1))];
  m.loops.insert(m.loops.begin() + at, TemporalLoop{dim, tile});
  for (Placement& p : m.placements) {
    if (p.depth > at || (p.depth == at && random.between(0, 1) == 1)) ++p.depth;
  }
  // Partial sums stay where they are until the reduction is over.
  int reduction = static_cast<int>(m.loops.size());
  for (int i = reduction; i-- > 0;) {
    if (k.dims[static_cast<std::size_t>(m.loops[static_cast<std::size_t>(i)].dim)].reduction) reduction = i;
  }
  int result = reduction;
  for (const Placement& p : m.placements) {
    if (k.tensors[static_cast<std::size_t>(p.tensor)].kind != KernelTensorKind::input)
      result = std::min(result, p.depth);
  }
  // Everything after the contraction happens where its result stands.
  for (Placement& p : m.placements) {
    bool side = true;
    if (k.has_contraction()) {
      for (const KernelAccess& a : k.nests.front().ins) side = side && a.tensor != p.tensor;
    }
    if (k.tensors[static_cast<std::size_t>(p.tensor)].kind != KernelTensorKind::input) p.depth = result;
    if (side && p.depth > result) p.depth = result;
    if (p.depth == 0) p.buffers = 1;
  }
}

/// A dimension may be one that is not tiled at all (a window's).
bool allowed(const Kernel& k, const Mapping& m, const Grid& grid) {
  try {
    check_mapping(k, m, grid);
    return true;
  } catch (const InputError& e) {
    const std::string what = e.what();
    CHECK((what.find("coordinate") != std::string::npos || what.find("holes") != std::string::npos));
    return false;
  }
}

int check_mappings(const Machine& machine) {
  int deepened = 0;
  for (int i = 0; i < cases(); ++i) {
    const auto seed = static_cast<std::uint64_t>(7000 + i);
    CAPTURE(seed);
    Random random(seed);
    RandomGraphOptions o;
    o.max_nodes = 6;
    const Graph g = random_graph(random, o);
    const TensorMap inputs = random_inputs(g, seed);
    MappingCache cache;
    CompileOptions options;
    CompiledModel model;
    std::string mappings;
    try {
      const CompiledModel first = compile(g, machine, {}, cache);
      const MapEnvironment env = map_environment(machine);
      KernelGraph kg = make_kernels(first.graph, {true}, !machine.hosts.empty());
      for (Kernel& k : kg.kernels) {
        if (!k.host_node) k = with_drain(std::move(k), env);
      }
      const ModelPlan plan = plan_model(first.graph, kg, kg.kernels, machine, env, {}, cache);
      for (std::size_t k = 0; k < kg.kernels.size(); ++k) {
        if (kg.kernels[k].host_node) continue;
        Mapping m = plan.mappings[k];
        for (int n = 0; n < 3; ++n) {
          Mapping deeper = m;
          nest_deeper(kg.kernels[k], deeper, random);
          if (allowed(kg.kernels[k], deeper, machine.grid)) m = deeper;
        }
        deepened += m.loops.size() > plan.mappings[k].loops.size();
        options.fixed_mappings[kg.kernels[k].name] = m;
        mappings += kg.kernels[k].name + ": " + print_mapping(kg.kernels[k], m, machine) + "\n";
      }
      model = compile(g, machine, options, cache);
    } catch (const Infeasible&) {
      continue;  // too large a tile, or too large a graph
    } catch (const InputError& e) {
      if (std::string(e.what()).find("mapping of") != std::string::npos) FAIL_CHECK(std::string(e.what()));
      continue;  // an operation that the machine lacks
    }
    CAPTURE(mappings);
    const VerifyResult v = verify_program(model.program, machine);
    for (const Violation& x : v.violations) FAIL_CHECK(x.rule << ": " << x.where << ": " << x.message);
    if (!v.ok()) continue;
    FunctionalMachine fm(model.program, machine, {});
    for (const auto& [name, buffer] : model.program.inputs) fm.set(name, *inputs.at(name));
    for (const auto& [name, buffer] : model.program.constants)
      fm.set(name, *model.graph.tensor(*model.graph.find_tensor(name)).value);
    fm.run();
    TensorMap got;
    for (const auto& [name, buffer] : model.program.outputs) got[name] = std::make_shared<Tensor>(fm.get(name));
    CHECK(explain_difference(g, got, evaluate_graph(g, inputs), 1e-4) == "");
    CHECK(fm.activity() == analyse(model.program, machine).activity);
    CHECK(fm.activity() == simulate(model.program, machine).activity);
  }
  return deepened;
}

}  // namespace

TEST_CASE("mappings with several loops per dimension run as they stand, on a systolic core") {
  CHECK(check_mappings(parse_machine(test_machines::kSystolic, "systolic.yaml")) > 50);
}

TEST_CASE("mappings with several loops per dimension run as they stand, on a grid") {
  CHECK(check_mappings(parse_machine(test_machines::kGrid, "grid.yaml")) > 50);
}
