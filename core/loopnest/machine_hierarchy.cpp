#include "core/loopnest/machine_hierarchy.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/math.h"

namespace assay {
namespace {

const MatrixUnit& find_unit_named(const Machine& m, const std::string& name) {
  if (m.matrix_units.empty())
    throw InputError(m.name, "the machine has no matrix unit, so there are no MACs to put below its memories");
  if (name.empty()) return m.matrix_units.front();
  std::vector<std::string> names;
  for (const MatrixUnit& u : m.matrix_units) {
    if (u.name == name) return u;
    names.push_back(u.name);
  }
  throw InputError(Diagnostic{
      {}, m.name, fmt::format("there is no matrix unit '{}'", name), nearest_name(name, names).value_or("")});
}

/// MACs of one core in one cycle, x along a row of the array.
MeshExtent macs_of(const MatrixUnit& u) {
  if (u.style != ArrayStyle::intrinsic) return {checked_mul(u.cols, u.count), u.rows};
  if (checked_mul(u.m, u.k) % u.every != 0)
    throw InputError(u.name, fmt::format("an intrinsic of m {} x k {} every {} cycles is no whole number of MACs per "
                                         "cycle: write the hierarchy by hand",
                                         u.m, u.k, u.every));
  return {checked_mul(u.n, u.count), u.m * u.k / u.every};
}

class LevelMaker {
 public:
  LevelMaker(const Machine& m, const std::map<std::string, PartEnergies>& energies, const MatrixUnit& u)
      : m_(m), energies_(energies), unit_(u), core_{m.grid.cols, m.grid.rows} {
    const MeshExtent macs = macs_of(u);
    macs_ = {checked_mul(core_.x, macs.x), checked_mul(core_.y, macs.y)};
    word_bits_ = u.types.empty() ? 8 : bits(u.types.front().operand);
  }

  MachineLevels run() {
    Hierarchy& h = out_.hierarchy;
    h.name = m_.name;
    h.compute = macs_;
    h.mac_energy = energy(unit_.name).op_pj;
    std::vector<HierarchyLevel> outside_in;
    outside_in.push_back(level(m_.memory(m_.dram()), {1, 1}));
    for (const Memory& mem : m_.memories) {
      if (mem.name == m_.memory(m_.dram()).name) continue;
      if (mem.kind == MemoryKind::dram || mem.kind == MemoryKind::cache)
        out_.notes.push_back(fmt::format("'{}' ({}) is no level", mem.name,
                                         mem.kind == MemoryKind::dram ? "a further DRAM" : "a cache"));
    }
    const auto is_level = [](const Memory& mem) {
      return mem.kind != MemoryKind::dram && mem.kind != MemoryKind::cache;
    };
    for (const Memory& mem : m_.memories)
      if (is_level(mem) && mem.scope == Scope::chip) outside_in.push_back(level(mem, {1, 1}));
    const std::size_t chip = outside_in.size() - 1;
    for (const bool accumulators : {false, true}) {
      for (const Memory& mem : m_.memories) {
        const bool accumulator = mem.kind == MemoryKind::accumulator;
        if (is_level(mem) && mem.scope == Scope::core && accumulator == accumulators)
          outside_in.push_back(level(mem, core_));
      }
    }
    const std::size_t core = outside_in.size() - 1;
    for (const MemoryId id : unit_.pe_memories) outside_in.push_back(level(m_.memory(id), macs_));
    networks(outside_in, chip, core);
    if (outside_in[0].capacity)  // the outermost level holds every tensor
      outside_in[0].capacity.reset();
    std::reverse(outside_in.begin(), outside_in.end());
    h.levels = std::move(outside_in);
    check(h);
    return std::move(out_);
  }

 private:
  PartEnergies energy(const std::string& part) const {
    const auto it = energies_.find(part);
    return it != energies_.end() ? it->second : PartEnergies{};
  }

