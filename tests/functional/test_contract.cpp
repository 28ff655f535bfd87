#include <doctest/doctest.h>

#include <set>

#include "core/base/error.h"
#include "core/base/random.h"
#include "hwmodels/functional/counting.h"
#include "hwmodels/functional/machine.h"
#include "tests/isa/small_machine.h"

using namespace assay;
using namespace assay::testing;

namespace {

/// Machine `small` whose matrix unit multiplies `operand` into `accumulator`.
Machine machine_for(DType operand, DType accumulator) { return small_machine(1, 1, operand, accumulator); }

/// One contraction with its operands bound as tensors "a", "b", "out" (out also an input, so that it can be preset).
struct Single {
  Program program;
  Command& command() { return std::get<Command>(program.body[0].node); }
};

Buffer buffer(const std::string& name, std::size_t memory, std::int64_t address, DType type, const Shape& shape) {
  Buffer b;
  b.name = name;
  b.memory = MemoryId(memory);
  b.address = address;
  b.bytes = TensorType{type, shape}.bytes();
  b.kind = BufferKind::input;
  b.type = type;
  b.shape = shape;
  return b;
}

Single single(Command c, DType a, const Shape& a_shape, DType b, const Shape& b_shape, DType out,
              const Shape& out_shape) {
  Single s;
  s.program.engines = engines_of(small_machine());
  s.program.trail.push_back({"g", {}, "Gemm"});
  s.program.buffers = {buffer("a", 1, 0, a, a_shape), buffer("b", 1, 1 << 14, b, b_shape),
                       buffer("out", 2, 0, out, out_shape)};
  s.program.inputs = {{"a", BufferId(0)}, {"b", BufferId(1)}, {"out", BufferId(2)}};
  c.opcode = Opcode::contract;
  c.engine = EngineId(2);
  c.combine = Combine::sum;
  c.trail = 0;
  c.in[0].buffer = BufferId(0);
  c.in[1].buffer = BufferId(1);
  c.out.buffer = BufferId(2);
  c.in[0].type = a;
  c.in[1].type = b;
  c.out.type = out;
  c.accumulator = out;
  s.program.body.push_back({std::move(c)});
  return s;
}

ViewDim dim(std::int64_t size, std::int64_t stride, std::vector<std::pair<int, std::int64_t>> iter,
            std::int64_t offset = 0) {
  ViewDim d;
  d.size = size;
  d.stride = stride;
  d.iter = std::move(iter);
  d.offset.constant = offset;
  return d;
}

IterDim iter(const char* name, std::int64_t extent, bool reduction = false) {
  return {name, {extent, std::nullopt}, reduction, {}};
}

/// m, n, k GEMM of row-major operands.
Command gemm_command(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t element, std::int64_t out_element) {
  Command c;
  c.iter = {iter("m", m), iter("n", n), iter("k", k, true)};
  c.in.resize(2);
  c.in[0].dims = {dim(m, k * element, {{0, 1}}), dim(k, element, {{2, 1}})};
  c.in[1].dims = {dim(k, n * element, {{2, 1}}), dim(n, element, {{1, 1}})};
  c.out.dims = {dim(m, n * out_element, {{0, 1}}), dim(n, out_element, {{1, 1}})};
  c.array = ArrayPlan{Dataflow::weight_stationary, {{2, 4}}, {{1, 4}}, {0}};
  return c;
}

Tensor random_tensor(DType type, const Shape& shape, Random& random) {
  Tensor t(TensorType{type, shape});
  const bool fraction = is_float(type);
  for (std::int64_t i = 0; i < t.size(); ++i)
    t.set(i, static_cast<double>(random.between(is_signed(type) ? -9 : 0, 9)) / (fraction ? 4 : 1));
  return t;
}

/// Every iteration point, one by one; also the sets of elements of one g that are in bounds.
std::vector<double> by_points(const Single& s, const Tensor& a, const Tensor& b, std::vector<double> out) {
  const Command& c = std::get<Command>(s.program.body[0].node);
  const bool accumulate = !c.accumulate_unless_zero.empty() && c.accumulate_unless_zero[0].constant != 0;
  if (!accumulate) std::fill(out.begin(), out.end(), 0.0);
  const Tensor* tensors[2] = {&a, &b};
  std::vector<std::int64_t> at(c.iter.size(), 0);
  while (true) {
    const auto address = [&](const Operand& o, std::int64_t element) {
      std::int64_t sum = 0;
      for (const ViewDim& d : o.dims) {
        std::int64_t x = d.offset.constant;
        for (const auto& [i, k] : d.iter) x += k * at[static_cast<std::size_t>(i)];
        if (x < 0 || x >= d.size) return std::int64_t{-1};
        sum += x * d.stride;
      }
      return sum / element;
    };
    double product = 1;
    for (std::size_t x = 0; x < 2; ++x) {
      const std::int64_t i = address(c.in[x], storage_size(c.in[x].type));
      product *= (i < 0 ? *c.in[x].fill : tensors[x]->get(i)) - c.zero[x];
    }
    out[static_cast<std::size_t>(address(c.out, storage_size(c.out.type)))] += product;
    std::size_t d = at.size();
    while (d > 0 && ++at[d - 1] == c.iter[d - 1].extent.full) at[--d] = 0;
    if (d == 0) return out;
  }
}

}  // namespace

