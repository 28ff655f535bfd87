#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/base/check.h"
#include "reports/assets.h"
#include "reports/diff.h"
#include "reports/html.h"
#include "reports/html_payload.h"
#include "reports/section.h"
#include "tests/reports/html_check.h"
#include "tests/reports/sample.h"

namespace assay {
namespace {

void check_page(const std::string& html) {
  const HtmlPage page = read_html(html);
  for (const auto& e : page.errors) FAIL_CHECK(e);
  std::vector<std::string> ids;
  for (const auto& e : page.elements) {
    if (const auto id = e.attribute("id"); !id.empty()) ids.push_back(id);
  }
  for (const auto& e : page.elements) {
    CHECK(e.name != "link");
    CHECK(e.name != "img");
    CHECK(e.name != "iframe");
    for (const auto& [key, value] : e.attributes) {
      CHECK(key != "src");
      CHECK(!key.starts_with("on"));
      // Inside the page only, and to something that is there.
      if (key == "href") {
        CHECK(value.starts_with("#"));
        CHECK(std::find(ids.begin(), ids.end(), value.substr(1)) != ids.end());
      }
      if (key == "style") CHECK(value.find("url") == value.npos);
    }
    if (e.name == "th") CHECK(!e.attribute("scope").empty());
    if (e.attribute("role") == "img")
      CHECK((!e.attribute("aria-label").empty() || !e.attribute("aria-labelledby").empty()));
  }
  CHECK(page.count("table") == page.count("caption"));
  CHECK(html.find("Content-Security-Policy\" content=\"default-src 'none'") != html.npos);
}

const ReportOptions kNoGraphs{.draw_graphs = false, .graphviz = {}};

}  // namespace

TEST_CASE("the HTML report parses, refers to nothing outside and to nothing missing") {
  const std::string html = render_html(build_report(sample::sweep({.layers = 12})));
  check_page(html);
  CHECK(html.size() > report_script().size());
  CHECK(html.find("Licensed under the Apache License") != html.npos);
  CHECK(html.find("Mike Bostock") != html.npos);
  CHECK(html.find("Baidu") != html.npos);
}

TEST_CASE("hostile names stay text") {
  const std::string html = render_html(build_report(sample::hostile()));
  check_page(html);
  std::size_t scripts = 0;
  for (const auto& e : read_html(html).elements) scripts += e.name == "script";
  CHECK(scripts == 2);
  check_page(render_html(diff(sample::hostile(), sample::sweep({.layers = 3}))));
}

TEST_CASE("the same results give the same bytes") {
  const SweepResult s = sample::sweep({.designs_per_family = 3, .layers = 8});
  CHECK(render_html(build_report(s)) == render_html(build_report(s)));
}

TEST_CASE("single runs, empty sweeps and differences are pages too") {
  check_page(render_html(build_report(sample::single_run())));
  check_page(render_html(build_report(SweepResult{}, kNoGraphs)));
  check_page(render_html(diff(sample::single_run(), sample::single_run())));
  check_page(render_html(Document{}));
}

TEST_CASE("small data stands as JSON, large data deflated") {
  SweepResult run = sample::single_run();
  for (auto& w : run.points[0].workloads)
    w.layers.resize(3), w.timeline.clear(), w.memories.clear(), w.graph_dot.clear();
  const std::string small = render_html(build_report(run));
  const HtmlPage page = read_html(small);
  bool seen = false;
  for (const auto& e : page.elements) {
    if (e.attribute("id") != "assay-data") continue;
    seen = true;
    const auto data = nlohmann::json::parse(e.text);
    CHECK(data["charts"].size() >= 6);
    CHECK(data["charts"]["c1"]["kind"] == "stacked_bar");
  }
  CHECK(seen);
  CHECK(render_html(build_report(sample::sweep())).find("data-encoding=\"deflate\"") != std::string::npos);
}

TEST_CASE("what the script reads is JSON, whatever the names and numbers") {
  HtmlPayload payload;
  Chart c{.kind = ChartKind::scatter, .title = "</script><!--", .alt = {}};
  c.series.push_back({"\xff\"\\", {{.x = 1, .y = 1.0 / 0.0, .size = 0.0 / 0.0, .label = "a\nb\x01"}}});
  CHECK(payload.add(c) == "c1");
  Table t{.caption = "t",
          .columns = {{"a"}, {"b", Unit::seconds}},
          .rows = {{Cell("<x>"), Cell(0.5)}, {Cell(), Cell("not computed")}}};
  CHECK(payload.add(t, {column_format(t, 0), column_format(t, 1)}) == "t1");
  CHECK(payload.add_drawing("<svg/>") == payload.add_drawing("<svg/>"));
  const std::string text = payload.json();
  CHECK(text.find('<') == text.npos);
  const auto data = nlohmann::json::parse(text);
  CHECK(data["charts"]["c1"]["title"] == "</script><!--");
  CHECK(data["charts"]["c1"]["series"][0]["d"][0][1].is_null());
  CHECK(data["tables"]["t1"]["columns"][1]["values"][0] == 0.5);
  CHECK(data["tables"]["t1"]["columns"][1]["values"][1] == "not computed");
  CHECK(data["drawings"].size() == 1);
}

TEST_CASE("deflate and base64 give the padding that atob wants") {
  for (std::size_t n : {0, 1, 2, 3, 100}) {
    const std::string out = deflate_base64(std::string(n, 'x'));
    CHECK(out.size() % 4 == 0);
    CHECK(out.starts_with("eN"));  // a zlib header in base64
  }
}

TEST_CASE("the embedded script and style can't break out of their elements") {
  CHECK(report_script().find("</script") == std::string_view::npos);
  CHECK(report_script().size() > 500000);
  CHECK(report_style().find("</style") == std::string_view::npos);
  CHECK(report_style().find("url(") == std::string_view::npos);
  CHECK(report_style().find("@import") == std::string_view::npos);
}

TEST_CASE("a table whose rows do not fit its columns is a defect") {
  Document d{"t", "", {{"s", "s", {Table{.caption = "x", .columns = {{"a"}, {"b"}}, .rows = {{Cell("1")}}}}}}};
  CHECK_THROWS_AS(render_html(d), InternalError);
}

TEST_CASE("large tables are data, small ones are in the page") {
  Table t{.caption = "big", .columns = {{"a"}, {"b", Unit::count}}, .rows = {}, .sortable = true};
  for (int i = 0; i < 301; ++i) t.rows.push_back({Cell("row"), Cell(double(i))});
  const std::string html = render_html({"t", "", {{"s", "s", {t}}}});
  check_page(html);
  CHECK(html.find("data-table=\"t1\"") != html.npos);
  t.rows.pop_back();
  CHECK(render_html({"t", "", {{"s", "s", {t}}}}).find("data-table=\"t1\"") == html.npos);
}

}  // namespace assay
