#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "reports/format.h"
#include "reports/section.h"
#include "reports/summary.h"

// "Which resource limits layer X on machine Y, and what would I gain by doubling it?": every layer of every design
// in one table with a search box.

namespace assay {
namespace {

std::vector<std::size_t> best_first(const SweepResult& sweep) {
  std::vector<std::size_t> order;
  std::vector<bool> seen(sweep.points.size(), false);
  const auto add = [&](std::size_t p) {
    if (!seen.at(p)) order.push_back(p);
    seen[p] = true;
  };
  for (const RankRow& r : sweep.ranking) add(r.point);
  for (std::size_t p = 0; p < sweep.points.size(); ++p) add(p);
  return order;
}

std::size_t layer_count(const PointResult& p) {
  std::size_t n = 0;
  for (const auto& w : p.workloads) n += w.layers.size();
  return n;
}

/// A gain as seconds saved and as a share of the whole phase; nothing where it was not computed.
std::pair<Cell, Cell> gain_cells(double gain, double total) {
  if (gain < 0) return {Cell("not computed", Tone::faint), Cell()};
  return {Cell(gain), total > 0 ? Cell(gain / total) : Cell()};
}

void add_rows(Table& t, const PointResult& p, bool linked) {
  for (const auto& w : p.workloads) {
    std::vector<const LayerResult*> layers;
    for (const auto& l : w.layers) layers.push_back(&l);
    std::stable_sort(layers.begin(), layers.end(), [](auto* a, auto* b) {
      return std::tie(a->gain_same_program, a->seconds) > std::tie(b->gain_same_program, b->seconds);
    });
    for (const LayerResult* l : layers) {
      auto [same, same_share] = gain_cells(l->gain_same_program, w.seconds);
      auto [again, again_share] = gain_cells(l->gain_recompiled, w.seconds);
      t.rows.push_back({Cell(p.design, Tone::plain, linked ? panel_id(p) : ""), Cell(phase_name(w)), Cell(l->name),
                        Cell(l->binding), same, same_share, again, again_share, Cell(l->seconds),
                        w.seconds > 0 ? Cell(l->seconds / w.seconds) : Cell(), Cell(l->utilisation), Cell(l->kind)});
      t.keywords.push_back(fmt::format("{}", fmt::join(l->nodes, " ")));
    }
  }
}

std::vector<Block> build(const SectionContext& context) {
  const SweepResult& sweep = context.sweep;
  const auto detailed = detailed_points(sweep, context.options.detailed);
  Table t{.caption = "Layers of all designs",
          .columns = {{.title = "Design", .keep = true},
                      {"Phase"},
                      {"Layer"},
                      {"Bound by", Unit::text, "The resource that limits this layer"},
                      {"Gain if doubled", Unit::seconds,
                       "Time the whole phase would save with that resource twice as fast and the same program"},
                      {"Gain", Unit::ratio, "The same, as a share of the phase's time"},
                      {"Gain recompiled", Unit::seconds,
                       "Time saved if the model is also compiled again for the faster machine"},
                      {"Gain", Unit::ratio, "The same, as a share of the phase's time"},
                      {"Time", Unit::seconds, "The layer's share of the critical time"},
                      {"Of phase", Unit::ratio, "Share of the phase's time", true},
                      {"Utilisation", Unit::ratio, "Useful MACs / (peak × time)"},
                      {"Kind"}},
          .rows = {},
          .sortable = true,
          .searchable = true,
          .search_hint = "words of a design, phase, layer, source node, kind or resource, in any order"};
  std::size_t left_out = 0;
  for (std::size_t p : best_first(sweep)) {
    const PointResult& point = sweep.points[p];
    if (t.rows.size() + layer_count(point) > context.options.max_search_rows) {
      ++left_out;
      continue;
    }
    const bool has_panel = sweep.points.size() > 1 && std::find(detailed.begin(), detailed.end(), p) != detailed.end();
    add_rows(t, point, has_panel);
  }
  if (t.rows.empty() && !left_out) return {};
  std::vector<Block> out{Paragraph{
      "Type a few words to find what limits a layer on a machine, and what doubling that resource would save. Without "
      "words, the largest gains on the best design come first."}};
  if (left_out) {
    out.push_back(
        Paragraph{fmt::format("The layers of {} are not in this table (limit: {} rows); the CSV export has them all.",
                              counted(left_out, "further design"), context.options.max_search_rows),
                  Tone::warn});
  }
  out.push_back(std::move(t));
  return out;
}

}  // namespace

void register_layer_search(SectionRegistry& registry) { registry.add({"layers", "Find a layer", build}); }

}  // namespace assay
