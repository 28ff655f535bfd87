#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/format.h"
#include "reports/section.h"
#include "reports/sections/phase_blocks.h"
#include "reports/summary.h"
#include "tests/reports/sample.h"

namespace assay {
namespace {

const Section* find_section(const Document& d, const std::string& id) {
  for (const auto& s : d.sections) {
    if (s.id == id) return &s;
  }
  return nullptr;
}

template <class T>
const T* first(const std::vector<Block>& blocks) {
  for (const auto& b : blocks) {
    if (const T* v = std::get_if<T>(&b.value)) return v;
  }
  return nullptr;
}

std::string lead(const Document& d) { return first<Paragraph>(find_section(d, "recommendation")->blocks)->text; }

const ReportOptions kNoGraphs{.draw_graphs = false, .graphviz = {}};

double sum(const Table& t, std::size_t column, std::size_t rows) {
  double total = 0;
  for (std::size_t r = 0; r < rows; ++r) total += t.rows[r][column].number() ? *t.rows[r][column].number() : 0;
  return total;
}

std::size_t column_of(const Table& t, const std::string& title) {
  for (std::size_t c = 0; c < t.columns.size(); ++c) {
    if (t.columns[c].title == title) return c;
  }
  FAIL("no column " << title);
  return 0;
}

}  // namespace

TEST_CASE("a recommendation is made only when the first ten and their ties are fully checked") {
  SweepResult s = sample::sweep({.layers = 6});
  for (auto& r : s.ranking) r.tied_with_next = false;
  CHECK(lead(build_report(s, kNoGraphs)).starts_with("Recommendation: build " + s.points[s.ranking[0].point].design));

  SUBCASE("the eleventh does not matter") {
    s.points[s.ranking[10].point].fully_checked = false;
    CHECK(rows_that_matter(s) == 10);
    CHECK(lead(build_report(s, kNoGraphs)).starts_with("Recommendation"));
  }
  SUBCASE("unless it is tied with the tenth") {
    s.ranking[9].tied_with_next = true;
    s.ranking[10].tied_with_next = true;
    CHECK(rows_that_matter(s) == 12);
    PointResult& p = s.points[s.ranking[11].point];
    p.fully_checked = false;
    p.workloads[0].cycle_seconds = -1;
    const std::string text = lead(build_report(s, kNoGraphs));
    CHECK(text.starts_with("No recommendation yet: 1 of the 12 designs"));
    CHECK(text.find("the cycle model was not run (1 design)") != text.npos);
  }
  SUBCASE("a mismatch is named") {
    PointResult& p = s.points[s.ranking[2].point];
    p.fully_checked = false;
    p.workloads[1].check.passed = false;
    const std::string text = lead(build_report(s, kNoGraphs));
    CHECK(text.find("the functional check failed (1 design)") != text.npos);
    CHECK(check_summary(p).tone == Tone::bad);
    CHECK(check_summary(p).text()->find("FAILED on the twin") != std::string::npos);
  }
  SUBCASE("ties with the winner are said") {
    s.ranking[0].tied_with_next = true;
    const std::string text = lead(build_report(s, kNoGraphs));
    CHECK(text.find(s.points[s.ranking[1].point].design + " can't be told apart") != text.npos);
  }
  SUBCASE("unchecked sweeps list what is missing") {
    const std::string text = lead(build_report(sample::sweep({.layers = 6, .checked = false}), kNoGraphs));
    CHECK(text.starts_with("No recommendation yet: 10 of the 10 designs"));
    CHECK(text.find("no functional check was run (10 designs)") != text.npos);
  }
  SUBCASE("nothing feasible, nothing at all") {
    s.ranking.clear();
    CHECK(lead(build_report(s, kNoGraphs)) == "None of the design points is feasible; the reasons stand below.");
    CHECK(lead(build_report(SweepResult{}, kNoGraphs)) == "The sweep has no design points.");
  }
}

TEST_CASE("the ranking carries all columns that page one must answer") {
  const Document d = build_report(sample::sweep({.layers = 6}), kNoGraphs);
  const Table* t = first<Table>(find_section(d, "recommendation")->blocks);
  REQUIRE(t);
  std::vector<std::string> titles;
  for (const auto& c : t->columns) titles.push_back(c.title);
  CHECK(titles == std::vector<std::string>{"Rank", "Design", "Latency", "Energy", "Area", "Average", "Peak",
                                           "Mapping gap", "P(better than next)", "Tied?", "Bound by", "Depends on",
                                           "Checked", "Mapper"});
  CHECK(t->rows.size() == 24);
  CHECK(!t->rows.back()[8].number());  // nothing comes after the last
}

TEST_CASE("a design depends on the stage of the compiler that costs the suite most, or on none") {
  PointResult p;
  p.workloads.resize(2);
  p.workloads[0].seconds = 1, p.workloads[1].seconds = 3;
  CHECK(dependence_summary(p) == "");
  p.workloads[0].ablation = {{"fusion", 0.8}, {"residency", 0.1}};
  p.workloads[1].ablation = {{"fusion", 0.0}, {"residency", 0.3}};
  CHECK(dependence_summary(p) == "residency (+" + format_quantity(0.25, Unit::ratio) + ")");  // (0.1 · 1 + 0.3 · 3) / 4
  p.workloads[1].ablation = {};
  p.workloads[0].ablation = {{"fusion", 0.03}, {"residency", -0.1}};
  CHECK(dependence_summary(p) == "none");  // 0.03 / 4 is under 1 %
}

TEST_CASE("every loss waterfall and every layer table sums to 100 %") {
  for (const auto& p : sample::sweep({.layers = 23}).points) {
    for (const auto& w : p.workloads) {
      const Table fall = waterfall_table(w);
      CHECK(std::lround(sum(fall, 2, fall.rows.size() - 1) * 1000) == 1000);
      CHECK(std::lround(*fall.rows.back()[2].number() * 1000) == 1000);
      CHECK(sum(fall, 1, fall.rows.size() - 1) == doctest::Approx(w.seconds));
      const Table layers = layer_table(w);
      CHECK(std::lround(sum(layers, column_of(layers, "Of phase"), layers.rows.size()) * 1000) == 1000);
      double share = 0;
      const Chart chart = waterfall_chart(w);
      for (const auto& m : chart.series[0].marks) share += m.y;
      CHECK(share == doctest::Approx(1));
    }
  }
}

TEST_CASE("time that no cause explains is shown, not dropped") {
  WorkloadResult w;
  w.seconds = 1;
  w.waterfall.ideal_compute = 0.75;
  auto parts = waterfall_parts(w.waterfall, w.seconds);
  CHECK(parts.back().first == "unattributed");
  CHECK(parts.back().second == doctest::Approx(0.25));
  w.waterfall.ideal_compute = 1.5;
  const Chart c = waterfall_chart(w);
  CHECK(c.alt.find("exceed the time by 500 ms") != c.alt.npos);
}

TEST_CASE("what limits a layer and what doubling it would save is in one row of the search table") {
  const SweepResult s = sample::sweep({.layers = 10});
  const Document d = build_report(s, kNoGraphs);
  const Table* t = first<Table>(find_section(d, "layers")->blocks);
  REQUIRE(t);
  CHECK(t->searchable);
  CHECK(t->rows.size() == 24 * 2 * 10);
  CHECK(t->keywords.size() == t->rows.size());
  const auto& l = s.points[0].workloads[0].layers[0];
  const auto row = std::find_if(t->rows.begin(), t->rows.end(), [&](const auto& r) {
    return *r[0].text() == s.points[0].design && *r[2].text() == l.name;
  });
  REQUIRE(row != t->rows.end());
  CHECK(*(*row)[column_of(*t, "Bound by")].text() == l.binding);
  CHECK(*(*row)[column_of(*t, "Gain if doubled")].number() == l.gain_same_program);
  const Cell& again = (*row)[column_of(*t, "Gain recompiled")];
  if (l.gain_recompiled < 0) {
    CHECK(*again.text() == "not computed");
  } else {
    CHECK(*again.number() == l.gain_recompiled);
  }
  ReportOptions few = kNoGraphs;
  few.max_search_rows = 45;
  const Document cut = build_report(s, few);
  bool said = false;
  for (const auto& b : find_section(cut, "layers")->blocks) {
    if (const auto* p = std::get_if<Paragraph>(&b.value))
      said = said || p->text.find("22 further designs are not in this table") != p->text.npos;
  }
  CHECK(said);
}

TEST_CASE("the drill-down holds the best, their ties and the frontier, and links lead into it") {
  const SweepResult s = sample::sweep({.layers = 6});
  const Document d = build_report(s, kNoGraphs);
  const Choice* choice = first<Choice>(find_section(d, "design")->blocks);
  REQUIRE(choice);
  std::set<std::string> ids;
  for (const auto& p : choice->panels) ids.insert(p.id);
  CHECK(ids.size() == choice->panels.size());
  for (std::size_t i = 0; i < 10; ++i) CHECK(ids.contains(panel_id(s.points[s.ranking[i].point])));
  for (std::size_t p : s.frontier) CHECK(ids.contains(panel_id(s.points[p])));
  for (const auto& section : d.sections) {
    for (const auto& b : section.blocks) {
      const Table* t = std::get_if<Table>(&b.value);
      if (!t) continue;
      for (const auto& row : t->rows) {
        for (const auto& cell : row) CHECK((cell.target.empty() || ids.contains(cell.target)));
      }
    }
  }
  std::set<ChartKind> kinds;
  for (const auto& b : choice->panels[0].blocks) {
    if (const auto* c = std::get_if<Chart>(&b.value)) kinds.insert(c->kind);
  }
  CHECK(kinds == std::set<ChartKind>{ChartKind::waterfall, ChartKind::roofline, ChartKind::bar, ChartKind::stacked_bar,
                                     ChartKind::heatmap, ChartKind::timeline, ChartKind::memory_map});
}

TEST_CASE("the roofline's roofs meet where bandwidth times intensity is the peak") {
  const SweepResult s = sample::sweep({.layers = 10});
  const Chart c = roofline_chart(s.points[0], s.points[0].workloads[0]);
  const Series* dram = nullptr;
  for (const auto& series : c.series) {
    if (series.name.starts_with("DRAM roof")) dram = &series;
  }
  REQUIRE(dram);
  CHECK(dram->name == "DRAM roof 34 GB/s");  // what the sample was made with
  CHECK(dram->marks[1].y == doctest::Approx(s.points[0].peak_tops * 1e12));
  CHECK(dram->marks[0].y == doctest::Approx(dram->marks[0].x * 34e9));
  for (const auto& series : c.series) {
    for (const auto& m : series.marks)
      CHECK((series.line || m.y <= std::min(34e9 * m.x, s.points[0].peak_tops * 1e12) * 1.000001));
  }
}

TEST_CASE("a single run has its own page one and no sweep sections") {
  const Document d = build_report(sample::single_run(), kNoGraphs);
  CHECK(d.title == "Run: tpu_v1_like rows=64 ub=8 MiB");
  std::vector<std::string> ids;
  for (const auto& s : d.sections) ids.push_back(s.id);
  CHECK(ids == std::vector<std::string>{"recommendation", "layers", "design", "assumptions", "provenance"});
  CHECK(!first<Choice>(find_section(d, "design")->blocks));
}

TEST_CASE("an infeasible run says why and stops there") {
  SweepResult s = sample::single_run();
  s.points[0].status = "infeasible";
  s.points[0].reason = "no tile fits ub";
  s.points[0].workloads.clear();
  s.ranking.clear();
  s.frontier.clear();
  CHECK(lead(build_report(s, kNoGraphs)) == "infeasible: no tile fits ub.");
}

TEST_CASE("every infeasible or failed design stands with its reason") {
  const Document d = build_report(sample::sweep({.layers = 3}), kNoGraphs);
  const Table* t = first<Table>(find_section(d, "failures")->blocks);
  REQUIRE(t);
  CHECK(t->rows.size() == 2);
  CHECK(t->rows[0][3].text()->find("needs 1.31 MiB") != std::string::npos);
}

TEST_CASE("main effects compare an axis inside one family") {
  const Document d = build_report(sample::sweep({.layers = 3}), kNoGraphs);
  const Table* t = first<Table>(find_section(d, "sensitivity")->blocks);
  REQUIRE(t);
  std::set<std::string> axes;
  for (const auto& row : t->rows) axes.insert(*row[0].text());
  CHECK(axes == std::set<std::string>{"rows", "pe_columns", "grid",
                                      "ub"});  // clock is another one per machine: no effect of its own
  CHECK(*t->rows[0][2].text() == "64");        // by number, not by text
  CHECK(*t->rows[1][2].text() == "128");
}

TEST_CASE("values of parameters are read with their prefixes") {
  CHECK(parameter_number("12 MiB") == 12 * 1048576.0);
  CHECK(parameter_number("800 MHz") == 8e8);
  CHECK(parameter_number("64") == 64);
  CHECK(parameter_number("3 mm2") == 3);
  CHECK(parameter_number("5 m") == 5);
  CHECK(std::isnan(parameter_number("int8")));
}

TEST_CASE("the whole report can be built from results full of odd names and numbers") {
  const Document d = build_report(sample::hostile(), kNoGraphs);
  CHECK(d.sections.size() >= 8);
}

}  // namespace assay
