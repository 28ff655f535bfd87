#include "explorers/strategy.h"

#include "core/base/error.h"

namespace assay {

void register_all(StrategyRegistry& registry);

const StrategyRegistry& strategies() {
  static const StrategyRegistry registry = [] {
    StrategyRegistry r;
    register_all(r);
    return r;
  }();
  return registry;
}

std::vector<std::string> StrategyRegistry::names() const {
  std::vector<std::string> list;
  for (const auto& [name, maker] : makers_) list.push_back(name);
  return list;
}

std::unique_ptr<Strategy> StrategyRegistry::make(const std::string& name, const StrategyOptions& options) const {
  for (const auto& [n, maker] : makers_) {
    if (n == name) return maker(options);
  }
  throw InputError(
      Diagnostic{{}, "strategy", "unknown strategy '" + name + "'", nearest_name(name, names()).value_or("")});
}

}  // namespace assay
