#include "core/lowering/kernel_lowering.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/check.h"
#include "core/lowering/operands.h"

namespace assay {
namespace {

class KernelLowering {
 public:
  KernelLowering(const LoweringInput& in, std::size_t index, Program& program)
      : in_(in),
        k_(in.kernels[index]),
        m_(in.mappings[index]),
        index_(index),
        program_(program),
        build_(in, index, make_vars()) {}

  LoweredKernel run() {
    plan();
    emit(0, out_.body);
    return std::move(out_);
  }

 private:
  /// A tile buffer between one filling engine and the engines that use it.
  struct Channel {
    EngineId producer;
    std::vector<EngineId> consumers;
    std::vector<SemaphoreId> full, free;  ///< by consumer
    std::int64_t receivers = 1;
    Axes axes;    ///< multicast
    Affine slot;  ///< of `free`, where several cores release a ring's slots
  };

  std::vector<VarId> make_vars() {
    std::vector<VarId> vars;
    for (std::size_t i = 0; i < in_.mappings[index_].loops.size(); ++i) vars.push_back(VarId(program_.var_count++));
    vars_ = vars;
    return vars;
  }

  const Placement& placement(int t) const { return m_.placements[static_cast<std::size_t>(t)]; }
  bool is_load(int t) const {
    return k_.tensors[static_cast<std::size_t>(t)].kind == KernelTensorKind::input && !placement(t).resident &&
           placement(t).memory.valid();
  }
  bool is_output(int t) const { return k_.tensors[static_cast<std::size_t>(t)].kind == KernelTensorKind::output; }
  MemoryId home_memory(int t) const {
    const TensorId g = k_.tensors[static_cast<std::size_t>(t)].graph_tensor;
    return in_.buffers[in_.home.at(in_.root[g.index()]).index()].memory;
  }

  EngineId engine_of_kind(EngineKind kind, std::uint32_t part) const {
    const auto& engines = in_.environment->engines;
    for (std::size_t i = 0; i < engines.size(); ++i) {
      if (engines[i].kind == kind && engines[i].part == part) return EngineId(i);
    }
    ASSAY_CHECK(false, "no such engine");
  }

  void plan() {
    const auto n = static_cast<int>(k_.tensors.size());
    if (k_.has_contraction()) {
      matrix_ = engine_of_kind(EngineKind::matrix, m_.matrix_unit);
      psum_ = k_.nests[0].out.tensor;
    }
    const bool vector_work = !m_.dma_only && std::any_of(k_.nests.begin(), k_.nests.end(), [](const KernelNest& n_) {
      return !n_.contraction && !is_gather(n_);
    });
    if (vector_work) vector_ = engine_of_kind(EngineKind::vector, m_.vector_unit);
    channels_.resize(static_cast<std::size_t>(n));
    result_depth_ = build_.loop_count();
    for (int t = 0; t < n; ++t) {
      if (is_output(t) || t == psum_) result_depth_ = std::min(result_depth_, placement(t).depth);
    }
    for (int t = 0; t < n; ++t) {
      if (is_load(t)) {
        Channel& c = channel(t, in_.environment->load[home_memory(t).index()][placement(t).memory.index()].engine);
        c.axes = placement(t).multicast;
        c.receivers = (c.axes.row ? in_.machine->grid.rows : 1) * (c.axes.col ? in_.machine->grid.cols : 1);
        if (matrix_.valid() && reads(k_.nests[0], t)) add_consumer(t, matrix_);
        for (std::size_t i = k_.has_contraction() ? 1 : 0; i < k_.nests.size(); ++i) {
          if (reads(k_.nests[i], t)) {
            add_consumer(t, is_gather(k_.nests[i]) ? gather_engine(k_.nests[i]) : vector_);
            break;
          }
        }
      }
      if (is_output(t) && !placement(t).resident) {
        const auto store = in_.environment->store[home_memory(t).index()][placement(t).memory.index()].engine;
        const EngineId producer =
            m_.dma_only
                ? in_.environment->load[home_memory(input_of_movement()).index()][placement(t).memory.index()].engine
            : t == psum_ ? matrix_
                         : gathered_output(t).value_or(vector_);
        channel(t, producer);
        add_consumer(t, store);
      }
    }
    if (psum_ >= 0 && !is_output(psum_)) {
      channel(psum_, matrix_);
      add_consumer(psum_, vector_);
    }
    for (const KernelNest& nest : k_.nests) {
      if (m_.dma_only || !is_gather(nest)) continue;
      for (std::size_t i = 1; i < nest.ins.size(); ++i) {
        const int t = nest.ins[i].tensor;
        if (k_.tensors[static_cast<std::size_t>(t)].kind != KernelTensorKind::internal) continue;
        channel(t, vector_);
        add_consumer(t, gather_engine(nest));
      }
    }
    note_accesses();
  }

