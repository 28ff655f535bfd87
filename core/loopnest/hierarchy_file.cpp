#include "core/loopnest/hierarchy_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/loopnest/file_fields.h"
#include "core/spec/quantity.h"

namespace assay {
namespace {

const std::vector<std::string> kRoles = {"input", "weight", "output"};

class HierarchyReader {
 public:
  Hierarchy run(const YamlNode& node, const std::string& path) {
    Hierarchy h;
    if (!fields_.map(node, path, {"name", "compute", "levels"})) fields_.throw_if_any();
    if (const YamlNode* n = node.find("name")) h.name = fields_.name(*n, path + ".name").value_or("");
    if (const YamlNode* c = node.find("compute")) compute(*c, path + ".compute", h);
    const YamlNode* levels = node.find("levels");
    if (levels == nullptr) {
      fields_.problem(node.pos, path, "missing key 'levels'");
    } else if (fields_.sequence(*levels, path + ".levels", "levels, outermost first")) {
      for (std::size_t i = 0; i < levels->items.size(); ++i)
        h.levels.push_back(level(levels->items[i], fmt::format("{}.levels[{}]", path, i)));
      std::reverse(h.levels.begin(), h.levels.end());
    }
    fields_.throw_if_any();
    rules(h, node, levels->items);
    return h;
  }

 private:
  /// check() knows levels by name; the file knows where they stand.
  static void rules(const Hierarchy& h, const YamlNode& node, const std::vector<YamlNode>& levels) {
    try {
      check(h);
    } catch (const InputError& e) {
      std::vector<Diagnostic> placed = e.diagnostics();
      for (Diagnostic& d : placed) {
        d.pos = node.pos;
        if (const YamlNode* c = d.path == "compute" ? node.find("compute") : nullptr) d.pos = c->pos;
        for (const YamlNode& l : levels) {
          const YamlNode* name = l.find("name");
          if (name != nullptr && name->text == d.path) d.pos = name->pos;
        }
      }
      throw InputError(std::move(placed));
    }
  }

  void compute(const YamlNode& node, const std::string& path, Hierarchy& h) {
    if (!fields_.map(node, path, {"mesh", "mac_energy"})) return;
    if (const YamlNode* m = node.find("mesh")) h.compute = mesh(*m, path + ".mesh");
    if (const YamlNode* m = node.find("mac_energy")) h.mac_energy = fields_.real(*m, path + ".mac_energy").value_or(0);
  }

  MeshExtent mesh(const YamlNode& node, const std::string& path) {
    if (!node.is_sequence() || node.items.size() != 2) {
      fields_.problem(node.pos, path, fmt::format("expected [x, y], found {}", node.describe()));
      return {};
    }
    return {fields_.whole(node.items[0], path + "[0]", 1).value_or(1),
            fields_.whole(node.items[1], path + "[1]", 1).value_or(1)};
  }

  HierarchyLevel level(const YamlNode& node, const std::string& path) {
    HierarchyLevel l;
    if (!fields_.map(node, path,
                     {"name", "capacity", "mesh", "word_bits", "block_words", "read_energy", "write_energy",
                      "read_rate", "write_rate", "shared_rate", "holds", "reserved", "adds_in_place", "network"}))
      return l;
    const auto real = [&](const char* key, double& to) {
      if (const YamlNode* n = node.find(key)) to = fields_.real(*n, path + "." + key).value_or(to);
    };
    const auto whole = [&](const char* key, std::int64_t& to) {
      if (const YamlNode* n = node.find(key)) to = fields_.whole(*n, path + "." + key, 1).value_or(to);
    };
    if (const YamlNode* n = node.find("name")) {
      l.name = fields_.name(*n, path + ".name").value_or("");
    } else {
      fields_.problem(node.pos, path, "missing key 'name'");
    }
    if (const YamlNode* n = node.find("mesh")) l.mesh = mesh(*n, path + ".mesh");
    whole("word_bits", l.word_bits);
    whole("block_words", l.block_words);
    real("read_energy", l.read_energy);
    real("write_energy", l.write_energy);
    real("read_rate", l.read_rate);
    real("write_rate", l.write_rate);
    real("shared_rate", l.shared_rate);
    real("reserved", l.reserved);
    if (const YamlNode* n = node.find("capacity")) l.capacity = capacity(*n, path + ".capacity", l.word_bits);
    if (const YamlNode* n = node.find("adds_in_place"))
      l.adds_in_place = fields_.flag(*n, path + ".adds_in_place").value_or(true);
    if (const YamlNode* n = node.find("holds")) {
      if (const auto roles = fields_.list_of(*n, path + ".holds", kRoles, "a role")) {
        const auto has = [&roles](int r) { return std::find(roles->begin(), roles->end(), r) != roles->end(); };
        l.may_hold_input = has(0);
        l.may_hold_weight = has(1);
        l.may_hold_output = has(2);
      }
    }
    if (const YamlNode* n = node.find("network")) l.network = network(*n, path + ".network");
    return l;
  }

