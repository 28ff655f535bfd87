#include <doctest/doctest.h>

#include <set>

#include "core/base/math.h"
#include "hwmodels/timing.h"
#include "hwmodels/timing/census.h"
#include "tests/models/generator.h"

using namespace assay;
using namespace assay::testing;

namespace {

const AccessCount& access(const Program& p, const GroupActivity& g, const std::string& buffer) {
  for (std::size_t b = 0; b < p.buffers.size(); ++b)
    if (p.buffers[b].name == buffer) return g.by_buffer.at(static_cast<std::uint32_t>(b));
  FAIL("no buffer " << buffer);
  static const AccessCount none;
  return none;
}

// What a systolic unit's operands cost, by walking folds and streamed points of every instance.
struct ArrayWalk {
  std::int64_t a = 0, b = 0, out_reads = 0, out_writes = 0, slots = 0;
};
ArrayWalk walk_array(const MatrixUnit& u, Dataflow flow, std::int64_t m, std::int64_t n, std::int64_t k,
                     bool accumulating) {
  ArrayWalk w;
  const bool intrinsic = u.style == ArrayStyle::intrinsic;
  const std::int64_t rows = intrinsic ? u.k : u.rows, cols = intrinsic ? u.n : u.cols;
  if (intrinsic) flow = Dataflow::weight_stationary;
  const bool os = flow == Dataflow::output_stationary, is = flow == Dataflow::input_stationary;
  for (int instance = 0; instance < u.count; ++instance) {
    const std::int64_t begin = n * instance / u.count, end = n * (instance + 1) / u.count;
    const std::int64_t share = end - begin;
    if (share == 0) continue;
    const std::int64_t row_size = os ? m : k, col_size = is ? m : share, stream = os ? k : is ? share : m;
    for (std::int64_t r = 0; r < row_size; r += rows) {
      for (std::int64_t c = 0; c < col_size; c += cols) {
        const std::int64_t rr = std::min(rows, row_size - r), cc = std::min(cols, col_size - c);
        w.slots += rows * cols * (intrinsic ? round_up(stream, u.m) : stream);
        if (os) {
          w.a += rr * stream;
          w.b += cc * stream;
          w.out_writes += rr * cc;
          w.out_reads += accumulating ? rr * cc : 0;
        } else {
          (is ? w.a : w.b) += rr * cc;      // the stationary tile
          (is ? w.b : w.a) += rr * stream;  // what is streamed
          w.out_writes += cc * stream;
          w.out_reads += r > 0 || accumulating ? cc * stream : 0;
        }
      }
    }
  }
  return w;
}

}  // namespace

TEST_CASE("a 4 x 4 x 4 GEMM on a 4 x 4 array, by hand") {
  const Machine machine = small_machine();
  const Program p = gemm_program(machine, {.m = 4, .n = 4, .k = 4});
  const GroupActivity g = analyse(p, machine).activity.groups.at(0);
  CHECK(access(p, g, "a") == AccessCount{16, 0});
  CHECK(access(p, g, "b") == AccessCount{16, 0});
  CHECK(access(p, g, "a_tile") == AccessCount{16, 16});
  CHECK(access(p, g, "b_tile") == AccessCount{16, 16});
  CHECK(access(p, g, "acc_tile") == AccessCount{64, 64});
  CHECK(access(p, g, "out_tile") == AccessCount{64, 64});
  CHECK(access(p, g, "c") == AccessCount{0, 64});
  CHECK(g.macs.at(0) == 64);
  CHECK(g.padded_macs.at(0) == 0);
  CHECK(g.lane_ops.at(0).at("arithmetic") == 16);
  CHECK(g.link_bytes.at(0) == 16 + 16 + 64);
  CHECK(g.commands == 5);
}

TEST_CASE("closed-form array traffic equals a walk over folds, for random GEMMs") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Random random(seed, "array");
    Machine machine = small_machine();
    MatrixUnit& u = machine.matrix_units[0];
    u.style = random.between(0, 1) == 1 ? ArrayStyle::systolic : ArrayStyle::intrinsic;
    u.dataflow = static_cast<Dataflow>(random.between(0, 2));
    u.rows = random.between(1, 5);
    u.cols = random.between(1, 5);
    u.m = random.between(1, 4);
    u.k = random.between(1, 4);
    u.n = random.between(1, 4);
    u.count = static_cast<int>(random.between(1, 3));
    GemmSpec s;
    s.m = s.tile_m = random.between(1, 12);
    s.n = s.tile_n = random.between(1, 12);
    s.tile_k = random.between(1, 12);
    s.k = s.tile_k * random.between(1, 2);
    CAPTURE(describe(s));
    const Program p = gemm_program(machine, s);
    const GroupActivity g = analyse(p, machine).activity.groups.at(0);
    ArrayWalk w;
    for (std::int64_t k = 0; k < s.k; k += s.tile_k) {
      const ArrayWalk one = walk_array(u, u.dataflow, s.m, s.n, s.tile_k, k > 0);
      w.a += one.a;
      w.b += one.b;
      w.out_reads += one.out_reads;
      w.out_writes += one.out_writes;
      w.slots += one.slots;
    }
    const std::int64_t k_total = s.k;
    CHECK(access(p, g, "a_tile") == AccessCount{w.a, s.m * k_total});
    CHECK(access(p, g, "b_tile") == AccessCount{w.b, s.n * k_total});
    // The epilogue reads each result once more.
    CHECK(access(p, g, "acc_tile") == AccessCount{4 * (w.out_reads + s.m * s.n), 4 * w.out_writes});
    CHECK(g.macs.at(0) == s.m * s.n * k_total);
    CHECK(g.macs.at(0) + g.padded_macs.at(0) == w.slots);
  }
}

