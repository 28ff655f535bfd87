#include "core/loopnest/nest_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "core/base/error.h"
#include "core/loopnest/file_fields.h"
#include "core/loopnest/hierarchy_file.h"
#include "core/loopnest/nest_forms.h"
#include "core/spec/plain_values.h"

namespace assay {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::string names(const std::vector<int>& tensors, const Einsum& e) {
  std::vector<std::string> out;
  for (const int t : tensors) out.push_back(e.tensors[at(t)].name);
  return fmt::format("[{}]", fmt::join(out, ", "));
}

std::string print_node(const NestNode& node, const Einsum& e, const Hierarchy& h) {
  if (const auto* s = std::get_if<StorageNode>(&node))
    return fmt::format("{{store: {}, tensors: {}}}", h.levels[at(s->level)].name, names(s->tensors, e));
  const auto& l = std::get<LoopNode>(node);
  const std::string& dim = e.dims[at(l.dim)].name;
  if (l.kind == LoopKind::temporal) return fmt::format("{{for: {}, tile: {}}}", dim, l.tile);
  return fmt::format("{{spatial: {}, tile: {}, over: {}, below: {}}}", dim, l.tile,
                     l.kind == LoopKind::spatial_x ? 'x' : 'y', h.levels[at(l.below)].name);
}

}  // namespace

NestDocument::NestDocument(YamlNode root) : root_(std::move(root)) {
  FileFields fields;
  fields.map(root_, {}, {"name", "einsum", "extents", "hierarchy", "nest", "networks", "levels"});
  const YamlNode* nest = root_.find("nest");
  const YamlNode* levels = root_.find("levels");
  if (nest != nullptr && levels != nullptr)
    fields.problem(levels->pos, "levels", "a mapping stands as 'nest' or as 'levels', not as both");
  if (const YamlNode* n = root_.find("networks"); n != nullptr && nest == nullptr)
    fields.problem(n->pos, "networks", "belongs to 'nest'; with 'levels' say it at the level");
  fields.throw_if_any();
}

NestDocument NestDocument::load(const std::string& path) { return NestDocument(parse_yaml_file(path)); }

NestDocument NestDocument::parse(const std::string& text, const std::string& name) {
  return NestDocument(parse_yaml(text, name));
}

bool NestDocument::has_mapping() const { return root_.find("nest") != nullptr || root_.find("levels") != nullptr; }

std::map<std::string, std::int64_t> NestDocument::extents() const {
  std::map<std::string, std::int64_t> out;
  const YamlNode* node = root_.find("extents");
  if (node == nullptr) return out;
  FileFields fields;
  if (!node->is_map()) {
    fields.problem(node->pos, "extents", fmt::format("expected a map such as {{m: 64}}, found {}", node->describe()));
  } else {
    for (const YamlEntry& e : node->entries) {
      if (const auto v = fields.whole(e.value, "extents." + e.key, 1)) out[e.key] = *v;
    }
  }
  fields.throw_if_any();
  return out;
}

std::optional<Einsum> NestDocument::einsum(const std::map<std::string, std::int64_t>& replaced) const {
  const YamlNode* node = root_.find("einsum");
  if (node == nullptr) return std::nullopt;
  if (!node->is_scalar())
    throw InputError(
        Diagnostic{node->pos,
                   "einsum",
                   fmt::format("expected text such as \"Z[m,n] += A[m,k] * B[k,n]\", found {}", node->describe()),
                   {}});
  std::map<std::string, std::int64_t> all = extents();
  for (const auto& [dim, extent] : replaced) all[dim] = extent;
  const YamlNode* name = root_.find("name");
  try {
    return parse_einsum(node->text, all, name != nullptr ? name->text : "");
  } catch (const InputError& e) {
    std::vector<Diagnostic> placed = e.diagnostics();
    for (Diagnostic& d : placed) d.pos = node->pos;
    throw InputError(std::move(placed));
  }
}

std::optional<Hierarchy> NestDocument::hierarchy() const {
  const YamlNode* node = root_.find("hierarchy");
  if (node == nullptr) return std::nullopt;
  return read_hierarchy(*node);
}

LoopNest NestDocument::nest(const Einsum& e, const Hierarchy& h) const {
  PlacedNest placed;
  if (const YamlNode* levels = root_.find("levels")) {
    placed = read_level_form(*levels, e, h);
  } else if (const YamlNode* nodes = root_.find("nest")) {
    placed = read_node_form(*nodes, root_.find("networks"), e, h);
  } else {
    throw InputError(Diagnostic{root_.pos, {}, "there is no mapping: missing key 'nest' or 'levels'", {}});
  }
  check(placed.nest, e, h, placed.positions);
  return placed.nest;
}

std::string print_nest(const LoopNest& nest, const Einsum& e, const Hierarchy& h) {
  std::string out = "nest:\n";
  for (const NestNode& node : nest.nodes) out += fmt::format("  - {}\n", print_node(node, e, h));
  if (!nest.networks.empty()) out += "networks:\n";
  for (const NetworkLimit& n : nest.networks)
    out += fmt::format("  - {{below: {}, unicast: {}, unlinked: {}}}\n", h.levels[at(n.below)].name,
                       names(n.unicast, e), names(n.unlinked, e));
  return out;
}

std::string print_nest_document(const LoopNest& nest, const Einsum& e, const Hierarchy& h) {
  std::string out;
  if (!e.name.empty()) out += fmt::format("name: {}\n", e.name);
  std::vector<std::string> extents;
  for (const EinsumDim& d : e.dims) extents.push_back(fmt::format("{}: {}", d.name, d.extent));
  out += fmt::format("einsum: \"{}\"\nextents: {{{}}}\nhierarchy:\n{}", print_einsum(e), fmt::join(extents, ", "),
                     print_hierarchy(h, 2));
  return out + print_nest(nest, e, h);
}

std::map<std::string, std::int64_t> parse_extents(const std::string& text) {
  std::map<std::string, std::int64_t> out;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    const std::string item = text.substr(from, end - from);
    from = end + 1;
    const std::size_t eq = item.find('=');
    const std::string value = eq == std::string::npos ? "" : item.substr(eq + 1);
    std::int64_t v = 0;
    const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), v);
    if (eq == std::string::npos || eq == 0 || error != std::errc() || stop != value.data() + value.size() ||
        has_leading_zero(value) || v < 1)
      throw InputError("--extents", fmt::format("expected name=number >= 1, as in m=64,n=32, found '{}'", item));
    if (!out.emplace(item.substr(0, eq), v).second)
      throw InputError("--extents", fmt::format("'{}' stands twice", item.substr(0, eq)));
  }
  return out;
}

}  // namespace assay
