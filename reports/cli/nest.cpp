#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/loopnest/counting.h"
#include "core/loopnest/loop_nest_text.h"
#include "core/loopnest/machine_hierarchy.h"
#include "core/loopnest/nest_file.h"
#include "hwmodels/energy.h"
#include "reports/cli/support.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

/// What is evaluated.
struct GivenNest {
  Einsum einsum;
  Hierarchy machine;
  LoopNest nest;
  CountingConvention convention;
  std::vector<std::string> notes;
};

std::size_t at(int i) { return static_cast<std::size_t>(i); }

CountingConvention named_convention(const std::string& name) {
  const std::vector<CountingConvention> all = {assay_convention(), timeloop_convention(), accelforge_convention()};
  std::vector<std::string> names;
  for (const CountingConvention& c : all) {
    if (c.name == name) return c;
    names.push_back(c.name);
  }
  throw InputError(Diagnostic{{},
                              "--convention",
                              fmt::format("expected one of {}, found '{}'", fmt::join(names, ", "), name),
                              nearest_name(name, names).value_or("")});
}

MachineLevels machine_of(const MachineArgs& a) {
  const Machine m = load(a);
  std::map<std::string, PartEnergies> energies;
  for (const PartCost& p : cost_table(m).parts) energies[p.part] = {p.read_pj_per_byte, p.write_pj_per_byte, p.op_pj};
  return machine_levels(m, energies);
}

GivenNest given(const NestArgs& a) {
  GivenNest g;
  g.convention = named_convention(a.convention);
  const NestDocument file = NestDocument::load(a.mapping);
  std::map<std::string, std::int64_t> extents;
  if (!a.extents.empty()) extents = parse_extents(a.extents);
  if (a.einsum.empty()) {
    const auto e = file.einsum(extents);
    if (!e) throw InputError(a.mapping, "states no einsum: add one there, or give --einsum");
    g.einsum = *e;
  } else {
    std::map<std::string, std::int64_t> all = file.extents();
    for (const auto& [dim, extent] : extents) all[dim] = extent;
    g.einsum = parse_einsum(a.einsum, all);
  }
  if (auto h = file.hierarchy()) {
    if (!a.machine.machine.empty())
      throw InputError(a.mapping, "has a hierarchy of its own: leave --machine or the hierarchy out");
    g.machine = std::move(*h);
  } else if (!a.machine.machine.empty()) {
    MachineLevels m = machine_of(a.machine);
    g.machine = std::move(m.hierarchy);
    g.notes = std::move(m.notes);
  } else {
    throw InputError(a.mapping, "states no hierarchy: add one there, or give --machine");
  }
  g.nest = file.nest(g.einsum, g.machine);
  return g;
}

struct EnergyPart {
  std::string part, tensor;
  double pj = 0;
};

/// All terms of the energy; their sum is the total.
std::vector<EnergyPart> energy_parts(const GivenNest& g, const NestCost& cost) {
  std::vector<EnergyPart> out;
  for (std::size_t i = cost.levels.size(); i-- > 0;) {
    const std::string& level = g.machine.levels[i].name;
    for (const TensorCounts& n : cost.levels[i].tensors) {
      const std::string& tensor = g.einsum.tensors[at(n.tensor)].name;
      if (n.held) out.push_back({level, tensor, n.energy});
    }
    for (const TensorCounts& n : cost.levels[i].tensors) {
      if (n.network_energy != 0)
        out.push_back({"network below " + level, g.einsum.tensors[at(n.tensor)].name, n.network_energy});
    }
  }
  out.push_back({"MAC", "", cost.mac_energy});
  return out;
}

Json counts_json(const AccessTotals& t) {
  return {{"reads", t.reads},
          {"fills", t.fills},
          {"updates", t.updates},
          {"temporal_reductions", t.temporal_reductions},
          {"link_transfers", t.link_transfers},
          {"spatial_reductions", t.spatial_reductions}};
}

Json json_of(const GivenNest& g, const NestCost& cost) {
  Json j;
  j["schema_version"] = 1;
  j["einsum"] = print_einsum(g.einsum);
  for (const EinsumDim& d : g.einsum.dims) j["extents"][d.name] = d.extent;
  j["hierarchy"] = g.machine.name;
  j["convention"] = g.convention.name;
  j["valid"] = true;
  j["macs"] = cost.macs;
  j["cycles"] = cost.cycles;
  j["compute_cycles"] = cost.compute_cycles;
  j["binding"] = cost.binding < 0 ? "compute" : g.machine.levels[at(cost.binding)].name;
  j["utilisation"] = cost.utilisation;
  j["energy_pj"] = cost.energy;
  j["levels"] = Json::array();
  for (std::size_t i = cost.levels.size(); i-- > 0;) {
    const LevelCounts& level = cost.levels[i];
    Json l{{"level", g.machine.levels[i].name}, {"cycles", level.cycles}, {"limit", level.binding}};
    l["tensors"] = Json::array();
    for (const TensorCounts& n : level.tensors) {
      Json t{{"tensor", g.einsum.tensors[at(n.tensor)].name}, {"held", n.held}, {"instances", n.instances}};
      if (n.held) {
        t["tile_words"] = n.tile;
        t["partition_words"] = n.partition;
      }
      t["per_instance"] =
          counts_json({n.reads, n.fills, n.updates, n.temporal_reductions, n.link_transfers, n.spatial_reductions});
      t["total"] = counts_json(n.total);
      t["network"] = Json::array();
      for (const NetworkSignature& s : n.network) {
        Json w{{"multicast", s.multicast}, {"accesses", s.accesses}};
        if (s.scatter > 0) w["scatter"] = s.scatter;
        t["network"].push_back(std::move(w));
      }
      l["tensors"].push_back(std::move(t));
    }
    j["levels"].push_back(std::move(l));
  }
  j["energy_terms"] = Json::array();
  for (const EnergyPart& p : energy_parts(g, cost)) {
    Json t{{"part", p.part}, {"pj", p.pj}};
    if (!p.tensor.empty()) t["tensor"] = p.tensor;
    j["energy_terms"].push_back(std::move(t));
  }
  j["notes"] = g.notes;
  return j;
}

