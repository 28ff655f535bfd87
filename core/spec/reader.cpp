#include "core/spec/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/spec/numbers.h"

namespace assay {
namespace {

constexpr std::size_t kMostDiagnostics = 50;
constexpr Real kHighestRate = 65536;

bool ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Reads one value; throws NodeError, which read_value turns into a Diagnostic.
class ValueReader {
 public:
  ValueReader(ReadContext& context, const FieldSpec& spec, const std::string& path, std::int64_t hz)
      : context_(context), spec_(spec), info_(kind_info(spec.kind)), path_(path), hz_(hz) {}

  FieldValue read(const YamlNode& node) {
    ValueParts parts = split_value(node);
    if (spec_.kind == FieldKind::text) {  // a text may hold anything
      FieldValue v = text_of(*required(parts));
      note(parts.source, {});
      return v;
    }
    if (info_.numeric) return number(parts);
    if (parts.range != nullptr) throw NodeError(parts.range->pos, "only a number may have a range");
    FieldValue v = other(*required(parts));
    note(parts.source, {});
    return v;
  }

 private:
  ReadContext& context_;
  const FieldSpec& spec_;
  const KindInfo& info_;
  const std::string& path_;
  std::int64_t hz_;
  std::set<std::string> sources_;

  ParamLookup look() {
    return [this](std::string_view name, std::size_t offset) { return context_.params.lookup(name, offset, sources_); };
  }

  [[noreturn]] void unexpected(const YamlNode& node) const {
    throw NodeError(node.pos, fmt::format("expected {}, found {}", info_.noun, node.describe()));
  }

  const YamlNode* required(const ValueParts& parts) const {
    if (parts.value == nullptr) throw NodeError(parts.node->pos, "expected a value beside the source");
    if (parts.value->is_null()) unexpected(*parts.value);
    return parts.value;
  }

  void note(const std::string& source, std::optional<std::pair<double, double>> ends) {
    Provenance p;
    p.source = source;
    if (source.empty()) p.source = fmt::format("{}", fmt::join(sources_, "; "));
    if (ends) {
      p.low = ends->first;
      p.high = ends->second;
    }
    if (!p.source.empty() || p.low) context_.provenance[path_] = p;
  }

  FieldValue number(const ValueParts& parts) {
    const YamlNode& at = parts.value != nullptr ? *parts.value : *parts.node;
    if (at.is_null() || (at.is_map() && &at == parts.value)) unexpected(at);
    if (at.is_scalar() && at.quoted && at.text.find("${") == std::string::npos) {
      const Value v = evaluated(at);
      if (!std::holds_alternative<Quantity>(v)) unexpected(at);
    }
    if (at.is_scalar() && !at.quoted && at.text.find("${") == std::string::npos &&
        !std::holds_alternative<Quantity>(evaluated(at))) {
      unexpected(at);
    }
    Quantity q = evaluate_number(parts, look());
    to_kind(q, at);
    check_range(q, at);
    const auto stored = [this](Real v) { return spec_.whole ? std::round(v * spec_.scale) : v * spec_.scale; };
    std::optional<std::pair<double, double>> ends;
    if (q.interval()) ends = std::pair{static_cast<double>(stored(q.low)), static_cast<double>(stored(q.high))};
    note(parts.source, ends);
    return stored(q.value);
  }

  Value evaluated(const YamlNode& node) {
    try {
      return evaluate_scalar(node.text, node.quoted, look());
    } catch (const ValueError& e) {
      if (e.reported) throw;
      SourcePos pos = node.pos;
      pos.column += static_cast<int>(e.offset) + (node.quoted ? 1 : 0);
      throw NodeError(pos, fmt::format("expected {}: {} (in {})", info_.noun, e.what(), node.describe()), e.suggestion);
    }
  }