TEST_CASE("a 4 x 4 x 4 product, by hand") {
  // A = 1 … 16 by rows, B = identity with its last column doubled.
  Single s = single(gemm_command(4, 4, 4, 4, 4), DType::f32, {4, 4}, DType::f32, {4, 4}, DType::f32, {4, 4});
  const Machine m = machine_for(DType::f32, DType::f32);
  FunctionalMachine f(s.program, m);
  Tensor a(TensorType{DType::f32, {4, 4}}), b(TensorType{DType::f32, {4, 4}});
  for (int i = 0; i < 16; ++i) a.set(i, i + 1);
  for (int i = 0; i < 4; ++i) b.set(5 * i, i == 3 ? 2 : 1);
  f.set("a", a);
  f.set("b", b);
  f.run();
  CHECK(f.get("out").to_doubles() == std::vector<double>{1, 2, 3, 8, 5, 6, 7, 16, 9, 10, 11, 24, 13, 14, 15, 32});
  const GroupActivity& g = f.activity().groups.at(0);
  CHECK(g.by_buffer.at(0) == AccessCount{64, 0});
  CHECK(g.by_buffer.at(1) == AccessCount{64, 0});
  CHECK(g.by_buffer.at(2) == AccessCount{0, 64});
  CHECK(g.macs.at(0) == 64);
  CHECK(g.padded_macs.at(0) == 0);
  CHECK(g.commands == 1);
}

TEST_CASE("counts of a 5 x 6 x 9 product on a 4 x 4 array, by hand") {
  const auto counts = [](Dataflow dataflow, int instances, bool accumulate) {
    Single s = single(gemm_command(5, 6, 9, 4, 4), DType::f32, {5, 9}, DType::f32, {9, 6}, DType::f32, {5, 6});
    Machine m = machine_for(DType::f32, DType::f32);
    m.matrix_units[0].dataflow = dataflow;
    m.matrix_units[0].count = instances;
    s.command().array->dataflow = dataflow;
    if (accumulate) {
      Affine one;
      one.constant = 1;
      s.command().accumulate_unless_zero = {one};
    }
    FunctionalMachine f(s.program, m);
    f.run();
    return f.activity().groups.at(0);
  };
  // ws: 2 folds of n, 3 of k. A 45 twice; B 54; out 30 three times, read back twice.
  GroupActivity g = counts(Dataflow::weight_stationary, 1, false);
  CHECK(g.by_buffer.at(0).read_bytes == 4 * 90);
  CHECK(g.by_buffer.at(1).read_bytes == 4 * 54);
  CHECK(g.by_buffer.at(2) == AccessCount{4 * 60, 4 * 90});
  CHECK(g.macs.at(0) == 270);
  CHECK(g.padded_macs.at(0) == 5 * 16 * 6 - 270);
  CHECK(counts(Dataflow::weight_stationary, 1, true).by_buffer.at(2) == AccessCount{4 * 90, 4 * 90});
  // Two instances with 3 columns each: each reads A once.
  g = counts(Dataflow::weight_stationary, 2, false);
  CHECK(g.by_buffer.at(0).read_bytes == 4 * 90);
  CHECK(g.padded_macs.at(0) == 2 * 5 * 16 * 3 - 270);
  // os: 2 folds of m, 2 of n. A twice, B twice, out once.
  g = counts(Dataflow::output_stationary, 1, false);
  CHECK(g.by_buffer.at(0).read_bytes == 4 * 90);
  CHECK(g.by_buffer.at(1).read_bytes == 4 * 108);
  CHECK(g.by_buffer.at(2) == AccessCount{0, 4 * 30});
  CHECK(g.padded_macs.at(0) == 4 * 16 * 9 - 270);
  // is: 3 folds of k, 2 of m. A once, B twice, out three times.
  g = counts(Dataflow::input_stationary, 1, true);
  CHECK(g.by_buffer.at(0).read_bytes == 4 * 45);
  CHECK(g.by_buffer.at(1).read_bytes == 4 * 108);
  CHECK(g.by_buffer.at(2) == AccessCount{4 * 90, 4 * 90});
  CHECK(g.padded_macs.at(0) == 6 * 16 * 6 - 270);
}