std::string columns(const std::vector<std::vector<std::string>>& rows, std::size_t left) {
  std::vector<std::size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()), 0);
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c)
      line += c < left ? fmt::format("{:<{}}  ", row[c], width[c]) : fmt::format("{:>{}}  ", row[c], width[c]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string text_of(const GivenNest& g, const NestCost& cost) {
  std::string out = print_einsum(g.einsum) + "  ";
  for (const EinsumDim& d : g.einsum.dims) out += fmt::format(" {}={}", d.name, d.extent);
  out += fmt::format("\nconvention {}\n\n{}\n", g.convention.name, print_loop_nest(g.nest, g.einsum, g.machine));

  std::vector<std::vector<std::string>> counts{
      {"level", "tensor", "instances", "tile", "reads", "fills", "updates", "temporal reductions"}};
  std::vector<std::vector<std::string>> networks{
      {"network below", "tensor", "multicast", "scatter", "accesses", "link transfers", "spatial reductions"}};
  std::vector<std::vector<std::string>> cycles{{"cycles of", "", "limit"}};
  for (std::size_t i = cost.levels.size(); i-- > 0;) {
    const LevelCounts& level = cost.levels[i];
    const std::string& name = g.machine.levels[i].name;
    for (const TensorCounts& n : level.tensors) {
      const std::string& tensor = g.einsum.tensors[at(n.tensor)].name;
      if (n.held)
        counts.push_back({name, tensor, grouped(n.instances), grouped(n.tile), grouped(n.total.reads),
                          grouped(n.total.fills), grouped(n.total.updates), grouped(n.total.temporal_reductions)});
      std::string links = grouped(n.link_transfers), sums = grouped(n.spatial_reductions);
      for (const NetworkSignature& s : n.network) {
        networks.push_back({name, tensor, grouped(s.multicast), s.scatter > 0 ? grouped(s.scatter) : "-",
                            grouped(s.accesses), links, sums});
        links = sums = "";
      }
      if (n.network.empty() && n.link_transfers > 0) networks.push_back({name, tensor, "-", "-", "0", links, sums});
    }
    cycles.push_back({name, fmt::format("{:.0f}", level.cycles), level.binding.empty() ? "none" : level.binding});
  }
  cycles.push_back({"MAC", fmt::format("{:.0f}", cost.compute_cycles), "compute"});
  out += "words, all instances together\n" + columns(counts, 2);
  out += "\nnetworks, of one parent instance\n" + columns(networks, 2);
  out += "\n" + columns(cycles, 1);
  out += fmt::format("{:.0f} cycles, bound by {}; {} MACs, utilisation {:.1f} %\n\n", cost.cycles,
                     cost.binding < 0 ? "compute" : g.machine.levels[at(cost.binding)].name, grouped(cost.macs),
                     100 * cost.utilisation);
  std::vector<std::vector<std::string>> energy{{"energy of", "tensor", "pJ", "share"}};
  for (const EnergyPart& p : energy_parts(g, cost))
    energy.push_back({p.part, p.tensor, fmt::format("{:.6g}", p.pj),
                      cost.energy > 0 ? fmt::format("{:.1f} %", 100 * p.pj / cost.energy) : "-"});
  energy.push_back({"total", "", fmt::format("{:.6g}", cost.energy), ""});
  return out + columns(energy, 2);
}

}  // namespace

int nest_command(const NestArgs& a) {
  const GivenNest g = given(a);
  for (const std::string& n : g.notes) std::fprintf(stderr, "note: %s\n", n.c_str());
  const std::vector<std::string> limits = exceeded_limits(g.nest, g.einsum, g.machine);
  if (!limits.empty()) {
    if (a.json) print_out(Json{{"schema_version", 1}, {"valid", false}, {"limits", limits}}.dump(1) + "\n");
    throw Infeasible(fmt::format("the mapping does not fit:\n    {}", fmt::join(limits, "\n    ")));
  }
  const NestCost cost = count_accesses(g.nest, g.einsum, g.machine, g.convention);
  print_out(a.json ? json_of(g, cost).dump(1) + "\n" : text_of(g, cost));
  return kOk;
}

int map_or_nest_command(const MapArgs& map, const NestArgs& nest) {
  if (nest.mapping.empty()) {
    if (!nest.einsum.empty() || !nest.extents.empty())
      throw InputError("--einsum", "says what --mapping maps, which is not given");
    if (map.machine.machine.empty()) throw InputError("--machine", "is required unless --mapping has a hierarchy");
    if (map.workload.workload.empty())
      throw InputError("--workload", "is required: the layers to map (or --mapping, a mapping to evaluate)");
    return map_command(map);
  }
  const WorkloadArgs& w = map.workload;
  const bool of_workload = !w.workload.empty() || !w.bind.empty() || !w.shape.empty() || !w.param.empty() ||
                           !w.weights.empty() || !w.precision.empty() || w.twin;
  if (of_workload || !map.layer.empty())
    throw InputError("--mapping", "evaluates one einsum: it takes no --layer and no option of a workload");
  NestArgs all = nest;
  all.machine = map.machine;
  all.json = map.json;
  return nest_command(all);
}

}  // namespace assay
