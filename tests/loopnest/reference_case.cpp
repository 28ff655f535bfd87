#include "tests/loopnest/reference_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "core/base/math.h"

namespace assay {
namespace {

using nlohmann::json;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

Einsum read_problem(const json& p) {
  Einsum e;
  const json& shape = p.at("shape");
  e.name = shape.at("name");
  for (const auto& d : shape.at("dims")) e.dims.push_back({d, p.at("dims").at(d.get<std::string>())});
  std::map<std::string, std::int64_t> coefficients;
  for (const auto* from : {&shape, &p}) {
    if (!from->contains("coeffs")) continue;
    for (const auto& [name, value] : from->at("coeffs").items()) coefficients[name] = value;
  }
  const auto read = [&](const std::string& name, const json& t) {
    EinsumTensor tensor{name, t.at("rw"), {}};
    for (const auto& axis : t.at("proj")) {
      std::vector<EinsumTerm> terms;
      for (const auto& term : axis) {
        const bool plain = term.is_string();
        terms.push_back({e.find_dim(plain ? term.get<std::string>() : term.at(0).get<std::string>()),
                         plain ? 1 : coefficients.at(term.at(1))});
      }
      tensor.axes.push_back(terms);
    }
    e.tensors.push_back(tensor);
  };
  for (const bool output : {false, true}) {
    for (const auto& [name, t] : shape.at("tensors").items()) {
      if (t.at("rw") == output) read(name, t);
    }
  }
  return e;
}

MeshExtent read_mesh(const json& l) {
  const std::int64_t x = l.at("meshX"), n = l.at("instances");
  return {x, n / x};
}

Hierarchy read_machine(const json& a) {
  Hierarchy h;
  for (const auto& l : a.at("levels")) {
    HierarchyLevel level;
    level.name = l.at("name");
    if (!l.at("capacity_words").is_null()) level.capacity = l.at("capacity_words");
    level.mesh = read_mesh(l);
    level.word_bits = l.at("word_bits");
    level.block_words = l.value("block_size", 1);
    level.read_energy = level.write_energy = l.at("vector_access_energy_pj");
    level.read_rate = l.value("read_bw", 0.0);
    level.write_rate = l.value("write_bw", 0.0);
    level.shared_rate = l.value("shared_bw", 0.0);
    level.reserved = l.value("multiple_buffering", 1.0);
    level.adds_in_place = l.value("technology", "") != "DRAM";
    level.network.neighbour_links = true;
    h.levels.push_back(level);
  }
  h.compute = read_mesh(a.at("compute"));
  h.mac_energy = a.at("compute").at("energy_pj");
  return h;
}

int find_level(const Hierarchy& h, const std::string& name) {
  for (std::size_t i = 0; i < h.levels.size(); ++i) {
    if (h.levels[i].name == name) return static_cast<int>(i);
  }
  throw std::runtime_error("no level " + name);
}

LoopNest read_mapping(const json& m, const Einsum& e, const Hierarchy& h) {
  LoopNest nest;
  std::vector<LoopNode*> loops;
  for (const auto& l : m) {
    const int level = find_level(h, l.at("level"));
    StorageNode s{level, {}};
    for (const auto& t : l.at("keep")) s.tensors.push_back(e.find_tensor(t.get<std::string>()));
    nest.nodes.emplace_back(s);
    for (const auto& t : l.at("temporal"))
      nest.nodes.emplace_back(
          LoopNode{e.find_dim(t.at("dim").get<std::string>()), t.at("factor"), LoopKind::temporal, 0});
    if (l.contains("spatial") && !l.at("spatial").is_null()) {
      for (const auto& t : l.at("spatial"))
        nest.nodes.emplace_back(LoopNode{e.find_dim(t.at("dim").get<std::string>()), t.at("factor"),
                                         t.at("axis") == "X" ? LoopKind::spatial_x : LoopKind::spatial_y, level});
    }
    NetworkLimit limit{level, {}, {}};
    for (const auto& [key, list] :
         {std::pair{"no_multicast", &limit.unicast}, std::pair{"no_link_transfer", &limit.unlinked}}) {
      if (!l.contains(key)) continue;
      for (const auto& t : l.at(key)) list->push_back(e.find_tensor(t.get<std::string>()));
    }
    if (limit != NetworkLimit{level, {}, {}}) nest.networks.push_back(limit);
  }
  // Factors, read into `tile`, become tiles: the product of the factors inside, within what is outside.
  std::vector<std::int64_t> inside(e.dims.size(), 1);
  for (std::size_t i = nest.nodes.size(); i-- > 0;) {
    auto* l = std::get_if<LoopNode>(&nest.nodes[i]);
    if (l == nullptr) continue;
    const std::int64_t factor = l->tile;
    l->tile = inside[at(l->dim)];
    inside[at(l->dim)] *= factor;
  }
  std::vector<std::int64_t> extent;
  for (const EinsumDim& d : e.dims) extent.push_back(d.extent);
  for (NestNode& node : nest.nodes) {
    auto* l = std::get_if<LoopNode>(&node);
    if (l == nullptr) continue;
    l->tile = std::min(l->tile, extent[at(l->dim)]);
    extent[at(l->dim)] = l->tile;
  }
  return nest;
}

CountingConvention read_switches(const json& env) {
  CountingConvention c = timeloop_convention();
  for (const auto& [name, value] : env.items()) {
    if (name == "TIMELOOP_ENABLE_FIRST_READ_ELISION") {
      c.first_read_elision = value != "0";
    } else if (name == "TIMELOOP_ENABLE_UPDATED_RMW") {
      c.reduce_in_place = value != "0";
    } else if (name == "TIMELOOP_DISABLE_LINK_TRANSFERS") {
      c.neighbour_links = value == "0";
    } else if (name == "TIMELOOP_DISABLE_TEMPORAL_EXTRAPOLATION") {
      c.every_iteration = value != "0";
    } else {
      throw std::runtime_error("unknown switch " + name);
    }
  }
  return c;
}

void read_result(const json& r, ReferenceCase& c) {
  c.compute_cycles = r.at("compute").at("cycles");
  c.mac_energy = r.at("compute").at("energy_pj");
  c.cycles = r.at("cycles");
  c.utilisation = r.at("utilization");
  c.energy = r.at("energy_pj");
  for (std::size_t i = 0; i < c.machine.levels.size(); ++i) {
    const json& l = r.at("levels").at(i);
    c.level_cycles.push_back(l.at("cycles"));
    c.level_slowdown.push_back(l.at("slowdown"));
    c.level_energy.push_back(l.at("energy_pj_total"));
    for (const auto& [name, t] : l.at("tensors").items())
      c.counts.push_back({static_cast<int>(i), c.einsum.find_tensor(name), t.at("tile_words"), t.at("partition_words"),
                          t.at("utilized_instances"), t.at("reads"), t.at("fills"), t.at("updates"),
                          t.at("temporal_reductions"), t.at("energy_pj_total")});
  }
  for (const json& n : r.at("networks")) {
    const std::string name = n.at("network");
    const std::string ends[2] = {name.substr(0, name.find(" <==> ")), name.substr(name.find(" <==> ") + 6)};
    int below = -1;  // the outer of the two ends
    for (std::size_t i = 0; i < c.machine.levels.size(); ++i) {
      if (c.machine.levels[i].name == ends[0] || c.machine.levels[i].name == ends[1]) below = static_cast<int>(i);
    }
    for (const auto& [tensor, t] : n.at("tensors").items()) {
      ReferenceNetwork network{
          below, c.einsum.find_tensor(tensor), {}, t.at("link_transfers"), t.at("spatial_reductions")};
      for (const auto& s : t.at("parent_accesses_by_signature"))
        network.signatures.push_back(
            {s.at("multicast"), s.at("scatter"), std::llround(s.at("accesses").get<double>())});
      std::sort(network.signatures.begin(), network.signatures.end(), [](const auto& a, const auto& b) {
        return std::pair{a.multicast, a.scatter} < std::pair{b.multicast, b.scatter};
      });
      c.networks.push_back(std::move(network));
    }
  }
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max({std::abs(a), std::abs(b), 1.0}); }

std::string print_signatures(const std::vector<NetworkSignature>& s) {
  std::string out;
  for (const NetworkSignature& x : s) out += fmt::format("({},{}):{} ", x.multicast, x.scatter, x.accesses);
  return out;
}

}  // namespace

ReferenceCase parse_reference_case(const std::string& text) {
  const json j = json::parse(text);
  ReferenceCase c;
  c.name = j.at("name");
  c.einsum = read_problem(j.at("problem"));
  c.machine = read_machine(j.at("arch"));
  c.nest = read_mapping(j.at("mapping"), c.einsum, c.machine);
  c.convention = read_switches(j.value("env", json::object()));
  c.macs = j.value("true_macs", c.einsum.macs());
  c.macs_exact = j.value("tool_mac_count_exact", true);
  if (j.contains("result")) read_result(j.at("result"), c);
  return c;
}

std::vector<ReferenceCase> load_reference_cases(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::vector<ReferenceCase> out;
  if (path.ends_with(".jsonl")) {
    for (std::string line; std::getline(in, line);) {
      if (!line.empty()) out.push_back(parse_reference_case(line));
    }
  } else {
    std::stringstream text;
    text << in.rdbuf();
    out.push_back(parse_reference_case(text.str()));
  }
  return out;
}

std::vector<std::string> reference_differences(const ReferenceCase& c) {
  std::vector<std::string> out;
  check(c.machine);
  check(c.nest, c.einsum, c.machine);
  const NestCost cost = count_accesses(c.nest, c.einsum, c.machine, c.convention);
  const auto same = [&](const std::string& what, double got, double want) {
    if (!close(got, want)) out.push_back(fmt::format("{}: {}: {} instead of {}", c.name, what, got, want));
  };
  same("macs", static_cast<double>(cost.macs), static_cast<double>(c.macs));
  if (!c.macs_exact) return out;
  for (const std::string& limit : exceeded_limits(c.nest, c.einsum, c.machine)) out.push_back(c.name + ": " + limit);
  same("compute cycles", cost.compute_cycles, c.compute_cycles);
  same("cycles", cost.cycles, c.cycles);
  same("utilisation", cost.utilisation, c.utilisation);
  same("MAC energy", cost.mac_energy, c.mac_energy);
  same("energy", cost.energy, c.energy);
  for (std::size_t i = 0; i < cost.levels.size(); ++i) {
    const std::string& level = c.machine.levels[i].name;
    const double cycles = std::max(cost.compute_cycles, cost.levels[i].cycles);
    same(level + " cycles", cycles, c.level_cycles[i]);
    if (std::abs(cost.compute_cycles / cycles - c.level_slowdown[i]) > 1e-3)
      out.push_back(c.name + ": slowdown of " + level);
    same(level + " energy", cost.levels[i].energy, c.level_energy[i]);
  }
  for (const ReferenceCounts& r : c.counts) {
    const TensorCounts& n = cost.levels[at(r.level)].tensors[at(r.tensor)];
    const std::string where = c.machine.levels[at(r.level)].name + " " + c.einsum.tensors[at(r.tensor)].name + " ";
    for (const auto& [what, got, want] :
         {std::tuple{"tile", n.tile, r.tile}, std::tuple{"partition", n.partition, r.partition},
          std::tuple{"instances", n.instances, r.instances}, std::tuple{"reads", n.reads, r.reads},
          std::tuple{"fills", n.fills, r.fills}, std::tuple{"updates", n.updates, r.updates},
          std::tuple{"temporal reductions", n.temporal_reductions, r.temporal_reductions}}) {
      if (got != want) out.push_back(fmt::format("{}: {}{}: {} instead of {}", c.name, where, what, got, want));
    }
    same(where + "energy", n.energy, r.energy);
  }
  for (const ReferenceNetwork& r : c.networks) {
    const TensorCounts& n = cost.levels[at(r.below)].tensors[at(r.tensor)];
    const std::string where = "below " + c.machine.levels[at(r.below)].name + " " + c.einsum.tensors[at(r.tensor)].name;
    if (n.network != r.signatures)
      out.push_back(fmt::format("{}: {}: {}instead of {}", c.name, where, print_signatures(n.network),
                                print_signatures(r.signatures)));
    if (n.link_transfers != r.links)
      out.push_back(fmt::format("{}: {} links: {} instead of {}", c.name, where, n.link_transfers, r.links));
    if (n.spatial_reductions != r.reductions)
      out.push_back(fmt::format("{}: {} spatial reductions: {} instead of {}", c.name, where, n.spatial_reductions,
                                r.reductions));
  }
  return out;
}

}  // namespace assay
