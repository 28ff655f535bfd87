#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "reports/format.h"
#include "reports/section.h"
#include "reports/sections/axes.h"
#include "reports/summary.h"

// Main effects: how the objective moves along each axis, averaged over everything else, family by family.

namespace assay {
namespace {

struct Effect {
  std::size_t points = 0;
  double log_sum = 0;  // geometric mean: a design twice as slow and one twice as fast cancel
  double best = INFINITY, worst = 0;
  double mean() const { return std::exp(log_sum / static_cast<double>(points)); }
};

/// family → value → effect
using Effects = std::map<std::string, std::map<std::string, Effect>>;

Effects effects_of(const SweepResult& sweep, const std::string& axis) {
  Effects out;
  for (const auto& p : sweep.points) {
    const std::string value = parameter(p, axis);
    const double score = objective_value(p, sweep.objective);
    if (!is_feasible(p) || value.empty() || !(score > 0) || !std::isfinite(score)) continue;
    Effect& e = out[p.family.empty() ? p.machine : p.family][value];
    ++e.points;
    e.log_sum += std::log(score);
    e.best = std::min(e.best, score);
    e.worst = std::max(e.worst, score);
  }
  std::erase_if(out, [](const auto& family) { return family.second.size() < 2; });
  return out;
}

/// Largest over smallest mean: 1 means that the axis does not matter.
double swing(const std::map<std::string, Effect>& values) {
  double least = INFINITY, most = 0;
  for (const auto& [value, e] : values) least = std::min(least, e.mean()), most = std::max(most, e.mean());
  return most / least;
}

std::vector<Block> build(const SectionContext& context) {
  const SweepResult& sweep = context.sweep;
  const Unit unit = objective_unit(sweep.objective);
  const std::string what = sweep.objective.empty() ? "latency" : sweep.objective;
  Table t{.caption = "Main effects on " + what,
          .columns = {{"Axis"},
                      {"Family"},
                      {"Value"},
                      {"Designs", Unit::count},
                      {"Best", unit},
                      {"Mean", unit, "Geometric mean over the designs with this value"},
                      {"Worst", unit},
                      {"Against best value", Unit::ratio,
                       "Mean, relative to the axis's best value in this family; 0 % is the best"}},
          .rows = {},
          .sortable = true};
  struct Ranked {
    double swing;
    std::string axis, family;
  };
  std::vector<Ranked> ranked;
  std::vector<Chart> charts;
  for (const auto& axis : varied_axes(sweep)) {
    const auto values = axis_values(sweep, axis);
    const Effects effects = effects_of(sweep, axis);
    if (effects.empty()) continue;
    Chart chart{.kind = ChartKind::line,
                .title = axis,
                .alt = {},
                .x = {axis, Unit::text, false, values},
                .y = {"Mean " + what, unit}};
    std::vector<std::string> swings;
    for (const auto& [family, by_value] : effects) {
      ranked.push_back({swing(by_value), axis, family});
      swings.push_back(fmt::format("{:.3g}× in {}", ranked.back().swing, family));
      double best = INFINITY;
      for (const auto& [value, e] : by_value) best = std::min(best, e.mean());
      Series series{.name = family, .marks = {}};
      for (std::size_t v = 0; v < values.size(); ++v) {
        const auto it = by_value.find(values[v]);
        if (it == by_value.end()) continue;
        const Effect& e = it->second;
        series.marks.push_back({.x = static_cast<double>(v), .y = e.mean()});
        t.rows.push_back({Cell(axis), Cell(family), Cell(values[v]), Cell(static_cast<double>(e.points)), Cell(e.best),
                          Cell(e.mean()), Cell(e.worst), Cell(e.mean() / best - 1)});
      }
      chart.series.push_back(std::move(series));
    }
    chart.alt = fmt::format("Mean {} along {}: largest over smallest {}.", what, axis, join_and(swings));
    charts.push_back(std::move(chart));
  }
  if (ranked.empty()) return {};
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) { return a.swing > b.swing; });
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, ranked.size()); ++i) {
    lines.push_back(fmt::format("{} in {} ({:.3g}×)", ranked[i].axis, ranked[i].family, ranked[i].swing));
  }
  std::vector<Block> out{
      Paragraph{fmt::format("What moves {} most, largest over smallest mean: {}.", what, join_and(lines)), Tone::plain,
                true},
      Paragraph{"A mean is over all feasible designs with that value, so axes that are not varied independently of "
                "each other "
                "share their effects; interactions between axes do not show here."}};
  for (Chart& c : charts) out.push_back(std::move(c));
  out.push_back(std::move(t));
  return out;
}

}  // namespace

void register_sensitivity(SectionRegistry& registry) { registry.add({"sensitivity", "Sensitivity", build}); }

}  // namespace assay