TEST_CASE("an intrinsic unit counts k by n and rounds m up") {
  Single s = single(gemm_command(5, 6, 9, 4, 4), DType::f32, {5, 9}, DType::f32, {9, 6}, DType::f32, {5, 6});
  Machine m = machine_for(DType::f32, DType::f32);
  m.matrix_units[0].style = ArrayStyle::intrinsic;
  m.matrix_units[0].m = 4;
  m.matrix_units[0].k = 8;
  m.matrix_units[0].n = 2;
  FunctionalMachine f(s.program, m);
  f.run();
  const GroupActivity& g = f.activity().groups.at(0);
  CHECK(g.by_buffer.at(0).read_bytes == 4 * 45 * 3);
  CHECK(g.by_buffer.at(2) == AccessCount{4 * 30, 4 * 60});
  CHECK(g.padded_macs.at(0) == 8 * 16 * 3 * 2 - 270);
}

TEST_CASE("a convolution with padding, from a resident buffer: padding is multiplied but not read") {
  // x [1 channel, 4, 4], 3 x 3 kernel, pad 1, 2 filters: y [2, 4, 4]
  Command c;
  c.iter = {iter("k", 2), iter("p", 4), iter("q", 4), iter("r", 3, true), iter("s", 3, true)};
  c.in.resize(2);
  c.in[0].dims = {dim(4, 16, {{1, 1}, {3, 1}}, -1), dim(4, 4, {{2, 1}, {4, 1}}, -1)};
  c.in[0].fill = 0;
  c.in[1].dims = {dim(2, 36, {{0, 1}}), dim(3, 12, {{3, 1}}), dim(3, 4, {{4, 1}})};
  c.out.dims = {dim(2, 64, {{0, 1}}), dim(4, 16, {{1, 1}}), dim(4, 4, {{2, 1}})};
  c.array = ArrayPlan{Dataflow::weight_stationary, {{3, 4}, {4, 4}}, {{0, 4}}, {1, 2}};
  Single s = single(c, DType::f32, {4, 4}, DType::f32, {2, 3, 3}, DType::f32, {2, 4, 4});
  const Machine m = machine_for(DType::f32, DType::f32);
  FunctionalMachine f(s.program, m);
  Tensor x(TensorType{DType::f32, {4, 4}}), w(TensorType{DType::f32, {2, 3, 3}});
  for (int i = 0; i < 16; ++i) x.set(i, 1);
  for (int i = 0; i < 9; ++i) {
    w.set(i, 1);           // sums the window
    w.set(9 + i, i == 4);  // takes the middle
  }
  f.set("a", x);
  f.set("b", w);
  f.run();
  const std::vector<double> y = f.get("out").to_doubles();
  CHECK(std::vector<double>(y.begin(), y.begin() + 8) == std::vector<double>{4, 6, 6, 4, 6, 9, 9, 6});
  CHECK(std::vector<double>(y.begin() + 16, y.end()) == std::vector<double>(16, 1.0));
  const GroupActivity& g = f.activity().groups.at(0);
  CHECK(g.by_buffer.at(0).read_bytes == 4 * 100);  // of 144 window elements 44 are padding
  CHECK(g.macs.at(0) == 288);
  // The plan walks r in time when only s is on the rows: three folds of three.
  s.command().array->on_rows = {{4, 4}};
  FunctionalMachine folded(s.program, m);
  folded.set("a", x);
  folded.set("b", w);
  folded.run();
  CHECK(folded.activity().groups[0].by_buffer.at(2) == AccessCount{4 * 32 * 2, 4 * 32 * 3});
}

