#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// One buffer of a static memory plan: live in steps [lower, upper), `bytes` long.
///
///   address ^      ┌───────┐
///           │ ┌────┤   b   │          two buffers whose intervals overlap
///           │ │ a  └───────┘          must not overlap in addresses
///           └─┴────┴──────────> step
struct PlanItem {
  std::int64_t lower = 0, upper = 0;
  std::int64_t bytes = 0;
};

struct PlanProblem {
  std::vector<PlanItem> items;
  std::int64_t capacity = 0;
  std::int64_t alignment = 1;
};

struct PlanResult {
  std::vector<std::int64_t> address;  ///< parallel to the items
  std::int64_t peak = 0;              ///< highest byte used
  std::int64_t lower_bound = 0;       ///< largest sum of bytes live in one step
};

/// Throws InternalError on a malformed problem (negative sizes, empty intervals).
void check_plan(const PlanProblem& p);
/// Greedy best fit under several orders; nothing when none fits the capacity. O(orders · n²).
std::optional<PlanResult> solve_plan(const PlanProblem& p);
/// Independent check of a result; empty when right, else the first conflict in words.
std::string verify_plan(const PlanProblem& p, const PlanResult& r);
std::int64_t plan_lower_bound(const PlanProblem& p);

}  // namespace assay
