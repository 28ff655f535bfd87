#include "core/spec/check_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/spec/key_path.h"

namespace assay {
namespace {

constexpr std::array kRoleNames{"inputs", "weights", "outputs"};

class MachineCheck {
 public:
  MachineCheck(const Machine& m, const std::function<void(const std::string&, const std::string&)>& report)
      : m_(m), report_(report) {}

  void run() {
    if (m_.matrix_units.empty() && m_.vector_units.empty()) {
      report_("", "the machine has no compute unit; expected a matrix or vector unit, or an array");
      return;  // what else is missing follows from it
    }
    if (!one_dram()) return;
    totals();
    for (const Link& l : m_.links) link_ends(l);
    for (const HostUnit& h : m_.hosts) host(h);
    caches();
    for (const MatrixUnit& u : m_.matrix_units) unit_memories(u);
    for (const VectorUnit& u : m_.vector_units) unit_memories(u);
    find_reachable();
    for (std::size_t i = 0; i < m_.memories.size(); ++i) reachable(MemoryId(i));
    if (!m_.matrix_units.empty()) roles();
    for (const MatrixUnit& u : m_.matrix_units) matrix_places(u);
  }

 private:
  template <class Part>
  void at(const Part& part, const std::string& field, const std::string& message) {
    report_(key_path(m_, part) + (field.empty() ? "" : "." + field), message);
  }

  bool one_dram() {
    std::vector<std::string> names;
    for (const Memory& mem : m_.memories) {
      if (mem.kind == MemoryKind::dram) names.push_back(mem.name);
    }
    if (names.empty()) report_("memories", "the machine has no memory of kind dram; expected one");
    if (names.size() > 1) {
      report_("memories", fmt::format("several memories of kind dram ({}) are not supported; expected one with their "
                                      "capacity and bandwidth together",
                                      fmt::join(names, ", ")));
    }
    return names.size() == 1;
  }

  std::int64_t instances(Scope scope) const { return scope == Scope::chip ? 1 : m_.grid.cores(); }

  void totals() {
    constexpr double kMostBytes = 0x1p60, kMostMacs = 0x1p40;
    for (const Memory& mem : m_.memories) {
      double all = static_cast<double>(mem.capacity) * static_cast<double>(instances(mem.scope));
      for (const MatrixUnit& u : m_.matrix_units) {
        if (std::any_of(u.pe_memories.begin(), u.pe_memories.end(),
                        [&](MemoryId id) { return &m_.memory(id) == &mem; })) {
          all *= static_cast<double>(u.rows) * static_cast<double>(u.cols) * u.count;
        }
      }
      if (all > kMostBytes)
        at(mem, "capacity", fmt::format("all instances together hold {:.3g} B; expected at most 2^60", all));
    }
    for (const MatrixUnit& u : m_.matrix_units) {
      const double all = static_cast<double>(u.macs_per_cycle()) * u.count * static_cast<double>(m_.grid.cores());
      if (all > kMostMacs)
        at(u, "", fmt::format("all instances together do {:.3g} MACs a cycle; expected at most 2^40", all));
    }
  }

  void link_ends(const Link& l) {
    for (const LinkId id : l.via) {
      const Link& carrier = m_.link(id);
      if (carrier.kind != LinkKind::noc && carrier.kind != LinkKind::bus) {
        at(l, "via", fmt::format("'{}' is no carrier; expected links of kind noc or bus", carrier.name));
      }
    }
    if (l.kind != LinkKind::dma) return;
    for (const auto& [field, ends] : {std::pair{"far", &l.far}, std::pair{"near", &l.near}}) {
      for (const MemoryId id : *ends) {
        const Memory& mem = m_.memory(id);
        if (mem.scope == Scope::pe) {
          at(l, field, fmt::format("'{}' is a register file; its array fills it, not a dma", mem.name));
        } else if (mem.kind == MemoryKind::cache) {
          at(l, field, fmt::format("'{}' is a cache; name the memory behind it", mem.name));
        } else if (l.scope == Scope::chip && mem.scope == Scope::core) {
          at(l, field, fmt::format("'{}' belongs to a core; put the dma into the grid's links", mem.name));
        }
      }
    }
  }

  void host(const HostUnit& h) {
    for (const Link& l : m_.links) {
      if (l.name == h.link && l.kind != LinkKind::host) {
        at(h, "link", fmt::format("'{}' is not a host link; expected a link of kind host", l.name));
      }
    }
  }

  void caches() {
    for (const Memory& mem : m_.memories) {
      if (mem.kind != MemoryKind::cache) continue;
      const auto behind = m_.find_memory(mem.backs);
      if (behind && (m_.memory(*behind).scope == Scope::pe || m_.memory(*behind).kind == MemoryKind::cache)) {
        at(mem, "backs", fmt::format("'{}' can't stand behind a cache; expected DRAM or a scratchpad", mem.backs));
      }
    }
  }

