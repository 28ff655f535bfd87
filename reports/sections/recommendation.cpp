#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/format.h"
#include "reports/section.h"
#include "reports/summary.h"

// Page one: what to build, or why that can't be said yet, and the ranked table with its evidence.

namespace assay {
namespace {

std::vector<Cell> evidence_cells(const PointResult& p) {
  return {Cell(p.latency_s), Cell(p.energy_pj * 1e-12),
          Cell(p.area_mm2),  Cell(p.average_w),
          Cell(p.peak_w),    p.mapping_gap < 0 ? Cell() : Cell(p.mapping_gap)};
}

std::vector<Column> evidence_columns() {
  return {{"Latency", Unit::seconds, "Of the suite: sum over phases of weight × repeat × time"},
          {"Energy", Unit::joules, "Of the suite"},
          {"Area", Unit::mm2},
          {"Average", Unit::watts, "Average power"},
          {"Peak", Unit::watts, "Peak power"},
          {"Mapping gap", Unit::ratio,
           "How much faster a better mapping could be at most: (time − lower bound) / lower bound"}};
}

Table ranking_table(const SweepResult& sweep, std::size_t detail) {
  Table t{.caption = "Ranking",
          .columns = {{"Rank", Unit::count}, {.title = "Design", .keep = true}},
          .rows = {},
          .sortable = true,
          .searchable = sweep.ranking.size() > 15};
  for (Column& c : evidence_columns()) t.columns.push_back(std::move(c));
  for (const Column& c : std::initializer_list<Column>{
           {"P(better than next)", Unit::ratio,
            "Probability, under mapping gap and model error, that this design beats the next one; 50 % is a coin toss"},
           {"Tied?", Unit::text, "Whether the difference to the next design is within the error bars"},
           {"Bound by", Unit::text, "Binding resource"},
           {"Depends on", Unit::text,
            "The stage of the compiler without which the suite would be slowest, and by how much"},
           {"Checked", Unit::text, "Functional check of the program, and the model that gave the time"},
           {"Mapper", Unit::text, "How the mappings were found"}}) {
    t.columns.push_back(c);
  }
  const auto detailed = detailed_points(sweep, detail);
  for (std::size_t i = 0; i < sweep.ranking.size(); ++i) {
    const RankRow& r = sweep.ranking[i];
    const PointResult& p = sweep.points.at(r.point);
    const bool linked = std::find(detailed.begin(), detailed.end(), r.point) != detailed.end();
    std::vector<Cell> row{Cell(static_cast<double>(i + 1)), Cell(p.design, Tone::plain, linked ? panel_id(p) : "")};
    for (Cell& c : evidence_cells(p)) row.push_back(std::move(c));
    const bool last = i + 1 == sweep.ranking.size();
    row.push_back(last ? Cell() : Cell(r.p_better_than_next));
    row.push_back(last ? Cell() : r.tied_with_next ? Cell("tied", Tone::warn) : Cell("no"));
    row.push_back(binding_summary(p));
    const std::string depends = dependence_summary(p);
    row.push_back(depends.empty() ? Cell() : Cell(depends));
    row.push_back(check_summary(p));
    row.push_back(mapper_summary(p));
    t.rows.push_back(std::move(row));
  }
  return t;
}

/// What stands between the ranking and a recommendation, over the rows that matter.
Paragraph missing_sentence(const SweepResult& sweep, std::size_t matter) {
  std::size_t unchecked = 0;
  std::map<std::string, std::size_t> reasons;
  for (std::size_t i = 0; i < matter; ++i) {
    const auto missing = missing_checks(sweep.points.at(sweep.ranking[i].point));
    unchecked += !missing.empty();
    for (const auto& reason : missing) ++reasons[reason];
  }
  std::vector<std::string> parts;
  for (const auto& [reason, n] : reasons) parts.push_back(fmt::format("{} ({})", reason, counted(n, "design")));
  return {fmt::format("No recommendation yet: {} of the {} that decide it (the first ten and their ties) {} not fully "
                      "checked. What is missing: {}.",
                      unchecked, counted(matter, "design"), unchecked == 1 ? "is" : "are", join_and(parts)),
          Tone::warn, true};
}

Paragraph recommendation_sentence(const SweepResult& sweep) {
  const PointResult& best = sweep.points.at(sweep.ranking[0].point);
  std::vector<std::string> tied;
  for (std::size_t i = 0; i + 1 < sweep.ranking.size() && sweep.ranking[i].tied_with_next; ++i) {
    tied.push_back(sweep.points.at(sweep.ranking[i + 1].point).design);
  }
  const std::string figures = fmt::format("{}, {}, {}, bound by {}", format_quantity(best.latency_s, Unit::seconds),
                                          format_quantity(best.energy_pj * 1e-12, Unit::joules),
                                          format_quantity(best.area_mm2, Unit::mm2), binding_summary(best));
  if (tied.empty()) {
    std::string margin;
    if (sweep.ranking.size() > 1) {
      margin = fmt::format(" It beats the next one, {}, with a probability of {}.",
                           sweep.points.at(sweep.ranking[1].point).design,
                           format_quantity(sweep.ranking[0].p_better_than_next, Unit::ratio));
    }
    return {fmt::format("Recommendation: build {} ({}).{}", best.design, figures, margin), Tone::good, true};
  }
  const bool few = tied.size() <= 4;
  const std::string others = few ? join_and(tied) : fmt::format("{} others", tied.size());
  return {fmt::format("Recommendation: {} comes first ({}), but {} can't be told apart from it within the error bars: "
                      "choose among them by area, power or risk.",
                      best.design, figures, others),
          Tone::good, true};
}

/// The gaps limit what any recommendation is worth, so they are said beside it.
void add_gap_caveat(std::vector<Block>& out, const SweepResult& sweep, std::size_t matter) {
  double worst = 0;
  std::size_t unknown = 0;
  for (std::size_t i = 0; i < matter; ++i) {
    const double gap = sweep.points.at(sweep.ranking[i].point).mapping_gap;
    unknown += gap < 0;
    worst = std::max(worst, gap);
  }
  std::string text;
  if (unknown)
    text = fmt::format(
        "The mapping gap of {} among the first {} is unknown: such a design may have lost only by its mapping.",
        counted(unknown, "design"), matter);
  if (worst > 0) {
    text += fmt::format(
        "{}Among the first {} the time stands up to {} above the lower bound of the searched mappings: so much may lie "
        "in the mapping rather than in the machine.",
        text.empty() ? "" : " ", matter, format_quantity(worst, Unit::ratio));
  }
  if (!text.empty()) out.push_back(Paragraph{text, unknown || worst > 0.1 ? Tone::warn : Tone::plain});
}

void single_run(std::vector<Block>& out, const SweepResult& sweep) {
  const PointResult& p = sweep.points[0];
  if (!is_ok(p)) {
    out.push_back(Paragraph{fmt::format("{}: {}.", p.status, p.reason.empty() ? "no reason was recorded" : p.reason),
                            Tone::bad, true});
    if (p.workloads.empty()) return;
  }
  const auto missing = missing_checks(p);
  out.push_back(
      Paragraph{fmt::format("{} takes {} and {}, bound by {}.", p.design, format_quantity(p.latency_s, Unit::seconds),
                            format_quantity(p.energy_pj * 1e-12, Unit::joules), binding_summary(p)),
                Tone::plain, true});
  if (!missing.empty()) out.push_back(Paragraph{"Not fully checked: " + join_and(missing) + ".", Tone::warn});
  Table t{.caption = "Result",
          .columns = {{"Phase"},
                      {"Weight", Unit::number},
                      {"Repeat", Unit::count},
                      {"Precision"},
                      {"Time", Unit::seconds},
                      {"Lower bound", Unit::seconds},
                      {"Energy", Unit::joules},
                      {"Average", Unit::watts},
                      {"Peak", Unit::watts},
                      {"Utilisation", Unit::ratio},
                      {"Mapping gap", Unit::ratio},
                      {"Bound by"},
                      {"Checked"},
                      {"Mapper"}},
          .rows = {}};
  for (const auto& w : p.workloads) {
    t.rows.push_back({Cell(phase_name(w)), Cell(w.weight), Cell(static_cast<double>(w.repeat)), Cell(w.precision),
                      Cell(w.seconds), Cell(w.lower_bound_seconds), Cell(w.energy_pj * 1e-12), Cell(w.average_w),
                      Cell(w.peak_w), Cell(w.utilisation), w.mapping_gap < 0 ? Cell() : Cell(w.mapping_gap),
                      Cell(w.binding), Cell(check_summary(w), w.check.passed ? Tone::good : Tone::warn),
                      Cell(w.mapper_tier)});
  }
  out.push_back(std::move(t));
}

std::vector<Block> build(const SectionContext& context) {
  const SweepResult& sweep = context.sweep;
  std::vector<Block> out;
  if (sweep.points.size() == 1) {
    single_run(out, sweep);
    return out;
  }
  if (sweep.ranking.empty()) {
    out.push_back(Paragraph{sweep.points.empty() ? "The sweep has no design points."
                                                 : "None of the design points is feasible; the reasons stand below.",
                            Tone::bad, true});
    return out;
  }
  const std::size_t matter = rows_that_matter(sweep);
  const bool ready = std::all_of(sweep.ranking.begin(), sweep.ranking.begin() + static_cast<std::ptrdiff_t>(matter),
                                 [&](const RankRow& r) { return sweep.points.at(r.point).fully_checked; });
  out.push_back(ready ? recommendation_sentence(sweep) : missing_sentence(sweep, matter));
  add_gap_caveat(out, sweep, matter);
  out.push_back(ranking_table(sweep, context.options.detailed));
  return out;
}

}  // namespace

void register_recommendation(SectionRegistry& registry) {
  registry.add({"recommendation", "Recommendation and ranking", build});
}

}  // namespace assay
