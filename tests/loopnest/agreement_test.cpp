#include <doctest/doctest.h>
#include <fmt/format.h>

#include <iostream>

#include "tests/loopnest/random_nest.h"

using namespace assay;

// The two counters share nothing but the notation and the last step to cycles and energy. Where their conventions say
// the same, they must count the same.

namespace {

std::vector<std::string> disagreements(const RandomNest& n) {
  CountingConvention words = assay_convention(), first_child = timeloop_convention();
  words.neighbour_links = first_child.neighbour_links = false;
  words.drain_reads = false;
  words.one_fetch = false;
  first_child.every_iteration = first_child.halo_everywhere = true;
  const NestCost a = count_accesses(n.nest, n.einsum, n.machine, words);
  const NestCost b = count_accesses(n.nest, n.einsum, n.machine, first_child);
  std::vector<std::string> out;
  const auto same = [&](const std::string& what, double x, double y) {
    if (x != y) out.push_back(fmt::format("{}: {} and {}", what, x, y));
  };
  same("compute cycles", a.compute_cycles, b.compute_cycles);
  for (std::size_t i = 0; i < a.levels.size(); ++i) {
    for (std::size_t t = 0; t < a.levels[i].tensors.size(); ++t) {
      const TensorCounts &x = a.levels[i].tensors[t], &y = b.levels[i].tensors[t];
      const std::string where = n.machine.levels[i].name + " " + n.einsum.tensors[t].name + " ";
      for (const auto& [what, p, q] :
           {std::tuple{"tile", x.tile, y.tile}, std::tuple{"partition", x.partition, y.partition},
            std::tuple{"instances", x.instances, y.instances}, std::tuple{"reads", x.reads, y.reads},
            std::tuple{"fills", x.fills, y.fills}, std::tuple{"updates", x.updates, y.updates},
            std::tuple{"temporal reductions", x.temporal_reductions, y.temporal_reductions},
            std::tuple{"spatial reductions", x.spatial_reductions, y.spatial_reductions}})
        same(where + what, static_cast<double>(p), static_cast<double>(q));
    }
  }
  return out;
}

/// The three-level machine of both rows below: 256 elements in a row.
Hierarchy row_of_256() {
  Hierarchy h;
  h.compute = {256, 1};
  h.mac_energy = 1;
  h.levels.resize(3);
  h.levels[0].name = "RF";
  h.levels[0].capacity = 256;
  h.levels[0].mesh = {256, 1};
  h.levels[0].read_energy = h.levels[0].write_energy = 1;
  h.levels[1].name = "GLB";
  h.levels[1].capacity = 65536;
  h.levels[1].read_energy = h.levels[1].write_energy = 6;
  h.levels[2].name = "DRAM";
  h.levels[2].read_energy = h.levels[2].write_energy = 200;
  return h;
}

struct Actions {
  int level, tensor;
  std::int64_t reads, writes;
};

void check_actions(const LoopNest& nest, const std::vector<Actions>& actions, double energy_j) {
  const Einsum e = parse_einsum("Z[m,n] += A[m,k] * B[k,n]", {{"m", 256}, {"n", 256}, {"k", 256}});
  const Hierarchy h = row_of_256();
  check(nest, e, h);
  CHECK(exceeded_limits(nest, e, h).empty());
  const NestCost cost = count_accesses(nest, e, h, accelforge_convention());
  for (const Actions& a : actions) {
    CAPTURE(a.level);
    CAPTURE(a.tensor);
    const AccessTotals& n =
        cost.levels[static_cast<std::size_t>(a.level)].tensors[static_cast<std::size_t>(a.tensor)].total;
    CHECK(n.reads == a.reads);
    CHECK(n.fills + n.updates == a.writes);
  }
  CHECK(cost.energy * 1e-12 == doctest::Approx(energy_j).epsilon(1e-6));
  CHECK(cost.cycles == 65536);
}

constexpr int kA = 0, kB = 1, kZ = 2, kM = 0, kN = 1, kK = 2, kRf = 0, kGlb = 1, kDram = 2;

LoopNode by(int dim, std::int64_t tile) { return {dim, tile, LoopKind::temporal, 0}; }
LoopNode along_x(int dim, std::int64_t tile) { return {dim, tile, LoopKind::spatial_x, kGlb}; }

}  // namespace

TEST_CASE("word by word and by the first child agree where neither windows, clips nor bypasses tell them apart") {
  constexpr std::uint64_t kSeed = 70000;
  constexpr int kCases = 1500;
  std::cout << "seed " << kSeed << ": " << kCases << " nests\n";
  for (int i = 0; i < kCases; ++i) {
    Random r(kSeed + static_cast<std::uint64_t>(i));
    RandomNest n = random_nest(r, {.most_macs = 200000, .imperfect = false, .windows = false, .holds = 1});
    // Where sums are made inside, the tool counts its network's reductions on the way down as well.
    for (HierarchyLevel& l : n.machine.levels) l.adds_in_place = true;
    const auto differences = disagreements(n);
    if (differences.empty()) continue;
    std::string all = fmt::format("seed {}\n{}", kSeed + static_cast<std::uint64_t>(i), describe(n));
    for (const std::string& d : differences) all += "\n  " + d;
    FAIL(all);
  }
}