  EngineId gather_engine(const KernelNest& nest) const {
    return in_.environment->load[home_memory(nest.ins[0].tensor).index()][placement(nest.out.tensor).memory.index()]
        .engine;
  }
  std::optional<EngineId> gathered_output(int t) const {
    for (const KernelNest& nest : k_.nests) {
      if (is_gather(nest) && nest.out.tensor == t) return gather_engine(nest);
    }
    return std::nullopt;
  }
  bool is_index_temp(int t) const {
    return t != psum_ && k_.tensors[static_cast<std::size_t>(t)].kind == KernelTensorKind::internal &&
           channels_[static_cast<std::size_t>(t)].producer.valid();
  }

  int input_of_movement() const { return k_.nests.front().ins.front().tensor; }

  static bool reads(const KernelNest& nest, int t) {
    return std::any_of(nest.ins.begin(), nest.ins.end(), [&](const KernelAccess& a) { return a.tensor == t; });
  }

  Channel& channel(int t, EngineId producer) {
    channels_[static_cast<std::size_t>(t)].producer = producer;
    return channels_[static_cast<std::size_t>(t)];
  }

  void add_consumer(int t, EngineId engine) {
    Channel& c = channels_[static_cast<std::size_t>(t)];
    c.consumers.push_back(engine);
    const std::string base = fmt::format("k{}.{}.{}", index_, k_.tensors[static_cast<std::size_t>(t)].name,
                                         in_.environment->engines[engine.index()].name);
    c.full.push_back(semaphore(base + ".full", 0));
    // One core releases slots in order: one counter tells all. Of several, each slot needs a counter of its own.
    const std::int64_t slots = c.receivers > 1 ? placement(t).buffers : 1;
    if (slots > 1) c.slot = build_.sequence(placement(t).depth);
    c.free.push_back(semaphore(base + ".free", placement(t).buffers / slots * c.receivers, slots));
  }

  SemaphoreId semaphore(std::string name, std::int64_t initial, std::int64_t slots = 1) {
    program_.semaphores.push_back({std::move(name), initial, slots});
    return SemaphoreId(program_.semaphores.size() - 1);
  }

  void note(EngineId engine, BufferId buffer, bool write, bool remote = false) {
    const KernelAccessRange r{engine, buffer, write, remote};
    for (const KernelAccessRange& e : out_.accesses) {
      if (e.engine == r.engine && e.buffer == r.buffer && e.write == r.write && e.remote == r.remote) return;
    }
    out_.accesses.push_back(r);
  }

  void note_accesses() {
    const auto home = [&](int t) {
      return in_.home.at(in_.root[k_.tensors[static_cast<std::size_t>(t)].graph_tensor.index()]);
    };
    for (int t = 0; t < static_cast<int>(k_.tensors.size()); ++t) {
      const Channel& c = channels_[static_cast<std::size_t>(t)];
      if (placement(t).resident) continue;
      if (is_load(t)) note(c.producer, home(t), false);
      if (!placement(t).memory.valid()) continue;
      const BufferId tile = in_.tile.at({index_, t});
      if (c.producer.valid()) note(c.producer, tile, true, c.axes.any());
      for (const EngineId e : c.consumers) note(e, tile, false);
      if (is_output(t)) note(c.consumers.front(), home(t), true);
      if (!c.producer.valid()) note(vector_, tile, true);  // temporaries of the vector unit
      if (t == psum_) note(matrix_, tile, false);
    }
    for (std::size_t i = 0; i < k_.nests.size(); ++i) {
      const bool gather = !m_.dma_only && is_gather(k_.nests[i]);
      const EngineId e = m_.dma_only ? channels_[static_cast<std::size_t>(k_.nests[i].out.tensor)].producer
                         : gather    ? gather_engine(k_.nests[i])
                         : k_.nests[i].contraction ? matrix_
                                                   : vector_;
      if (gather) note(e, home(k_.nests[i].ins[0].tensor), false);
      for (const KernelAccess& a : k_.nests[i].ins) {
        if (placement(a.tensor).resident ||
            (m_.dma_only && k_.tensors[static_cast<std::size_t>(a.tensor)].kind == KernelTensorKind::input))
          note(e, home(a.tensor), false);
      }
      if (placement(k_.nests[i].out.tensor).resident) note(e, home(k_.nests[i].out.tensor), true);
      if (k_.nests[i].contraction && placement(k_.nests[i].out.tensor).resident)
        note(e, home(k_.nests[i].out.tensor), false);
    }
  }

