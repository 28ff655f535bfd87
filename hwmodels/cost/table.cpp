#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "hwmodels/cost/library.h"
#include "hwmodels/cost/parts.h"
#include "hwmodels/cost/sram.h"
#include "hwmodels/energy.h"

namespace assay {
namespace {

// Figures of the file win; the source says which.
void override_with(PartCost& p, const CostOverride& c) {
  std::vector<std::string> stated;
  const auto take = [&](double& value, const std::optional<double>& from, const char* what) {
    if (!from) return;
    value = *from;
    stated.emplace_back(what);
  };
  take(p.read_pj_per_byte, c.read_pj_per_byte, "read");
  take(p.write_pj_per_byte, c.write_pj_per_byte, "write");
  take(p.op_pj, c.op_pj, "op");
  take(p.leakage_mw, c.leakage_mw, "leakage");
  take(p.area_mm2, c.area_mm2, "area");
  if (stated.empty()) return;
  p.source = fmt::format("file ({}){}{}", fmt::join(stated, ", "), p.source.empty() ? "" : "; else ", p.source);
}

std::int64_t instances_of(const Machine& m, Scope scope) { return scope == Scope::chip ? 1 : m.grid.cores(); }

PartCost memory_cost(const Machine& machine, std::uint32_t index, double node) {
  const Memory& m = machine.memories[index];
  PartCost p;
  p.part = m.name;
  p.instances = instances_of(machine, m.scope);
  if (m.kind == MemoryKind::dram) {
    if (!(m.cost.read_pj_per_byte && m.cost.write_pj_per_byte)) {
      const Cost c = dram_energy(m.type, m.name);
      p.read_pj_per_byte = p.write_pj_per_byte = c.value;
      p.source = c.source;
    }
  } else if (m.kind == MemoryKind::register_file) {
    const auto bytes = static_cast<double>(std::max<std::int64_t>(1, m.capacity));
    const Cost e = register_energy(bytes, node), a = register_area(bytes, node);
    p.read_pj_per_byte = p.write_pj_per_byte = e.value;
    p.area_mm2 = a.value;
    p.leakage_mw = 7e-5 * 8 * bytes;  // Aladdin 40 nm register bit
    p.source = "register file: " + e.source + "; area: " + a.source;
    if (m.scope == Scope::pe) {
      std::int64_t pes = 0;
      for (const MatrixUnit& u : machine.matrix_units)
        if (std::find(u.pe_memories.begin(), u.pe_memories.end(), MemoryId(index)) != u.pe_memories.end())
          pes += u.rows * u.cols * u.count;
      p.instances = machine.grid.cores() * std::max<std::int64_t>(1, pes);
    }
  } else {
    const int banks = std::max(1, m.banks);
    double word = static_cast<double>(m.word_bytes);
    bool from_bandwidth = false;
    if (m.word_bytes <= 1) {  // not stated: what one bank delivers per cycle
      const double hz = static_cast<double>(machine.clocks.at(static_cast<std::size_t>(m.clock)).hz);
      word = std::max(2.0, std::round(static_cast<double>(m.read_bandwidth) / hz / banks));
      from_bandwidth = true;
    }
    const double bank_bytes = std::max(1.0, static_cast<double>(m.capacity) / banks);
    const SramCost c = sram_cost(bank_bytes, word * 8, node);
    p.read_pj_per_byte = c.read_pj / word;
    p.write_pj_per_byte = c.write_pj / word;
    p.leakage_mw = c.leakage_mw * banks;
    p.area_mm2 = c.area_mm2 * banks;
    p.source =
        fmt::format("CACTI 7 lstp, {} bank{} of {:.6g} KiB, {:g}-bit words{}, {:g} nm{}", banks, banks == 1 ? "" : "s",
                    bank_bytes / 1024, word * 8, from_bandwidth ? " (from the bandwidth)" : "", node,
                    node < 22 ? " (below 22 nm: ISCA 2021 table 2, areas by Stillmaker & Baas)" : "");
  }
  override_with(p, m.cost);
  return p;
}

}  // namespace

double node_of(const Machine& machine) { return machine.process.node_nm > 0 ? machine.process.node_nm : 45; }

DType widest_type(const VectorUnit& unit) {
  // 64-bit types are listed for indices: lanes are built for fp32 where they have it, else the widest up to 32 bits.
  if (unit.types.empty() || unit.types.contains(DType::f32)) return DType::f32;
  DType widest = unit.types.begin()->first;
  for (const auto& [t, rate] : unit.types) {
    const bool fits = bits(t) <= 32, wider = bits(t) > bits(widest) || (bits(t) == bits(widest) && is_float(t));
    if ((fits && wider) || (fits && bits(widest) > 32)) widest = t;
  }
  return widest;
}

CostTable cost_table(const Machine& machine) {
  const double node = node_of(machine);
  CostTable t;
  if (machine.process.node_nm <= 0) t.notes.push_back("the process node is not stated: figures are for 45 nm");
  if (machine.process.node_nm > 0 && machine.process.node_nm < 7)
    t.notes.push_back(fmt::format("no published scaling below 7 nm: 7 nm figures stand for {:g} nm", node));
  for (std::uint32_t i = 0; i < machine.memories.size(); ++i) t.parts.push_back(memory_cost(machine, i, node));
  for (const Link& l : machine.links) {
    PartCost p;
    p.part = l.name;
    p.instances = instances_of(machine, l.scope);
    if (l.kind == LinkKind::host) {
      p.source = "not modelled";
      if (!l.cost.read_pj_per_byte) t.notes.push_back("energy of the host link '" + l.name + "' is not modelled");
    } else {
      const bool network = l.kind == LinkKind::noc && l.topology != Topology::direct;
      const Cost c = wire_energy(network, node);
      p.read_pj_per_byte = c.value;
      p.source = c.source;
    }
    override_with(p, l.cost);
    if (l.kind != LinkKind::host) p.write_pj_per_byte = l.cost.write_pj_per_byte.value_or(p.read_pj_per_byte);
    t.parts.push_back(std::move(p));
  }
  for (const MatrixUnit& u : machine.matrix_units) {
    PartCost p;
    p.part = u.name;
    p.instances = machine.grid.cores() * u.count;
    double area = 0, energy = 0;
    std::string source;
    for (const MatrixType& type : u.types) {  // the largest type sizes the cells; the first is the nominal one
      area = std::max(area, mac_area(type.operand, type.accumulator, node).value);
      if (!source.empty()) continue;
      const Cost c = mac_energy(type.operand, type.accumulator, node);
      energy = c.value;
      source = c.source;
    }
    p.op_pj = energy;
    p.area_mm2 = area * static_cast<double>(u.macs_per_cycle());
    p.source = source + "; area: " + mac_area(DType::i8, DType::i32, node).source;
    override_with(p, u.cost);
    t.parts.push_back(std::move(p));
  }
  for (const VectorUnit& u : machine.vector_units) {
    PartCost p;
    p.part = u.name;
    p.instances = machine.grid.cores() * u.count;
    const DType widest = widest_type(u);
    const Cost e = lane_energy("arithmetic", widest, node), a = lane_area(widest, node);
    p.op_pj = e.value;
    p.area_mm2 = a.value * static_cast<double>(u.lanes);
    p.source = fmt::format("{} lane: {}; area: {}", name(widest), e.source, a.source);
    override_with(p, u.cost);
    t.parts.push_back(std::move(p));
  }
  std::vector<std::string> off_chip;
  for (const Memory& m : machine.memories)
    if (m.kind == MemoryKind::dram) off_chip.push_back(m.name);
  for (const PartCost& p : t.parts)
    if (std::find(off_chip.begin(), off_chip.end(), p.part) == off_chip.end())
      t.area_mm2 += p.area_mm2 * static_cast<double>(p.instances);
  t.notes.push_back(
      "not covered: control cores, instruction fetch, clock tree, I/O pads and PHYs, wires and routers' area, "
      "DRAM background power, leakage of logic");
  t.notes.push_back("the supply voltage is not used: figures are at each source's nominal voltage");
  for (const MatrixUnit& u : machine.matrix_units)
    if (u.gate_zero)
      t.notes.push_back("zero gating of '" + u.name + "' is not credited: how many operands are zero is not known");
  return t;
}

}  // namespace assay
