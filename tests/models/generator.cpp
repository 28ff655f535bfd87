#include "tests/models/generator.h"

#include <fmt/format.h>

#include "core/base/math.h"
#include "core/isa/engines.h"

namespace assay::testing {
namespace {

constexpr std::int64_t kGiga = 1'000'000'000;

class GemmBuilder {
 public:
  GemmBuilder(const Machine& machine, const GemmSpec& spec) : machine_(machine), s_(spec) {
    p_.name = "gemm";
    p_.machine = machine.name;
    p_.grid = machine.grid;
    p_.engines = engines_of(machine);
    for (std::size_t e = 0; e < p_.engines.size(); ++e) {
      const EngineKind k = p_.engines[e].kind;
      if (k == EngineKind::dma_load) load_ = EngineId(e);
      if (k == EngineKind::dma_store) store_ = EngineId(e);
      if (k == EngineKind::matrix) mxu_ = EngineId(e);
      if (k == EngineKind::vector) vpu_ = EngineId(e);
    }
    core_m_ = round_up(ceil_div(s_.m, machine.grid.rows), s_.tile_m);
    core_n_ = round_up(ceil_div(s_.n, machine.grid.cols), s_.tile_n);
  }

  Program run() {
    const MemoryId dram = machine_.dram(), ls = *machine_.find_memory("ls"), acc = *machine_.find_memory("acc");
    std::int64_t at = 0;
    const auto tensor = [&](const std::string& name, BufferKind kind, DType type, std::vector<std::int64_t> shape) {
      Buffer b;
      b.name = b.tensor = name;
      b.memory = dram;
      b.address = at;
      b.bytes = byte_size(type, checked_product(shape));
      b.kind = kind;
      b.type = type;
      b.shape = std::move(shape);
      at += round_up(b.bytes, 64);
      p_.buffers.push_back(b);
      const BufferId id(p_.buffers.size() - 1);
      (kind == BufferKind::output ? p_.outputs : p_.inputs)[name] = id;
      return id;
    };
    std::int64_t ls_at = 0, acc_at = 0;
    const auto tile = [&](const std::string& name, MemoryId memory, std::int64_t bytes) {
      Buffer b;
      b.name = name;
      b.memory = memory;
      std::int64_t& place = memory == ls ? ls_at : acc_at;
      b.address = place;
      b.bytes = bytes;
      b.last_step = s_.groups;
      place += bytes;
      p_.buffers.push_back(b);
      return BufferId(p_.buffers.size() - 1);
    };
    const BufferId a_tile = tile("a_tile", ls, s_.depth * s_.tile_m * s_.tile_k);
    const BufferId b_tile = tile("b_tile", ls, s_.depth * s_.tile_k * s_.tile_n);
    const BufferId bias_tile = tile("bias_tile", ls, s_.depth * s_.tile_n * 4);
    const BufferId out_tile = tile("out_tile", ls, 2 * s_.tile_m * s_.tile_n * 4);
    const BufferId acc_tile = tile("acc_tile", acc, s_.acc_depth * s_.tile_m * s_.tile_n * 4);
    const SemaphoreId full_a = semaphore("full.a", 0), free_a = semaphore("free.a", s_.depth);
    const SemaphoreId full_b = semaphore("full.b", 0);
    // Several receivers release the slots of a ring: a counter per slot.
    const std::int64_t slots_b = s_.multicast_b ? s_.depth : 1;
    const SemaphoreId free_b =
        semaphore("free.b", s_.depth / slots_b * (s_.multicast_b ? machine_.grid.rows : 1), slots_b);
    const SemaphoreId full_acc = semaphore("full.acc", 0), free_acc = semaphore("free.acc", s_.acc_depth);
    const SemaphoreId full_out = semaphore("full.out", 0), free_out = semaphore("free.out", 2);
    const SemaphoreId full_bias = semaphore("full.bias", 0), free_bias = semaphore("free.bias", s_.depth);
    const SemaphoreId arrived = semaphore("arrived", 0), released = semaphore("released", 0);

    for (int g = 0; g < s_.groups; ++g) {
      const std::string suffix = g == 0 ? "" : std::to_string(g);
      trail_ = g;
      p_.trail.push_back({"gemm" + suffix, {"node" + suffix}, "MatMul"});
      p_.steps.push_back("gemm" + suffix);
      const BufferId a = tensor("a" + suffix, BufferKind::input, DType::i8, {s_.m, s_.k});
      const BufferId b = tensor("b" + suffix, BufferKind::input, DType::i8, {s_.k, s_.n});
      const BufferId c = tensor("c" + suffix, BufferKind::output, DType::i32, {s_.m, s_.n});
      const BufferId bias = s_.bias ? tensor("bias" + suffix, BufferKind::input, DType::i32, {s_.n}) : BufferId();
      const VarId vm = var(), vn = var(), vk = var();
      const std::int64_t trips_m = core_m_ / s_.tile_m, trips_n = core_n_ / s_.tile_n,
                         trips_k = ceil_div(s_.k, s_.tile_k);
      const Affine m0 = Affine::of(vm, s_.tile_m).add(kCoreRow, core_m_);
      const Affine n0 = Affine::of(vn, s_.tile_n).add(kCoreCol, core_n_);
      const Affine k0 = Affine::of(vk, s_.tile_k);
      const Extent em{s_.tile_m, m0.scaled(-1) + constant(s_.m)};
      const Extent en{s_.tile_n, n0.scaled(-1) + constant(s_.n)};
      const Extent ek{s_.tile_k, k0.scaled(-1) + constant(s_.k)};
      // Sequences go on from the last group's: its tiles may still be in use.
      const Affine operand_seq = Affine::of(vm, trips_n * trips_k) + Affine::of(vn, trips_k) + Affine::of(vk) +
                                 constant(g * trips_m * trips_n * trips_k);
      const Affine tile_seq = Affine::of(vm, trips_n) + Affine::of(vn) + constant(g * trips_m * trips_n);
      const Ring ring_a{operand_seq, s_.depth, s_.tile_m * s_.tile_k},
          ring_b{operand_seq, s_.depth, s_.tile_k * s_.tile_n};
      const Ring ring_acc{tile_seq, s_.acc_depth, s_.tile_m * s_.tile_n * 4},
          ring_out{tile_seq, 2, s_.tile_m * s_.tile_n * 4};
      const Ring ring_bias{tile_seq, s_.depth, s_.tile_n * 4};
      const Axes down{.row = true, .col = false};

      std::vector<Stmt> inner;
      inner.push_back(wait(load_, free_a, 1));
      inner.push_back(copy(load_, {"m", "k"}, {em, ek}, matrix(a, DType::i8, s_.m, s_.k, m0, k0),
                           tile_of(a_tile, DType::i8, s_.tile_m, s_.tile_k, ring_a), {}));
      inner.push_back(signal(load_, full_a));
      Axes multicast;
      if (s_.multicast_b) multicast = down;
      Wait take_b = std::get<Wait>(wait(load_, free_b, s_.multicast_b ? machine_.grid.rows : 1).node);
      take_b.leader = multicast;
      if (s_.multicast_b) take_b.slot = operand_seq;
      inner.push_back({take_b});
      inner.push_back(copy(load_, {"k", "n"}, {ek, en}, matrix(b, DType::i8, s_.k, s_.n, k0, n0),
                           tile_of(b_tile, DType::i8, s_.tile_k, s_.tile_n, ring_b), multicast));
      Signal give_b = std::get<Signal>(signal(load_, full_b).node);
      give_b.leader = give_b.to_all = multicast;
      inner.push_back({give_b});
      inner.push_back(wait(mxu_, full_a, 1));
      inner.push_back(wait(mxu_, full_b, 1));
      inner.push_back(contract(em, en, ek, tile_of(a_tile, DType::i8, s_.tile_m, s_.tile_k, ring_a, {0, 2}),
                               tile_of(b_tile, DType::i8, s_.tile_k, s_.tile_n, ring_b, {2, 1}),
                               tile_of(acc_tile, DType::i32, s_.tile_m, s_.tile_n, ring_acc), Affine::of(vk)));
      inner.push_back(signal(mxu_, free_a));
      Signal back_b = std::get<Signal>(signal(mxu_, free_b).node);
      back_b.to_leader = multicast;
      if (s_.multicast_b) back_b.slot = operand_seq;
      inner.push_back({back_b});

      std::vector<Stmt> middle;
      if (s_.bias) {
        middle.push_back(wait(load_, free_bias, 1));
        middle.push_back(copy(load_, {"n"}, {en}, row(bias, s_.n, n0), row(bias_tile, s_.tile_n, {}, ring_bias), {}));
        middle.push_back(signal(load_, full_bias));
      }
      middle.push_back(wait(mxu_, free_acc, 1));
      middle.push_back(loop(vk, "k", trips_k, std::move(inner)));
      middle.push_back(signal(mxu_, full_acc));
      middle.push_back(wait(vpu_, full_acc, 1));
      middle.push_back(wait(vpu_, free_out, 1));
      if (s_.bias) middle.push_back(wait(vpu_, full_bias, 1));
      middle.push_back(epilogue(em, en, tile_of(acc_tile, DType::i32, s_.tile_m, s_.tile_n, ring_acc),
                                tile_of(out_tile, DType::i32, s_.tile_m, s_.tile_n, ring_out),
                                s_.bias ? std::optional(row(bias_tile, s_.tile_n, {}, ring_bias, 1)) : std::nullopt));
      if (s_.bias) middle.push_back(signal(vpu_, free_bias));
      middle.push_back(signal(vpu_, free_acc));
      middle.push_back(signal(vpu_, full_out));
      middle.push_back(wait(store_, full_out, 1));
      middle.push_back(copy(store_, {"m", "n"}, {em, en}, tile_of(out_tile, DType::i32, s_.tile_m, s_.tile_n, ring_out),
                            matrix(c, DType::i32, s_.m, s_.n, m0, n0), {}));
      middle.push_back(signal(store_, free_out));

      std::vector<Stmt> outer;
      outer.push_back(loop(vn, "n", trips_n, std::move(middle)));
      if (s_.barrier) {
        const Axes everyone{.row = true, .col = true};
        Signal arrive = std::get<Signal>(signal(mxu_, arrived).node);
        arrive.to_leader = everyone;
        outer.push_back({arrive});
        Wait collect = std::get<Wait>(wait(mxu_, arrived, machine_.grid.cores()).node);
        collect.leader = everyone;
        outer.push_back({collect});
        Signal go = std::get<Signal>(signal(mxu_, released).node);
        go.leader = go.to_all = everyone;
        outer.push_back({go});
        outer.push_back(wait(mxu_, released, 1));
      }
      p_.body.push_back(loop(vm, "m", trips_m, std::move(outer)));
    }
    p_.var_count = next_var_;
    return std::move(p_);
  }