  LevelNetwork network(const YamlNode& node, const std::string& path) {
    LevelNetwork w;
    if (!fields_.map(node, path, {"multicast", "reduction", "neighbour_links", "energy_per_word"})) return w;
    for (const auto& [key, to] : {std::pair{"multicast", &w.multicast}, std::pair{"reduction", &w.reduction},
                                  std::pair{"neighbour_links", &w.neighbour_links}}) {
      if (const YamlNode* n = node.find(key)) *to = fields_.flag(*n, path + "." + key).value_or(*to);
    }
    if (const YamlNode* n = node.find("energy_per_word"))
      w.energy_per_word = fields_.real(*n, path + ".energy_per_word").value_or(0);
    return w;
  }

  /// Words, or a size that is turned into whole words.
  std::optional<std::int64_t> capacity(const YamlNode& node, const std::string& path, std::int64_t word_bits) {
    try {
      if (node.is_scalar() && !node.quoted && node.text.find(' ') != std::string::npos) {
        const Value v = evaluate_scalar(node.text, false, [](std::string_view name, std::size_t offset) -> Value {
          throw ValueError(fmt::format("unknown parameter '{}'", name), offset);
        });
        const auto* q = std::get_if<Quantity>(&v);
        if (q != nullptr && q->dim == Dimension{.byte = 1} && q->value >= 0 && q->value < 0x1p59L)
          return static_cast<std::int64_t>(std::floor(q->value * 8 / static_cast<Real>(word_bits)));
        fields_.problem(node.pos, path,
                        fmt::format("expected words or a size such as 128 KiB, found {}", node.describe()));
        return std::nullopt;
      }
    } catch (const ValueError& e) {
      fields_.problem(node.pos, path, e.what(), e.suggestion);
      return std::nullopt;
    }
    return fields_.whole(node, path, 0);
  }

  FileFields fields_;
};

std::string flow(const LevelNetwork& w) {
  const LevelNetwork plain;
  std::vector<std::string> out;
  if (w.multicast != plain.multicast) out.push_back("multicast: false");
  if (w.reduction != plain.reduction) out.push_back("reduction: false");
  if (w.neighbour_links != plain.neighbour_links) out.push_back("neighbour_links: true");
  if (w.energy_per_word != plain.energy_per_word) out.push_back(fmt::format("energy_per_word: {}", w.energy_per_word));
  return fmt::format("{{{}}}", fmt::join(out, ", "));
}

}  // namespace

Hierarchy read_hierarchy(const YamlNode& node, const std::string& path) { return HierarchyReader().run(node, path); }

std::string print_hierarchy(const Hierarchy& h, int indent) {
  const std::string in(static_cast<std::size_t>(indent), ' ');
  std::string out;
  if (!h.name.empty()) out += fmt::format("{}name: {}\n", in, h.name);
  out += fmt::format("{}compute: {{mesh: [{}, {}], mac_energy: {}}}\n{}levels:\n", in, h.compute.x, h.compute.y,
                     h.mac_energy, in);
  for (std::size_t i = h.levels.size(); i-- > 0;) {
    const HierarchyLevel& l = h.levels[i];
    const HierarchyLevel plain;
    out += fmt::format("{}  - name: {}\n", in, l.name);
    const auto line = [&](const char* key, const auto& value) { out += fmt::format("{}    {}: {}\n", in, key, value); };
    if (l.capacity) line("capacity", *l.capacity);
    if (l.mesh != plain.mesh) line("mesh", fmt::format("[{}, {}]", l.mesh.x, l.mesh.y));
    if (l.word_bits != plain.word_bits) line("word_bits", l.word_bits);
    if (l.block_words != plain.block_words) line("block_words", l.block_words);
    for (const auto& [key, v] : {std::pair{"read_energy", l.read_energy}, std::pair{"write_energy", l.write_energy},
                                 std::pair{"read_rate", l.read_rate}, std::pair{"write_rate", l.write_rate},
                                 std::pair{"shared_rate", l.shared_rate}}) {
      if (v != 0) line(key, v);
    }
    if (!l.may_hold_input || !l.may_hold_weight || !l.may_hold_output) {
      std::vector<std::string> roles;
      if (l.may_hold_input) roles.push_back(kRoles[0]);
      if (l.may_hold_weight) roles.push_back(kRoles[1]);
      if (l.may_hold_output) roles.push_back(kRoles[2]);
      line("holds", fmt::format("[{}]", fmt::join(roles, ", ")));
    }
    if (l.reserved != plain.reserved) line("reserved", l.reserved);
    if (!l.adds_in_place) line("adds_in_place", false);
    if (l.network != plain.network) line("network", flow(l.network));
  }
  return out;
}

}  // namespace assay