TEST_CASE("contractions of every type equal the sum over points, counts the walk over folds") {
  struct Types {
    DType a, b, out;
  };
  const Types types[] = {{DType::f32, DType::f32, DType::f32},   {DType::i8, DType::i8, DType::i32},
                         {DType::u8, DType::i8, DType::i32},     {DType::f16, DType::f16, DType::f32},
                         {DType::bf16, DType::bf16, DType::f32}, {DType::i16, DType::i16, DType::i32},
                         {DType::f64, DType::f64, DType::f64}};
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Types t = types[random.between(0, 6)];
    const std::int64_t ea = storage_size(t.a), eb = storage_size(t.b), eo = storage_size(t.out);
    // out[g, m, p, n] = Σ_{r, k} a[g, m, p·stride + r − pad, k] · b[g, k, r, n]
    const std::int64_t groups = random.between(1, 3), mm = random.between(1, 3), p = random.between(1, 5);
    const std::int64_t n = random.between(1, 9), r = random.between(1, 3), k = random.between(1, 6);
    const std::int64_t stride = random.between(1, 2), pad = random.between(0, 2), size = random.between(1, 8);
    Command c;
    c.iter = {iter("g", groups), iter("m", mm), iter("p", p), iter("n", n), iter("r", r, true), iter("k", k, true)};
    c.in.resize(2);
    c.in[0].dims = {dim(groups, mm * size * k * ea, {{0, 1}}), dim(mm, size * k * ea, {{1, 1}}),
                    dim(size, k * ea, {{2, stride}, {4, 1}}, -pad), dim(k, ea, {{5, 1}})};
    c.in[0].fill = random.between(0, 3);
    c.in[1].dims = {dim(groups, k * r * n * eb, {{0, 1}}), dim(k, r * n * eb, {{5, 1}}), dim(r, n * eb, {{4, 1}}),
                    dim(n, eb, {{3, 1}})};
    c.out.dims = {dim(groups, mm * p * n * eo, {{0, 1}}), dim(mm, p * n * eo, {{1, 1}}), dim(p, n * eo, {{2, 1}}),
                  dim(n, eo, {{3, 1}})};
    if (!is_float(t.a)) {
      c.zero[0] = static_cast<double>(random.between(0, 5));
      c.zero[1] = static_cast<double>(random.between(0, 5));
    }
    const bool accumulate = random.between(0, 1) == 1;
    Affine one;
    one.constant = accumulate;
    c.accumulate_unless_zero = {one};
    const auto dataflow = static_cast<Dataflow>(random.between(0, 2));
    c.array = ArrayPlan{dataflow, {}, {}, {}};
    for (int d = 1; d < 6; ++d)
      if (random.between(0, 1) == 1) (d % 2 == 0 ? c.array->on_rows : c.array->on_cols).emplace_back(d, 4);
    Single s = single(c, t.a, {groups, mm, size, k}, t.b, {groups, k, r, n}, t.out, {groups, mm, p, n});
    Machine m = machine_for(t.a, t.out);
    MatrixUnit& unit = m.matrix_units[0];
    if (t.b != t.a) unit.types.push_back({t.b, t.out, 1.0});
    unit.dataflow = dataflow;
    unit.rows = random.between(1, 5);
    unit.cols = random.between(1, 5);
    unit.count = static_cast<int>(random.between(1, 3));
    FunctionalMachine f(s.program, m);
    const Tensor a = random_tensor(t.a, {groups, mm, size, k}, random),
                 b = random_tensor(t.b, {groups, k, r, n}, random);
    const Tensor before = random_tensor(t.out, {groups, mm, p, n}, random);
    f.set("a", a);
    f.set("b", b);
    f.set("out", before);
    f.run();
    REQUIRE(f.get("out").to_doubles() == by_points(s, a, b, before.to_doubles()));  // small quarters: exact in fp32

    // Counts by the formulas of counting.h.
    std::int64_t valid = 0;  // (p, r) pairs in bounds
    for (std::int64_t i = 0; i < p; ++i)
      for (std::int64_t j = 0; j < r; ++j) valid += i * stride + j - pad >= 0 && i * stride + j - pad < size;
    const auto axis_rest = [&](std::vector<std::pair<int, std::int64_t>> dims) {
      std::int64_t on = 1, rest = 1;
      bool any = false;
      const auto listed = [&](int d) {
        for (const auto* l : {&c.array->on_rows, &c.array->on_cols})
          for (const auto& x : *l)
            if (x.first == d) return true;
        return false;
      };
      for (const auto& [d, e] : dims) any = any || listed(d);
      for (const auto& [d, e] : dims) (listed(d) || !any ? on : rest) *= e;
      return std::pair{on, rest};
    };
    const auto [m_axis, m_rest] = axis_rest({{1, mm}, {2, p}});
    const auto [k_axis, k_rest] = axis_rest({{4, r}, {5, k}});
    const auto up = [](std::int64_t x, std::int64_t y) { return (x + y - 1) / y; };
    const std::int64_t a_all = mm * valid * k, b_all = n * r * k, out_all = mm * p * n;
    std::int64_t a_reads = 0, b_reads = 0, writes = 0, slots = 0;
    for (std::int64_t i = 0; i < unit.count; ++i) {
      const std::int64_t w = n / unit.count + (i < n % unit.count);
      if (w == 0) continue;
      const std::int64_t fn = up(w, unit.cols), fk = up(k_axis, unit.rows) * k_rest, pes = unit.rows * unit.cols;
      if (dataflow == Dataflow::weight_stationary) {
        a_reads += a_all * fn;
        b_reads += b_all / n * w;
        writes += out_all / n * w * fk;
        slots += pes * fn * fk * mm * p;
      } else if (dataflow == Dataflow::output_stationary) {
        const std::int64_t fm = up(m_axis, unit.rows) * m_rest;
        a_reads += a_all * fn;
        b_reads += b_all / n * w * fm;
        writes += out_all / n * w;
        slots += pes * fn * fm * r * k;
      } else {
        const std::int64_t fm = up(m_axis, unit.cols) * m_rest;
        a_reads += a_all;
        b_reads += b_all / n * w * fm;
        writes += out_all / n * w * fk;
        slots += pes * fm * fk * w;
      }
    }
    const GroupActivity& g = f.activity().groups.at(0);
    REQUIRE(g.by_buffer.at(0).read_bytes == groups * a_reads * ea);
    REQUIRE(g.by_buffer.at(1).read_bytes == groups * b_reads * eb);
    REQUIRE(g.by_buffer.at(2).write_bytes == groups * writes * eo);
    REQUIRE(g.by_buffer.at(2).read_bytes == groups * (writes - (accumulate ? 0 : out_all)) * eo);
    REQUIRE(g.macs.at(0) == groups * out_all * r * k);
    REQUIRE(g.padded_macs.at(0) == groups * slots - g.macs.at(0));
  }
}