// Actions and energies reported by AccelForge (commit 1c1929c2, EDP objective) for the optima that it found for a matrix
// product of 256 × 256 × 256 on this machine; the nests have the same counts.

TEST_CASE("the best nest for GEMM 256 with every tensor at every level is counted as AccelForge reports it") {
  LoopNest nest;
  nest.nodes = {StorageNode{kDram, {kA, kB, kZ}}, by(kM, 128),    StorageNode{kGlb, {kA}}, by(kN, 64),
                StorageNode{kGlb, {kB, kZ}},      along_x(kK, 1), StorageNode{kRf, {kB}},  by(kM, 1),
                StorageNode{kRf, {kA, kZ}},       by(kN, 1)};
  check_actions(nest,
                {{kRf, kA, 16777216, 262144},
                 {kGlb, kA, 262144, 65536},
                 {kDram, kA, 65536, 0},
                 {kRf, kB, 16777216, 131072},
                 {kGlb, kB, 131072, 131072},
                 {kDram, kB, 131072, 0},
                 {kRf, kZ, 16777216, 16777216},
                 {kGlb, kZ, 65536, 65536},
                 {kDram, kZ, 0, 65536}},
                0.0001410334718956036);
}

TEST_CASE("the best nest for GEMM 256 with bypasses is counted as AccelForge reports it") {
  LoopNest nest;
  nest.nodes = {StorageNode{kDram, {kA, kB, kZ}}, by(kN, 128), StorageNode{kGlb, {kA}}, along_x(kK, 1),
                StorageNode{kRf, {kB}},           by(kM, 1),   StorageNode{kRf, {kA}},  by(kN, 1)};
  check_actions(nest,
                {{kRf, kA, 16777216, 131072},
                 {kGlb, kA, 131072, 65536},
                 {kDram, kA, 65536, 0},
                 {kRf, kB, 16777216, 65536},
                 {kDram, kB, 65536, 0},
                 {kDram, kZ, 0, 65536}},
                9.10295057931001e-05);
}

TEST_CASE("10^18 MACs are counted within the bound on steps, as a formula has them") {
  constexpr std::int64_t kSide = 1'000'000;
  const Einsum e = parse_einsum("Z[m,n] += A[m,k] * B[k,n]", {{"m", kSide}, {"n", kSide}, {"k", kSide}});
  Hierarchy h = row_of_256();
  h.compute = h.levels[0].mesh = {1000, 1};
  LoopNest nest;
  nest.nodes = {
      StorageNode{kDram, {kA, kB, kZ}}, by(kM, 7000), StorageNode{kGlb, {kA, kB, kZ}}, by(kN, 1000), along_x(kM, 7),
      StorageNode{kRf, {kA, kB, kZ}},   by(kK, 1)};
  check(nest, e, h);
  const NestCost cost = count_accesses(nest, e, h, assay_convention());
  // 142 whole bands of 7,000 rows and one of 6,000. A band of A stays while n goes by; all of B stays at GLB.
  const AccessTotals& a = cost.levels[kGlb].tensors[kA].total;
  CHECK(a.fills == kSide * kSide);
  CHECK(a.reads == kSide * kSide);  // each element of the row has its own rows, and keeps them
  const AccessTotals& b = cost.levels[kGlb].tensors[kB].total;
  CHECK(b.fills == kSide * kSide);
  // 1,000 columns at a time, one access for all elements, in each of the 143 bands.
  CHECK(b.reads == 143 * kSide * kSide);
  CHECK(cost.levels[kDram].tensors[kZ].total.updates == kSide * kSide);
  CHECK(cost.macs == kSide * kSide * kSide);
  CHECK(cost.compute_cycles == 143e12 * 7);  // the first element works in all bands, 7 rows each
  const auto& network = cost.levels[kGlb].tensors[kB].network;
  REQUIRE(network.size() == 2);
  CHECK(network[0] == NetworkSignature{858, 0, kSide * kSide});  // 857 elements of 7 rows and one of one
  CHECK(network[1] == NetworkSignature{1000, 0, 142 * kSide * kSide});
}

TEST_CASE("a window over a million elements is counted from the reach of one") {
  constexpr std::int64_t kWide = 1 << 20;
  const Einsum e = parse_einsum("O[p] += I[p+r] * W[r]", {{"p", kWide}, {"r", 5}});
  Hierarchy h;
  h.compute = {kWide, 1};
  h.levels.resize(2);
  h.levels[0].name = "PE";
  h.levels[0].mesh = {kWide, 1};
  h.levels[1].name = "GLB";
  LoopNest nest;
  nest.nodes = {StorageNode{1, {0, 1, 2}}, LoopNode{0, 1, LoopKind::spatial_x, 1}, StorageNode{0, {0, 1, 2}}};
  const NestCost cost = count_accesses(nest, e, h, assay_convention());
  // Word w goes to min(w + 1, 5) elements at the left end, five in the middle, fewer again at the right end.
  const std::vector<NetworkSignature> want{{1, 0, 2}, {2, 0, 2}, {3, 0, 2}, {4, 0, 2}, {5, 0, kWide - 4}};
  CHECK(cost.levels[1].tensors[0].network == want);
  CHECK(cost.levels[1].tensors[0].total.reads == kWide + 4);
  CHECK(cost.levels[0].tensors[0].total.fills == 5 * kWide);
}
