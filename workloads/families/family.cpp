#include "workloads/families/family.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "core/base/check.h"

namespace assay {

void register_all(FamilyRegistry& registry);  // generated from this folder's CMakeLists.txt

namespace {

Diagnostic problem(const std::string& path, std::string message, std::string suggestion = {}) {
  return {.pos = {}, .path = path, .message = std::move(message), .suggestion = std::move(suggestion)};
}

std::string range_text(const ParamSpec& p) {
  if (!p.choices.empty()) return fmt::format("{}", fmt::join(p.choices, ", "));
  return fmt::format("{} … {}", p.low, p.high);
}

}  // namespace

std::int64_t FamilyParams::operator[](const std::string& name) const {
  const auto it = values_.find(name);
  ASSAY_CHECK(it != values_.end(), "no parameter '" + name + "'");
  return it->second;
}

FamilyParams Family::defaults() const {
  FamilyParams out;
  for (const ParamSpec& p : params) out.set(p.name, p.fallback);
  return out;
}

std::optional<Diagnostic> Family::set(FamilyParams& values, const std::string& param, const std::string& text) const {
  const auto spec = std::find_if(params.begin(), params.end(), [&](const ParamSpec& p) { return p.name == param; });
  if (spec == params.end()) {
    std::vector<std::string> names;
    for (const ParamSpec& p : params) names.push_back(p.name);
    return problem(param, fmt::format("family '{}' has no such parameter; it has {}", name, fmt::join(names, ", ")),
                   nearest_name(param, names).value_or(""));
  }
  if (!spec->choices.empty()) {
    const auto it = std::find(spec->choices.begin(), spec->choices.end(), text);
    if (it == spec->choices.end())
      return problem(param, fmt::format("found '{}', expected one of {}", text, range_text(*spec)),
                     nearest_name(text, spec->choices).value_or(""));
    values.set(param, it - spec->choices.begin());
    return std::nullopt;
  }
  std::int64_t v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  const bool whole = error == std::errc() && end == text.data() + text.size() && (text.size() == 1 || text[0] != '0');
  if (!whole || v < spec->low || v > spec->high)
    return problem(param, fmt::format("found '{}', expected a whole number, {}", text, range_text(*spec)));
  values.set(param, v);
  return std::nullopt;
}

Graph Family::build(const FamilyParams& values, const FamilyOptions& options) const {
  ASSAY_CHECK(options.weights != WeightMode::as_in_file, "a family has no file");
  if (check)
    if (const auto broken = check(values)) throw InputError("family '" + name + "'", *broken);
  return make(values, options);
}

void FamilyRegistry::add(Family f) {
  ASSAY_CHECK(f.make != nullptr, "family '" + f.name + "' makes nothing");
  const std::string name = f.name;
  ASSAY_CHECK(families_.emplace(name, std::move(f)).second, "family '" + name + "' is registered twice");
}

const Family* FamilyRegistry::find(const std::string& name) const {
  const auto it = families_.find(name);
  return it == families_.end() ? nullptr : &it->second;
}

std::vector<std::string> FamilyRegistry::names() const {
  std::vector<std::string> out;
  for (const auto& [name, f] : families_) out.push_back(name);
  return out;
}

const FamilyRegistry& families() {
  static const FamilyRegistry registry = [] {
    FamilyRegistry r;
    register_all(r);
    return r;
  }();
  return registry;
}

std::string describe(const Family& f) {
  std::string out =
      fmt::format("### {}\n\n{}\n\n| parameter | default | range | meaning |\n|---|---|---|---|\n", f.name, f.summary);
  for (const ParamSpec& p : f.params) {
    const std::string fallback =
        p.choices.empty() ? std::to_string(p.fallback) : p.choices[static_cast<std::size_t>(p.fallback)];
    out += fmt::format("| `{}` | {} | {} | {} |\n", p.name, fallback, range_text(p), p.doc);
  }
  return out;
}

}  // namespace assay
