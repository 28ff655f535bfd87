#include "core/spec/part_docs.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/spec/parts.h"

namespace assay {
namespace {

/// The part's specs, and as defaults what an untouched part holds.
template <class T>
PartDoc part_doc(std::string name, std::string where, const Table<T>& table, const T& untouched = {}) {
  PartDoc doc{.name = std::move(name), .where = std::move(where), .fields = {}, .defaults = {}};
  for (const Field<T>& f : table) {
    doc.fields.push_back(f.spec);
    // A field of one kind of part only (`only_if`) has its default in the part of that kind; its text says so.
    const FieldValue v = f.spec.required ? FieldValue{} : f.get(untouched, {});
    doc.defaults.push_back(std::holds_alternative<std::monostate>(v) ? "" : format_value(f.spec, v));
  }
  return doc;
}

PartDoc value_doc(std::string name, std::string where, const FieldSpec& spec) {
  return {.name = std::move(name), .where = std::move(where), .fields = {spec}, .defaults = {""}};
}

/// DRAM shows the defaults of its timing; everything else of a memory is the same for all kinds.
Memory untouched_memory() {
  Memory m;
  m.kind = MemoryKind::dram;
  return m;
}

MatrixUnit untouched_array() {
  MatrixUnit u;
  u.style = ArrayStyle::pe_array;
  u.dataflow = Dataflow::free;
  return u;
}

MatrixUnit untouched_matrix() {
  MatrixUnit u;
  u.style = ArrayStyle::intrinsic;
  return u;
}

std::string cell(std::string text) {
  for (std::size_t i = 0; (i = text.find('|', i)) != std::string::npos; i += 2) text.replace(i, 1, "\\|");
  return text;
}

std::string kind_cell(const FieldSpec& spec) {
  std::string text = kind_info(spec.kind).short_name;
  const bool listed = spec.kind == FieldKind::choice || spec.kind == FieldKind::choice_list;
  if (listed) text = fmt::format("{}", fmt::join(spec.choices, ", "));
  const std::string range = describe_range(spec);
  return range.empty() ? text : fmt::format("{} {}", text, range);
}

}  // namespace

std::vector<PartDoc> all_parts() {
  std::vector<PartDoc> parts;
  parts.push_back(part_doc("machine", "the top of the file", header_table()));
  parts.push_back(part_doc("process", "`process`", process_table()));
  parts.push_back(value_doc("clock", "`clocks`", clock_spec()));
  parts.push_back(value_doc("quoted", "`quoted`", quoted_spec()));
  parts.push_back(part_doc("memory", "`memories.<name>`", memory_table(), untouched_memory()));
  parts.push_back(part_doc("link", "`links.<name>`", link_table()));
  parts.push_back(part_doc("matrix", "`units.<name>` of kind matrix", matrix_table(), untouched_matrix()));
  parts.push_back(part_doc("vector", "`units.<name>` of kind vector", vector_table()));
  parts.push_back(part_doc("host", "`units.<name>` of kind host", host_table()));
  parts.push_back(part_doc("grid", "`grid.<name>`", grid_table()));
  parts.push_back(part_doc("array", "`array.<name>`", array_table(), untouched_array()));
  parts.push_back(part_doc("mac", "`array.<name>.units.mac`", mac_table()));
  return parts;
}

std::string field_table_markdown(const std::string& part) {
  for (const PartDoc& p : all_parts()) {
    if (p.name != part) continue;
    std::string out = "| key | value | default | meaning |\n|---|---|---|---|\n";
    for (std::size_t i = 0; i < p.fields.size(); ++i) {
      const FieldSpec& f = p.fields[i];
      std::string fallback = p.defaults[i].empty() ? "" : "`" + p.defaults[i] + "`";
      if (f.required) fallback = "**required**";
      out += fmt::format("| `{}` | {} | {} | {} |\n", f.name, cell(kind_cell(f)), cell(fallback), cell(f.doc));
    }
    return out;
  }
  throw InputError("fields", fmt::format("no part '{}' has a field table", part));
}

std::string refresh_field_tables(const std::string& document) {
  static const std::string open = "<!-- fields: ", open_end = " -->\n", close = "<!-- end -->";
  std::string out;
  std::size_t at = 0;
  for (;;) {
    const std::size_t start = document.find(open, at);
    if (start == std::string::npos) return out + document.substr(at);
    const std::size_t name_end = document.find(open_end, start);
    const std::size_t end = document.find(close, start);
    if (name_end == std::string::npos || end == std::string::npos || end < name_end) {
      throw InputError("fields", "a `<!-- fields: … -->` marker has no `<!-- end -->`");
    }
    const std::string part = document.substr(start + open.size(), name_end - start - open.size());
    out += document.substr(at, name_end + open_end.size() - at) + field_table_markdown(part);
    at = end;
  }
}

}  // namespace assay
