#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// Chooses which points of a space to evaluate next. Knows numbers only: no threads, files or models. Deterministic
/// for a seed, whatever the order in which results are told.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Up to n indices that were not given before; empty when the strategy is done.
  virtual std::vector<std::int64_t> ask(std::size_t n) = 0;
  /// Scores (smaller is better; infinity: infeasible) of points asked for earlier.
  virtual void tell(const std::vector<std::pair<std::int64_t, double>>& results) = 0;
};

struct StrategyOptions {
  std::int64_t space = 0;  ///< number of points
  std::int64_t samples = 0;
  std::uint64_t seed = 1;
};

class StrategyRegistry {
 public:
  using Make = std::unique_ptr<Strategy> (*)(const StrategyOptions&);
  void add(std::string name, Make maker) { makers_.push_back({std::move(name), maker}); }
  /// InputError with the nearest name when there is no such strategy, or when it refuses the space.
  std::unique_ptr<Strategy> make(const std::string& name, const StrategyOptions& options) const;
  std::vector<std::string> names() const;

 private:
  std::vector<std::pair<std::string, Make>> makers_;
};
const StrategyRegistry& strategies();

}  // namespace assay