TEST_CASE("a pe_array fetches an operand when its index changes, by walking the loops") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const std::int64_t m_extent = random.between(1, 5), n_extent = random.between(1, 5),
                       k_extent = random.between(1, 5);
    Command c = gemm_command(m_extent, n_extent, k_extent, 4, 4);
    const std::int64_t u[3] = {random.between(1, 3), random.between(1, 3), random.between(1, 2)};
    c.array = ArrayPlan{Dataflow::weight_stationary, {{0, u[0]}, {2, u[2]}}, {{1, u[1]}}, {}};
    std::vector<int> order = {0, 1, 2};
    for (int i = 2; i > 0; --i)
      std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random.between(0, i))]);
    c.array->order = order;
    Single s =
        single(c, DType::f32, {m_extent, k_extent}, DType::f32, {k_extent, n_extent}, DType::f32, {m_extent, n_extent});
    Machine m = machine_for(DType::f32, DType::f32);
    m.matrix_units[0].style = ArrayStyle::pe_array;
    m.matrix_units[0].dataflow = Dataflow::free;
    m.matrix_units[0].rows = 6;
    m.matrix_units[0].cols = 3;
    Memory file;
    file.name = "rf";
    file.scope = Scope::pe;
    file.kind = MemoryKind::register_file;
    file.capacity = 64;
    m.memories.push_back(file);
    m.matrix_units[0].pe_memories = {MemoryId(3)};
    FunctionalMachine f(s.program, m);
    f.run();
    // The walk: at each step the PEs' index tuples of an operand; those of a step whose tile differs from the step
    // before are fetched.
    const std::int64_t extents[3] = {m_extent, n_extent, k_extent};
    std::int64_t trips[3];
    for (int d = 0; d < 3; ++d) trips[d] = (extents[d] + u[d] - 1) / u[d];
    std::int64_t reads[2] = {0, 0}, writes = 0, steps = 0;
    std::pair<std::int64_t, std::int64_t> last[3] = {{-1, -1}, {-1, -1}, {-1, -1}};
    const auto size = [&](int d, std::int64_t i) { return std::min(u[d], extents[d] - i * u[d]); };
    std::int64_t at[3] = {0, 0, 0};
    const auto step = [&] {
      ++steps;
      const int dims[3][2] = {{0, 2}, {2, 1}, {0, 1}};
      for (int x = 0; x < 3; ++x) {
        const std::pair now{at[dims[x][0]], at[dims[x][1]]};
        if (now == last[x]) continue;
        last[x] = now;
        (x < 2 ? reads[x] : writes) += size(dims[x][0], now.first) * size(dims[x][1], now.second);
      }
    };
    for (at[order[0]] = 0; at[order[0]] < trips[order[0]]; ++at[order[0]])
      for (at[order[1]] = 0; at[order[1]] < trips[order[1]]; ++at[order[1]])
        for (at[order[2]] = 0; at[order[2]] < trips[order[2]]; ++at[order[2]]) step();
    const GroupActivity& g = f.activity().groups.at(0);
    const std::int64_t macs = m_extent * n_extent * k_extent;
    REQUIRE(g.by_buffer.at(0).read_bytes == 4 * reads[0]);
    REQUIRE(g.by_buffer.at(1).read_bytes == 4 * reads[1]);
    REQUIRE(g.by_buffer.at(2) == AccessCount{4 * (writes - m_extent * n_extent), 4 * writes});
    REQUIRE(g.padded_macs.at(0) == steps * 18 - macs);
    REQUIRE(g.by_pe_memory.at(3).read_bytes == 4 * 3 * macs);
  }
}

