#include "core/spec/load.h"

#include <fmt/format.h>

#include "core/spec/check_machine.h"
#include "core/spec/file_kind.h"
#include "core/spec/reader.h"
#include "core/spec/source_tree.h"

namespace assay {
namespace {

/// A map that may hold parts: the file itself, the grid, or an array.
struct Block {
  const YamlNode* node = nullptr;
  std::string path;   ///< empty, `grid.pe.`, `array.pe.`
  std::string scope;  ///< name of the grid or array; empty at the top
  bool array = false;
};

class Loader {
 public:
  explicit Loader(const YamlNode& root) : root_(root), params_(root.find("params"), diagnostics_) {}

  Machine load(const std::string& default_family) {
    read_clocks();
    read_part(context_, root_, "", header_table(), machine_,
              {"extends", "params", "process", "clocks", "quoted", "memories", "links", "units", "grid", "array"});
    if (machine_.family.empty()) machine_.family = default_family.empty() ? machine_.name : default_family;
    if (const YamlNode* node = root_.find("process")) read_part(context_, *node, "process", process_table(), machine_);
    read_quoted();
    collect_blocks();
    collect_names();
    for (const Block& b : blocks_)
      each(b, "memories", [&](const YamlEntry& e, const std::string& path) { memory(b, e, path); });
    for (const Block& b : blocks_)
      each(b, "links", [&](const YamlEntry& e, const std::string& path) { link(b, e, path); });
    for (const Block& b : blocks_) {
      if (!b.array) each(b, "units", [&](const YamlEntry& e, const std::string& path) { unit(b, e, path); });
    }
    for (const Block& b : blocks_) {
      if (b.array) array(b);
    }
    params_.finish();
    diagnostics_.throw_if_any();
    machine_.provenance = context_.provenance;
    check_machine(machine_, [this](const std::string& path, const std::string& message) {
      reporter(context_, path)("", message);
    });
    diagnostics_.throw_if_any();
    return std::move(machine_);
  }

 private:
  void error(const SourcePos& pos, const std::string& path, const std::string& message, const std::string& hint = {}) {
    diagnostics_.add(pos, path, message, hint);
  }

  /// Calls `f` for each entry of a section of a block, if it is there.
  template <class F>
  void each(const Block& b, const std::string& section, F f) {
    const YamlNode* node = b.node->find(section);
    if (node == nullptr || !node->is_map()) return;  // collect_names reports the wrong kind
    for (const YamlEntry& e : node->entries) f(e, b.path + section + "." + e.key);
  }

  void read_clocks() {
    const YamlNode* node = root_.find("clocks");
    if (node == nullptr || !node->is_map() || node->entries.empty()) {
      error(node == nullptr ? root_.pos : node->pos, "clocks",
            fmt::format("expected at least one clock, for example `clocks: {{core: 800 MHz}}`, found {}",
                        node == nullptr ? "nothing" : node->describe()));
    } else {
      for (const YamlEntry& e : node->entries) {
        const std::string path = "clocks." + e.key;
        if (!check_name(e, path)) continue;
        const FieldValue v = read_value(context_, e.value, path, clock_spec(), 1);
        const auto* hz = std::get_if<Real>(&v);
        machine_.clocks.push_back({e.key, hz == nullptr ? 1 : static_cast<std::int64_t>(*hz)});
      }
    }
    if (machine_.clocks.empty()) machine_.clocks.push_back({"core", 1});  // an error is reported: just read on
    for (const Clock& c : machine_.clocks) {
      context_.names.clocks.push_back(c.name);
      context_.clock_hz.push_back(c.hz);
    }
  }

  void read_quoted() {
    const YamlNode* node = root_.find("quoted");
    if (node == nullptr) return;
    if (!node->is_map()) {
      error(node->pos, "quoted", "expected a map of types and peaks, found " + node->describe());
      return;
    }
    for (const YamlEntry& e : node->entries) {
      const auto type = parse_dtype(e.key);
      if (!type) {
        error(e.pos, "quoted." + e.key, fmt::format("unknown type '{}'; expected a type such as int8 or fp16", e.key));
        continue;
      }
      const FieldValue v = read_value(context_, e.value, "quoted." + e.key, quoted_spec(), 1);
      if (const auto* rate = std::get_if<Real>(&v)) machine_.quoted.push_back({*type, static_cast<double>(*rate)});
    }
  }

