#include <doctest/doctest.h>

#include <cmath>

#include "core/base/random.h"
#include "explorers/result_json.h"
#include "reports/diff.h"
#include "reports/markdown.h"
#include "reports/text.h"
#include "tests/reports/sample.h"

namespace assay {
namespace {

LayerResult layer(std::string name, std::vector<std::string> nodes, double seconds, std::string binding = "mxu") {
  LayerResult l;
  l.name = std::move(name);
  l.nodes = std::move(nodes);
  l.seconds = seconds;
  l.energy_pj = seconds * 1e12;
  l.binding = std::move(binding);
  return l;
}

bool has(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != text.npos);
  return text.find(part) != text.npos;
}

}  // namespace

TEST_CASE("layers that were fused otherwise are compared as one") {
  const auto deltas =
      match_layers({layer("conv1", {"conv1"}, 2), layer("bn_relu", {"bn", "relu"}, 1), layer("fc", {"fc"}, 5)},
                   {layer("conv1_bn", {"conv1", "bn"}, 2.5), layer("relu", {"relu"}, 0.25), layer("fc", {"fc"}, 5)});
  REQUIRE(deltas.size() == 2);
  CHECK(deltas[0].name() == "conv1 + bn_relu → conv1_bn + relu");
  CHECK(deltas[0].before_s == 3);
  CHECK(deltas[0].after_s == 2.75);
  CHECK(deltas[1].name() == "fc");
}

TEST_CASE("a layer on one side only is said to be absent on the other, and time is never lost") {
  const auto deltas =
      match_layers({layer("a", {"a"}, 1), layer("gone", {"g"}, 3)}, {layer("a", {"a"}, 1), layer("new", {"n"}, 2)});
  REQUIRE(deltas.size() == 3);
  CHECK(deltas[0].after.empty());
  CHECK(deltas[0].name() == "gone");
  CHECK(deltas[1].before.empty());
  Random random(5);
  for (int round = 0; round < 100; ++round) {
    std::vector<LayerResult> sides[2];
    double seconds[2] = {0, 0};
    for (int side = 0; side < 2; ++side) {
      for (std::int64_t i = random.between(0, 12); i > 0; --i) {
        std::vector<std::string> nodes;
        for (std::int64_t n = random.between(0, 3); n > 0; --n)
          nodes.push_back("n" + std::to_string(random.between(0, 15)));
        sides[side].push_back(layer("l" + std::to_string(random.between(0, 9)), nodes, random.uniform()));
        seconds[side] += sides[side].back().seconds;
      }
    }
    double before = 0, after = 0;
    for (const auto& d : match_layers(sides[0], sides[1])) before += d.before_s, after += d.after_s;
    INFO("seed 5, round ", round);
    CHECK(before == doctest::Approx(seconds[0]));
    CHECK(after == doctest::Approx(seconds[1]));
  }
}

TEST_CASE("equal results have no difference") {
  const SweepResult s = sample::sweep({.layers = 5});
  const std::string text = render_text(diff(s, s), {.width = 400});
  has(text, s.points[s.ranking[0].point].design + " stays first.");
  has(text, "Of 26 designs in both, 0 got faster, 0 slower, 26 stayed, 0 changed status.");
  has(text, "Nothing that was recorded.");
  has(text, "No layer changed its time or energy.");
  CHECK(render_text(diff(s, sweep_from_json(to_json(s))), {.width = 400}) == text);
}

TEST_CASE("one changed number shows as input, ranking and layer") {
  SweepResult before = sample::sweep({.layers = 5}), after = before;
  after.manifest[1].second = "sha256 other";
  after.manifest.push_back({"patch", "x"});
  for (const char* file : {"a.yaml", "b.yaml", "c.yaml"}) {
    after.manifest.push_back({"machine", file});
    if (*file != 'b') before.manifest.push_back({"machine", file});
  }
  PointResult& p = after.points[0];
  p.peak_tops *= 2;
  p.latency_s *= 0.5;
  p.workloads[0].layers[2].seconds *= 0.25;
  p.workloads[0].layers[2].binding = "noc";
  p.workloads[1].layers[0].energy_pj *= 2;
  after.points[1].status = "infeasible";
  after.points[1].reason = "too small";
  std::erase_if(after.ranking, [](const RankRow& r) { return r.point == 1; });
  std::swap(after.ranking[0], after.ranking[1]);
  const std::string text = render_text(diff(before, after), {.width = 400});
  has(text, "The first place goes from " + after.points[after.ranking[1].point].design + " to " +
                after.points[after.ranking[0].point].design + ".");
  has(text, "1 got faster, 0 slower");
  has(text, "sha256 other");
  has(text, "patch");
  has(text, "b.yaml");
  CHECK(text.find("a.yaml") == text.npos);
  CHECK(text.find("c.yaml") == text.npos);
  has(text, "absent");
  has(text, "peak compute");
  has(text, "200 %");
  has(text, "up 1");
  has(text, "down 1");
  has(text, "infeasible: too small");
  has(text, "layer1.0.conv3");
  has(text, "→ noc");
  has(render_markdown(diff(before, after)), "## What moved in the ranking");
}

TEST_CASE("points that came and went are named") {
  const SweepResult before = sample::sweep({.layers = 3});
  SweepResult after = sample::sweep({.designs_per_family = 4, .layers = 3});
  after.points[0].design = "renamed";  // same machine and parameters: still the same point
  const std::string text = render_text(diff(before, after));
  has(text, "Only before: tpu_v1_like rows=64 ub=24 MiB");
  CHECK(text.find("Only after") == text.npos);
}

TEST_CASE("two runs differ layer by layer, with the manifest where there is one") {
  SweepResult a = sample::single_run(), b = a;
  b.points[0].workloads[0].layers[0].seconds *= 3;
  b.points[0].parts[0].area_mm2 *= 2;
  b.manifest[0].second = "0.2.0";
  const std::string text = render_text(diff(a, b), {.width = 150});
  has(text, "Layer by layer");
  has(text, "part mxu");
  has(text, "0.2.0");
  has(text, "200.0");
  has(render_text(diff(a.points[0], sample::sweep({.layers = 60}).points[9])),
      "Difference: tpu_v1_like rows=64 ub=8 MiB → eyeriss_like");
}

}  // namespace assay
