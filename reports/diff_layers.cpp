#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "reports/diff.h"

namespace assay {
namespace {

/// Disjoint sets with path halving.
class Sets {
 public:
  explicit Sets(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void unite(std::size_t a, std::size_t b) {
    a = find(a), b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);  // the root is the earliest layer
  }

 private:
  std::vector<std::size_t> parent_;
};

std::string join_names(const std::vector<std::string>& names) {
  if (names.size() > 4) return fmt::format("{} + {} + {} more", names[0], names[1], names.size() - 2);
  return fmt::format("{}", fmt::join(names, " + "));
}

}  // namespace

std::string LayerDelta::name() const {
  if (before.empty() || before == after) return join_names(after);
  return after.empty() ? join_names(before) : join_names(before) + " → " + join_names(after);
}

std::vector<LayerDelta> match_layers(const std::vector<LayerResult>& before, const std::vector<LayerResult>& after) {
  const std::size_t n = before.size() + after.size();
  const auto layer = [&](std::size_t i) -> const LayerResult& {
    return i < before.size() ? before[i] : after[i - before.size()];
  };
  Sets sets(n);
  std::map<std::string, std::size_t> by_node, by_name;
  for (std::size_t i = 0; i < n; ++i) {
    for (const auto& node : layer(i).nodes) {
      if (const auto [it, is_new] = by_node.emplace(node, i); !is_new) sets.unite(i, it->second);
    }
    // A name counts across the two sides only: inside one it may be given twice.
    if (i < before.size()) {
      by_name.emplace(layer(i).name, i);
    } else if (const auto it = by_name.find(layer(i).name); it != by_name.end()) {
      sets.unite(i, it->second);
    }
  }
  std::map<std::size_t, LayerDelta> deltas;
  std::map<std::size_t, double> longest[2];
  for (std::size_t i = 0; i < n; ++i) {
    const LayerResult& l = layer(i);
    const std::size_t root = sets.find(i);
    LayerDelta& d = deltas[root];
    const bool old = i < before.size();
    (old ? d.before : d.after).push_back(l.name);
    (old ? d.before_s : d.after_s) += l.seconds;
    (old ? d.before_pj : d.after_pj) += l.energy_pj;
    const auto [it, first] = longest[old ? 0 : 1].emplace(root, l.seconds);
    if (first || l.seconds > it->second) {
      it->second = l.seconds;
      (old ? d.before_binding : d.after_binding) = l.binding;
    }
  }
  std::vector<LayerDelta> out;
  for (auto& [root, d] : deltas) out.push_back(std::move(d));
  std::stable_sort(out.begin(), out.end(), [](const LayerDelta& a, const LayerDelta& b) {
    return std::abs(a.after_s - a.before_s) > std::abs(b.after_s - b.before_s);
  });
  return out;
}

}  // namespace assay