  static void wait(std::vector<Stmt>& out, EngineId e, SemaphoreId s, std::int64_t count = 1, Axes leader = {},
                   const Affine& slot = {}) {
    out.push_back({Wait{e, s, count, leader, slot}});
  }
  static void signal(std::vector<Stmt>& out, EngineId e, SemaphoreId s, Axes leader = {}, Axes to_all = {},
                     Axes to_leader = {}, const Affine& slot = {}) {
    out.push_back({Signal{e, s, 1, leader, to_all, to_leader, slot}});
  }

  void acquire(int t, std::vector<Stmt>& out) {
    const Channel& c = channels_[static_cast<std::size_t>(t)];
    for (const SemaphoreId s : c.free) wait(out, c.producer, s, c.receivers, c.axes, c.slot);
  }
  void publish(int t, std::vector<Stmt>& out) {
    const Channel& c = channels_[static_cast<std::size_t>(t)];
    for (const SemaphoreId s : c.full) signal(out, c.producer, s, c.axes, c.axes, {});
    for (std::size_t i = 0; i < c.consumers.size(); ++i) wait(out, c.consumers[i], c.full[i]);
  }
  void release(int t, std::vector<Stmt>& out) {
    const Channel& c = channels_[static_cast<std::size_t>(t)];
    for (std::size_t i = 0; i < c.consumers.size(); ++i) signal(out, c.consumers[i], c.free[i], {}, {}, c.axes, c.slot);
  }

  void emit(int depth, std::vector<Stmt>& out) {
    const auto n = static_cast<int>(k_.tensors.size());
    for (int t = 0; t < n; ++t) {
      if (!is_load(t) || placement(t).depth != depth) continue;
      acquire(t, out);
      out.push_back({build_.box_copy(t, true, channels_[static_cast<std::size_t>(t)].producer)});
      publish(t, out);
    }
    const bool own_psum = psum_ >= 0 && !placement(psum_).resident && placement(psum_).depth == depth;
    if (own_psum) acquire(psum_, out);
    if (depth < build_.loop_count()) {
      const TemporalLoop& l = m_.loops[static_cast<std::size_t>(depth)];
      Loop loop{vars_[static_cast<std::size_t>(depth)],
                k_.dims[static_cast<std::size_t>(l.dim)].name,
                build_.shape().trip(depth),
                {}};
      emit(depth + 1, loop.body);
      out.push_back({std::move(loop)});
    } else if (k_.has_contraction()) {
      out.push_back({contraction()});
    }
    if (depth == result_depth_) results(out);
    for (int t = 0; t < n; ++t) {
      if (is_load(t) && placement(t).depth == depth) release(t, out);
    }
  }

  /// The vector nests (or the DMA's own), and the stores.
  void results(std::vector<Stmt>& out) {
    const auto n = static_cast<int>(k_.tensors.size());
    const bool stored_psum = psum_ >= 0 && is_output(psum_);
    if (psum_ >= 0 && !placement(psum_).resident) publish(psum_, out);
    for (int t = 0; t < n; ++t) {
      if (is_output(t) && t != psum_ && !placement(t).resident) acquire(t, out);
    }
    for (int t = 0; t < n; ++t) {
      if (is_index_temp(t)) acquire(t, out);
    }
    for (const KernelNest& nest : k_.nests) {
      if (nest.contraction) continue;
      const bool gather = !m_.dma_only && is_gather(nest);
      for (std::size_t i = 1; gather && i < nest.ins.size(); ++i) {
        if (is_index_temp(nest.ins[i].tensor)) publish(nest.ins[i].tensor, out);
      }
      out.push_back({m_.dma_only || gather ? movement(nest) : vector(nest)});
    }
    for (int t = 0; t < n; ++t) {
      if (is_index_temp(t)) release(t, out);
    }
    if (psum_ >= 0 && !stored_psum) release(psum_, out);
    for (int t = 0; t < n; ++t) {
      if (!is_output(t) || placement(t).resident) continue;
      if (t != psum_) publish(t, out);
      out.push_back({build_.box_copy(t, false, channels_[static_cast<std::size_t>(t)].consumers.front())});
      release(t, out);
    }
  }

