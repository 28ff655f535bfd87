#include "reports/section.h"

#include <fmt/format.h>

#include "reports/format.h"
#include "reports/summary.h"

namespace assay {

Document build_report(const SweepResult& sweep, const ReportOptions& options) {
  SectionRegistry registry;
  register_all(registry);
  GraphDrawer graphs(options.graphviz);
  const SectionContext context{sweep, options, graphs};

  Document document;
  if (sweep.points.size() == 1) {
    const PointResult& point = sweep.points[0];
    document.title = "Run: " + (point.design.empty() ? sweep.name : point.design);
    std::vector<std::string> phases;
    for (const auto& w : point.workloads) phases.push_back(phase_name(w));
    document.subtitle = phases.empty() ? point.machine : join_and(phases) + " on " + point.machine;
  } else {
    document.title = "Sweep: " + sweep.name;
    document.subtitle =
        fmt::format("{}, {} of them feasible, ranked by {}", counted(sweep.points.size(), "design point"),
                    sweep.ranking.size(), sweep.objective.empty() ? "nothing" : sweep.objective);
  }
  for (const SectionSpec& spec : registry.all()) {
    std::vector<Block> blocks = spec.build(context);
    if (!blocks.empty()) document.sections.push_back({spec.id, spec.title, std::move(blocks)});
  }
  return document;
}

}  // namespace assay
