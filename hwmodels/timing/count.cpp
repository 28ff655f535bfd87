#include "hwmodels/timing/count.h"

#include <algorithm>
#include <optional>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/math.h"
#include "hwmodels/timing/gemm.h"

namespace assay {
namespace {

std::int64_t bytes_of(const Operand& o, std::int64_t elements) { return byte_size(o.type, elements); }

void read(InstanceCounts& c, const Operand& o, std::int64_t elements) {
  c.buffers.push_back({o.buffer.value, {bytes_of(o, elements), 0}});
}
void write(InstanceCounts& c, const Operand& o, std::int64_t elements, std::int64_t reads) {
  c.buffers.push_back({o.buffer.value, {bytes_of(o, reads), bytes_of(o, elements)}});
}

std::int64_t product_of(std::span<const std::int64_t> extents) { return checked_product(extents); }

// Points of the iteration dimensions that `view` does not mention, among those of the given roles.
std::int64_t unmentioned(const ConcreteView& view, const std::vector<GemmRole>& roles,
                         std::span<const std::int64_t> extents, GemmRole excluded) {
  std::int64_t product = 1;
  for (std::size_t d = 0; d < extents.size(); ++d)
    if (roles[d] != excluded && !mentions(view, static_cast<int>(d))) product *= extents[d];
  return product;
}

void count_copy(InstanceCounts& c, const ConcreteCommand& x) {
  const Command& command = *x.command;
  std::int64_t rest = 1;  // the source is read again for iteration dimensions that it does not mention
  for (std::size_t d = 0; d < x.extents.size(); ++d)
    if (!mentions(x.in[0], static_cast<int>(d))) rest *= x.extents[d];
  const std::int64_t elements = checked_mul(points_in_bounds(x.in[0]), rest);
  read(c, command.in[0], elements);
  for (std::size_t i = 1; i < x.in.size(); ++i) read(c, command.in[i], distinct_elements(x.in[i]));
  c.buffers.push_back({command.out.buffer.value, {0, checked_mul(bytes_of(command.out, c.points), x.receivers)}});
  c.link_bytes = bytes_of(command.in[0], elements);
  c.link_bytes_delivered = checked_mul(c.link_bytes, x.receivers);
}

void count_vector(InstanceCounts& c, const ConcreteCommand& x) {
  const Command& command = *x.command;
  for (std::size_t i = 0; i < x.in.size(); ++i) read(c, command.in[i], distinct_elements(x.in[i]));
  const std::int64_t outputs = distinct_elements(x.out);
  write(c, command.out, outputs, x.accumulating ? outputs : 0);
  const auto add = [&](std::string_view op_class) {
    const auto at = std::find_if(c.lane_ops.begin(), c.lane_ops.end(), [&](auto& e) { return e.first == op_class; });
    if (at == c.lane_ops.end())
      c.lane_ops.emplace_back(op_class, c.points);
    else
      at->second += c.points;
  };
  for (const ScalarInstr& i : command.body.code) {
    if (i.op == ScalarOp::input || i.op == ScalarOp::constant || i.op == ScalarOp::index) continue;
    add(op_class(i.op));
  }
  if (command.combine != Combine::none) add("reduce");
}

void count_array(InstanceCounts& c, const ConcreteCommand& x, const MatrixUnit& unit) {
  const Command& command = *x.command;
  const std::vector<GemmRole> roles = gemm_roles(command);
  const GemmShape s = gemm_shape(command, roles, x.extents);
  const Dataflow flow = unit.style == ArrayStyle::intrinsic ? Dataflow::weight_stationary : dataflow_of(command, unit);
  const std::int64_t a_points = points_in_bounds(x.in[0]) * unmentioned(x.in[0], roles, x.extents, GemmRole::n);
  const std::int64_t b_points = points_in_bounds(x.in[1]) * unmentioned(x.in[1], roles, x.extents, GemmRole::m);
  const std::int64_t outputs = checked_product(std::array{s.m, s.n, s.g});
  std::int64_t a_reads = 0, slots = 0;
  Folds f;
  for (const Share& share : shares_of(s.n_axis, unit.count)) {
    f = folds_of(s, unit, flow, share.n);
    a_reads += checked_mul(a_points, flow == Dataflow::input_stationary ? 1 : f.cols) * share.instances;
    std::int64_t streamed = f.stream;
    if (unit.style == ArrayStyle::intrinsic) streamed = round_up(streamed, unit.m);
    slots += checked_product(std::array{f.total(), streamed, f.array_rows, f.array_cols}) * share.instances;
  }
  std::int64_t b_reads = b_points, passes = 1;  // `passes`: how often an output element is written
  if (flow == Dataflow::output_stationary) b_reads = checked_mul(b_points, f.rows);
  if (flow == Dataflow::input_stationary) b_reads = checked_mul(b_points, f.cols);
  if (flow != Dataflow::output_stationary) passes = f.rows;
  read(c, command.in[0], a_reads);
  read(c, command.in[1], b_reads);
  write(c, command.out, checked_mul(outputs, passes), outputs * (passes - 1 + (x.accumulating ? 1 : 0)));
  c.macs = s.macs();
  c.padded_macs = slots - c.macs;
}

std::optional<std::uint32_t> register_file(const Machine& machine, const MatrixUnit& unit, Role role) {
  for (const MemoryId m : unit.pe_memories)
    if (machine.memory(m).may_hold(role)) return m.value;
  return std::nullopt;
}

// How the temporal walk of a pe_array treats an operand that depends on the dimensions `own`.
struct WalkFactors {
  std::int64_t revisits = 1;   // product of the trips of other loops outside its innermost own loop
  std::int64_t delivered = 1;  // PEs (over revisits) that receive each element
};
WalkFactors walk(const PeNest& nest, std::span<const std::int64_t> extents, const std::vector<bool>& own) {
  std::size_t innermost = 0;  // number of loops at or outside the innermost own loop with more than one trip
  for (std::size_t i = 0; i < nest.order.size(); ++i)
    if (own[nest.order[i]] && nest.trips[nest.order[i]] > 1) innermost = i + 1;
  WalkFactors w;
  for (std::size_t i = 0; i < nest.order.size(); ++i) {
    const int d = nest.order[i];
    if (own[d]) continue;
    if (i < innermost) w.revisits *= nest.trips[d];
    w.delivered *= i < innermost ? extents[d] : std::min(nest.spatial[d], extents[d]);
  }
  return w;
}

void count_pe_array(InstanceCounts& c, const ConcreteCommand& x, const MatrixUnit& unit, const Machine& machine) {
  const Command& command = *x.command;
  const std::vector<GemmRole> roles = gemm_roles(command);
  std::int64_t reads[2] = {0, 0}, delivered[2] = {0, 0}, out_writes = 0, out_reads = 0, out_delivered = 0, slots = 0;
  for (const SplitExtents& part : split_extents(roles, unit, x.extents)) {
    const PeNest nest = pe_nest(command, unit, part.extents);
    std::vector<bool> own(part.extents.size());
    for (int operand = 0; operand < 2; ++operand) {
      ConcreteView view = x.in[operand];
      view.extents = part.extents;
      for (std::size_t d = 0; d < own.size(); ++d) own[d] = mentions(view, static_cast<int>(d));
      const WalkFactors w = walk(nest, part.extents, own);
      const std::int64_t elements = points_in_bounds(view);
      reads[operand] += checked_mul(elements, w.revisits) * part.instances;
      delivered[operand] += checked_mul(elements, w.delivered) * part.instances;
    }
    std::int64_t outputs = part.instances;
    for (std::size_t d = 0; d < own.size(); ++d) {
      own[d] = !command.iter[d].reduction;
      if (own[d]) outputs = checked_mul(outputs, part.extents[d]);
    }
    const WalkFactors w = walk(nest, part.extents, own);
    out_writes += checked_mul(outputs, w.revisits);
    out_reads += outputs * (w.revisits - 1 + (x.accumulating ? 1 : 0));
    out_delivered += outputs * (w.revisits - 1 + (x.accumulating ? 1 : 0));
    slots += checked_product(std::array{nest.steps(), unit.rows, unit.cols}) * part.instances;
  }
  read(c, command.in[0], reads[0]);
  read(c, command.in[1], reads[1]);
  write(c, command.out, out_writes, out_reads);
  c.macs = c.points;
  c.padded_macs = slots - c.macs;
  const Role operand_roles[2] = {Role::input, Role::weight};
  for (int operand = 0; operand < 2; ++operand) {
    const auto rf = register_file(machine, unit, operand_roles[operand]);
    if (rf)
      c.pe_memories.push_back(
          {*rf, {bytes_of(command.in[operand], c.macs), bytes_of(command.in[operand], delivered[operand])}});
  }
  if (const auto rf = register_file(machine, unit, Role::output))
    c.pe_memories.push_back(
        {*rf, {byte_size(command.accumulator, c.macs), byte_size(command.accumulator, c.macs + out_delivered)}});
}

}  // namespace

bool ConcreteCommand::empty() const {
  return std::any_of(extents.begin(), extents.end(), [](std::int64_t e) { return e <= 0; });
}

InstanceCounts count_instance(const Program& program, const Machine& machine, const ConcreteCommand& x) {
  InstanceCounts c;
  if (x.empty()) return c;
  c.points = product_of(x.extents);
  const Engine& engine = program.engines[x.command->engine.index()];
  switch (x.command->opcode) {
    case Opcode::copy:
      count_copy(c, x);
      break;
    case Opcode::vector:
      count_vector(c, x);
      break;
    case Opcode::contract: {
      const MatrixUnit& unit = machine.matrix_units.at(engine.part);
      if (unit.style == ArrayStyle::pe_array)
        count_pe_array(c, x, unit, machine);
      else
        count_array(c, x, unit);
      break;
    }
  }
  return c;
}

InstanceCounts count_host(const Program& program, const HostCommand& command) {
  const auto whole = [&](BufferId id) {
    const Buffer& b = program.buffer(id);
    if (b.shape.empty() && b.tensor.empty()) return b.bytes;
    return byte_size(b.type, checked_product(b.shape));
  };
  InstanceCounts c;
  c.points = 1;
  for (const BufferId b : command.in) {
    if (!b.valid()) continue;
    c.buffers.push_back({b.value, {whole(b), 0}});
    c.link_bytes += whole(b);
  }
  for (const BufferId b : command.out) {
    if (!b.valid()) continue;
    c.buffers.push_back({b.value, {0, whole(b)}});
    c.link_bytes += whole(b);
  }
  return c;
}

void add_counts(GroupActivity& group, const Program& program, const Machine& machine, const Engine& engine,
                const InstanceCounts& c, std::int64_t times) {
  if (c.points == 0 || times == 0) return;
  const auto scaled = [&](std::int64_t v) { return checked_mul(v, times); };
  group.commands += times;
  for (const auto& [buffer, access] : c.buffers) {
    ASSAY_CHECK(buffer < program.buffers.size(), "buffer " + std::to_string(buffer));
    AccessCount& a = group.by_buffer[buffer];
    a.read_bytes += scaled(access.read_bytes);
    a.write_bytes += scaled(access.write_bytes);
  }
  for (const auto& [memory, access] : c.pe_memories) {
    AccessCount& a = group.by_pe_memory[memory];
    a.read_bytes += scaled(access.read_bytes);
    a.write_bytes += scaled(access.write_bytes);
  }
  switch (engine.kind) {
    case EngineKind::dma_load:
    case EngineKind::dma_store: {
      std::vector<std::uint32_t> links{engine.part};
      for (const LinkId via : machine.links.at(engine.part).via) links.push_back(via.value);
      for (const std::uint32_t link : links) {
        group.link_bytes[link] += scaled(c.link_bytes);
        group.link_bytes_delivered[link] += scaled(c.link_bytes_delivered);
      }
      break;
    }
    case EngineKind::matrix:
      group.macs[engine.part] += scaled(c.macs);
      group.padded_macs[engine.part] += scaled(c.padded_macs);
      break;
    case EngineKind::vector:
      for (const auto& [op_class, n] : c.lane_ops) group.lane_ops[engine.part][std::string(op_class)] += scaled(n);
      break;
    case EngineKind::host:
      group.host_bytes += scaled(c.link_bytes);
      break;
  }
}

}  // namespace assay
