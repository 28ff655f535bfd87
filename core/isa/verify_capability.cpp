#include <fmt/format.h>

#include <algorithm>

#include "core/isa/engines.h"
#include "core/isa/names.h"
#include "core/isa/verify_report.h"

namespace assay {
namespace {

bool contains(const std::vector<MemoryId>& ids, MemoryId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

class Capability {
 public:
  Capability(const Program& program, const Machine& machine, ViolationList& violations)
      : program_(program), machine_(machine), list_(violations) {}

  void block(const std::vector<Stmt>& stmts) {
    for (const Stmt& s : stmts) {
      if (const auto* loop = std::get_if<Loop>(&s.node)) {
        block(loop->body);
        continue;
      }
      leaf_ = &s;
      if (const auto* c = std::get_if<Command>(&s.node)) {
        command(*c);
      } else if (const auto* h = std::get_if<HostCommand>(&s.node)) {
        host(*h);
      }
      ++number_;
    }
  }

 private:
  void report(std::string message) { list_.add("capability", leaf_, number_, std::move(message), key_++); }
  const Buffer& buffer(const Operand& o) const { return program_.buffer(o.buffer); }
  const Memory& memory(const Operand& o) const { return machine_.memory(buffer(o).memory); }

  void command(const Command& c) {
    const Engine& engine = program_.engines[c.engine.index()];
    const bool dma = engine.kind == EngineKind::dma_load || engine.kind == EngineKind::dma_store;
    const bool fits = c.opcode == Opcode::copy       ? dma
                      : c.opcode == Opcode::contract ? engine.kind == EngineKind::matrix
                                                     : engine.kind == EngineKind::vector;
    if (!fits)
      return report(fmt::format("engine '{}' is a {} engine: it does not execute a {}", engine.name, name(engine.kind),
                                name(c.opcode)));
    const Memory& out = memory(c.out);
    if (out.kind == MemoryKind::accumulator && out.dtype && *out.dtype != c.out.type)
      report(fmt::format("accumulator '{}' holds {}, the output is {}", out.name, name(*out.dtype), name(c.out.type)));
    if (c.opcode == Opcode::copy)
      copy(c, engine);
    else if (c.opcode == Opcode::contract)
      contract(c, machine_.matrix_units[engine.part]);
    else
      vector(c, machine_.vector_units[engine.part]);
  }

  void copy(const Command& c, const Engine& engine) {
    const MemoryId from = buffer(c.in[0]).memory, to = buffer(c.out).memory;
    if (!can_copy(machine_, engine, from, to))
      report(fmt::format("engine '{}' has no link from '{}' to '{}'", engine.name, machine_.memory(from).name,
                         machine_.memory(to).name));
    const Link& link = machine_.links[engine.part];
    for (std::size_t i = 1; i < c.in.size(); ++i)
      if (!contains(link.far, buffer(c.in[i]).memory) && !contains(link.near, buffer(c.in[i]).memory))
        report(fmt::format("engine '{}' does not reach '{}' for its index operand", engine.name, memory(c.in[i]).name));
    if (!c.multicast.any()) return;
    bool able = link.multicast;
    for (const LinkId via : link.via)
      able = able || (via.index() < machine_.links.size() && machine_.link(via).multicast);
    if (!able) report(fmt::format("link '{}' does not multicast", link.name));
    if (memory(c.out).scope != Scope::core)
      report(fmt::format("a multicast writes a memory of every core, '{}' is shared", memory(c.out).name));
  }

  void operands(const Command& c, const std::string& unit, const std::vector<MemoryId>& reads,
                const std::vector<MemoryId>& writes, bool to_accumulator) {
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      const Memory& m = memory(c.in[i]);
      if (reads.empty() ? m.scope != Scope::core : !contains(reads, buffer(c.in[i]).memory))
        report(fmt::format("unit '{}' does not read '{}' (input {})", unit, m.name, i));
    }
    const Memory& m = memory(c.out);
    const auto core_accumulator = [](const Memory& x) {
      return x.kind == MemoryKind::accumulator && x.scope == Scope::core;
    };
    const bool need =
        to_accumulator && std::any_of(machine_.memories.begin(), machine_.memories.end(), core_accumulator);
    const bool allowed = writes.empty() ? m.scope == Scope::core && (!need || core_accumulator(m))
                                        : contains(writes, buffer(c.out).memory);
    if (!allowed) report(fmt::format("unit '{}' does not write '{}'", unit, m.name));
  }

  void contract(const Command& c, const MatrixUnit& unit) {
    operands(c, unit.name, unit.reads, unit.writes, true);
    const MatrixType* type = unit.type_for(c.in[0].type);
    const MatrixType* other = unit.type_for(c.in[1].type);
    if (type == nullptr || other == nullptr || type->accumulator != other->accumulator)
      return report(
          fmt::format("unit '{}' does not multiply {} by {}", unit.name, name(c.in[0].type), name(c.in[1].type)));
    if (c.accumulator != type->accumulator || c.out.type != type->accumulator)
      report(fmt::format("unit '{}' accumulates {} in {}, the command in {} to {}", unit.name, name(c.in[0].type),
                         name(type->accumulator), name(c.accumulator), name(c.out.type)));
    const ArrayPlan& plan = *c.array;
    if (unit.dataflow != Dataflow::free && plan.dataflow != unit.dataflow)
      report(fmt::format("unit '{}' is {}, the command {}", unit.name, name(unit.dataflow), name(plan.dataflow)));
    if (unit.style != ArrayStyle::pe_array) return;
    const auto product = [](const std::vector<std::pair<int, std::int64_t>>& on) {
      double p = 1;
      for (const auto& [dim, factor] : on) p *= static_cast<double>(factor);
      return p;
    };
    if (product(plan.on_rows) > static_cast<double>(unit.rows) ||
        product(plan.on_cols) > static_cast<double>(unit.cols))
      report(fmt::format("unit '{}' has {} by {} elements, the plan unrolls {} by {}", unit.name, unit.rows, unit.cols,
                         product(plan.on_rows), product(plan.on_cols)));
  }

  void vector(const Command& c, const VectorUnit& unit) {
    operands(c, unit.name, unit.reads, unit.writes, false);
    const auto lists = [&](std::string_view op) { return unit.ops.contains(std::string(op)); };
    const auto type = [&](DType t) {
      if (t != DType::boolean && !unit.types.contains(t))
        report(fmt::format("unit '{}' has no {}", unit.name, name(t)));
    };
    for (const ScalarInstr& in : c.body.code) {
      type(in.type);
      if (in.op == ScalarOp::input || in.op == ScalarOp::constant || in.op == ScalarOp::index) continue;
      if (!lists(name(in.op)) && !lists(op_class(in.op)) && !lists("any"))
        report(fmt::format("unit '{}' does not execute '{}'", unit.name, name(in.op)));
    }
    type(c.out.type);
    if (c.combine == Combine::none) return;
    type(c.accumulator);
    if (!lists("reduce") && !lists("any") && !lists(name(c.combine)))
      report(fmt::format("unit '{}' does not reduce ('{}')", unit.name, name(c.combine)));
  }

  void host(const HostCommand& h) {
    const Engine& engine = program_.engines[h.engine.index()];
    if (engine.kind != EngineKind::host)
      return report(
          fmt::format("engine '{}' is a {} engine: it does not execute '{}'", engine.name, name(engine.kind), h.op));
    for (const auto* list : {&h.in, &h.out})
      for (const BufferId id : *list)
        if (id.valid() && machine_.memory(program_.buffer(id).memory).scope != Scope::chip)
          report(fmt::format("the host does not reach '{}'", machine_.memory(program_.buffer(id).memory).name));
  }

  const Program& program_;
  const Machine& machine_;
  ViolationList& list_;
  const Stmt* leaf_ = nullptr;
  std::size_t number_ = 0;
  int key_ = 0;
};

}  // namespace

void verify_capabilities(const Program& program, const Machine& machine, ViolationList& violations) {
  Capability(program, machine, violations).block(program.body);
}

}  // namespace assay