  template <class Unit>
  void unit_memories(const Unit& u) {
    for (const auto& [field, list] : {std::pair{"reads", &u.reads}, std::pair{"writes", &u.writes}}) {
      for (const MemoryId id : *list) {
        const Memory& mem = m_.memory(id);
        if (mem.scope != Scope::core || mem.kind == MemoryKind::cache) {
          at(u, field,
             fmt::format("'{}' is not a memory of the core; a dma has to bring the data there first", mem.name));
        }
      }
    }
  }

  static bool in(const std::vector<MemoryId>& list, MemoryId id) {
    return std::find(list.begin(), list.end(), id) != list.end();
  }

  /// Over dma links in both directions: loading is far → near, storing near → far.
  void find_reachable() {
    reached_.assign(m_.memories.size(), false);
    std::vector<MemoryId> work{m_.dram()};
    reached_[m_.dram().index()] = true;
    while (!work.empty()) {
      const MemoryId here = work.back();
      work.pop_back();
      for (const Link& l : m_.links) {
        if (l.kind != LinkKind::dma) continue;
        for (const auto& [from, to] : {std::pair{&l.far, &l.near}, std::pair{&l.near, &l.far}}) {
          if (!in(*from, here)) continue;
          for (const MemoryId next : *to) {
            if (!reached_[next.index()]) {
              reached_[next.index()] = true;
              work.push_back(next);
            }
          }
        }
      }
    }
  }

  bool vector_reads(MemoryId id) const {
    return std::any_of(m_.vector_units.begin(), m_.vector_units.end(),
                       [id](const VectorUnit& u) { return u.reads.empty() || in(u.reads, id); });
  }

  void reachable(MemoryId id) {
    const Memory& mem = m_.memory(id);
    if (reached_[id.index()] || mem.scope == Scope::pe || mem.kind == MemoryKind::cache) return;
    if (mem.kind == MemoryKind::accumulator) {
      if (!vector_reads(id))
        at(mem, "", "nothing empties this accumulator: no dma reaches it and no vector unit reads it");
      return;
    }
    at(mem, "", "no dma link leads here from DRAM; expected a chain of dma links with this memory in `near`");
  }

  void roles() {
    for (const Role r : {Role::input, Role::weight, Role::output}) {
      // A scratchpad that no dma reaches counts here: reachable() has said what is wrong with it.
      const bool held = std::any_of(m_.memories.begin(), m_.memories.end(), [&](const Memory& mem) {
        return is_core(mem, MemoryKind::scratchpad) && mem.may_hold(r);
      });
      if (!held) {
        report_("memories", fmt::format("no scratchpad of the core holds {}; expected one with that role in `holds` "
                                        "and a dma to it",
                                        kRoleNames.at(static_cast<std::size_t>(r))));
      }
    }
  }

  bool is_core(const Memory& mem, MemoryKind kind) const { return mem.scope == Scope::core && mem.kind == kind; }

  void matrix_places(const MatrixUnit& u) {
    for (const Role r : {Role::input, Role::weight}) {
      if (u.reads.empty()) break;  // roles() says it for the core
      if (std::none_of(u.reads.begin(), u.reads.end(), [&](MemoryId id) { return m_.memory(id).may_hold(r); })) {
        at(u, "reads", fmt::format("none of these memories holds {}", kRoleNames.at(static_cast<std::size_t>(r))));
      }
    }
    const bool accumulates = std::any_of(m_.memories.begin(), m_.memories.end(),
                                         [&](const Memory& mem) { return is_core(mem, MemoryKind::accumulator); });
    const MemoryKind kind = accumulates ? MemoryKind::accumulator : MemoryKind::scratchpad;
    std::vector<const Memory*> places;
    for (std::size_t i = 0; i < m_.memories.size(); ++i) {
      const Memory& mem = m_.memories[i];
      if (!is_core(mem, kind) || !mem.may_hold(Role::output)) continue;
      if (u.writes.empty() || in(u.writes, MemoryId(i))) places.push_back(&mem);
    }
    if (places.empty()) {
      at(u, u.writes.empty() ? "" : "writes",
         fmt::format("no place for partial sums; expected {} among the memories it writes",
                     accumulates ? "one of the core's accumulators" : "a scratchpad that holds outputs"));
      return;
    }
    for (const MatrixType& t : u.types) {
      const bool stored = std::any_of(places.begin(), places.end(),
                                      [&t](const Memory* mem) { return !mem->dtype || *mem->dtype == t.accumulator; });
      if (!stored) {
        at(u, "dtypes",
           fmt::format("accumulates {} in {}, but '{}' stores {}", name(t.operand), name(t.accumulator),
                       places.front()->name, name(*places.front()->dtype)));
      }
    }
  }

  const Machine& m_;
  const std::function<void(const std::string&, const std::string&)>& report_;
  std::vector<bool> reached_;
};

}  // namespace

void check_machine(const Machine& m, const std::function<void(const std::string&, const std::string&)>& report) {
  MachineCheck(m, report).run();
}

}  // namespace assay
