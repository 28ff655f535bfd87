#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/format.h"
#include "reports/sections/phase_blocks.h"
#include "reports/summary.h"

namespace assay {
namespace {

Cell gain_cell(double gain) { return gain < 0 ? Cell("not computed", Tone::faint) : Cell(gain); }

std::string gain_words(double gain, double total) {
  if (gain < 0) return "not computed";
  return total > 0
             ? fmt::format("{} ({})", format_quantity(gain, Unit::seconds), format_quantity(gain / total, Unit::ratio))
             : format_quantity(gain, Unit::seconds);
}

void add_counted_ops(std::vector<Block>& out, const char* title,
                     const std::vector<std::pair<std::string, std::int64_t>>& ops) {
  if (ops.empty()) return;
  std::vector<std::string> items;
  std::int64_t total = 0;
  for (const auto& [name, n] : ops) {
    items.push_back(fmt::format("{} × {}", n, name));
    total += n;
  }
  out.push_back(Paragraph{fmt::format("{} ({}): {}.", title, total, join_and(items))});
}

void add_check(std::vector<Block>& out, const WorkloadResult& w) {
  const CheckResult& c = w.check;
  Facts facts;
  facts.items.push_back({"Checked", check_summary(w)});
  facts.items.push_back({"Static verifier", (c.static_ok ? "passed" : "not passed") +
                                                (c.static_note.empty() ? "" : ": " + c.static_note)});
  if (c.level == "twin" || c.level == "full") {
    facts.items.push_back({"Functional run", c.passed ? "equals the reference" : "differs from the reference"});
    facts.items.push_back({"Largest relative error", fmt::format("{:.3g}", c.max_rel_error)});
    if (c.sqnr_db != 0)
      facts.items.push_back({"Distance to the float model", fmt::format("{:.1f} dB SQNR", c.sqnr_db)});
  }
  if (!c.detail.empty()) facts.items.push_back({"Detail", c.detail});
  if (!w.program_sha256.empty()) facts.items.push_back({"Program", "sha256 " + w.program_sha256});
  out.push_back(std::move(facts));
}

void add_graph(std::vector<Block>& out, const WorkloadResult& w, const SectionContext& context) {
  if (w.graph_dot.empty()) return;
  const std::string title = "Compiled graph of " + phase_name(w);
  Svg svg{title, {}, w.graph_dot, "Drawing of graphs was switched off."};
  if (context.options.draw_graphs) svg = context.graphs.draw(title, w.graph_dot);
  out.push_back(Details{title, {std::move(svg)}});
}

}  // namespace

Table layer_table(const WorkloadResult& w) {
  Table t{.caption = "Layers of " + phase_name(w) + ", in the order of execution",
          .columns = {{"#", Unit::count},
                      {"Layer"},
                      {"Kind"},
                      {"Engine"},
                      {"Time", Unit::seconds},
                      {"Of phase", Unit::ratio, "Share of the phase's time; the shares add up to 100 %", true},
                      {"Bound by"},
                      {"Gain if doubled", Unit::seconds,
                       "Time the phase would save with that resource twice as fast, same program"},
                      {"Recompiled", Unit::seconds, "Time saved if compiled again for the faster machine"},
                      {"Utilisation", Unit::ratio, "Useful MACs / (peak × time)"},
                      {"MACs", Unit::count},
                      {"Intensity", Unit::ops_per_byte, "Useful operations per byte of DRAM traffic"},
                      {"DRAM", Unit::bytes, "Bytes read and written"},
                      {"Energy", Unit::joules},
                      {"Mapping gap", Unit::ratio, "(time − lower bound) / lower bound over the searched space"},
                      {.title = "Mapping", .code = true}},
          .rows = {},
          .sortable = true,
          .searchable = w.layers.size() > 15,
          .search_hint = "layer, node, kind, engine or resource"};
  std::vector<double> seconds;
  for (const auto& l : w.layers) seconds.push_back(std::max(0.0, l.seconds));
  const auto shares = rounded_shares(seconds);
  for (std::size_t i = 0; i < w.layers.size(); ++i) {
    const LayerResult& l = w.layers[i];
    const double dram = static_cast<double>(l.dram_read_bytes) + static_cast<double>(l.dram_write_bytes);
    t.rows.push_back({Cell(static_cast<double>(i)), Cell(l.name), Cell(l.kind), Cell(l.engine), Cell(l.seconds),
                      Cell(shares[i]), Cell(l.binding), gain_cell(l.gain_same_program), gain_cell(l.gain_recompiled),
                      Cell(l.utilisation), Cell(static_cast<double>(l.macs)), Cell(l.arithmetic_intensity), Cell(dram),
                      Cell(l.energy_pj * 1e-12), l.mapping_gap < 0 ? Cell() : Cell(l.mapping_gap),
                      l.mapping.empty() ? Cell() : Cell(l.mapping)});
    t.keywords.push_back(fmt::format("{}", fmt::join(l.nodes, " ")));
  }
  return t;
}

List largest_gains(const WorkloadResult& w) {
  struct Limit {
    const LayerResult* best = nullptr;  // the largest gain of this resource
    const LayerResult* longest = nullptr;
    std::size_t layers = 0;
    double seconds = 0;
  };
  std::map<std::string, Limit> limits;
  for (const auto& l : w.layers) {
    Limit& limit = limits[l.binding];
    if (!limit.best || l.gain_same_program > limit.best->gain_same_program) limit.best = &l;
    if (!limit.longest || l.seconds > limit.longest->seconds) limit.longest = &l;
    ++limit.layers;
    limit.seconds += l.seconds;
  }
  std::vector<std::pair<std::string, Limit>> order(limits.begin(), limits.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.best->gain_same_program > b.second.best->gain_same_program;
  });
  List list;
  for (const auto& [resource, limit] : order) {
    if (list.items.size() == 5) break;
    std::string text = fmt::format("{} limits {}, {} of the time, the longest of them {} ({})",
                                   resource.empty() ? "An unknown resource" : resource, counted(limit.layers, "layer"),
                                   w.seconds > 0 ? format_quantity(limit.seconds / w.seconds, Unit::ratio) : "none",
                                   limit.longest->name, format_quantity(limit.longest->seconds, Unit::seconds));
    const LayerResult& l = *limit.best;
    if (l.gain_same_program > 0 || l.gain_recompiled > 0) {
      text += fmt::format(". Twice as fast, it would save {} with the same program; recompiled: {}",
                          gain_words(l.gain_same_program, w.seconds), gain_words(l.gain_recompiled, w.seconds));
    }
    list.items.push_back(text + ".");
  }
  return list;
}

