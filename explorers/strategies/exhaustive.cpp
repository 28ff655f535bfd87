#include <fmt/format.h>

#include "core/base/error.h"
#include "explorers/strategy.h"

namespace assay {
namespace {

/// Every point, in order.
class Exhaustive : public Strategy {
 public:
  explicit Exhaustive(std::int64_t space) : space_(space) {}
  std::vector<std::int64_t> ask(std::size_t n) override {
    std::vector<std::int64_t> out;
    while (out.size() < n && next_ < space_) out.push_back(next_++);
    return out;
  }
  void tell(const std::vector<std::pair<std::int64_t, double>>&) override {}

 private:
  std::int64_t space_, next_ = 0;
};

constexpr std::int64_t kMost = 10'000'000;

}  // namespace

void register_exhaustive(StrategyRegistry& registry) {
  registry.add("exhaustive", [](const StrategyOptions& o) -> std::unique_ptr<Strategy> {
    if (o.space > kMost) {
      throw InputError(
          "strategy",
          fmt::format("the space has {} points; 'exhaustive' goes up to {}: use 'strategy: random' with 'samples'",
                      o.space, kMost));
    }
    return std::make_unique<Exhaustive>(o.space);
  });
}

}  // namespace assay