  void to_kind(Quantity& q, const YamlNode& at) const {
    if (q.dim == info_.dim) return;
    if (info_.by_clock && q.dim == *info_.by_clock) {
      // Per cycle: times the clock. A count of cycles: divided by it.
      const auto hz = static_cast<Real>(hz_);
      const bool count = q.dim.cycle > 0;
      for (Real* v : {&q.value, &q.low, &q.high}) *v = count ? *v / hz : *v * hz;
      q.dim = info_.dim;
      return;
    }
    const std::string found = q.dim.plain()    ? "a plain number"
                              : at.is_scalar() ? dimension_name(q.dim)
                                               : "an interval of another kind";
    const std::string shown = at.is_scalar() ? fmt::format("{} ({})", at.describe(), found) : found;
    throw NodeError(at.pos, fmt::format("expected {}, found {}", info_.noun,
                                        q.dim.plain() && at.is_scalar() && !info_.dim.plain()
                                            ? fmt::format("{} without a unit", at.describe())
                                            : shown));
  }

  void check_range(Quantity& q, const YamlNode& at) const {
    const bool low_ok = spec_.above_low ? q.low > spec_.low : q.low >= spec_.low;
    if (!low_ok || !(q.high <= spec_.high)) {
      std::string found = at.describe();
      if (q.interval()) {
        found = fmt::format("{} ({:.6g} … {:.6g})", found, static_cast<double>(q.low), static_cast<double>(q.high));
      } else if (at.is_scalar() && at.text.find("${") != std::string::npos) {
        found = fmt::format("{} = {:.6g}", found, static_cast<double>(q.value));
      }
      const bool over = low_ok && spec_.high >= 0x1p60L;  // of the ranges' wording only limits a person would meet
      throw NodeError(at.pos, fmt::format("expected a value {}{}, found {}", describe_range(spec_),
                                          over ? " that can be counted in 64 bits" : "", found));
    }
    const bool must_be_whole = spec_.whole && spec_.kind != FieldKind::bandwidth && spec_.kind != FieldKind::frequency;
    if (!must_be_whole || q.interval()) return;
    const Real nearest = std::round(q.value);
    if (std::abs(q.value - nearest) > 1e-9L * std::max<Real>(1, std::abs(q.value))) {
      throw NodeError(at.pos,
                      fmt::format("expected a whole number{}, found {} = {:.6g}; floor() or ceil() make it whole",
                                  spec_.kind == FieldKind::bytes    ? " of bytes"
                                  : spec_.kind == FieldKind::cycles ? " of cycles"
                                                                    : "",
                                  at.describe(), static_cast<double>(q.value)));
    }
    q.value = q.low = q.high = nearest;
  }

  /// A word: as written, or the text of a parameter.
  std::string word(const YamlNode& node) {
    if (!node.is_scalar()) unexpected(node);
    if (node.text.find("${") == std::string::npos) return node.text;
    const Value v = evaluated(node);
    if (const auto* s = std::get_if<std::string>(&v)) return *s;
    throw NodeError(node.pos, fmt::format("expected {}, but {} is not text", info_.noun, node.describe()));
  }

  std::string text_of(const YamlNode& node) const {
    if (!node.is_scalar()) unexpected(node);
    return node.text;
  }

  std::string one_of(const YamlNode& node, const std::vector<std::string>& names, const std::string& what) {
    std::string w = word(node);
    if (std::find(names.begin(), names.end(), w) != names.end()) return w;
    const std::string known =
        names.empty() ? fmt::format("there is no {} to name", what)
        : names.size() <= 12
            ? fmt::format("expected {} {}", names.size() == 1 ? what : what + ", one of", fmt::join(names, ", "))
            : fmt::format("expected {}", what);
    throw NodeError(node.pos, fmt::format("unknown {} '{}'; {}", what, w, known), nearest_name(w, names).value_or(""));
  }

  /// A memory's name, which may be qualified by the grid or array that it stands in (`pe.ls`).
  std::string memory_name(const YamlNode& node) {
    const Names& names = context_.names;
    const std::string w = word(node);
    const std::size_t dot = w.find('.');
    if (dot == std::string::npos) return one_of(node, names.memories, "memory");
    const std::string scope = w.substr(0, dot), name = w.substr(dot + 1);
    for (std::size_t i = 0; i < names.memories.size(); ++i) {
      if (names.memories[i] == name && names.memory_scopes[i] == scope) return name;
    }
    std::vector<std::string> qualified;
    for (std::size_t i = 0; i < names.memories.size(); ++i) {
      if (!names.memory_scopes[i].empty()) qualified.push_back(names.memory_scopes[i] + "." + names.memories[i]);
    }
    throw NodeError(node.pos, fmt::format("unknown memory '{}'; expected a memory of a grid or array", w),
                    nearest_name(w, qualified).value_or(""));
  }

