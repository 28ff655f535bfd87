#include <fmt/format.h>

#include <map>

#include "reports/format.h"
#include "reports/section.h"
#include "reports/summary.h"

// Designs without a place in the ranking, each with its reason.

namespace assay {
namespace {

std::vector<Block> build(const SectionContext& context) {
  const SweepResult& sweep = context.sweep;
  std::map<std::string, std::size_t> by_status;
  Table t{.caption = "Design points outside the ranking",
          .columns = {{"#", Unit::count}, {.title = "Design", .keep = true}, {"Status"}, {"Reason"}},
          .rows = {},
          .sortable = true,
          .searchable = false};
  for (const auto& p : sweep.points) {
    if (is_ok(p) && p.constraint_violations.empty()) continue;
    const std::string status = is_ok(p) ? "violates a constraint" : p.status;
    ++by_status[status];
    std::string reason = p.reason;
    for (const auto& v : p.constraint_violations) reason += (reason.empty() ? "" : "; ") + v;
    t.rows.push_back({Cell(static_cast<double>(p.index)), Cell(p.design), Cell(status, Tone::bad),
                      Cell(reason.empty() ? "no reason was recorded" : reason)});
  }
  if (t.rows.empty() || (sweep.points.size() == 1 && sweep.points[0].constraint_violations.empty())) return {};
  t.searchable = t.rows.size() > 15;
  std::vector<std::string> counts;
  for (const auto& [status, n] : by_status) counts.push_back(fmt::format("{} {}", n, status));
  return {Paragraph{fmt::format("{} of {} have no place in the ranking: {}.", t.rows.size(),
                                counted(sweep.points.size(), "design point"), join_and(counts))},
          std::move(t)};
}

}  // namespace

void register_failures(SectionRegistry& registry) { registry.add({"failures", "Infeasible and failed", build}); }

}  // namespace assay
