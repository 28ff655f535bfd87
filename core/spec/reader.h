#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/spec/fields.h"
#include "core/spec/parts.h"
#include "core/spec/yaml.h"

// From the YAML tree to checked field values. Problems are collected, so that one load reports them all.

namespace assay {

class Diagnostics {
 public:
  void add(SourcePos pos, std::string path, std::string message, std::string suggestion = {});
  bool empty() const { return list_.empty(); }
  std::size_t size() const { return list_.size(); }
  void throw_if_any() const;  ///< InputError with everything found, in the order found
 private:
  std::vector<Diagnostic> list_;
  std::size_t dropped_ = 0;
};

/// The `params:` of a description, evaluated on demand. Each knows who used it and what its source says.
class Params {
 public:
  Params(const YamlNode* node, Diagnostics& diagnostics);
  /// Value of a parameter (throws ValueError: unknown name, cycle, or a parameter that is itself wrong). The sources
  /// of every parameter met are added to `sources`.
  Value lookup(std::string_view name, std::size_t offset, std::set<std::string>& sources);
  /// Evaluates what nobody used yet, reporting errors, and reports parameters that no value uses.
  void finish();

 private:
  struct Param {
    const YamlNode* node = nullptr;
    SourcePos pos;
    enum class State : unsigned char { untouched, evaluating, ready, failed } state = State::untouched;
    bool used = false;
    Value value;
    std::set<std::string> sources;
  };
  void evaluate(const std::string& name, Param& p);
  std::map<std::string, Param, std::less<>> params_;
  std::vector<std::string> order_, chain_;
  Diagnostics& diagnostics_;
};

/// Everything a part needs while it is read.
struct ReadContext {
  Diagnostics& diagnostics;
  Params& params;
  Names names;
  std::vector<std::int64_t> clock_hz;
  std::map<std::string, Provenance> provenance;  ///< by key path
  std::map<std::string, SourcePos> positions;    ///< of keys, by key path: rules are reported there
};

/// One value. monostate if it was wrong (reported). `hz` is the part's clock.
FieldValue read_value(ReadContext& context, const YamlNode& node, const std::string& path, const FieldSpec& spec,
                      std::int64_t hz);

/// All fields of a part: (index into specs, value), in the order of the file; reports unknown and missing keys.
/// `others` are keys that the caller reads itself (`memories`, `units`).
std::vector<std::pair<std::size_t, FieldValue>> read_fields(ReadContext& context, const YamlNode& node,
                                                            const std::string& path,
                                                            const std::vector<const FieldSpec*>& specs,
                                                            const std::vector<std::string>& others = {});

/// Reads a part by its table and returns the fields that the file set. A wrong field is not among `values` but counts
/// as seen, so that it is not reported twice.
template <class T>
SeenFields read_part(ReadContext& context, const YamlNode& node, const std::string& path, const Table<T>& table,
                     T& part, const std::vector<std::string>& others = {}) {
  std::vector<const FieldSpec*> specs;
  for (const Field<T>& f : table) specs.push_back(&f.spec);
  SeenFields seen;
  for (auto& [i, value] : read_fields(context, node, path, specs, others)) {
    seen.insert(table[i].spec.name);
    if (!std::holds_alternative<std::monostate>(value)) table[i].set(part, value, context.names);
  }
  return seen;
}

/// Reports at the position of a field of the part at `path`.
Report reporter(ReadContext& context, const std::string& path);

/// Is it `{value: …, range: …, source: …}` rather than a map of its own?
bool is_wrapper(const YamlNode& node);
bool is_name(std::string_view text);

}  // namespace assay