  std::string dtype(const YamlNode& node) {
    const std::string w = word(node);
    if (parse_dtype(w)) return w;
    unknown_dtype(node.pos, w);
  }
  [[noreturn]] static void unknown_dtype(const SourcePos& pos, const std::string& w) {
    static const std::vector<std::string> names{"fp32",  "fp16",   "bf16",  "fp64",   "int4",
                                                "uint4", "int8",   "uint8", "int16",  "uint16",
                                                "int32", "uint32", "int64", "uint64", "bool"};
    throw NodeError(pos, fmt::format("unknown type '{}'; expected one of {}", w, fmt::join(names, ", ")),
                    nearest_name(w, names).value_or(""));
  }

  template <class Item>
  std::vector<std::string> list(const YamlNode& node, Item item) {
    std::vector<std::string> out;
    if (node.is_scalar()) {
      out.push_back(item(node));
      return out;
    }
    if (!node.is_sequence()) unexpected(node);
    if (node.items.empty()) throw NodeError(node.pos, fmt::format("expected {}, found an empty list", info_.noun));
    for (const YamlNode& n : node.items) {
      std::string name = item(n);
      if (std::find(out.begin(), out.end(), name) != out.end()) {
        throw NodeError(n.pos, fmt::format("'{}' stands in the list twice", name));
      }
      out.push_back(std::move(name));
    }
    return out;
  }

  Real rate(const YamlNode& node) {
    const Quantity q = evaluate_number(split_value(node), look());
    if (!q.dim.plain() || q.interval() || !(q.value > 0 && q.value <= kHighestRate)) {
      throw NodeError(node.pos, fmt::format("expected a relative rate > 0 and <= {}, found {}",
                                            static_cast<int>(kHighestRate), node.describe()));
    }
    return static_cast<Real>(static_cast<double>(q.value));
  }

  std::string op_name(const YamlNode& node) { return one_of(node, spec_.choices, "operation"); }

  FieldValue pair(const YamlNode& node) {
    if (!node.is_sequence() || node.items.size() != 2) unexpected(node);
    std::vector<Real> out;
    for (const YamlNode& item : node.items) {
      Quantity q = evaluate_number(split_value(item), look());
      if (!q.dim.plain() || q.interval()) unexpected(item);
      FieldSpec one = spec_;
      one.kind = FieldKind::integer;
      one.whole = true;
      ValueReader(context_, one, path_, hz_).check_range(q, item);
      out.push_back(q.value);
    }
    return out;
  }

  FieldValue matrix_types(const YamlNode& node) {
    if (!node.is_map() || node.entries.empty()) unexpected(node);
    std::vector<TypeRate> out;
    for (const YamlEntry& e : node.entries) {
      if (!parse_dtype(e.key)) unknown_dtype(e.pos, e.key);
      TypeRate t{e.key, {}, 1};
      if (e.value.is_map()) {
        for (const YamlEntry& f : e.value.entries) {
          static const std::vector<std::string> keys{"accumulator", "rate"};
          if (f.key == "accumulator") {
            t.accumulator = dtype(f.value);
          } else if (f.key == "rate") {
            t.rate = rate(f.value);
          } else {
            throw NodeError(f.pos, fmt::format("unknown key '{}'; expected accumulator, rate", f.key),
                            nearest_name(f.key, keys).value_or(""));
          }
        }
        if (t.accumulator.empty()) throw NodeError(e.pos, "expected an accumulator type");
      } else {
        t.accumulator = dtype(e.value);
      }
      const DType operand = *parse_dtype(t.key), sum = *parse_dtype(t.accumulator);
      if (bits(sum) < bits(operand) || is_float(sum) != is_float(operand)) {
        throw NodeError(e.pos, fmt::format("{} can't accumulate products of {}; expected {} type at least as wide",
                                           t.accumulator, t.key, is_float(operand) ? "a float" : "an integer"));
      }
      out.push_back(std::move(t));
    }
    return out;
  }

