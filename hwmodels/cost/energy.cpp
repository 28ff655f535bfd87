#include "hwmodels/energy.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/check.h"
#include "hwmodels/cost/library.h"
#include "hwmodels/cost/parts.h"
#include "hwmodels/timing/path.h"

namespace assay {
namespace {

// Operand and accumulator type of the first contraction of each (group, matrix unit).
using TypeTable = std::map<std::pair<std::int64_t, std::uint32_t>, std::pair<DType, DType>>;
void collect_types(const Program& program, const std::vector<Stmt>& body, TypeTable& types) {
  for (const Stmt& s : body) {
    if (const auto* l = std::get_if<Loop>(&s.node)) {
      collect_types(program, l->body, types);
    } else if (const auto* c = std::get_if<Command>(&s.node)) {
      if (c->opcode == Opcode::contract && !c->in.empty())
        types.try_emplace({c->trail, program.engines.at(c->engine.index()).part}, c->in[0].type, c->accumulator);
    }
  }
}

class Ledger {
 public:
  Ledger(const Machine& machine, const CostTable& costs, const Program& program)
      : machine_(machine), program_(program), node_(node_of(machine)) {
    for (const PartCost& p : costs.parts) parts_[p.part] = &p;
    collect_types(program, program.body, types_);
  }

  void group(std::int64_t g, const GroupActivity& a) {
    for (const auto& [memory, access] : by_memory(a, program_)) {
      const PartCost& p = part(machine_.memories.at(memory).name);
      add(p.part, "read", g, static_cast<double>(access.read_bytes), p.read_pj_per_byte);
      add(p.part, "write", g, static_cast<double>(access.write_bytes), p.write_pj_per_byte);
    }
    for (const auto& [link, bytes] : a.link_bytes) {
      const Link& l = machine_.links.at(link);
      const PartCost& p = part(l.name);
      // A multicast drives the trunk once and every receiver's branch: counted as delivered bytes.
      const auto at = a.link_bytes_delivered.find(link);
      const std::int64_t delivered = at == a.link_bytes_delivered.end() ? bytes : at->second;
      add(p.part, "move", g, static_cast<double>(std::max(bytes, delivered)),
          p.read_pj_per_byte * average_hops(l, machine_.grid));
    }
    for (const auto& [unit, n] : a.macs) {
      const MatrixUnit& u = machine_.matrix_units.at(unit);
      const PartCost& p = part(u.name);
      double each = p.op_pj;
      const auto at = types_.find({g, unit});
      if (!u.cost.op_pj && at != types_.end()) each = mac_energy(at->second.first, at->second.second, node_).value;
      add(p.part, "mac", g, static_cast<double>(n), each);
    }
    for (const auto& [unit, classes] : a.lane_ops) {
      const VectorUnit& u = machine_.vector_units.at(unit);
      const PartCost& p = part(u.name);
      const DType type = widest_type(u);
      const double arithmetic = lane_energy("arithmetic", type, node_).value;
      for (const auto& [op_class, n] : classes)  // an override states `arithmetic`; the others keep their proportion
        add(p.part, op_class, g, static_cast<double>(n),
            p.op_pj * lane_energy(op_class, type, node_).value / arithmetic);
    }
    if (a.host_bytes > 0) {
      for (const Link& l : machine_.links)
        if (l.kind == LinkKind::host) {
          add(l.name, "move", g, static_cast<double>(a.host_bytes), part(l.name).read_pj_per_byte);
          break;
        }
    }
  }

  void whole(double seconds, double static_w, const CostTable& costs) {
    // mW · s = 10⁹ pJ
    for (const PartCost& p : costs.parts)
      add(p.part, "leakage", -1, seconds * static_cast<double>(p.instances), p.leakage_mw * 1e9);
    add("board", "static", -1, seconds, static_w * 1e12);
  }

  std::vector<EnergyTerm> terms;

 private:
  const PartCost& part(const std::string& name) const {
    const auto at = parts_.find(name);
    ASSAY_CHECK(at != parts_.end(), "no cost for part '" + name + "'");
    return *at->second;
  }
  void add(const std::string& part, const std::string& action, std::int64_t group, double count, double each) {
    if (count == 0 || (each == 0 && group < 0)) return;
    terms.push_back({part, action, group, count, each});
  }

  const Machine& machine_;
  const Program& program_;
  double node_;
  std::map<std::string, const PartCost*> parts_;
  TypeTable types_;
};

}  // namespace

EnergyResult energy_of(const Machine& machine, const CostTable& costs, const Program& program, const Activity& activity,
                       double seconds, const std::vector<double>& group_seconds) {
  Ledger ledger(machine, costs, program);
  for (std::size_t g = 0; g < activity.groups.size(); ++g)
    ledger.group(static_cast<std::int64_t>(g), activity.groups[g]);
  ledger.whole(seconds, machine.static_power_w, costs);
  EnergyResult r;
  r.terms = std::move(ledger.terms);
  std::vector<double> group_pj(activity.groups.size(), 0.0);
  double background = 0;  // leakage and static: spent at every moment
  for (const EnergyTerm& t : r.terms) {
    r.total_pj += t.pj();
    (t.group >= 0 ? group_pj[static_cast<std::size_t>(t.group)] : background) += t.pj();
  }
  if (seconds <= 0) return r;
  r.average_w = r.total_pj * 1e-12 / seconds;
  r.peak_w = r.average_w;
  for (std::size_t g = 0; g < group_pj.size() && g < group_seconds.size(); ++g)
    if (group_seconds[g] > 0)
      r.peak_w = std::max(r.peak_w, group_pj[g] * 1e-12 / group_seconds[g] + background * 1e-12 / seconds);
  return r;
}

}  // namespace assay
