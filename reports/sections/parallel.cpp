#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reports/format.h"
#include "reports/section.h"
#include "reports/sections/axes.h"
#include "reports/summary.h"

// Every design as a line through its parameters and results; dragging along an axis picks designs.

namespace assay {
namespace {

constexpr std::size_t kMaxLines = 5000;
constexpr std::size_t kMaxDimensions = 18;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double category(const std::vector<std::string>& values, const std::string& value) {
  const auto it = std::find(values.begin(), values.end(), value);
  return it == values.end() ? kNone : static_cast<double>(it - values.begin());
}

std::vector<Block> build(const SectionContext& context) {
  const SweepResult& sweep = context.sweep;
  const std::size_t feasible = sweep.ranking.size();
  if (feasible < 2) return {};
  Chart chart{
      .kind = ChartKind::parallel, .title = "Parameters and results of the feasible designs", .alt = {}, .wide = true};
  std::vector<std::string> axes = varied_axes(sweep);
  const std::size_t all_axes = axes.size();
  axes.resize(std::min(axes.size(), kMaxDimensions - 5));
  std::vector<std::string> machines;
  for (const auto& p : sweep.points) machines.push_back(p.machine);
  std::sort(machines.begin(), machines.end());
  machines.erase(std::unique(machines.begin(), machines.end()), machines.end());
  const bool several = machines.size() > 1;
  if (several) chart.dimensions.push_back({"machine", Unit::text, false, machines});
  std::vector<std::vector<std::string>> values;
  for (const auto& axis : axes) {
    values.push_back(axis_values(sweep, axis));
    // A machine that lacks a parameter still needs a place on its axis.
    const bool everywhere = std::all_of(sweep.ranking.begin(), sweep.ranking.end(), [&](const RankRow& r) {
      return !parameter(sweep.points.at(r.point), axis).empty();
    });
    if (!everywhere) values.back().insert(values.back().begin(), "none");
    chart.dimensions.push_back({axis, Unit::text, false, values.back()});
  }
  const std::pair<const char*, Unit> results[] = {
      {"latency", Unit::seconds}, {"energy", Unit::joules}, {"area", Unit::mm2}, {"average power", Unit::watts}};
  for (const auto& [title, unit] : results) chart.dimensions.push_back({title, unit});
  for (const RankRow& r : sweep.ranking) {
    if (chart.rows.size() == kMaxLines) break;
    const PointResult& p = sweep.points.at(r.point);
    ParallelRow row{p.design, p.family.empty() ? p.machine : p.family, {}};
    if (several) row.values.push_back(category(machines, p.machine));
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const std::string value = parameter(p, axes[a]);
      row.values.push_back(category(values[a], value.empty() ? "none" : value));
    }
    for (double v : {p.latency_s, p.energy_pj * 1e-12, p.area_mm2, p.average_w}) row.values.push_back(v);
    chart.rows.push_back(std::move(row));
  }
  // Results that spread over decades need a logarithm to be told apart.
  for (std::size_t d = chart.dimensions.size() - 4; d < chart.dimensions.size(); ++d) {
    double least = INFINITY, most = 0;
    for (const auto& row : chart.rows) least = std::min(least, row.values[d]), most = std::max(most, row.values[d]);
    chart.dimensions[d].log = least > 0 && most / least > 12;
  }
  chart.alt =
      fmt::format("Parallel coordinates: {} as lines through {}. The table of all designs holds the same numbers.",
                  counted(chart.rows.size(), "design"), counted(chart.dimensions.size(), "axis", "axes"));
  std::vector<Block> out{
      Paragraph{"Drag along an axis to keep the designs that pass through that range; drag along several "
                "to narrow further. The designs kept are listed below the chart."}};
  if (feasible > kMaxLines) {
    out.push_back(
        Paragraph{fmt::format("The chart holds the best {} of {} designs.", kMaxLines, feasible), Tone::warn});
  }
  if (axes.size() < all_axes) {
    out.push_back(
        Paragraph{fmt::format("The chart holds the first {} of {} axes.", axes.size(), all_axes), Tone::warn});
  }
  out.push_back(std::move(chart));
  return out;
}

}  // namespace

void register_parallel(SectionRegistry& registry) { registry.add({"parallel", "Parameters and results", build}); }

}  // namespace assay
