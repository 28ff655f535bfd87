#include <benchmark/benchmark.h>

#include "core/base/error.h"
#include "core/mapping/tile_evaluator.h"
#include "tests/bench/inputs.h"

// The inner loop of the mapping search on a real layer: ResNet-50's 3 x 3 convolutions.

namespace assay::bench {
namespace {

struct Layer {
  Machine machine;
  MapEnvironment env;
  Kernel kernel;
  KernelHomes homes;
  SearchResult best;
};

Layer convolution(const std::string& machine_name) {
  Layer l{machine(machine_name), {}, {}, {}, {}};
  l.env = map_environment(l.machine);
  const auto phase = resnet50("int8");
  for (Kernel& k : make_kernels(phase->full().graph, {}, true).kernels) {
    std::int64_t window = 1;
    if (k.has_contraction())
      for (const NestDim& d : k.nests.front().dims) window *= d.name == "r" || d.name == "s" ? d.extent : 1;
    if (window != 9) continue;
    l.kernel = with_drain(std::move(k), l.env);
    break;
  }
  for (const KernelTensor& t : l.kernel.tensors)
    l.homes.home.push_back(t.graph_tensor.valid() ? l.machine.dram() : MemoryId());
  l.best = search_mapping(l.kernel, l.homes, l.env);
  return l;
}

void one_mapping(benchmark::State& state, const std::string& machine_name) {
  const Layer l = convolution(machine_name);
  Evaluator e(l.kernel, l.homes, l.env);
  e.set_spatial(l.best.mapping.spatial);
  e.set_array(l.best.mapping.array, l.best.mapping.matrix_unit);
  FlatMapping m = e.flatten(l.best.mapping);
  TileEvaluator tiles(e);
  for (auto _ : state) {
    tiles.start(m);  // nothing remembered from the mapping before
    benchmark::DoNotOptimize(tiles.evaluate(m));
  }
}
BENCHMARK_CAPTURE(one_mapping, tpu_v1_like, "tpu_v1_like");
BENCHMARK_CAPTURE(one_mapping, mtia_2i_like, "mtia_2i_like");
BENCHMARK_CAPTURE(one_mapping, eyeriss_like, "eyeriss_like");

void one_search(benchmark::State& state, const std::string& machine_name) {
  const Layer l = convolution(machine_name);
  std::int64_t evaluated = 0;
  for (auto _ : state) evaluated += search_mapping(l.kernel, l.homes, l.env).evaluated;
  state.counters["evaluations/s"] = benchmark::Counter(static_cast<double>(evaluated), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(one_search, tpu_v1_like, "tpu_v1_like")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(one_search, mtia_2i_like, "mtia_2i_like")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(one_search, eyeriss_like, "eyeriss_like")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace assay::bench