  /// `any`, `[a, b]` or `{a: 1, b: 0.5}`.
  template <class Item>
  FieldValue rates(const YamlNode& node, Item item) {
    std::vector<TypeRate> out;
    if (node.is_map()) {
      if (node.entries.empty()) unexpected(node);
      for (const YamlEntry& e : node.entries) {
        YamlNode key;
        key.kind = YamlNode::Kind::scalar;
        key.text = e.key;
        key.pos = e.pos;
        out.push_back({item(key), {}, rate(e.value)});
      }
      return out;
    }
    for (std::string& name : list(node, item)) out.push_back({std::move(name), {}, 1});
    return out;
  }

  FieldValue other(const YamlNode& node) {
    switch (spec_.kind) {
      case FieldKind::boolean: {
        if (!node.is_scalar()) unexpected(node);
        const Value v = evaluated_word(node);
        if (const auto* b = std::get_if<bool>(&v)) return *b;
        unexpected(node);
      }
      case FieldKind::name: {
        std::string w = word(node);
        if (!is_name(w)) unexpected(node);
        return w;
      }
      case FieldKind::choice:
        return one_of(node, spec_.choices, "value");
      case FieldKind::dtype:
        return dtype(node);
      case FieldKind::size_pair:
        return pair(node);
      case FieldKind::choice_list:
        return list(node, [&](const YamlNode& n) { return one_of(n, spec_.choices, "value"); });
      case FieldKind::memory:
        return memory_name(node);
      case FieldKind::memory_list:
        return list(node, [&](const YamlNode& n) { return memory_name(n); });
      case FieldKind::link:
        return one_of(node, context_.names.links, "link");
      case FieldKind::link_list:
        return list(node, [&](const YamlNode& n) { return one_of(n, context_.names.links, "link"); });
      case FieldKind::clock:
        return one_of(node, context_.names.clocks, "clock");
      case FieldKind::matrix_types:
        return matrix_types(node);
      case FieldKind::vector_ops:
        return rates(node, [&](const YamlNode& n) { return op_name(n); });
      case FieldKind::vector_types:
        return rates(node, [&](const YamlNode& n) { return dtype(n); });
      default:
        unexpected(node);
    }
  }

  Value evaluated_word(const YamlNode& node) {
    if (node.text.find("${") != std::string::npos) return evaluated(node);
    if (!node.quoted && node.text == "true") return true;
    if (!node.quoted && node.text == "false") return false;
    return node.text;
  }
};

}  // namespace

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > 64 || !ascii_letter(text[0])) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return ascii_letter(c) || (c >= '0' && c <= '9'); });
}

void Diagnostics::add(SourcePos pos, std::string path, std::string message, std::string suggestion) {
  if (list_.size() >= kMostDiagnostics) {
    ++dropped_;
    return;
  }
  list_.push_back({std::move(pos), std::move(path), std::move(message), std::move(suggestion)});
}

void Diagnostics::throw_if_any() const {
  if (list_.empty()) return;
  std::vector<Diagnostic> out = list_;
  if (dropped_ > 0) {
    out.push_back({.pos = {.file = list_.back().pos.file},
                   .path = {},
                   .message = fmt::format("{} more errors are not shown", dropped_),
                   .suggestion = {}});
  }
  throw InputError(out);
}

Report reporter(ReadContext& context, const std::string& path) {
  return [&context, path](const std::string& field, const std::string& message) {
    const std::string full = field.empty() ? path : path + "." + field;
    // The key itself, or the nearest thing around it: a default stands nowhere.
    std::string at = full;
    while (!at.empty() && !context.positions.contains(at)) at.resize(at.rfind('.') == at.npos ? 0 : at.rfind('.'));
    const auto it = context.positions.find(at);
    context.diagnostics.add(it == context.positions.end() ? SourcePos{} : it->second, full, message);
  };
}

FieldValue read_value(ReadContext& context, const YamlNode& node, const std::string& path, const FieldSpec& spec,
                      std::int64_t hz) {
  try {
    return ValueReader(context, spec, path, hz).read(node);
  } catch (const NodeError& e) {
    context.diagnostics.add(e.pos, path, e.what(), e.suggestion);
  } catch (const ValueError& e) {
    if (!e.reported) context.diagnostics.add(node.pos, path, e.what(), e.suggestion);
  }
  return {};
}

}  // namespace assay
