#include "reports/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "reports/format.h"
#include "reports/summary.h"

namespace assay {
namespace {

constexpr std::size_t kMaxLayerRows = 100;
constexpr double kSame = 1e-9;  // relative: what is lost in printing and reading again is no change

bool same(double a, double b) {
  return a == b || std::abs(a - b) <= kSame * std::max(std::abs(a), std::abs(b)) || (std::isnan(a) && std::isnan(b));
}

Cell relative(double before, double after) {
  if (!(before > 0)) return {};
  const double change = after / before - 1;
  return {change, same(before, after) ? Tone::faint : change < 0 ? Tone::good : Tone::bad};
}

std::string change_words(double before, double after, Unit unit) {
  if (same(before, after)) return fmt::format("stays {}", format_quantity(before, unit));
  const std::string from_to = fmt::format("{} → {}", format_quantity(before, unit), format_quantity(after, unit));
  if (!(before > 0)) return from_to;
  const double change = after / before - 1;
  return fmt::format("{} ({}{})", from_to, change > 0 ? "+" : "", format_quantity(change, Unit::ratio));
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Entries of `before` in their order, then the new ones; rows only where the values differ. A key may stand several
/// times (one `machine` a file): equal entries belong together, then the rest of a key in order.
void add_differences(Table& t, const std::string& where, Pairs before, Pairs after) {
  std::multiset<std::pair<std::string, std::string>> common;
  {
    auto old_sorted = before, new_sorted = after;
    std::sort(old_sorted.begin(), old_sorted.end());
    std::sort(new_sorted.begin(), new_sorted.end());
    std::set_intersection(old_sorted.begin(), old_sorted.end(), new_sorted.begin(), new_sorted.end(),
                          std::inserter(common, common.end()));
  }
  const auto drop_common = [](Pairs& list, auto left) {
    std::erase_if(list, [&](const auto& entry) {
      const auto it = left.find(entry);
      if (it == left.end()) return false;
      left.erase(it);
      return true;
    });
  };
  drop_common(before, common);
  drop_common(after, common);
  const auto row = [&](const std::string& key, Cell old_value, Cell new_value) {
    t.rows.push_back({Cell(where), Cell(key), std::move(old_value), std::move(new_value)});
  };
  for (const auto& entry : before) {
    const auto other = std::find_if(after.begin(), after.end(), [&](const auto& e) { return e.first == entry.first; });
    if (other == after.end()) {
      row(entry.first, Cell(entry.second), Cell("absent", Tone::faint));
    } else {
      row(entry.first, Cell(entry.second), Cell(other->second));
      after.erase(other);
    }
  }
  for (const auto& [key, value] : after) row(key, Cell("absent", Tone::faint), Cell(value));
}

Table input_table() {
  return {.caption = "What changed in the input", .columns = {{"Where"}, {"What"}, {"Before"}, {"After"}}, .rows = {}};
}

/// Facts of a machine that a change of its description moves.
Pairs machine_facts(const PointResult& p) {
  Pairs facts{{"machine", p.machine}, {"family", p.family}};
  for (const auto& parameter : p.parameters) facts.push_back({"parameter " + parameter.first, parameter.second});
  facts.push_back({"peak compute", format_quantity(p.peak_tops * 1e12, Unit::ops_per_second)});
  facts.push_back({"TDP", format_quantity(p.tdp_w, Unit::watts)});
  for (const auto& part : p.parts) {
    facts.push_back({"part " + part.part,
                     fmt::format("{} × {}, leakage {}", part.instances, format_quantity(part.area_mm2, Unit::mm2),
                                 format_quantity(part.leakage_w, Unit::watts))});
  }
  for (const auto& w : p.workloads) {
    const std::string name = phase_name(w);
    facts.push_back({name + ": precision", w.precision});
    facts.push_back(
        {name + ": weight × repeat", fmt::format("{} × {}", format_quantity(w.weight, Unit::number), w.repeat)});
    facts.push_back({name + ": MACs", format_quantity(static_cast<double>(w.macs), Unit::count)});
    facts.push_back({name + ": program", w.program_sha256.empty() ? "unknown" : w.program_sha256.substr(0, 16)});
  }
  return facts;
}

struct Match {
  const PointResult* before;
  const PointResult* after;
};

struct Matches {
  std::vector<Match> both;  // in the order of `after`
  std::vector<const PointResult*> gone, come;
};

Matches match_points(const SweepResult& before, const SweepResult& after) {
  Matches m;
  std::multimap<std::string, const PointResult*> by_name;
  for (const auto& p : before.points) by_name.emplace(p.design, &p);
  std::vector<const PointResult*> unmatched;
  std::map<const PointResult*, const PointResult*> partner;
  for (const auto& p : after.points) {
    if (const auto it = by_name.find(p.design); it != by_name.end()) {
      partner[&p] = it->second;
      by_name.erase(it);
    } else {
      unmatched.push_back(&p);
    }
  }
  std::multimap<std::pair<std::string, Pairs>, const PointResult*> by_parameters;
  std::set<const PointResult*> left;
  for (const auto& [name, p] : by_name) left.insert(p);
  for (const auto& p : before.points) {
    if (left.contains(&p)) by_parameters.emplace(std::pair(p.machine, p.parameters), &p);
  }
  for (const PointResult* p : unmatched) {
    if (const auto it = by_parameters.find({p->machine, p->parameters});
        it != by_parameters.end() && !p->parameters.empty()) {
      partner[p] = it->second;
      left.erase(it->second);
      by_parameters.erase(it);
    } else {
      m.come.push_back(p);
    }
  }
  for (const auto& p : after.points) {
    if (const auto it = partner.find(&p); it != partner.end()) m.both.push_back({it->second, &p});
  }
  for (const auto& p : before.points) {
    if (left.contains(&p)) m.gone.push_back(&p);
  }
  return m;
}

/// Rank of each point, 0 where it has none.
std::map<const PointResult*, std::size_t> ranks(const SweepResult& sweep) {
  std::map<const PointResult*, std::size_t> out;
  for (std::size_t i = 0; i < sweep.ranking.size(); ++i) out[&sweep.points.at(sweep.ranking[i].point)] = i + 1;
  return out;
}

struct LayerRow {
  std::string design, phase;
  double factor = 1;  // weight × repeat
  LayerDelta delta;
  double impact() const { return factor * (delta.after_s - delta.before_s); }
};

std::vector<LayerRow> layer_rows(const Match& m) {
  std::vector<LayerRow> rows;
  std::vector<bool> used(m.before->workloads.size(), false);
  for (const auto& w : m.after->workloads) {
    for (std::size_t i = 0; i < used.size(); ++i) {
      const WorkloadResult& old = m.before->workloads[i];
      if (used[i] || phase_name(old) != phase_name(w)) continue;
      used[i] = true;
      for (auto& delta : match_layers(old.layers, w.layers)) {
        if (same(delta.before_s, delta.after_s) && same(delta.before_pj, delta.after_pj)) continue;
        rows.push_back({m.after->design, phase_name(w), w.weight * static_cast<double>(w.repeat), std::move(delta)});
      }
      break;
    }
  }
  return rows;
}

std::vector<Block> layer_blocks(std::vector<LayerRow> rows, bool several) {
  if (rows.empty()) return {Paragraph{"No layer changed its time or energy."}};
  std::stable_sort(rows.begin(), rows.end(),
                   [](const LayerRow& a, const LayerRow& b) { return std::abs(a.impact()) > std::abs(b.impact()); });
  std::vector<Block> out;
  if (rows.size() > kMaxLayerRows) {
    out.push_back(
        Paragraph{fmt::format("The {} largest of {} changes, by weighted time.", kMaxLayerRows, rows.size())});
    rows.resize(kMaxLayerRows);
  }
  Table t{.caption = "Layers by impact: change of time × weight × repeat",
          .columns = {},
          .rows = {},
          .sortable = true,
          .searchable = rows.size() > 15};
  if (several) t.columns.push_back({.title = "Design", .keep = true});
  for (const Column& c : std::initializer_list<Column>{{"Phase"},
                                                       {"Layer"},
                                                       {"Time before", Unit::seconds},
                                                       {"Time after", Unit::seconds},
                                                       {"Change", Unit::seconds},
                                                       {"Time", Unit::ratio},
                                                       {"Energy before", Unit::joules},
                                                       {"Energy after", Unit::joules},
                                                       {"Bound by"}}) {
    t.columns.push_back(c);
  }
  for (const LayerRow& r : rows) {
    const LayerDelta& d = r.delta;
    std::vector<Cell> row;
    if (several) row.push_back(Cell(r.design));
    const bool gone = d.after.empty(), is_new = d.before.empty();
    const std::string binding = gone ? d.before_binding
                                : is_new || d.before_binding == d.after_binding
                                    ? d.after_binding
                                    : d.before_binding + " → " + d.after_binding;
    row.push_back(Cell(r.phase));
    row.push_back(Cell(d.name()));
    row.push_back(is_new ? Cell("absent", Tone::faint) : Cell(d.before_s));
    row.push_back(gone ? Cell("absent", Tone::faint) : Cell(d.after_s));
    row.push_back(Cell(d.after_s - d.before_s, d.after_s < d.before_s ? Tone::good : Tone::bad));
    row.push_back(gone || is_new ? Cell() : relative(d.before_s, d.after_s));
    row.push_back(is_new ? Cell() : Cell(d.before_pj * 1e-12));
    row.push_back(gone ? Cell() : Cell(d.after_pj * 1e-12));
    row.push_back(Cell(binding));
    t.rows.push_back(std::move(row));
  }
  out.push_back(std::move(t));
  return out;
}

Section figures_section(const PointResult& before, const PointResult& after) {
  Table t{.caption = "Figures", .columns = {{"What"}, {"Before"}, {"After"}, {"Change", Unit::ratio}}, .rows = {}};
  const auto add = [&](const std::string& what, double a, double b, Unit unit) {
    t.rows.push_back({Cell(what), a < 0 ? Cell("unknown", Tone::faint) : Cell(format_quantity(a, unit)),
                      b < 0 ? Cell("unknown", Tone::faint) : Cell(format_quantity(b, unit)),
                      a < 0 || b < 0 ? Cell() : relative(a, b)});
  };
  add("latency", before.latency_s, after.latency_s, Unit::seconds);
  add("energy", before.energy_pj * 1e-12, after.energy_pj * 1e-12, Unit::joules);
  add("energy × delay", before.edp, after.edp, Unit::joule_seconds);
  add("area", before.area_mm2, after.area_mm2, Unit::mm2);
  add("average power", before.average_w, after.average_w, Unit::watts);
  add("peak power", before.peak_w, after.peak_w, Unit::watts);
  add("mapping gap", before.mapping_gap, after.mapping_gap, Unit::ratio);
  for (const auto& w : after.workloads) {
    for (const auto& old : before.workloads) {
      if (phase_name(old) != phase_name(w)) continue;
      add(phase_name(w) + ": time", old.seconds, w.seconds, Unit::seconds);
      add(phase_name(w) + ": DRAM traffic", static_cast<double>(old.dram_bytes), static_cast<double>(w.dram_bytes),
          Unit::bytes);
      break;
    }
  }
  t.rows.push_back({Cell("status"), Cell(before.status + (before.reason.empty() ? "" : ": " + before.reason)),
                    Cell(after.status + (after.reason.empty() ? "" : ": " + after.reason)), Cell()});
  t.rows.push_back({Cell("bound by"), Cell(binding_summary(before)), Cell(binding_summary(after)), Cell()});
  t.rows.push_back({Cell("checked"), Cell(*check_summary(before).text()), Cell(*check_summary(after).text()), Cell()});
  return {"figures", "What moved", {std::move(t)}};
}

Section input_section(Table t, std::vector<Block> more) {
  Section s{"input", "What changed in the input", std::move(more)};
  if (t.rows.empty() && s.blocks.empty()) {
    s.blocks.push_back(Paragraph{"Nothing that was recorded."});
  } else if (!t.rows.empty()) {
    s.blocks.push_back(std::move(t));
  }
  return s;
}

std::string name_or(const std::string& name, const char* otherwise) { return name.empty() ? otherwise : name; }

Document diff_runs(const PointResult& before, const PointResult& after, const Pairs& manifest_before,
                   const Pairs& manifest_after) {
  Document d;
  const std::string a = name_or(before.design, "before"), b = name_or(after.design, "after");
  d.title = a == b ? "Difference: " + a : fmt::format("Difference: {} → {}", a, b);
  Section summary{"summary", "Summary", {}};
  summary.blocks.push_back(Paragraph{
      fmt::format("Latency {}; energy {}; area {}.", change_words(before.latency_s, after.latency_s, Unit::seconds),
                  change_words(before.energy_pj * 1e-12, after.energy_pj * 1e-12, Unit::joules),
                  change_words(before.area_mm2, after.area_mm2, Unit::mm2)),
      Tone::plain, true});
  d.sections.push_back(std::move(summary));
  Table t = input_table();
  add_differences(t, "manifest", manifest_before, manifest_after);
  add_differences(t, a == b ? a : "design", machine_facts(before), machine_facts(after));
  d.sections.push_back(input_section(std::move(t), {}));
  d.sections.push_back(figures_section(before, after));
  d.sections.push_back({"layers", "Layer by layer", layer_blocks(layer_rows({&before, &after}), false)});
  return d;
}

Section ranking_section(const SweepResult& before, const SweepResult& after, const Matches& matches) {
  auto old_ranks = ranks(before), new_ranks = ranks(after);
  Table t{.caption = "Ranking, by its new order",
          .columns = {{"Rank before", Unit::count},
                      {"Rank", Unit::count},
                      {.title = "Design", .keep = true},
                      {"Latency before", Unit::seconds},
                      {"Latency", Unit::seconds},
                      {"Change", Unit::ratio},
                      {"Energy", Unit::ratio, "Change of energy"},
                      {"Area", Unit::ratio, "Change of area"},
                      {"Bound by"},
                      {"Note"}},
          .rows = {},
          .sortable = true};
  std::map<const PointResult*, const PointResult*> partner;
  for (const Match& m : matches.both) partner[m.after] = m.before;
  const auto rank_cell = [](std::size_t rank) { return rank ? Cell(static_cast<double>(rank)) : Cell(); };
  std::vector<const PointResult*> order;
  for (const RankRow& r : after.ranking) order.push_back(&after.points.at(r.point));
  for (const Match& m : matches.both) {  // fell out of the ranking
    if (!new_ranks.contains(m.after) && old_ranks.contains(m.before)) order.push_back(m.after);
  }
  for (const PointResult* p : order) {
    const auto it = partner.find(p);
    const std::size_t rank = new_ranks.contains(p) ? new_ranks[p] : 0;
    if (it == partner.end()) {
      t.rows.push_back({Cell(), rank_cell(rank), Cell(p->design), Cell(), Cell(p->latency_s), Cell(), Cell(), Cell(),
                        Cell(binding_summary(*p)), Cell("new")});
      continue;
    }
    const PointResult& old = *it->second;
    const std::size_t old_rank = old_ranks.contains(&old) ? old_ranks[&old] : 0;
    const std::string was = binding_summary(old), is = binding_summary(*p);
    std::string note = !rank             ? p->status + (p->reason.empty() ? "" : ": " + p->reason)
                       : !old_rank       ? "was " + old.status
                       : rank < old_rank ? fmt::format("up {}", old_rank - rank)
                       : rank > old_rank ? fmt::format("down {}", rank - old_rank)
                                         : "";
    t.rows.push_back({rank_cell(old_rank), rank_cell(rank), Cell(p->design), is_ok(old) ? Cell(old.latency_s) : Cell(),
                      is_ok(*p) ? Cell(p->latency_s) : Cell(),
                      is_ok(old) && is_ok(*p) ? relative(old.latency_s, p->latency_s) : Cell(),
                      is_ok(old) && is_ok(*p) ? relative(old.energy_pj, p->energy_pj) : Cell(),
                      relative(old.area_mm2, p->area_mm2), Cell(was == is ? is : was + " → " + is), Cell(note)});
  }
  return {"ranking",
          "What moved in the ranking",
          {t.rows.empty() ? Block(Paragraph{"Neither ranking has a design."}) : Block(std::move(t))}};
}

Section summary_section(const SweepResult& before, const SweepResult& after, const Matches& matches) {
  std::string text;
  if (before.ranking.empty() || after.ranking.empty()) {
    text = fmt::format("Feasible designs: {} → {}.", before.ranking.size(), after.ranking.size());
  } else {
    const std::string& a = before.points.at(before.ranking[0].point).design;
    const std::string& b = after.points.at(after.ranking[0].point).design;
    text = a == b ? fmt::format("{} stays first.", a) : fmt::format("The first place goes from {} to {}.", a, b);
  }
  std::size_t faster = 0, slower = 0, equal = 0, other = 0;
  for (const Match& m : matches.both) {
    if (!is_ok(*m.before) || !is_ok(*m.after)) {
      ++(m.before->status == m.after->status ? equal : other);
    } else if (same(m.before->latency_s, m.after->latency_s)) {
      ++equal;
    } else {
      ++(m.after->latency_s < m.before->latency_s ? faster : slower);
    }
  }
  text += fmt::format(" Of {} in both, {} got faster, {} slower, {} stayed, {} changed status.",
                      counted(matches.both.size(), "design"), faster, slower, equal, other);
  return {"summary", "Summary", {Paragraph{text, Tone::plain, true}}};
}

}  // namespace

Document diff(const PointResult& before, const PointResult& after) { return diff_runs(before, after, {}, {}); }

Document diff(const SweepResult& before, const SweepResult& after) {
  if (before.points.size() == 1 && after.points.size() == 1)
    return diff_runs(before.points[0], after.points[0], before.manifest, after.manifest);
  const Matches matches = match_points(before, after);
  Document d;
  d.title = before.name == after.name ? "Difference of two runs of " + after.name
                                      : fmt::format("Difference: {} → {}", before.name, after.name);
  d.subtitle = fmt::format("{} and {}", counted(before.points.size(), "design point"),
                           counted(after.points.size(), "design point"));
  d.sections.push_back(summary_section(before, after, matches));

  Table t = input_table();
  if (before.objective != after.objective)
    t.rows.push_back({Cell("sweep"), Cell("objective"), Cell(before.objective), Cell(after.objective)});
  add_differences(t, "manifest", before.manifest, after.manifest);
  // The same change of many designs is said once.
  std::map<std::vector<std::string>, std::vector<std::string>> by_change;
  std::vector<std::vector<std::string>> order;
  for (const Match& m : matches.both) {
    Table own = input_table();
    add_differences(own, "", machine_facts(*m.before), machine_facts(*m.after));
    for (const auto& row : own.rows) {
      if (row[1].text()->ends_with(": program")) continue;  // differs with anything; the layers tell more
      std::vector<std::string> change{*row[1].text(), *row[2].text(), *row[3].text()};
      if (change[0] == "peak compute" && m.before->peak_tops > 0) {  // one factor for designs of all sizes
        change[1] = "100 %";
        change[2] = format_quantity(m.after->peak_tops / m.before->peak_tops, Unit::ratio);
      }
      auto [it, is_new] = by_change.emplace(change, std::vector<std::string>{});
      if (is_new) order.push_back(change);
      it->second.push_back(m.after->design);
    }
  }
  for (const auto& change : order) {
    const auto& designs = by_change[change];
    const std::string where = designs.size() == 1 ? designs[0]
                              : designs.size() == matches.both.size()
                                  ? "every design"
                                  : fmt::format("{}, e.g. {}", counted(designs.size(), "design"), designs[0]);
    t.rows.push_back({Cell(where), Cell(change[0]), Cell(change[1]), Cell(change[2])});
  }
  std::vector<Block> more;
  const auto list = [&](const char* what, const std::vector<const PointResult*>& points) {
    if (points.empty()) return;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min<std::size_t>(points.size(), 10); ++i) names.push_back(points[i]->design);
    if (points.size() > names.size()) names.push_back(fmt::format("{} more", points.size() - names.size()));
    more.push_back(Paragraph{fmt::format("{}: {}.", what, join_and(names))});
  };
  list("Only before", matches.gone);
  list("Only after", matches.come);
  d.sections.push_back(input_section(std::move(t), std::move(more)));
  d.sections.push_back(ranking_section(before, after, matches));
  std::vector<LayerRow> rows;
  for (const Match& m : matches.both) {
    for (auto& row : layer_rows(m)) rows.push_back(std::move(row));
  }
  d.sections.push_back({"layers", "Layer by layer", layer_blocks(std::move(rows), true)});
  return d;
}

}  // namespace assay
