#include <benchmark/benchmark.h>

#include "core/base/error.h"
#include "core/compiler/compiler.h"
#include "core/isa/verify.h"
#include "core/passes/value_check.h"
#include "explorers/evaluate.h"
#include "hwmodels/functional/machine.h"
#include "hwmodels/timing.h"
#include "tests/bench/inputs.h"

// From a file to a proven program, and what is then done with it: ResNet-50, batch 1.

namespace assay::bench {
namespace {

/// ONNX file → graph → int8 → passes → mappings → program → proof, nothing kept from one run to the next.
void file_to_verified_program(benchmark::State& state, const std::string& machine_name) {
  const Machine m = machine(machine_name);
  for (auto _ : state) {
    const auto phase = resnet50("int8");
    MappingCache cache;
    const CompiledModel c = compile(phase->full().graph, m, {}, cache);
    const VerifyResult v = verify_program(c.program, m, {.max_instances = kVerifiedInstances});
    if (!v.ok()) state.SkipWithError("the program is not proven");
  }
}
BENCHMARK_CAPTURE(file_to_verified_program, tpu_v1_like, "tpu_v1_like")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(file_to_verified_program, gemmini_like, "gemmini_like")->Unit(benchmark::kMillisecond);

/// The same without what does not depend on the machine: what one more design point costs at first sight.
void graph_to_program(benchmark::State& state, const std::string& machine_name) {
  const Machine m = machine(machine_name);
  const auto phase = resnet50("int8");
  const Graph& graph = phase->full().graph;
  for (auto _ : state) {
    MappingCache cache;
    benchmark::DoNotOptimize(compile(graph, m, {}, cache));
  }
}
BENCHMARK_CAPTURE(graph_to_program, tpu_v1_like, "tpu_v1_like")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(graph_to_program, mtia_2i_like, "mtia_2i_like")->Unit(benchmark::kMillisecond);

void analytical_model(benchmark::State& state, const std::string& machine_name) {
  const Machine m = machine(machine_name);
  MappingCache cache;
  const CompiledModel c = compile(resnet50("int8")->full().graph, m, {}, cache);
  for (auto _ : state) benchmark::DoNotOptimize(analyse(c.program, m).total);
}
BENCHMARK_CAPTURE(analytical_model, tpu_v1_like, "tpu_v1_like")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(analytical_model, mtia_2i_like, "mtia_2i_like")->Unit(benchmark::kMillisecond);

void cycle_model(benchmark::State& state, const std::string& machine_name) {
  const Machine m = machine(machine_name);
  MappingCache cache;
  const CompiledModel c = compile(resnet50("int8")->full().graph, m, {}, cache);
  for (auto _ : state) benchmark::DoNotOptimize(simulate(c.program, m).total);
}
BENCHMARK_CAPTURE(cycle_model, tpu_v1_like, "tpu_v1_like")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(cycle_model, mtia_2i_like, "mtia_2i_like")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(cycle_model, eyeriss_like, "eyeriss_like")->Unit(benchmark::kMillisecond);

/// Executes the program and the reference, and compares.
void functional_run(benchmark::State& state, const std::string& machine_name, const std::string& precision) {
  const Machine m = machine(machine_name);
  for (auto _ : state) {
    const auto phase = resnet50(precision);
    MappingCache cache;
    const CheckResult r = check_phase(m, *phase, true, {}, cache);
    if (!r.passed) state.SkipWithError(r.detail.c_str());
  }
}
BENCHMARK_CAPTURE(functional_run, fp32_neuroncore_v2_like, "neuroncore_v2_like", "native")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(functional_run, int8_tpu_v1_like, "tpu_v1_like", "int8")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace assay::bench
