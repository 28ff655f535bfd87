#include <benchmark/benchmark.h>

#include "core/base/error.h"
#include "explorers/sweep.h"
#include "tests/bench/inputs.h"

// 1,000 design points of ResNet-50 by the analytical model, compiled one by one.

namespace assay::bench {
namespace {

void analytical_points(benchmark::State& state) {
  const SweepSpec spec = load_sweep(config("sweeps/thousand.yaml"));
  SweepOptions o;
  for (auto _ : state) {
    const SweepResult r = run_sweep(spec, o);
    if (r.points.size() != 1000) state.SkipWithError("there are not 1,000 points");
    state.counters["points"] = static_cast<double>(r.points.size());
    state.counters["feasible"] = static_cast<double>(r.ranking.size());
  }
}
BENCHMARK(analytical_points)->Unit(benchmark::kSecond)->Iterations(1)->UseRealTime();

}  // namespace
}  // namespace assay::bench