Table waterfall_table(const WorkloadResult& w) {
  Table t{.caption = "Where the time goes, from the peak rate to what was achieved",
          .columns = {{"Cause"}, {"Time", Unit::seconds}, {"Share", Unit::ratio, "", true}},
          .rows = {}};
  const auto parts = waterfall_parts(w.waterfall, w.seconds);
  std::vector<double> values;
  for (const auto& part : parts) values.push_back(std::max(0.0, part.second));
  const auto shares = rounded_shares(values);
  double sum = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    t.rows.push_back({Cell(parts[i].first), Cell(parts[i].second), Cell(shares[i])});
    sum += shares[i];
  }
  t.rows.push_back({Cell("total"), Cell(w.seconds), Cell(sum)});
  return t;
}

void add_phase(std::vector<Block>& out, const PointResult& p, const WorkloadResult& w, const SectionContext& context) {
  out.push_back(Heading{phase_name(w)});
  std::string sentence =
      fmt::format("{} at {}: {}, bound by {}; utilisation {}, {} from DRAM and back, {}", phase_name(w),
                  w.precision.empty() ? "unknown precision" : w.precision, format_quantity(w.seconds, Unit::seconds),
                  w.binding.empty() ? "an unknown resource" : w.binding, format_quantity(w.utilisation, Unit::ratio),
                  format_quantity(static_cast<double>(w.dram_bytes), Unit::bytes),
                  format_quantity(w.energy_pj * 1e-12, Unit::joules));
  out.push_back(Paragraph{sentence + "."});
  Facts facts;
  facts.items.push_back({"Analytical model", format_quantity(w.analytical_seconds, Unit::seconds)});
  facts.items.push_back(
      {"Cycle model", w.cycle_seconds < 0 ? "not run" : format_quantity(w.cycle_seconds, Unit::seconds)});
  facts.items.push_back({"Lower bound of any resource", format_quantity(w.lower_bound_seconds, Unit::seconds)});
  facts.items.push_back({"Power, average and peak",
                         format_quantity(w.average_w, Unit::watts) + ", " + format_quantity(w.peak_w, Unit::watts)});
  facts.items.push_back(
      {"Weight × repeat in the suite", fmt::format("{} × {}", format_quantity(w.weight, Unit::number), w.repeat)});
  facts.items.push_back({"Mapping gap", w.mapping_gap < 0 ? "unknown" : format_quantity(w.mapping_gap, Unit::ratio)});
  for (const NamedValue& a : w.ablation)
    facts.items.push_back({"Without " + a.name, format_quantity(a.value, Unit::ratio) + " more time"});
  facts.items.push_back({"Mapper", w.mapper_tier.empty() ? "unknown" : w.mapper_tier});
  out.push_back(std::move(facts));
  if (List gains = largest_gains(w); !gains.items.empty()) out.push_back(std::move(gains));
  for (const auto& remark : w.remarks) out.push_back(Paragraph{remark});

  out.push_back(waterfall_chart(w));
  if (Chart c = roofline_chart(p, w); !c.series.empty()) out.push_back(std::move(c));
  if (!w.energy_by_part.empty()) out.push_back(energy_chart(w));
  if (Chart c = resource_chart(w); !c.series.empty()) out.push_back(std::move(c));
  out.push_back(Details{"Loss waterfall as a table", {waterfall_table(w)}});
  if (!w.layers.empty()) out.push_back(layer_table(w));
  if (!w.timeline.empty()) {
    out.push_back(timeline_chart(w, context.options.max_spans));
    if (w.timeline_truncated) {
      out.push_back(
          Paragraph{"The timeline was cut off when it was recorded: it shows the beginning only.", Tone::warn});
    }
  }
  for (const auto& m : w.memories) {
    if (m.blocks.empty()) {
      out.push_back(Paragraph{fmt::format("{}: {} of {} in use at the peak; its buffers were not recorded.", m.memory,
                                          format_quantity(static_cast<double>(m.peak), Unit::capacity),
                                          format_quantity(static_cast<double>(m.capacity), Unit::capacity))});
    } else {
      out.push_back(memory_chart(m));
    }
  }
  add_counted_ops(out, "Operations that cost nothing (views)", w.free_ops);
  add_counted_ops(out, "Operations that fell back to the host", w.host_ops);
  add_check(out, w);
  if (!w.notes.empty()) out.push_back(List{w.notes});
  add_graph(out, w, context);
}

}  // namespace assay