  void collect_blocks() {
    blocks_.push_back({&root_, "", "", false});
    if (const YamlNode* grid = root_.find("grid")) collect_grid(*grid);
    const std::size_t outer = blocks_.size();
    for (std::size_t i = 0; i < outer; ++i) {
      const Block b = blocks_[i];
      each(b, "array", [&](const YamlEntry& e, const std::string& path) {
        if (e.value.is_map()) {
          blocks_.push_back({&e.value, path + ".", e.key, true});
        } else {
          error(e.value.pos, path, "expected a map (size, memories, units), found " + e.value.describe());
        }
      });
    }
  }

  void collect_grid(const YamlNode& grid) {
    if (!grid.is_map() || grid.entries.size() != 1 || !grid.entries[0].value.is_map()) {
      error(grid.pos, "grid", "expected one named grid, for example `grid: {pe: {size: [8, 8], …}}`");
      return;
    }
    const YamlEntry& e = grid.entries[0];
    const std::string path = "grid." + e.key;
    if (!check_name(e, path)) return;
    machine_.grid.name = e.key;
    read_part(context_, e.value, path, grid_table(), machine_.grid, {"memories", "links", "units", "array"});
    blocks_.push_back({&e.value, path + ".", e.key, false});
  }

  bool check_name(const YamlEntry& e, const std::string& path) {
    if (is_name(e.key)) return true;
    error(e.pos, path, "expected a name of letters, digits and '_' that starts with a letter");
    return false;
  }

  /// Names of all parts, unique in the machine: programs, reports and overrides call parts by them.
  void collect_names() {
    std::map<std::string, SourcePos> seen;
    const auto take = [&](const YamlEntry& e, const std::string& path) {
      check_name(e, path);
      const auto [it, fresh] = seen.emplace(e.key, e.pos);
      if (!fresh) {
        error(e.pos, path,
              fmt::format("the name '{}' is taken by the part at line {}; expected names unique in the "
                          "machine",
                          e.key, it->second.line));
      }
    };
    for (const Block& b : blocks_) {
      for (const char* section : {"memories", "links", "units", "array"}) {
        const YamlNode* node = b.node->find(section);
        if (node != nullptr && !node->is_map()) {
          error(node->pos, b.path + section, "expected a map of named parts, found " + node->describe());
        }
      }
      each(b, "memories", [&](const YamlEntry& e, const std::string& path) {
        take(e, path);
        context_.names.memories.push_back(e.key);
        context_.names.memory_scopes.push_back(b.scope);
      });
      if (b.array) continue;
      each(b, "links", [&](const YamlEntry& e, const std::string& path) {
        take(e, path);
        context_.names.links.push_back(e.key);
      });
      each(b, "units", take);
      each(b, "array", take);
    }
  }

  bool gridded() const { return !machine_.grid.name.empty(); }

  void memory(const Block& b, const YamlEntry& e, const std::string& path) {
    const std::size_t before = diagnostics_.size();
    Memory m;
    m.name = e.key;
    const SeenFields seen = read_part(context_, e.value, path, memory_table(), m);
    const bool top = b.path.empty();
    m.scope = b.array ? Scope::pe : top && (gridded() || m.kind == MemoryKind::dram) ? Scope::chip : Scope::core;
    if (diagnostics_.size() == before) {
      const Report report = reporter(context_, path);
      if (b.array != (m.kind == MemoryKind::register_file)) {
        report("kind", b.array ? "a memory of an array element has to be a register_file"
                               : "a register_file stands in the `memories` of an `array`");
      }
      if (m.kind == MemoryKind::dram && !top) report("kind", "DRAM stands in the top-level `memories`");
      finish_memory(m, seen, report);
      merge_bandwidth_sources(path, m);
    }
    machine_.memories.push_back(std::move(m));
  }

  /// Equal read and write bandwidths are one number in the canonical form, and have one source.
  void merge_bandwidth_sources(const std::string& path, const Memory& m) {
    const auto read = context_.provenance.find(path + ".read_bandwidth");
    const auto write = context_.provenance.find(path + ".write_bandwidth");
    const auto end = context_.provenance.end();
    if (m.read_bandwidth != m.write_bandwidth || (read == end && write == end)) return;
    Provenance p = read != end ? read->second : write->second;
    if (read != end && write != end && write->second.source != p.source) p.source += "; " + write->second.source;
    context_.provenance.erase(path + ".read_bandwidth");
    context_.provenance.erase(path + ".write_bandwidth");
    context_.provenance[path + ".bandwidth"] = p;
  }

