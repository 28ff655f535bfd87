#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/base/error.h"
#include "reports/csv.h"
#include "reports/format.h"
#include "reports/markdown.h"
#include "reports/section.h"
#include "reports/text.h"
#include "reports/trace.h"
#include "tests/reports/sample.h"

namespace assay {
namespace {

/// RFC 4180, as an independent reader would.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
        rows.back().back() += text[++i];
      } else if (c == '"') {
        quoted = false;
      } else {
        rows.back().back() += c;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      rows.back().emplace_back();
    } else if (c == '\n') {
      if (i + 1 < text.size()) rows.push_back({""});
    } else {
      rows.back().back() += c;
    }
  }
  return rows;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

const ReportOptions kNoGraphs{.draw_graphs = false, .graphviz = {}};

}  // namespace

TEST_CASE("CSV of points and layers has one rectangle of fields, whatever the names") {
  for (const auto& s : {sample::sweep({.layers = 5}), sample::hostile()}) {
    const auto points = read_csv(points_csv(s));
    CHECK(points.size() == s.points.size() + 1);
    for (const auto& row : points) CHECK(row.size() == points[0].size());
    std::size_t layers_in = 0;
    for (const auto& p : s.points) {
      for (const auto& w : p.workloads) layers_in += w.layers.size();
    }
    const auto layers = read_csv(layers_csv(s));
    CHECK(layers.size() == layers_in + 1);
    for (const auto& row : layers) CHECK(row.size() == layers[0].size());
    CHECK(points[1][2] == clean_utf8(s.points[0].design));
  }
}

TEST_CASE("numbers in CSV read back exactly") {
  const SweepResult s = sample::sweep({.layers = 5});
  const auto rows = read_csv(points_csv(s));
  const auto column =
      static_cast<std::size_t>(std::find(rows[0].begin(), rows[0].end(), "latency_s") - rows[0].begin());
  for (std::size_t i = 0; i < s.points.size(); ++i) CHECK(std::stod(rows[i + 1][column]) == s.points[i].latency_s);
  CHECK(std::find(rows[0].begin(), rows[0].end(), "param:pe_columns") != rows[0].end());
}

TEST_CASE("Markdown tables are rectangles and names stay text") {
  for (const auto& s : {sample::sweep({.layers = 5}), sample::hostile()}) {
    const std::string md = render_markdown(build_report(s, kNoGraphs));
    bool dot = false;
    std::size_t width = 0;
    for (const auto& line : lines(md)) {
      if (line.starts_with("```")) dot = !dot;
      if (dot || !line.starts_with("|")) {
        width = 0;
        if (dot) continue;
      }
      CHECK(line.find("<script") == line.npos);
      if (!line.starts_with("<details>")) CHECK(line.find("[a](") == line.npos);  // raw HTML up to the next blank line
      if (!line.starts_with("|")) continue;
      std::size_t bars = 0;
      for (std::size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
      if (width) CHECK(bars == width);
      width = bars;
    }
    CHECK(render_markdown(build_report(s, kNoGraphs)) == md);
  }
  const std::string md = render_markdown(build_report(sample::sweep(), kNoGraphs));
  CHECK(md.find("2830 rows more; the CSV export holds all.") != md.npos);
}

TEST_CASE("the ranking fits 110 columns and carries no control characters") {
  for (const auto& s :
       {sample::sweep({.layers = 5}), sample::hostile(), sample::sweep({.layers = 5, .checked = false})}) {
    const std::string text = ranking_text(s);
    for (const auto& line : lines(text)) {
      INFO(line);
      CHECK(display_width(line) <= 110);
    }
    for (char c : text) CHECK((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
  }
  const std::string text = ranking_text(sample::sweep({.layers = 5}));
  CHECK(text.find("mtia_2i_like grid=512 ub=24 MiB") != text.npos);
  CHECK(text.find("1 × infeasible: layer1.0.conv1: no tile fits ub") != text.npos);
  CHECK(ranking_text(SweepResult{}) == "No design point is feasible.\n");
}

TEST_CASE("long names of designs are folded, so that they stay apart") {
  SweepResult s = sample::sweep({.designs_per_family = 1, .layers = 2});
  for (auto& p : s.points) p.design += " and=a_long_tail of=parameters that_ends=in_" + std::to_string(p.index);
  const std::string text = ranking_text(s);
  for (const auto& r : s.ranking) CHECK(text.find("in_" + std::to_string(r.point)) != text.npos);
  for (const auto& line : lines(text)) CHECK(display_width(line) <= 110);
}

TEST_CASE("the whole report prints on a terminal") {
  for (const auto& line : lines(render_text(build_report(sample::hostile(), kNoGraphs), {.width = 100}))) {
    for (char c : line) CHECK(static_cast<unsigned char>(c) >= 0x20);
  }
}

TEST_CASE("a trace is JSON in which the events of one thread do not overlap") {
  WorkloadResult w = sample::single_run().points[0].workloads[0];
  w.timeline.push_back({"core 0 / mxu", "overlapping", 0, w.seconds});
  w.timeline.push_back({"plain", "<\"x\">", 0, 0});
  const auto trace = nlohmann::json::parse(chrome_trace(w));
  std::map<std::pair<int, int>, double> until;
  std::map<std::pair<int, int>, std::string> names;
  std::size_t events = 0;
  for (const auto& e : trace["traceEvents"]) {
    const std::pair<int, int> track{e["pid"], e["tid"]};
    if (e["ph"] == "M") {
      if (e["name"] == "thread_name") names[track] = e["args"]["name"];
      continue;
    }
    ++events;
    CHECK(names.contains(track));
    CHECK(e["ts"].get<double>() >= until[track] - 1e-9);
    until[track] = e["ts"].get<double>() + e["dur"].get<double>();
  }
  CHECK(events == w.timeline.size());
  std::size_t second = 0;
  for (const auto& [track, name] : names) second += name == "mxu #2";
  CHECK(second == 1);
  w.timeline.push_back({"mxu", "backwards", 2, 1});
  CHECK_THROWS_AS(chrome_trace(w), InputError);
}

}  // namespace assay
