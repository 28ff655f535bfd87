#include <fmt/format.h>

#include <algorithm>

#include "core/spec/reader.h"

namespace assay {
namespace {

/// Walks one part's map and the groups in it (`timing: {banks: 8}` is the field `timing.banks`).
class FieldWalk {
 public:
  FieldWalk(ReadContext& context, std::string path, const std::vector<const FieldSpec*>& specs,
            const std::vector<std::string>& others)
      : context_(context), path_(std::move(path)), specs_(specs), others_(others) {}

  std::vector<std::pair<std::size_t, FieldValue>> run(const YamlNode& node) {
    context_.positions.emplace(path_, node.pos);
    if (!node.is_map()) {
      context_.diagnostics.add(node.pos, path_, fmt::format("expected a map of fields, found {}", node.describe()));
      return std::move(values_);
    }
    read_clock(node);
    walk(node, "");
    for (const FieldSpec* spec : specs_) {
      if (spec->required && !seen_.contains(spec->name) && !misspelt_.contains(spec->name)) {
        context_.diagnostics.add(node.pos, path_,
                                 fmt::format("missing '{}': expected {}", spec->name, kind_info(spec->kind).noun));
      }
    }
    return std::move(values_);
  }

 private:
  void read_clock(const YamlNode& node) {
    if (!context_.clock_hz.empty()) hz_ = context_.clock_hz.front();
    const YamlNode* clock = node.find("clock");
    if (clock == nullptr) return;
    for (const FieldSpec* spec : specs_) {
      if (spec->kind != FieldKind::clock) continue;
      Diagnostics ignored;  // the walk reports it
      ReadContext quiet{ignored, context_.params, context_.names, context_.clock_hz, {}, {}};
      const FieldValue v = read_value(quiet, *clock, path_, *spec, hz_);
      if (const auto* name = std::get_if<std::string>(&v)) {
        hz_ = context_.clock_hz.at(field_detail::index_of(context_.names.clocks, *name));
      }
    }
  }

  void walk(const YamlNode& node, const std::string& prefix) {
    for (const YamlEntry& e : node.entries) {
      const std::string name = prefix + e.key;
      const std::string full = path_.empty() ? name : path_ + "." + name;
      context_.positions.emplace(full, e.pos);
      if (prefix.empty() && std::find(others_.begin(), others_.end(), e.key) != others_.end()) continue;
      if (prefix.empty() && e.key == "source" && !path_.empty()) {
        read_source(e);
      } else if (const auto index = find(name)) {
        seen_.insert(name);
        values_.emplace_back(*index, read_value(context_, e.value, full, *specs_[*index], hz_));
      } else if (is_group(name)) {
        if (!e.value.is_map()) {
          context_.diagnostics.add(
              e.value.pos, full,
              fmt::format("expected a map of {}, found {}", fmt::join(keys(name + "."), ", "), e.value.describe()));
          for (const FieldSpec* spec : specs_) {
            if (spec->name.starts_with(name + ".")) seen_.insert(spec->name);
          }
        } else {
          walk(e.value, name + ".");
        }
      } else {
        unknown(e, full, prefix);
      }
    }
  }

  void read_source(const YamlEntry& e) {
    const FieldValue v = read_value(context_, e.value, path_ + ".source", source_spec(), hz_);
    if (const auto* s = std::get_if<std::string>(&v)) context_.provenance[path_].source = *s;
  }

  std::optional<std::size_t> find(const std::string& name) const {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (specs_[i]->name == name) return i;
    }
    return std::nullopt;
  }

  bool is_group(const std::string& name) const {
    return std::any_of(specs_.begin(), specs_.end(),
                       [&](const FieldSpec* spec) { return spec->name.starts_with(name + "."); });
  }

  std::vector<std::string> keys(const std::string& prefix) const {
    std::vector<std::string> out;
    for (const FieldSpec* spec : specs_) {
      if (!spec->name.starts_with(prefix)) continue;
      std::string key = spec->name.substr(prefix.size());
      key = key.substr(0, key.find('.'));
      if (std::find(out.begin(), out.end(), key) == out.end()) out.push_back(std::move(key));
    }
    if (prefix.empty()) {
      out.insert(out.end(), others_.begin(), others_.end());
      if (!path_.empty()) out.emplace_back("source");
    }
    return out;
  }

  void unknown(const YamlEntry& e, const std::string& full, const std::string& prefix) {
    const std::vector<std::string> known = keys(prefix);
    const auto near = nearest_name(e.key, known);
    if (near) misspelt_.insert(prefix + *near);
    context_.diagnostics.add(e.pos, full, fmt::format("unknown key '{}'; expected {}", e.key, fmt::join(known, ", ")),
                             near.value_or(""));
  }

  ReadContext& context_;
  std::string path_;
  const std::vector<const FieldSpec*>& specs_;
  const std::vector<std::string>& others_;
  std::set<std::string> seen_;
  std::set<std::string> misspelt_;  ///< suggested for an unknown key: not reported as missing as well
  std::vector<std::pair<std::size_t, FieldValue>> values_;
  std::int64_t hz_ = 1;
};

}  // namespace

const FieldSpec& source_spec() {
  static const FieldSpec spec{.name = "source",
                              .kind = FieldKind::text,
                              .doc = "Where the values come from that name no source of their own.",
                              .choices = {}};
  return spec;
}

std::vector<std::pair<std::size_t, FieldValue>> read_fields(ReadContext& context, const YamlNode& node,
                                                            const std::string& path,
                                                            const std::vector<const FieldSpec*>& specs,
                                                            const std::vector<std::string>& others) {
  return FieldWalk(context, path, specs, others).run(node);
}

}  // namespace assay