TEST_CASE("PE array traffic equals a walk over its temporal loops, for random plans") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Random random(seed, "pe");
    Machine machine = small_machine();
    Memory rf = machine.memories[1];
    rf.name = "rf";
    rf.scope = Scope::pe;
    rf.kind = MemoryKind::register_file;
    machine.memories.push_back(rf);
    MatrixUnit& u = machine.matrix_units[0];
    u.style = ArrayStyle::pe_array;
    u.pe_memories = {MemoryId(3)};
    u.rows = random.between(1, 5);
    u.cols = random.between(1, 5);
    GemmSpec s;
    s.m = s.tile_m = random.between(1, 7);
    s.n = s.tile_n = random.between(1, 7);
    s.k = s.tile_k = random.between(1, 7);
    Program p = gemm_program(machine, s);
    // The contract command, wherever it stands in the nest.
    Command* contract = nullptr;
    std::vector<std::vector<Stmt>*> open{&p.body};
    while (!open.empty()) {
      std::vector<Stmt>& body = *open.back();
      open.pop_back();
      for (Stmt& stmt : body) {
        if (auto* l = std::get_if<Loop>(&stmt.node)) open.push_back(&l->body);
        auto* c = std::get_if<Command>(&stmt.node);
        if (c && c->opcode == Opcode::contract) contract = c;
      }
    }
    REQUIRE(contract);
    ArrayPlan& plan = *contract->array;
    const int row_dim = static_cast<int>(random.between(0, 2)), col_dim = static_cast<int>(random.between(0, 2));
    plan.on_rows = {{row_dim, random.between(1, u.rows)}};
    plan.on_cols = {{col_dim, random.between(1, u.cols)}};
    plan.order = {0, 1, 2};
    for (int i = 2; i > 0; --i) std::swap(plan.order[i], plan.order[random.between(0, i)]);
    const GroupActivity g = analyse(p, machine).activity.groups.at(0);

    const std::int64_t extents[] = {s.m, s.n, s.k};
    std::int64_t spatial[] = {1, 1, 1};
    spatial[row_dim] *= plan.on_rows[0].second;
    spatial[col_dim] *= plan.on_cols[0].second;
    const bool relevant[3][3] = {
        {true, false, true}, {false, true, true}, {true, true, false}};  // A, B, out by m, n, k
    std::int64_t reads[3] = {0, 0, 0}, delivered[3] = {0, 0, 0}, steps = 0;
    std::vector<std::int64_t> last[3];
    std::int64_t t[3];
    const auto trips = [&](int d) { return ceil_div(extents[d], spatial[d]); };
    for (t[0] = 0; t[0] < trips(plan.order[0]); ++t[0])
      for (t[1] = 0; t[1] < trips(plan.order[1]); ++t[1])
        for (t[2] = 0; t[2] < trips(plan.order[2]); ++t[2]) {
          ++steps;
          std::int64_t size[3];
          for (int i = 0; i < 3; ++i) {
            const int d = plan.order[i];
            size[d] = std::min(spatial[d], extents[d] - t[i] * spatial[d]);
          }
          for (int o = 0; o < 3; ++o) {
            std::vector<std::int64_t> tuple;
            std::int64_t elements = 1;
            for (int i = 0; i < 3; ++i) {
              if (!relevant[o][plan.order[i]]) continue;
              tuple.push_back(t[i]);
              elements *= size[plan.order[i]];
            }
            if (tuple == last[o]) continue;
            last[o] = tuple;
            reads[o] += elements;
            delivered[o] += size[0] * size[1] * size[2];
          }
        }
    const std::int64_t macs = s.m * s.n * s.k, outputs = s.m * s.n;
    CHECK(access(p, g, "a_tile").read_bytes == reads[0]);
    CHECK(access(p, g, "b_tile").read_bytes == reads[1]);
    CHECK(access(p, g, "acc_tile") == AccessCount{4 * (reads[2] - outputs + outputs), 4 * reads[2]});
    CHECK(g.padded_macs.at(0) == steps * u.rows * u.cols - macs);
    // Register files: A and B once per MAC, sums read and written per MAC, one write per element delivered.
    const AccessCount& r = g.by_pe_memory.at(3);
    CHECK(r.read_bytes == 2 * macs + 4 * macs);
    CHECK(r.write_bytes == delivered[0] + delivered[1] + 4 * (macs + reads[2] - outputs));
  }
}

TEST_CASE("each core's edge is clipped, and a multicast load is read once and written everywhere") {
  const Machine machine = small_machine(2, 1);
  GemmSpec s{.m = 6, .n = 4, .k = 4};
  s.multicast_b = true;
  const Program p = gemm_program(machine, s);
  const GroupActivity g = analyse(p, machine).activity.groups.at(0);
  CHECK(access(p, g, "a") == AccessCount{24, 0});  // core 0 has 4 rows, core 1 has 2
  CHECK(access(p, g, "b") == AccessCount{16, 0});  // once for both cores
  CHECK(access(p, g, "b_tile") == AccessCount{32, 32});
  CHECK(access(p, g, "c") == AccessCount{0, 6 * 4 * 4});
  CHECK(g.macs.at(0) == 6 * 4 * 4);
  CHECK(g.link_bytes.at(0) == 24 + 16 + 96);
  CHECK(g.link_bytes_delivered.at(0) == 24 + 32 + 96);
}

TEST_CASE("the cycle model counts what the closed form counts, for random programs") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Random random(seed, "activity");
    const Machine machine = random_machine(random);
    const GemmSpec s = random_gemm(random, machine);
    CAPTURE(describe(s));
    const Program p = gemm_program(machine, s);
    CHECK(simulate(p, machine).activity == analyse(p, machine).activity);
  }
}
