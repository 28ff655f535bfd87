#include <fmt/format.h>

#include "core/spec/key_path.h"
#include "core/spec/load.h"
#include "core/spec/parts.h"

namespace assay {
namespace {

class Printer {
 public:
  explicit Printer(const Machine& m) : m_(m) {
    for (const Memory& mem : m.memories) names_.memories.push_back(mem.name);
    for (const Link& l : m.links) names_.links.push_back(l.name);
    for (const Clock& c : m.clocks) names_.clocks.push_back(c.name);
  }

  std::string print() {
    part(0, "", header_table(), m_);
    if (has_process()) {
      line(0, "process:");
      part(1, "process", process_table(), m_);
    }
    line(0, "clocks:");
    for (const Clock& c : m_.clocks) {
      line(1, c.name + ": " + with_source("clocks." + c.name, clock_spec(), static_cast<Real>(c.hz)));
    }
    if (!m_.quoted.empty()) line(0, "quoted:");
    for (const QuotedPeak& q : m_.quoted) {
      const std::string type(name(q.operand));
      line(1, type + ": " + with_source("quoted." + type, quoted_spec(), static_cast<Real>(q.ops_per_s)));
    }
    const bool grid = !m_.grid.name.empty();
    const auto top_memory = [&](const Memory& mem) {
      return mem.scope == Scope::chip || (!grid && mem.scope == Scope::core);
    };
    section(0, "memories", m_.memories, memory_table(), top_memory);
    section(0, "links", m_.links, link_table(), [&](const Link& l) { return !grid || l.scope == Scope::chip; });
    if (!grid) {
      core(0, !m_.hosts.empty());
      return out_;
    }
    if (!m_.hosts.empty()) line(0, "units:");
    hosts(1);
    line(0, "grid:");
    line(1, m_.grid.name + ":");
    part(2, "grid." + m_.grid.name, grid_table(), m_.grid);
    section(2, "memories", m_.memories, memory_table(), [](const Memory& mem) { return mem.scope == Scope::core; });
    section(2, "links", m_.links, link_table(), [](const Link& l) { return l.scope == Scope::core; });
    core(2, false);
    return out_;
  }

 private:
  void line(int depth, const std::string& text) {
    out_ += std::string(2 * static_cast<std::size_t>(depth), ' ') + text + "\n";
  }

  bool has_process() const {
    const Process& p = m_.process;
    return p.node_nm != 0 || p.voltage != 0 || p.tdp_w != 0 || m_.static_power_w != 0 ||
           m_.provenance.contains("process");
  }

  std::string with_source(const std::string& path, const FieldSpec& spec, const FieldValue& value) const {
    std::string text = format_value(spec, value);
    const auto it = m_.provenance.find(path);
    if (it == m_.provenance.end()) return text;
    const Provenance& p = it->second;
    std::string out = "{value: " + text;
    if (p.low && p.high) {
      out += fmt::format(", range: [{}, {}]", format_number(spec, static_cast<Real>(*p.low)),
                         format_number(spec, static_cast<Real>(*p.high)));
    }
    if (!p.source.empty()) out += ", source: " + quote(p.source);
    return out + "}";
  }

  /// Every field that is set, in the order of the table; groups open a level of their own.
  template <class T>
  void part(int depth, const std::string& path, const Table<T>& table, const T& value) {
    std::string group;
    for (const Field<T>& f : table) {
      const FieldValue v = f.get(value, names_);
      if (std::holds_alternative<std::monostate>(v)) continue;
      const std::size_t dot = f.spec.name.find('.');
      const std::string head = dot == std::string::npos ? "" : f.spec.name.substr(0, dot);
      if (!head.empty() && head != group) line(depth, head + ":");
      group = head;
      const std::string key = dot == std::string::npos ? f.spec.name : f.spec.name.substr(dot + 1);
      const std::string full = path.empty() ? f.spec.name : path + "." + f.spec.name;
      line(depth + (head.empty() ? 0 : 1), key + ": " + with_source(full, f.spec, v));
    }
    const auto it = m_.provenance.find(path);
    if (!path.empty() && it != m_.provenance.end()) line(depth, "source: " + quote(it->second.source));
  }

  template <class T, class Choose>
  void section(int depth, const std::string& title, const std::vector<T>& parts, const Table<T>& table, Choose choose) {
    bool open = false;
    for (const T& p : parts) {
      if (!choose(p)) continue;
      if (!open) line(depth, title + ":");
      open = true;
      line(depth + 1, p.name + ":");
      part(depth + 2, key_path(m_, p), table, p);
    }
  }

  void hosts(int depth) {
    for (const HostUnit& h : m_.hosts) {
      line(depth, h.name + ":");
      part(depth + 1, key_path(m_, h), host_table(), h);
    }
  }

  /// Units and arrays of a core.
  void core(int depth, bool with_hosts) {
    bool units = with_hosts || !m_.vector_units.empty();
    bool arrays = false;
    for (const MatrixUnit& u : m_.matrix_units) {
      (u.style == ArrayStyle::pe_array ? arrays : units) = true;
    }
    if (units) line(depth, "units:");
    for (const MatrixUnit& u : m_.matrix_units) {
      if (u.style == ArrayStyle::pe_array) continue;
      line(depth + 1, u.name + ":");
      part(depth + 2, key_path(m_, u), matrix_table(), u);
    }
    for (const VectorUnit& u : m_.vector_units) {
      line(depth + 1, u.name + ":");
      part(depth + 2, key_path(m_, u), vector_table(), u);
    }
    if (with_hosts) hosts(depth + 1);
    if (arrays) line(depth, "array:");
    for (const MatrixUnit& u : m_.matrix_units) {
      if (u.style == ArrayStyle::pe_array) array(depth + 1, u);
    }
  }

  void array(int depth, const MatrixUnit& u) {
    const std::string path = key_path(m_, u);
    line(depth, u.name + ":");
    part(depth + 1, path, array_table(), u);
    line(depth + 1, "memories:");
    for (const MemoryId id : u.pe_memories) {
      line(depth + 2, m_.memory(id).name + ":");
      part(depth + 3, path + ".memories." + m_.memory(id).name, memory_table(), m_.memory(id));
    }
    line(depth + 1, "units:");
    line(depth + 2, "mac:");
    part(depth + 3, path + ".units.mac", mac_table(), u);
  }

  const Machine& m_;
  Names names_;
  std::string out_;
};

}  // namespace

std::string print_machine(const Machine& m) { return Printer(m).print(); }

}  // namespace assay
