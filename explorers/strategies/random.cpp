#include <algorithm>
#include <set>

#include "core/base/random.h"
#include "explorers/strategy.h"

namespace assay {
namespace {

/// Uniform draws without repetition.
class RandomDraws : public Strategy {
 public:
  explicit RandomDraws(const StrategyOptions& o)
      : space_(o.space), left_(std::min(o.samples, o.space)), random_(o.seed, "random strategy") {}
  std::vector<std::int64_t> ask(std::size_t n) override {
    std::vector<std::int64_t> out;
    while (out.size() < n && left_ > 0) {
      const std::int64_t i = random_.between(0, space_ - 1);
      if (!drawn_.insert(i).second) continue;
      out.push_back(i);
      --left_;
    }
    return out;
  }
  void tell(const std::vector<std::pair<std::int64_t, double>>&) override {}

 private:
  std::int64_t space_, left_;
  Random random_;
  std::set<std::int64_t> drawn_;
};

}  // namespace

void register_random(StrategyRegistry& registry) {
  registry.add("random",
               [](const StrategyOptions& o) -> std::unique_ptr<Strategy> { return std::make_unique<RandomDraws>(o); });
}

}  // namespace assay
