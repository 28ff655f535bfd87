#include "core/mapping/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "core/base/check.h"
#include "core/base/math.h"

namespace assay {
namespace {

bool overlap_in_time(const PlanItem& a, const PlanItem& b) { return a.lower < b.upper && b.lower < a.upper; }

/// Places items in the given order, each at the lowest address that is free for its whole interval.
PlanResult place(const PlanProblem& p, const std::vector<std::size_t>& order) {
  PlanResult r;
  r.address.assign(p.items.size(), 0);
  std::vector<std::size_t> placed;
  for (const std::size_t i : order) {
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;  // [from, to) of items live at the same time
    for (const std::size_t j : placed) {
      if (overlap_in_time(p.items[i], p.items[j])) taken.push_back({r.address[j], r.address[j] + p.items[j].bytes});
    }
    std::sort(taken.begin(), taken.end());
    std::int64_t at = 0;
    for (const auto& [from, to] : taken) {
      if (at + p.items[i].bytes <= from) break;
      at = std::max(at, round_up(to, p.alignment));
    }
    r.address[i] = at;
    r.peak = std::max(r.peak, at + p.items[i].bytes);
    placed.push_back(i);
  }
  return r;
}

}  // namespace

void check_plan(const PlanProblem& p) {
  ASSAY_CHECK(p.alignment >= 1 && p.capacity >= 0, fmt::format("alignment {}, capacity {}", p.alignment, p.capacity));
  for (const PlanItem& i : p.items) {
    ASSAY_CHECK(i.bytes >= 0 && i.lower < i.upper, fmt::format("{} bytes in [{}, {})", i.bytes, i.lower, i.upper));
  }
}

std::int64_t plan_lower_bound(const PlanProblem& p) {
  std::map<std::int64_t, std::int64_t> delta;
  for (const PlanItem& i : p.items) {
    delta[i.lower] += i.bytes;
    delta[i.upper] -= i.bytes;
  }
  std::int64_t live = 0, most = 0;
  for (const auto& [step, d] : delta) most = std::max(most, live += d);
  return most;
}

std::optional<PlanResult> solve_plan(const PlanProblem& p) {
  check_plan(p);
  const std::int64_t bound = plan_lower_bound(p);
  if (bound > p.capacity) return std::nullopt;
  const auto length = [&](std::size_t i) { return p.items[i].upper - p.items[i].lower; };
  const std::function<double(std::size_t)> keys[] = {
      [&](std::size_t i) { return -static_cast<double>(p.items[i].bytes); },
      [&](std::size_t i) { return -static_cast<double>(length(i)); },
      [&](std::size_t i) { return -static_cast<double>(p.items[i].bytes) * static_cast<double>(length(i)); },
      [&](std::size_t i) { return static_cast<double>(p.items[i].lower); },
  };
  std::optional<PlanResult> best;
  for (const auto& key : keys) {
    std::vector<std::size_t> order(p.items.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    PlanResult r = place(p, order);
    if (r.peak <= p.capacity && (!best || r.peak < best->peak)) best = std::move(r);
    if (best && best->peak == bound) break;
  }
  if (best) best->lower_bound = bound;
  return best;
}

std::string verify_plan(const PlanProblem& p, const PlanResult& r) {
  if (r.address.size() != p.items.size())
    return fmt::format("{} addresses for {} items", r.address.size(), p.items.size());
  for (std::size_t i = 0; i < p.items.size(); ++i) {
    if (r.address[i] < 0 || r.address[i] % p.alignment != 0)
      return fmt::format("item {} stands at {}", i, r.address[i]);
    if (r.address[i] + p.items[i].bytes > p.capacity)
      return fmt::format("item {} ends at {} of {}", i, r.address[i] + p.items[i].bytes, p.capacity);
    for (std::size_t j = 0; j < i; ++j) {
      const bool in_space =
          r.address[i] < r.address[j] + p.items[j].bytes && r.address[j] < r.address[i] + p.items[i].bytes;
      if (in_space && overlap_in_time(p.items[i], p.items[j])) return fmt::format("items {} and {} overlap", j, i);
    }
  }
  return "";
}

}  // namespace assay