 private:
  static Affine constant(std::int64_t c) {
    Affine a;
    a.constant = c;
    return a;
  }
  VarId var() { return VarId(next_var_++); }
  SemaphoreId semaphore(const std::string& name, std::int64_t initial, std::int64_t slots = 1) {
    p_.semaphores.push_back({name, initial, slots});
    return SemaphoreId(p_.semaphores.size() - 1);
  }
  static Stmt loop(VarId v, const std::string& name, std::int64_t trip, std::vector<Stmt> body) {
    return {Loop{v, name, trip, std::move(body)}};
  }
  static Stmt wait(EngineId e, SemaphoreId s, std::int64_t n) { return {Wait{e, s, n, {}}}; }
  static Stmt signal(EngineId e, SemaphoreId s) { return {Signal{e, s, 1, {}, {}, {}}}; }

  static ViewDim dim(std::int64_t size, std::int64_t stride, Affine offset, int iter) {
    ViewDim d;
    d.size = size;
    d.stride = stride;
    d.offset = std::move(offset);
    d.iter = {{iter, 1}};
    return d;
  }
  static Operand matrix(BufferId b, DType t, std::int64_t rows, std::int64_t cols, const Affine& r0, const Affine& c0) {
    Operand o;
    o.buffer = b;
    o.type = t;
    o.dims = {dim(rows, cols * byte_size(t, 1), r0, 0), dim(cols, byte_size(t, 1), c0, 1)};
    return o;
  }
  static Operand tile_of(BufferId b, DType t, std::int64_t rows, std::int64_t cols, const Ring& ring,
                         std::pair<int, int> iter = {0, 1}) {
    Operand o;
    o.buffer = b;
    o.type = t;
    o.ring = ring;
    o.dims = {dim(rows, cols * byte_size(t, 1), {}, iter.first), dim(cols, byte_size(t, 1), {}, iter.second)};
    return o;
  }
  static Operand row(BufferId b, std::int64_t size, const Affine& at, std::optional<Ring> ring = std::nullopt,
                     int iter = 0) {
    Operand o;
    o.buffer = b;
    o.type = DType::i32;
    o.ring = std::move(ring);
    o.dims = {dim(size, 4, at, iter)};
    return o;
  }
  Stmt copy(EngineId e, const std::vector<std::string>& names, const std::vector<Extent>& extents, Operand from,
            Operand to, Axes multicast) const {
    Command c;
    c.opcode = Opcode::copy;
    c.engine = e;
    for (std::size_t i = 0; i < names.size(); ++i) c.iter.push_back({names[i], extents[i]});
    c.body.input(0, from.type);
    c.in = {std::move(from)};
    c.out = std::move(to);
    c.multicast = multicast;
    c.trail = trail_;
    return {c};
  }
  Stmt contract(const Extent& m, const Extent& n, const Extent& k, Operand a, Operand b, Operand out,
                const Affine& first) const {
    const MatrixUnit& unit = machine_.matrix_units[0];
    Command c;
    c.opcode = Opcode::contract;
    c.engine = mxu_;
    c.iter = {{"m", m}, {"n", n}, {"k", k, true}};
    c.in = {std::move(a), std::move(b)};
    c.out = std::move(out);
    c.combine = Combine::sum;
    c.accumulator = DType::i32;
    c.accumulate_unless_zero = {first};
    ArrayPlan plan;
    plan.dataflow = unit.dataflow == Dataflow::free ? Dataflow::output_stationary : unit.dataflow;
    plan.order = {0, 1, 2};
    if (unit.style == ArrayStyle::pe_array) {
      plan.on_rows = {{0, std::min(unit.rows, s_.tile_m)}};
      plan.on_cols = {{1, std::min(unit.cols, s_.tile_n)}};
    } else if (unit.style == ArrayStyle::intrinsic) {
      plan.on_rows = {{2, unit.k}};
      plan.on_cols = {{1, unit.n}};
    } else {
      const bool os = plan.dataflow == Dataflow::output_stationary, is = plan.dataflow == Dataflow::input_stationary;
      plan.on_rows = {{os ? 0 : 2, unit.rows}};
      plan.on_cols = {{is ? 0 : 1, unit.cols}};
    }
    c.array = plan;
    c.trail = trail_;
    return {c};
  }
  Stmt epilogue(const Extent& m, const Extent& n, Operand in, Operand out, std::optional<Operand> bias) const {
    Command c;
    c.opcode = Opcode::vector;
    c.engine = vpu_;
    c.iter = {{"m", m}, {"n", n}};
    int value = c.body.input(0, DType::i32);
    if (bias) value = c.body.push(ScalarOp::add, DType::i32, value, c.body.input(1, DType::i32));
    const int zero = c.body.constant(0, DType::i32);
    c.body.push(ScalarOp::max, DType::i32, value, zero);
    c.in = {std::move(in)};
    if (bias) c.in.push_back(std::move(*bias));
    c.out = std::move(out);
    c.accumulator = DType::i32;
    c.trail = trail_;
    return {c};
  }

