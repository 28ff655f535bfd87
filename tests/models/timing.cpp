#include <doctest/doctest.h>

#include "hwmodels/timing.h"
#include "tests/models/generator.h"

using namespace assay;
using namespace assay::testing;

TEST_CASE("one 4 x 4 x 4 tile, tick by tick") {
  // 1 GHz, so ticks are ns and cycles. dma 16 B/cycle: A 16 B [0, 1), B [1, 2).
  // mxu starts at 2, weight-stationary fold 4 + 4 + 6 = 14: results at 16.
  // vpu: 16 points on 4 lanes, one operation: 4 cycles, and 64 B each way at 64 B/cycle: [16, 20).
  // store 64 B at 16 B/cycle: [20, 24).
  const Machine machine = small_machine();
  const Program p = gemm_program(machine, {.m = 4, .n = 4, .k = 4});
  for (const TimingResult& r : {analyse(p, machine), simulate(p, machine)}) {
    CAPTURE(r.model);
    CHECK(r.base.ticks_per_second == 1'000'000'000);
    CHECK(r.total == 24);
    const LossBreakdown& loss = r.groups.at(0).loss;
    CHECK(loss.ideal_compute == 4);
    CHECK(loss.fill_drain == 10);
    CHECK(loss.vector == 4);
    CHECK(loss.exposed_memory == 2 + 4);
    CHECK(loss.padding == 0);
    CHECK(r.groups.at(0).start == 0);
    CHECK(r.groups.at(0).end == 24);
    CHECK(r.lower_bound == 6);  // dram moves 96 bytes at 16 per cycle, both ways on one port
    CHECK(r.groups.at(0).binding == "latency");
  }
}

TEST_CASE("latency is paid once per chain, and limits rate where few requests are in flight") {
  Machine machine = small_machine();
  machine.memories[0].latency_s = 30e-9;
  machine.links[0].latency_s = 10e-9;  // one way: a round trip is 50 ns with the memory
  const Program p = gemm_program(machine, {.m = 4, .n = 4, .k = 4});
  // A is 4 rows of 4 B side by side: one run of 16 B, one request. 16 requests may fly: the window allows
  // ceil(50 / 16) = 4 ns per copy: A occupies [0, 4), B [4, 8) and is there at 58.
  // mxu 58..72, vpu 72..76, store: one request, occupied for 4, and 50 later it has landed: 130.
  CHECK(analyse(p, machine).total == 58 + 14 + 4 + 4 + 50);
  CHECK(simulate(p, machine).total == 58 + 14 + 4 + 4 + 50);
  machine.links[0].outstanding = 1;
  // Every request waits for the one before: A [0, 50), B [50, 100), there at 150; the store's 64 B are one request.
  CHECK(analyse(p, machine).total == 150 + 14 + 4 + 50 + 50);
  CHECK(simulate(p, machine).total == 150 + 14 + 4 + 50 + 50);
}

TEST_CASE("narrow strided rows cost a request each") {
  Machine machine = small_machine();
  machine.memories[0].latency_s = 64e-9;
  machine.links[0].outstanding = 1;
  // A is 4 rows of 4 bytes out of rows of 8: four requests one after the other.
  const Program wide = gemm_program(machine, {.m = 4, .n = 4, .k = 4});
  const Program strided = gemm_program(machine, {.m = 4, .n = 4, .k = 8, .tile_k = 4, .depth = 2});
  const auto load = [&](const Program& p) {
    const TimingResult timing = analyse(p, machine);
    for (const ResourceTime& r : timing.groups.at(0).resources)
      if (r.name == "dma.load") return r.busy;
    return std::int64_t{0};
  };
  CHECK(load(wide) == 2);  // bytes alone bound the engine
  CHECK(analyse(wide, machine).total == 2 * 64 + 64 + 14 + 4 + 64 + 64);
  // Per k step A has 4 runs (256 ns) and B, whole rows, one (64 ns): twice 320, then the last byte is 64 later.
  CHECK(analyse(strided, machine).total == 2 * 320 + 64 + 14 + 4 + 64 + 64);
}

TEST_CASE("cores share the DRAM: the cycle model finds it, the analytical model divides the rate") {
  const Machine one = small_machine(1, 1), four = small_machine(4, 1);
  const GemmSpec s{.m = 64, .n = 16, .k = 64};
  GemmSpec wide = s;
  wide.m = 256;
  const Program p1 = gemm_program(one, s), p4 = gemm_program(four, wide);
  const std::int64_t alone = simulate(p1, one).total, shared = simulate(p4, four).total;
  CHECK(shared > alone);
  CHECK(shared >= simulate(p4, four).lower_bound);
  const double error = static_cast<double>(analyse(p4, four).total) / static_cast<double>(shared);
  CHECK(error > 0.8);
  CHECK(error < 1.25);
}

TEST_CASE("doubling what binds helps, doubling what does not changes nothing") {
  Machine machine = small_machine();
  machine.links[0].bandwidth = 1'000'000'000;  // 1 B/cycle: loads bind
  const Program p = gemm_program(machine, {.m = 64, .n = 64, .k = 64, .tile_m = 8, .tile_n = 8, .tile_k = 8});
  const TimingResult r = analyse(p, machine);
  CHECK(r.groups.at(0).binding == "dma.load");
  CHECK(analyse_with_doubled(p, machine, "dma.load") < r.total * 6 / 10);
  CHECK(analyse_with_doubled(p, machine, "dma") < r.total * 6 / 10);
  CHECK(analyse_with_doubled(p, machine, "ls") == r.total);
  CHECK(analyse_with_doubled(p, machine, "latency") == r.total);
  CHECK(analyse_with_doubled(p, machine, "mxu") >= r.total - 40);  // only the last tile's tail is exposed
  machine.links[0].bandwidth = 64'000'000'000;
  machine.memories[0].read_bandwidth = 64'000'000'000;
  const std::int64_t compute_bound = analyse(p, machine).total;
  CHECK(analyse(p, machine).groups.at(0).binding == "mxu");
  CHECK(analyse_with_doubled(p, machine, "mxu") < compute_bound * 7 / 10);
}

TEST_CASE("a dma that stops the compute units adds its time to theirs") {
  Machine machine = small_machine();
  const Program p = gemm_program(machine, {.m = 16, .n = 16, .k = 16});
  const std::int64_t overlapping = simulate(p, machine).total;
  machine.links[0].overlap_compute = false;
  const TimingResult a = analyse(p, machine), c = simulate(p, machine);
  CHECK(c.total > overlapping);
  CHECK(a.total > overlapping);
  std::int64_t compute = 0, copies = 0;
  for (const ResourceTime& r : c.resources) {
    if (r.name == "mxu" || r.name == "vpu") compute = std::max(compute, r.busy);
    if (r.name == "dma.load") copies = r.busy;
  }
  CHECK(c.total >= compute + copies);
}

TEST_CASE("the timeline is capped and says so") {
  const Machine machine = small_machine();
  const Program p = gemm_program(machine, {.m = 16, .n = 16, .k = 16});
  CycleOptions options;
  options.timeline.max_events = 10;
  const TimingResult capped = simulate(p, machine, options);
  CHECK(capped.timeline.size() == 10);
  CHECK(capped.timeline_truncated);
  options.timeline.max_events = 100'000;
  const TimingResult whole = simulate(p, machine, options);
  CHECK_FALSE(whole.timeline_truncated);
  CHECK(static_cast<std::int64_t>(whole.timeline.size()) == whole.activity.total().commands);
  for (std::size_t i = 1; i < whole.timeline.size(); ++i) {  // in one engine's track events do not overlap
    const TimelineEvent &x = whole.timeline[i - 1], &y = whole.timeline[i];
    if (x.core == y.core && x.engine == y.engine) CHECK(x.end <= y.start);
  }
}

TEST_CASE("detailed DRAM is never faster than its bandwidth, and scattered rows are slower than streams") {
  Machine machine = small_machine();
  machine.memories[0].model = Fidelity::detailed;
  machine.memories[0].dram.channels = 2;
  machine.matrix_units[0].rows = machine.matrix_units[0].cols = 32;  // so that the loads matter
  const Program stream = gemm_program(machine, {.m = 32, .n = 32, .k = 32, .tile_m = 32, .tile_n = 32, .tile_k = 32});
  const Program scattered =
      gemm_program(machine, {.m = 32, .n = 32, .k = 512, .tile_m = 32, .tile_n = 32, .tile_k = 4});
  const TimingResult s = simulate(stream, machine), d = simulate(scattered, machine);
  CHECK(s.total >= s.lower_bound);
  CHECK(d.total >= d.lower_bound);
  Machine plain = machine;
  plain.memories[0].model = Fidelity::bandwidth;
  CHECK(d.total > simulate(scattered, plain).total * 2);  // 4-byte rows pay 64-byte bursts
}

TEST_CASE("a host command pays launch, link and flops, on core (0, 0) only") {
  Machine machine = small_machine(2, 1);
  Link pcie;
  pcie.name = "pcie";
  pcie.kind = LinkKind::host;
  pcie.bandwidth = 8'000'000'000;
  pcie.launch_s = 1e-6;
  machine.links.push_back(pcie);
  machine.hosts = {{"host", 1e9, "pcie"}};
  Program p;
  p.grid = machine.grid;
  p.engines = {{"host", EngineKind::host, 0}};
  p.trail = {{"nms", {"nms"}, "NonMaxSuppression"}};
  Buffer b;
  b.name = b.tensor = "x";
  b.memory = MemoryId(0);
  b.bytes = 400;
  b.shape = {100};
  p.buffers = {b, b};
  p.body = {{HostCommand{EngineId(0), "NonMaxSuppression", "{}", {BufferId(0)}, {BufferId(1)}, 0}}};
  for (const TimingResult& r : {analyse(p, machine), simulate(p, machine)}) {
    CHECK(r.total == 1000 + 100 + 200);  // launch, 800 B at 8 B/ns, 200 elements at 1 flop/ns
    CHECK(r.activity.groups.at(0).host_bytes == 800);
    CHECK(r.activity.groups.at(0).commands == 1);
    CHECK(r.groups.at(0).loss.launch == 1300);
  }
}
