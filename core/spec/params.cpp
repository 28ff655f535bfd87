#include <fmt/format.h>

#include <cmath>

#include "core/spec/numbers.h"
#include "core/spec/reader.h"

namespace assay {
namespace {

/// Longer chains of parameters would only serve to exhaust the stack.
constexpr std::size_t kLongestChain = 64;

}  // namespace

Params::Params(const YamlNode* node, Diagnostics& diagnostics) : diagnostics_(diagnostics) {
  if (node == nullptr) return;
  if (!node->is_map()) {
    diagnostics_.add(node->pos, "params",
                     fmt::format("expected a map of names and values, found {}", node->describe()));
    return;
  }
  for (const YamlEntry& e : node->entries) {
    const std::string path = "params." + e.key;
    if (!is_name(e.key)) {
      diagnostics_.add(e.pos, path, "expected a name of letters, digits and '_' that starts with a letter");
      continue;
    }
    if (find_unit(e.key)) {
      diagnostics_.add(e.pos, path, fmt::format("'{}' is a unit; expected another name for a parameter", e.key));
      continue;
    }
    Param p;
    p.node = &e.value;
    p.pos = e.pos;
    params_.emplace(e.key, std::move(p));
    order_.push_back(e.key);
  }
}

void Params::evaluate(const std::string& name, Param& p) {
  p.state = Param::State::evaluating;
  chain_.push_back(name);
  const std::string path = "params." + name;
  const auto look = [this, &p](std::string_view other, std::size_t offset) { return lookup(other, offset, p.sources); };
  p.state = Param::State::failed;
  try {
    if (chain_.size() > kLongestChain) throw ValueError("the chain of parameters is too long", 0);
    p.state = Param::State::evaluating;
    const ValueParts parts = split_value(*p.node);
    if (parts.range == nullptr && parts.value != nullptr && parts.value->is_scalar()) {
      p.value = evaluate_scalar(parts.value->text, parts.value->quoted, look);
    } else {
      p.value = evaluate_number(parts, look);
    }
    if (!parts.source.empty()) p.sources = {fmt::format("params.{}: {}", name, parts.source)};
    p.state = Param::State::ready;
  } catch (const NodeError& e) {
    p.state = Param::State::failed;
    diagnostics_.add(e.pos, path, e.what(), e.suggestion);
  } catch (const ValueError& e) {
    p.state = Param::State::failed;
    if (!e.reported) diagnostics_.add(p.node->pos, path, e.what(), e.suggestion);
  }
  chain_.pop_back();
}

Value Params::lookup(std::string_view name, std::size_t offset, std::set<std::string>& sources) {
  const auto it = params_.find(name);
  if (it == params_.end()) {
    throw ValueError(fmt::format("no parameter '{}' in params", name), offset, nearest_name(name, order_).value_or(""));
  }
  Param& p = it->second;
  p.used = true;
  if (p.state == Param::State::evaluating) {
    std::string cycle;
    bool inside = false;
    for (const std::string& step : chain_) {
      inside = inside || step == name;
      if (inside) cycle += step + " -> ";
    }
    throw ValueError(fmt::format("parameters depend on each other in a cycle: {}{}", cycle, name), offset);
  }
  if (p.state == Param::State::untouched) evaluate(it->first, p);
  if (p.state == Param::State::failed) {
    ValueError error(fmt::format("parameter '{}' has no value", name), offset);
    error.reported = true;
    throw error;
  }
  sources.insert(p.sources.begin(), p.sources.end());
  return p.value;
}

void Params::finish() {
  for (const std::string& name : order_) {
    Param& p = params_.at(name);
    if (p.state == Param::State::untouched) evaluate(name, p);
  }
  for (const std::string& name : order_) {
    if (!params_.at(name).used) {
      diagnostics_.add(params_.at(name).pos, "params." + name,
                       "no value uses this parameter; expected at least one ${" + name + "}");
    }
  }
}

}  // namespace assay