  const Machine& machine_;
  const GemmSpec& s_;
  Program p_;
  EngineId load_, store_, mxu_, vpu_;
  std::int64_t core_m_ = 0, core_n_ = 0;
  std::int64_t trail_ = 0;
  std::size_t next_var_ = kFirstLoopVar;
};

Memory memory(const std::string& name, MemoryKind kind, Scope scope, std::int64_t capacity,
              std::int64_t bytes_per_cycle) {
  Memory m;
  m.name = name;
  m.kind = kind;
  m.scope = scope;
  m.capacity = capacity;
  m.read_bandwidth = m.write_bandwidth = bytes_per_cycle * kGiga;
  return m;
}

}  // namespace

Machine small_machine(std::int64_t grid_rows, std::int64_t grid_cols) {
  Machine m;
  m.name = "small";
  m.process = {45, 0.9, 0};
  m.clocks = {{"core", kGiga}};
  m.grid.rows = grid_rows;
  m.grid.cols = grid_cols;
  m.memories = {memory("dram", MemoryKind::dram, Scope::chip, 1 << 30, 16),
                memory("ls", MemoryKind::scratchpad, Scope::core, 1 << 20, 64),
                memory("acc", MemoryKind::accumulator, Scope::core, 1 << 18, 64)};
  m.memories[0].type = "DDR4";
  m.memories[0].shared_ports = true;
  Link dma;
  dma.name = "dma";
  dma.far = {MemoryId(0)};
  dma.near = {MemoryId(1), MemoryId(2)};
  dma.bandwidth = 16 * kGiga;
  dma.max_request = 64;
  dma.outstanding = 16;
  dma.multicast = true;
  m.links = {dma};
  MatrixUnit mxu;
  mxu.name = "mxu";
  mxu.rows = mxu.cols = 4;
  mxu.types = {{DType::i8, DType::i32, 1.0}};
  m.matrix_units = {mxu};
  VectorUnit vpu;
  vpu.name = "vpu";
  vpu.lanes = 4;
  vpu.ops = {{"any", 1.0}};
  vpu.types = {{DType::i32, 1.0}};
  m.vector_units = {vpu};
  return m;
}

Program gemm_program(const Machine& machine, const GemmSpec& spec) { return GemmBuilder(machine, spec).run(); }

GemmSpec random_gemm(Random& random, const Machine& machine) {
  GemmSpec s;
  s.tile_m = random.between(1, 9);
  s.tile_n = random.between(1, 9);
  s.tile_k = random.between(1, 9);
  s.m = random.between(1, 40);
  s.n = random.between(1, 40);
  s.k = random.between(1, 60);
  s.depth = static_cast<int>(random.between(1, 3));
  s.acc_depth = static_cast<int>(random.between(1, 2));
  s.multicast_b = machine.grid.rows > 1 && random.between(0, 1) == 1;
  s.barrier = machine.grid.cores() > 1 && random.between(0, 1) == 1;
  s.bias = random.between(0, 1) == 1;
  s.groups = static_cast<int>(random.between(1, 3));
  return s;
}

Machine random_machine(Random& random) {
  Machine m = small_machine(random.between(1, 3), random.between(1, 3));
  m.clocks.push_back({"slow", 400'000'000});
  const auto pick = [&](std::initializer_list<double> values) {
    return values.begin()[random.between(0, static_cast<std::int64_t>(values.size()) - 1)];
  };
  for (Memory& mem : m.memories) {
    mem.read_bandwidth = random.between(1, 70) * 1'000'000'000;
    mem.write_bandwidth = random.between(1, 70) * 1'000'000'000;
    mem.shared_ports = random.between(0, 1) == 1;
    mem.latency_s = pick({0, 3e-9, 40e-9});
    mem.model = static_cast<Fidelity>(random.between(0, 2));
    mem.dram.channels = static_cast<int>(random.between(1, 4));
  }
  Link& dma = m.links[0];
  dma.bandwidth = random.between(1, 40) * 1'000'000'000;
  dma.latency_s = pick({0, 5e-9, 60e-9});
  dma.outstanding = static_cast<int>(random.between(1, 16));
  dma.max_request = random.between(1, 64);
  dma.duplex = random.between(0, 1) == 1;
  dma.overlap_compute = random.between(0, 3) != 0;
  dma.model = random.between(0, 3) == 0 ? Fidelity::ideal : Fidelity::bandwidth;
  MatrixUnit& mxu = m.matrix_units[0];
  mxu.style = static_cast<ArrayStyle>(random.between(0, 2));
  mxu.dataflow = static_cast<Dataflow>(random.between(0, 2));
  mxu.rows = random.between(1, 6);
  mxu.cols = random.between(1, 6);
  mxu.m = random.between(1, 4);
  mxu.k = random.between(1, 4);
  mxu.n = random.between(1, 4);
  mxu.every = random.between(1, 3);
  mxu.count = static_cast<int>(random.between(1, 3));
  mxu.issue_cycles = random.between(0, 5);
  mxu.pipeline_cycles = random.between(0, 5);
  mxu.double_buffered_weights = random.between(0, 1) == 1;
  mxu.types[0].rate = pick({0.5, 1, 2});
  mxu.clock = static_cast<int>(random.between(0, 1));
  m.vector_units[0].lanes = random.between(1, 8);
  m.vector_units[0].issue_cycles = random.between(0, 4);
  m.vector_units[0].clock = static_cast<int>(random.between(0, 1));
  return m;
}

std::string describe(const GemmSpec& s) {
  return fmt::format("m {} n {} k {} tile {} {} {} depth {} acc {} multicast {} barrier {} bias {} groups {}", s.m, s.n,
                     s.k, s.tile_m, s.tile_n, s.tile_k, s.depth, s.acc_depth, s.multicast_b, s.barrier, s.bias,
                     s.groups);
}

}  // namespace assay::testing