  HierarchyLevel level(const Memory& mem, MeshExtent mesh) const {
    HierarchyLevel l;
    l.name = mem.name;
    l.mesh = mesh;
    l.word_bits = mem.dtype ? bits(*mem.dtype) : word_bits_;
    l.capacity = checked_mul(mem.capacity, 8) / l.word_bits;
    l.block_words = std::max<std::int64_t>(1, mem.word_bytes * 8 / l.word_bits);
    const PartEnergies e = energy(mem.name);
    const double access_bytes = static_cast<double>(l.block_words * l.word_bits) / 8;
    l.read_energy = e.read_pj_per_byte * access_bytes;
    l.write_energy = e.write_pj_per_byte * access_bytes;
    const auto words = [&](std::int64_t bytes_per_s) {
      return static_cast<double>(bytes_per_s) / static_cast<double>(m_.clocks[0].hz) * 8 /
             static_cast<double>(l.word_bits);
    };
    if (mem.shared_ports) {
      l.shared_rate = words(mem.read_bandwidth);
    } else {
      l.read_rate = words(mem.read_bandwidth);
      l.write_rate = words(mem.write_bandwidth);
    }
    if (mem.kind != MemoryKind::dram) {
      const bool sums_only = mem.kind == MemoryKind::accumulator && mem.holds.empty();
      l.may_hold_input = mem.may_hold(Role::input) && !sums_only;
      l.may_hold_weight = mem.may_hold(Role::weight) && !sums_only;
      l.may_hold_output = mem.may_hold(Role::output);
    }
    l.adds_in_place = mem.kind != MemoryKind::dram;
    return l;
  }

  bool of_array(const Link& l) const {
    const auto in_pe = [this](MemoryId id) { return m_.memory(id).scope == Scope::pe; };
    return std::any_of(l.near.begin(), l.near.end(), in_pe) || std::any_of(l.far.begin(), l.far.end(), in_pe);
  }

  /// What delivers below the innermost level of the chip, and below that of a core.
  void networks(std::vector<HierarchyLevel>& levels, std::size_t chip, std::size_t core) {
    for (HierarchyLevel& l : levels) l.network = {.multicast = true, .reduction = true, .neighbour_links = false};
    if (m_.grid.cores() > 1) {
      levels[chip].network = carried(false, levels[chip].word_bits);
      const bool chain = std::any_of(m_.links.begin(), m_.links.end(),
                                     [this](const Link& l) { return l.kind == LinkKind::chain && !of_array(l); });
      levels[chip].network.reduction = chain;
    }
    if (unit_.style == ArrayStyle::pe_array) {
      levels[core].network = carried(true, levels[core].word_bits);
      levels[core].network.multicast = unit_.multicast == "any";
    }
    if (chip == core && m_.grid.cores() > 1)
      out_.notes.push_back("the cores have no memory of their own: their grid and their arrays are one fan-out");
    for (const Link& l : m_.links) {
      if (l.kind == LinkKind::dma || l.kind == LinkKind::noc || l.kind == LinkKind::bus) {
        out_.notes.push_back("rates of links are no limits here: cycles are those of memories and MACs");
        break;
      }
    }
    if (!unit_.pe_memories.empty()) return;
    out_.notes.push_back(fmt::format("what '{}' keeps in its own registers is no level", unit_.name));
  }

  LevelNetwork carried(bool array, std::int64_t bits_of_word) const {
    LevelNetwork n;
    n.multicast = false;
    for (const Link& l : m_.links) {
      if (l.kind == LinkKind::host || of_array(l) != array) continue;
      n.multicast = n.multicast || l.multicast;
      if (l.kind == LinkKind::bus || l.kind == LinkKind::noc)
        n.energy_per_word =
            std::max(n.energy_per_word, energy(l.name).read_pj_per_byte * static_cast<double>(bits_of_word) / 8);
    }
    return n;
  }

  const Machine& m_;
  const std::map<std::string, PartEnergies>& energies_;
  const MatrixUnit& unit_;
  MeshExtent core_, macs_;
  std::int64_t word_bits_ = 8;
  MachineLevels out_;
};

}  // namespace

MachineLevels machine_levels(const Machine& m, const std::map<std::string, PartEnergies>& energies,
                             const std::string& unit) {
  return LevelMaker(m, energies, find_unit_named(m, unit)).run();
}

}  // namespace assay