  Command contraction() const {
    const KernelNest& nest = k_.nests.front();
    const int depth = build_.loop_count();
    Command c;
    c.opcode = Opcode::contract;
    c.engine = matrix_;
    c.iter = build_.iteration(nest, depth);
    for (const KernelAccess& a : nest.ins) c.in.push_back(build_.operand(nest, a, depth));
    c.out = build_.operand(nest, nest.out, depth);
    c.combine = Combine::sum;
    c.accumulator = nest.accumulator;
    for (std::size_t i = 0; i < m_.loops.size(); ++i) {
      if (k_.dims[static_cast<std::size_t>(m_.loops[i].dim)].reduction)
        c.accumulate_unless_zero.push_back(Affine::of(vars_[i]));
    }
    c.zero[0] = nest.zero[0];
    c.zero[1] = nest.zero[1];
    c.array = m_.array;
    c.trail = static_cast<std::int64_t>(index_);
    return c;
  }

  Command vector(const KernelNest& nest) const {
    Command c;
    c.opcode = Opcode::vector;
    c.engine = vector_;
    c.iter = build_.iteration(nest, result_depth_);
    for (const KernelAccess& a : nest.ins) c.in.push_back(build_.operand(nest, a, result_depth_));
    c.out = build_.operand(nest, nest.out, result_depth_);
    c.body = nest.body;
    c.combine = nest.combine;
    c.accumulator = nest.accumulator;
    c.trail = static_cast<std::int64_t>(index_);
    return c;
  }

  Command movement(const KernelNest& nest) const {
    Command c;
    c.opcode = Opcode::copy;
    c.engine = channels_[static_cast<std::size_t>(nest.out.tensor)].producer;
    c.iter = build_.iteration(nest, result_depth_);
    for (const KernelAccess& a : nest.ins) {
      const bool from_home = m_.dma_only || !placement(a.tensor).memory.valid();
      c.in.push_back(from_home ? build_.home_operand(nest, a, result_depth_) : build_.operand(nest, a, result_depth_));
    }
    c.out = build_.operand(nest, nest.out, result_depth_);
    c.body = nest.body;
    c.trail = static_cast<std::int64_t>(index_);
    return c;
  }

  const LoweringInput& in_;
  const Kernel& k_;
  const Mapping& m_;
  std::size_t index_;
  Program& program_;
  std::vector<VarId> vars_;
  OperandBuilder build_;
  EngineId matrix_, vector_;
  int psum_ = -1;
  int result_depth_ = 0;
  std::vector<Channel> channels_;
  LoweredKernel out_;
};

LoweredKernel lower_host(const LoweringInput& in, std::size_t index) {
  const Kernel& k = in.kernels[index];
  const Node& node = in.graph->node(*k.host_node);
  LoweredKernel out;
  HostCommand h;
  for (std::size_t i = 0; i < in.environment->engines.size(); ++i) {
    if (in.environment->engines[i].kind == EngineKind::host) h.engine = EngineId(i);
  }
  ASSAY_CHECK(h.engine.valid(), "host kernel without a host");
  h.op = node.op;
  h.attributes = in.host_attributes(node);
  h.trail = static_cast<std::int64_t>(index);
  const auto home = [&](TensorId t) { return t.valid() ? in.view_home(t) : BufferId(); };
  for (const TensorId t : node.inputs) h.in.push_back(home(t));
  for (const TensorId t : node.outputs) h.out.push_back(home(t));
  for (const BufferId b : h.in) {
    if (b.valid()) out.accesses.push_back({h.engine, b, false, false});
  }
  for (const BufferId b : h.out) {
    if (b.valid()) out.accesses.push_back({h.engine, b, true, false});
  }
  out.body.push_back({std::move(h)});
  return out;
}

}  // namespace

LoweredKernel lower_kernel(const LoweringInput& input, std::size_t index, Program& program) {
  if (input.kernels[index].host_node) return lower_host(input, index);
  return KernelLowering(input, index, program).run();
}

}  // namespace assay
