#include <fmt/format.h>

#include <algorithm>

#include "reports/format.h"
#include "reports/section.h"
#include "reports/summary.h"

// All design points with their parameters: the table behind the charts.

namespace assay {
namespace {

std::vector<Block> build(const SectionContext& context) {
  const SweepResult& sweep = context.sweep;
  if (sweep.points.size() < 2) return {};
  Table t{.caption = "All design points",
          .columns = {{"#", Unit::count}, {.title = "Design", .keep = true}, {"Machine"}},
          .rows = {},
          .sortable = true,
          .searchable = true,
          .search_hint = "words of a design, machine, parameter or status"};
  const auto& axes = sweep.axes;
  for (const auto& axis : axes) t.columns.push_back({axis});
  for (const Column& c :
       std::initializer_list<Column>{{"Status"},
                                     {"Latency", Unit::seconds},
                                     {"Energy", Unit::joules},
                                     {"Energy × delay", Unit::joule_seconds},
                                     {"Area", Unit::mm2},
                                     {"Average", Unit::watts},
                                     {"Peak compute", Unit::ops_per_second},
                                     {"Model error", Unit::ratio, "|analytical − cycle| / cycle where both ran"}}) {
    t.columns.push_back(c);
  }
  const auto detailed = detailed_points(sweep, context.options.detailed);
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const PointResult& p = sweep.points[i];
    const bool linked = std::find(detailed.begin(), detailed.end(), i) != detailed.end();
    std::vector<Cell> row{Cell(static_cast<double>(p.index)), Cell(p.design, Tone::plain, linked ? panel_id(p) : ""),
                          Cell(p.machine)};
    for (const auto& axis : axes) {
      const std::string value = parameter(p, axis);
      row.push_back(value.empty() ? Cell() : Cell(value));
    }
    const bool ok = is_ok(p);
    row.push_back(is_feasible(p) ? Cell(p.status) : Cell(ok ? "violates a constraint" : p.status, Tone::bad));
    const auto result = [&](double v) { return ok ? Cell(v) : Cell(); };
    row.push_back(result(p.latency_s));
    row.push_back(result(p.energy_pj * 1e-12));
    row.push_back(result(p.edp));
    row.push_back(p.area_mm2 > 0 ? Cell(p.area_mm2) : Cell());
    row.push_back(result(p.average_w));
    row.push_back(p.peak_tops > 0 ? Cell(p.peak_tops * 1e12) : Cell());
    row.push_back(
        ok && std::any_of(p.workloads.begin(), p.workloads.end(), [](const auto& w) { return w.cycle_seconds >= 0; })
            ? Cell(p.model_error)
            : Cell());
    t.rows.push_back(std::move(row));
  }
  return {Details{fmt::format("Table of {}", counted(sweep.points.size(), "design point")), {std::move(t)}}};
}

}  // namespace

void register_points(SectionRegistry& registry) { registry.add({"points", "All design points", build}); }

}  // namespace assay