TEST_CASE("what a contraction does not support is refused") {
  Single s = single(gemm_command(2, 2, 2, 1, 4), DType::i8, {2, 2}, DType::i8, {2, 2}, DType::i32, {2, 2});
  const Machine m = machine_for(DType::i8, DType::i32);
  s.command().zero[0] = 0.5;
  FunctionalMachine f(s.program, m);
  CHECK_THROWS_WITH_AS(f.run(), doctest::Contains("zero points of integer operands are integers"), InputError);
  Single gather = single(gemm_command(2, 2, 2, 1, 4), DType::i8, {2, 2}, DType::i8, {2, 2}, DType::i32, {2, 2});
  gather.command().in[0].dims[0].index_operand = 1;
  FunctionalMachine g(gather.program, m);
  CHECK_THROWS_WITH_AS(g.run(), doctest::Contains("a contraction with an index operand"), InputError);
  Single mixed = single(gemm_command(2, 2, 2, 1, 4), DType::i8, {2, 2}, DType::i8, {2, 2}, DType::f32, {2, 2});
  const Machine odd = machine_for(DType::i8, DType::f32);
  FunctionalMachine h(mixed.program, odd);
  CHECK_THROWS_WITH_AS(h.run(), doctest::Contains("a contraction of int8 by int8 in fp32"), InputError);
}