  void link(const Block& b, const YamlEntry& e, const std::string& path) {
    const std::size_t before = diagnostics_.size();
    Link l;
    l.name = e.key;
    read_part(context_, e.value, path, link_table(), l);
    l.scope = b.path.empty() && gridded() ? Scope::chip : Scope::core;
    if (diagnostics_.size() == before) finish_link(l, reporter(context_, path));
    machine_.links.push_back(std::move(l));
  }

  void unit(const Block& b, const YamlEntry& e, const std::string& path) {
    static const FieldSpec kinds{.name = "kind",
                                 .kind = FieldKind::choice,
                                 .doc = {},
                                 .required = true,
                                 .choices = {"matrix", "vector", "host"}};
    const YamlNode* kind_node = e.value.find("kind");
    if (kind_node == nullptr) {
      error(e.value.pos, path,
            fmt::format("expected a map with `kind: matrix`, `vector` or `host`, found {}",
                        e.value.is_map() ? "no kind" : e.value.describe()));
      return;
    }
    const FieldValue kind = read_value(context_, *kind_node, path + ".kind", kinds, 1);
    const auto* word = std::get_if<std::string>(&kind);
    if (word == nullptr) return;
    const std::size_t before = diagnostics_.size();
    const Report report = reporter(context_, path);
    const bool top = b.path.empty();
    if (*word == "host") {
      HostUnit h;
      h.name = e.key;
      read_part(context_, e.value, path, host_table(), h);
      if (!top) report("kind", "a host stands in the top-level `units`");
      machine_.hosts.push_back(std::move(h));
    } else if (top && gridded()) {
      context_.positions.emplace(path, e.pos);
      report("", fmt::format("a {} unit stands in the grid's `units`; beside a grid only a host is expected", *word));
    } else if (*word == "matrix") {
      MatrixUnit u;
      u.name = e.key;
      const SeenFields seen = read_part(context_, e.value, path, matrix_table(), u);
      if (diagnostics_.size() == before) finish_matrix(u, seen, report);
      machine_.matrix_units.push_back(std::move(u));
    } else {
      VectorUnit u;
      u.name = e.key;
      read_part(context_, e.value, path, vector_table(), u);
      machine_.vector_units.push_back(std::move(u));
    }
  }

  void array(const Block& b) {
    const std::size_t before = diagnostics_.size();
    const std::string path = b.path.substr(0, b.path.size() - 1);
    MatrixUnit u;
    u.name = b.scope;
    u.style = ArrayStyle::pe_array;
    u.dataflow = Dataflow::free;
    read_part(context_, *b.node, path, array_table(), u, {"memories", "units"});
    each(b, "memories", [&](const YamlEntry& e, const std::string&) {
      u.pe_memories.push_back(MemoryId(field_detail::index_of(context_.names.memories, e.key)));
    });
    const YamlNode* units = b.node->find("units");
    const YamlNode* mac = units == nullptr ? nullptr : units->find("mac");
    if (mac == nullptr || units->entries.size() != 1) {
      error(units == nullptr ? b.node->pos : units->pos, path + ".units",
            "expected exactly `mac`, the multiplier of an element: `units: {mac: {dtypes: {int8: int32}}}`");
    } else {
      read_part(context_, *mac, path + ".units.mac", mac_table(), u);
    }
    if (diagnostics_.size() == before) finish_array(u, reporter(context_, path));
    machine_.matrix_units.push_back(std::move(u));
  }

  const YamlNode& root_;
  Diagnostics diagnostics_;
  Params params_;
  ReadContext context_{diagnostics_, params_, {}, {}, {}, {}};
  Machine machine_;
  std::vector<Block> blocks_;
};

Machine load_tree(YamlNode root, const std::string& file, const std::vector<Override>& overrides) {
  expect_kind(root, FileKind::machine);
  SourceTree tree = merge_extends(std::move(root), file);
  for (const Override& o : overrides) apply_override(tree.root, o);
  Machine m = Loader(tree.root).load(tree.root_machine);
  m.source_path = file;
  return m;
}

}  // namespace

Machine load_machine(const std::string& path, const std::vector<Override>& overrides) {
  return load_tree(parse_yaml_file(path), path, overrides);
}

Machine parse_machine(const std::string& text, const std::string& name, const std::vector<Override>& overrides) {
  return load_tree(parse_yaml(text, name), name, overrides);
}

}  // namespace assay
