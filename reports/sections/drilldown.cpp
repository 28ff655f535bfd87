#include <fmt/format.h>

#include <algorithm>

#include "reports/format.h"
#include "reports/section.h"
#include "reports/sections/phase_blocks.h"
#include "reports/summary.h"

// Everything known about one design at a time: the best, those tied with them, and the frontier.

namespace assay {
namespace {

void add_parts(std::vector<Block>& out, const PointResult& p) {
  if (p.parts.empty()) return;
  std::vector<const PartResult*> parts;
  for (const auto& part : p.parts) parts.push_back(&part);
  std::stable_sort(parts.begin(), parts.end(), [](auto* a, auto* b) { return a->area_mm2 > b->area_mm2; });
  Chart c{.kind = ChartKind::bar, .title = "Area by part", .alt = {}, .x = {}, .y = {"Area", Unit::mm2}};
  Table t{.caption = "Parts",
          .columns = {{"Part"},
                      {"Instances", Unit::count},
                      {"Area", Unit::mm2},
                      {"Of area", Unit::ratio, "", true},
                      {"Leakage", Unit::watts},
                      {"Source"}},
          .rows = {},
          .sortable = true};
  std::vector<double> areas;
  for (auto* part : parts) areas.push_back(std::max(0.0, part->area_mm2));
  const auto shares = rounded_shares(areas);
  Series s{"area", {}};
  std::vector<std::string> said;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const PartResult& part = *parts[i];
    c.x.categories.push_back(part.part);
    s.marks.push_back({.x = static_cast<double>(i), .y = part.area_mm2});
    if (i < 4) said.push_back(fmt::format("{} {}", part.part, format_quantity(shares[i], Unit::ratio)));
    t.rows.push_back({Cell(part.part), Cell(static_cast<double>(part.instances)), Cell(part.area_mm2), Cell(shares[i]),
                      Cell(part.leakage_w), Cell(part.source)});
  }
  c.series.push_back(std::move(s));
  c.alt =
      fmt::format("{}: {}{}", format_quantity(p.area_mm2, Unit::mm2), join_and(said), parts.size() > 4 ? ", …" : ".");
  out.push_back(std::move(c));
  out.push_back(Details{"Parts as a table", {std::move(t)}});
}

Chart phases_chart(const PointResult& p) {
  Chart c{.kind = ChartKind::stacked_bar,
          .title = "Time of each phase by cause",
          .alt = {},
          .x = {},
          .y = {"Time of one run", Unit::seconds}};
  std::vector<std::string> said;
  for (std::size_t i = 0; i < p.workloads.size(); ++i) {
    const WorkloadResult& w = p.workloads[i];
    c.x.categories.push_back(phase_name(w));
    said.push_back(fmt::format("{} {}", phase_name(w), format_quantity(w.seconds, Unit::seconds)));
    for (const auto& [cause, seconds] : waterfall_parts(w.waterfall, w.seconds)) {
      auto it = std::find_if(c.series.begin(), c.series.end(), [&](const Series& s) { return s.name == cause; });
      if (it == c.series.end()) it = c.series.insert(c.series.end(), Series{cause, {}});
      it->marks.push_back({.x = static_cast<double>(i), .y = std::max(0.0, seconds)});
    }
  }
  c.alt = join_and(said) + ".";
  return c;
}

std::vector<Block> panel(const PointResult& p, const SectionContext& context) {
  std::vector<Block> out;
  if (!is_ok(p)) out.push_back(Paragraph{p.status + ": " + p.reason, Tone::bad});
  Facts facts;
  facts.items.push_back(
      {"Machine", p.machine + (p.family.empty() || p.family == p.machine ? "" : " (" + p.family + ")")});
  for (const auto& [axis, value] : p.parameters) facts.items.push_back({axis, value});
  facts.items.push_back({"Latency of the suite", format_quantity(p.latency_s, Unit::seconds)});
  facts.items.push_back({"Energy", format_quantity(p.energy_pj * 1e-12, Unit::joules)});
  facts.items.push_back({"Area", format_quantity(p.area_mm2, Unit::mm2)});
  facts.items.push_back({"Power, average and peak",
                         format_quantity(p.average_w, Unit::watts) + ", " + format_quantity(p.peak_w, Unit::watts) +
                             (p.tdp_w > 0 ? " (limit " + format_quantity(p.tdp_w, Unit::watts) + ")" : "")});
  facts.items.push_back({"Peak compute", format_quantity(p.peak_tops * 1e12, Unit::ops_per_second)});
  facts.items.push_back({"Bound by", binding_summary(p)});
  facts.items.push_back({"Mapping gap", p.mapping_gap < 0 ? "unknown" : format_quantity(p.mapping_gap, Unit::ratio)});
  const bool both =
      std::any_of(p.workloads.begin(), p.workloads.end(), [](const auto& w) { return w.cycle_seconds >= 0; });
  facts.items.push_back(
      {"Model error", both ? format_quantity(p.model_error, Unit::ratio) : "unknown: the cycle model was not run"});
  facts.items.push_back({"Checked", *check_summary(p).text()});
  out.push_back(std::move(facts));
  for (const auto& v : p.constraint_violations) out.push_back(Paragraph{"Constraint violated: " + v, Tone::bad});
  if (p.workloads.size() > 1) out.push_back(phases_chart(p));
  add_parts(out, p);
  for (const auto& w : p.workloads) add_phase(out, p, w, context);
  return out;
}

std::vector<Block> build(const SectionContext& context) {
  const SweepResult& sweep = context.sweep;
  Choice choice{"Design", {}};
  const auto detailed = detailed_points(sweep, context.options.detailed);
  for (std::size_t i : detailed) {
    const PointResult& p = sweep.points[i];
    std::string title = p.design;
    for (std::size_t r = 0; r < sweep.ranking.size(); ++r) {
      if (sweep.ranking[r].point == i && sweep.points.size() > 1) title = fmt::format("{}. {}", r + 1, p.design);
    }
    choice.panels.push_back({panel_id(p), std::move(title), panel(p, context)});
  }
  if (choice.panels.empty()) return {};
  if (sweep.points.size() == 1) return std::move(choice.panels[0].blocks);
  return {Paragraph{fmt::format(
              "{} in full: the best {}, those tied with them, and the frontier. For another design, run it by itself.",
              counted(detailed.size(), "design is shown", "designs are shown"), context.options.detailed)},
          std::move(choice)};
}

}  // namespace

void register_drilldown(SectionRegistry& registry) { registry.add({"design", "Design by design", build}); }

}  // namespace assay
