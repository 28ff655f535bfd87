#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/format.h"
#include "reports/section.h"
#include "reports/summary.h"

// Latency against energy, with area as size: which designs nobody beats in all three.

namespace assay {
namespace {

bool plottable(const PointResult& p) { return is_ok(p) && p.latency_s > 0 && p.energy_pj > 0; }

/// Where values spread over more than a decade or so, a linear axis hides the small ones.
bool wants_log(double least, double most) { return least > 0 && most / least > 12; }

/// The part of the frontier that is not dominated in latency and energy alone, by latency.
std::vector<std::size_t> staircase(const SweepResult& sweep) {
  std::vector<std::size_t> order;
  for (std::size_t p : sweep.frontier) {
    if (plottable(sweep.points.at(p))) order.push_back(p);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto& pa = sweep.points[a];
    const auto& pb = sweep.points[b];
    return std::tuple(pa.latency_s, pa.energy_pj, a) < std::tuple(pb.latency_s, pb.energy_pj, b);
  });
  std::vector<std::size_t> out;
  for (std::size_t p : order) {
    if (out.empty() || sweep.points[p].energy_pj < sweep.points[out.back()].energy_pj) out.push_back(p);
  }
  return out;
}

std::vector<Block> build(const SectionContext& context) {
  const SweepResult& sweep = context.sweep;
  Chart chart{.kind = ChartKind::scatter,
              .title = "Latency and energy of every design",
              .alt = {},
              .x = {"Latency", Unit::seconds},
              .y = {"Energy", Unit::joules},
              .size_title = "Area",
              .size_unit = Unit::mm2,
              .wide = true};
  std::map<std::string, Series> families;
  double x0 = INFINITY, x1 = 0, y0 = INFINITY, y1 = 0;
  std::size_t plotted = 0;
  const auto detailed = detailed_points(sweep, context.options.detailed);
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const PointResult& p = sweep.points[i];
    if (!plottable(p)) continue;
    ++plotted;
    const double energy = p.energy_pj * 1e-12;
    x0 = std::min(x0, p.latency_s), x1 = std::max(x1, p.latency_s), y0 = std::min(y0, energy),
    y1 = std::max(y1, energy);
    const std::string family = p.family.empty() ? p.machine : p.family;
    Series& s = families[is_feasible(p) ? family : family + ", beyond a constraint"];
    const bool linked = std::find(detailed.begin(), detailed.end(), i) != detailed.end();
    s.marks.push_back(
        {.x = p.latency_s, .y = energy, .size = p.area_mm2, .label = p.design, .target = linked ? panel_id(p) : ""});
  }
  if (plotted < 2) return {};
  chart.x.log = wants_log(x0, x1);
  chart.y.log = wants_log(y0, y1);
  for (auto& [name, series] : families) {
    series.name = name;
    chart.series.push_back(std::move(series));
  }
  Series line{.name = "frontier (latency, energy)", .marks = {}, .line = true};
  for (std::size_t p : staircase(sweep))
    line.marks.push_back({.x = sweep.points[p].latency_s, .y = sweep.points[p].energy_pj * 1e-12});
  if (!line.marks.empty()) chart.series.push_back(std::move(line));
  chart.alt =
      fmt::format("Scatter of {} in {}; latency from {} to {}, energy from {} to {}; {} on the frontier.",
                  counted(plotted, "design"), counted(families.size(), "group"), format_quantity(x0, Unit::seconds),
                  format_quantity(x1, Unit::seconds), format_quantity(y0, Unit::joules),
                  format_quantity(y1, Unit::joules), counted(sweep.frontier.size(), "design"));

  Table t{.caption = "Designs on the Pareto frontier of latency, energy and area",
          .columns = {{.title = "Design", .keep = true},
                      {"Family"},
                      {"Latency", Unit::seconds},
                      {"Energy", Unit::joules},
                      {"Area", Unit::mm2},
                      {"Energy × delay", Unit::joule_seconds},
                      {"Average", Unit::watts},
                      {"Bound by"},
                      {"Checked"}},
          .rows = {},
          .sortable = true};
  for (std::size_t i : sweep.frontier) {
    const PointResult& p = sweep.points.at(i);
    t.rows.push_back({Cell(p.design, Tone::plain, panel_id(p)), Cell(p.family), Cell(p.latency_s),
                      Cell(p.energy_pj * 1e-12), Cell(p.area_mm2), Cell(p.edp), Cell(p.average_w),
                      Cell(binding_summary(p)), check_summary(p)});
  }
  std::vector<Block> out{
      Paragraph{
          "Each mark is a design; its area on the page grows with its area in silicon. No design on the frontier is "
          "beaten by another in latency, energy and area at once; the line joins those that also lead when area is "
          "left out."},
      std::move(chart)};
  if (!t.rows.empty()) out.push_back(std::move(t));
  return out;
}

}  // namespace

void register_frontier(SectionRegistry& registry) { registry.add({"frontier", "Pareto frontier", build}); }

}  // namespace assay
