#include <doctest/doctest.h>

#include <fmt/format.h>

#include "core/base/math.h"
#include "core/isa/engines.h"
#include "core/isa/verify.h"
#include "hwmodels/functional/machine.h"
#include "hwmodels/timing.h"
#include "tests/models/generator.h"

// Law 2: the functional machine, which counts by executing, the cycle model, which counts what it issues, and the
// closed form agree on every program.

using namespace assay;
using namespace assay::testing;

namespace {

std::string differences(const Program& p, const GroupActivity& f, const GroupActivity& c) {
  std::string out;
  for (std::uint32_t b = 0; b < p.buffers.size(); ++b) {
    const auto at = [&](const GroupActivity& g) {
      const auto found = g.by_buffer.find(b);
      return found == g.by_buffer.end() ? AccessCount{} : found->second;
    };
    if (at(f) != at(c))
      out += fmt::format("{}: executed r {} w {}, closed form r {} w {}\n", p.buffers[b].name, at(f).read_bytes,
                         at(f).write_bytes, at(c).read_bytes, at(c).write_bytes);
  }
  return out;
}

// x[C, H, W] * w[K, C, R, S] with stride and padding, in tiles of rows, then a padded 2 × 3 max pool; the operands stand
// in `ls`, so that padding and overlapping windows reach the array and the lanes.
Program conv_program(const Machine& machine, Random& random) {
  const std::int64_t c = random.between(1, 4), k = random.between(1, 6), r = random.between(1, 3),
                     s = random.between(1, 3);
  const std::int64_t h = random.between(3, 9), w = random.between(3, 9), stride = random.between(1, 2);
  const std::int64_t pad = random.between(0, 2);
  const std::int64_t out_h = (h + 2 * pad - r) / stride + 1, out_w = (w + 2 * pad - s) / stride + 1;
  const std::int64_t tile = random.between(1, 4), trips = ceil_div(out_h, tile);
  Program p;
  p.name = "conv";
  p.machine = machine.name;
  p.grid = machine.grid;
  p.engines = engines_of(machine);
  p.trail = {{"conv", {"conv"}, "Conv"}, {"pool", {"pool"}, "MaxPool"}};
  p.steps = {"conv", "pool"};
  const auto engine = [&](EngineKind kind) {
    for (std::size_t e = 0; e < p.engines.size(); ++e)
      if (p.engines[e].kind == kind) return EngineId(e);
    return EngineId();
  };
  std::int64_t at[3] = {0, 0, 0};
  const auto buffer = [&](const std::string& name, std::size_t memory, BufferKind kind, DType type, Shape shape) {
    Buffer b;
    b.name = b.tensor = name;
    b.memory = MemoryId(memory);
    b.address = at[memory];
    b.bytes = element_count(shape) * byte_size(type, 1);
    b.kind = kind;
    b.type = type;
    b.shape = std::move(shape);
    b.last_step = 2;
    at[memory] += round_up(b.bytes, 64);
    p.buffers.push_back(b);
    return BufferId(p.buffers.size() - 1);
  };
  const BufferId x = buffer("x", 0, BufferKind::input, DType::i8, {c, h, w});
  const BufferId weights = buffer("w", 0, BufferKind::input, DType::i8, {k, c, r, s});
  const BufferId y = buffer("y", 0, BufferKind::output, DType::i32, {k, out_h, out_w});
  const BufferId x_ls = buffer("x_ls", 1, BufferKind::tile, DType::i8, {c, h, w});
  const BufferId w_ls = buffer("w_ls", 1, BufferKind::tile, DType::i8, {k, c, r, s});
  const BufferId pooled = buffer("pooled", 1, BufferKind::tile, DType::i32, {k, out_h, out_w});
  const BufferId acc = buffer("acc", 2, BufferKind::tile, DType::i32, {k, out_h, out_w});
  p.inputs = {{"x", x}, {"w", weights}};
  p.outputs = {{"y", y}};

  // A dense view: dimension i runs over iteration terms.
  const auto view = [&](BufferId b, std::vector<std::vector<std::pair<int, std::int64_t>>> terms) {
    const Buffer& in = p.buffer(b);
    Operand o;
    o.buffer = b;
    o.type = in.type;
    std::int64_t bytes = byte_size(in.type, 1);
    o.dims.resize(in.shape.size());
    for (std::size_t d = in.shape.size(); d-- > 0;) {
      o.dims[d].size = in.shape[d];
      o.dims[d].stride = bytes;
      o.dims[d].iter = terms[d];
      bytes *= in.shape[d];
    }
    return o;
  };
  const auto whole_copy = [&](EngineKind kind, BufferId from, BufferId to, std::int64_t trail) {
    Command copy;
    copy.engine = engine(kind);
    std::vector<std::vector<std::pair<int, std::int64_t>>> terms;
    for (const std::int64_t extent : p.buffer(from).shape) {
      terms.push_back({{static_cast<int>(copy.iter.size()), 1}});
      copy.iter.push_back({"d" + std::to_string(copy.iter.size()), {extent, {}}});
    }
    copy.in = {view(from, terms)};
    copy.out = view(to, terms);
    copy.body.input(0, copy.in[0].type);
    copy.trail = trail;
    return Stmt{copy};
  };
  const auto semaphore = [&](const std::string& name) {
    p.semaphores.push_back({name, 0});
    return SemaphoreId(p.semaphores.size() - 1);
  };
  const SemaphoreId loaded = semaphore("loaded"), computed = semaphore("computed"), ready = semaphore("pooled");

  const VarId tp(kFirstLoopVar);
  p.var_count = kFirstLoopVar + 1;
  const MatrixUnit& unit = machine.matrix_units[0];
  Command conv;  // k 0, p 1, q 2 | c 3, r 4, s 5
  conv.opcode = Opcode::contract;
  conv.engine = engine(EngineKind::matrix);
  Extent rows{tile, Affine::of(tp, -tile, out_h)};
  conv.iter = {{"k", {k, {}}},       {"p", rows},          {"q", {out_w, {}}},
               {"c", {c, {}}, true}, {"r", {r, {}}, true}, {"s", {s, {}}, true}};
  Operand in = view(x_ls, {{{3, 1}}, {{1, stride}, {4, 1}}, {{2, stride}, {5, 1}}});
  in.fill = 0;
  in.dims[1].offset = Affine::of(tp, stride * tile, -pad);
  in.dims[2].offset.constant = -pad;
  conv.in = {in, view(w_ls, {{{0, 1}}, {{3, 1}}, {{4, 1}}, {{5, 1}}})};
  conv.out = view(acc, {{{0, 1}}, {{1, 1}}, {{2, 1}}});
  conv.out.dims[1].offset = Affine::of(tp, tile);
  conv.combine = Combine::sum;
  conv.accumulator = DType::i32;
  ArrayPlan plan;
  plan.dataflow = unit.dataflow;
  plan.order = {0, 1, 2, 3, 4, 5};
  for (int i = 5; i > 0; --i) std::swap(plan.order[i], plan.order[random.between(0, i)]);
  if (unit.style == ArrayStyle::pe_array) {
    plan.on_rows = {{static_cast<int>(random.between(0, 5)), random.between(1, unit.rows)}};
    plan.on_cols = {{static_cast<int>(random.between(0, 5)), random.between(1, unit.cols)}};
  } else {
    const bool os = plan.dataflow == Dataflow::output_stationary && unit.style == ArrayStyle::systolic;
    const bool is = plan.dataflow == Dataflow::input_stationary && unit.style == ArrayStyle::systolic;
    const std::int64_t row_size = unit.style == ArrayStyle::intrinsic ? unit.k : unit.rows;
    const std::int64_t col_size = unit.style == ArrayStyle::intrinsic ? unit.n : unit.cols;
    if (os)
      plan.on_rows = {{1, row_size}};
    else
      plan.on_rows = {{3, row_size}};
    if (random.between(0, 1) == 1) plan.on_rows.emplace_back(os ? 2 : 4, row_size);
    if (is)
      plan.on_cols = {{2, col_size}};
    else
      plan.on_cols = {{0, col_size}};
  }
  conv.array = plan;
  conv.trail = 0;

  Command pool;  // k 0, p 1, q 2 | a 3, b 4
  pool.opcode = Opcode::vector;
  pool.engine = engine(EngineKind::vector);
  pool.iter = {{"k", {k, {}}}, {"p", {out_h, {}}}, {"q", {out_w, {}}}, {"a", {2, {}}, true}, {"b", {3, {}}, true}};
  Operand window = view(acc, {{{0, 1}}, {{1, 1}, {3, 1}}, {{2, 1}, {4, 1}}});
  window.fill = -100000;
  window.dims[1].offset.constant = -1;
  window.dims[2].offset.constant = -1;
  pool.in = {window};
  pool.out = view(pooled, {{{0, 1}}, {{1, 1}}, {{2, 1}}});
  pool.body.push(ScalarOp::add, DType::i32, pool.body.input(0, DType::i32), pool.body.constant(1, DType::i32));
  pool.combine = Combine::max;
  pool.accumulator = DType::i32;
  pool.trail = 1;

  const EngineId load = engine(EngineKind::dma_load), store = engine(EngineKind::dma_store);
  p.body.push_back(whole_copy(EngineKind::dma_load, x, x_ls, 0));
  p.body.push_back(whole_copy(EngineKind::dma_load, weights, w_ls, 0));
  p.body.push_back({Signal{load, loaded, 1, {}, {}, {}}});
  p.body.push_back({Wait{conv.engine, loaded, 1, {}}});
  p.body.push_back({Loop{tp, "p", trips, {{conv}}}});
  p.body.push_back({Signal{conv.engine, computed, 1, {}, {}, {}}});
  p.body.push_back({Wait{pool.engine, computed, 1, {}}});
  p.body.push_back({pool});
  p.body.push_back({Signal{pool.engine, ready, 1, {}, {}, {}}});
  p.body.push_back({Wait{store, ready, 1, {}}});
  p.body.push_back(whole_copy(EngineKind::dma_store, pooled, y, 1));
  return p;
}

void check_equal(const Program& p, const Machine& machine, Random& random) {
  const VerifyResult verified = verify_program(p, machine);
  for (const Violation& v : verified.violations) FAIL_CHECK(v.rule << " " << v.where << " " << v.message);
  FunctionalMachine f(p, machine);
  for (const auto& [name, id] : p.inputs) {
    const Buffer& b = p.buffer(id);
    Tensor t({b.type, b.shape});
    for (std::int64_t i = 0; i < t.size(); ++i) t.set(i, static_cast<double>(random.between(-8, 8)));
    f.set(name, t);
  }
  f.run();
  const Activity closed = analyse(p, machine).activity;
  CHECK(simulate(p, machine).activity == closed);
  REQUIRE(closed.groups.size() == f.activity().groups.size());
  for (std::size_t g = 0; g < closed.groups.size(); ++g) {
    CAPTURE(differences(p, f.activity().groups[g], closed.groups[g]));
    CHECK(f.activity().groups[g] == closed.groups[g]);
  }
}

}  // namespace

TEST_CASE("what the functional machine counts by executing is the closed form, for random GEMMs") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Random random(seed, "functional");
    const Machine machine = random_machine(random);
    const GemmSpec s = random_gemm(random, machine);
    CAPTURE(describe(s));
    check_equal(gemm_program(machine, s), machine, random);
  }
}

TEST_CASE("… and for random convolutions with padding, partial plans and overlapping pools") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    Random random(seed, "conv");
    Machine machine = random_machine(random);
    machine.grid.rows = machine.grid.cols = 1;
    if (machine.matrix_units[0].style == ArrayStyle::pe_array) {
      Memory rf = machine.memories[1];
      rf.name = "rf";
      rf.scope = Scope::pe;
      rf.kind = MemoryKind::register_file;
      rf.capacity = 1024;
      machine.memories.push_back(rf);
      machine.matrix_units[0].pe_memories = {MemoryId(3)};
    }
    check_equal(conv_program(machine, random), machine, random);
  }
}
