#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "core/base/error.h"
#include "explorers/result_json.h"
#include "tests/reports/sample.h"

namespace assay {
namespace {

std::string message_of(const std::string& text, bool sweep = true) {
  try {
    if (sweep) {
      sweep_from_json(text);
    } else {
      point_from_json(text);
    }
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE_MESSAGE(at != text.npos, from);
  return text.replace(at, from.size(), to);
}

bool mentions(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != text.npos;
}

}  // namespace

TEST_CASE("a sweep survives JSON and back, byte for byte") {
  const std::string once = to_json(sample::sweep({.designs_per_family = 2, .layers = 7}));
  const SweepResult again = sweep_from_json(once);
  CHECK(to_json(again) == once);
  CHECK(again.points.size() == 8);
  CHECK(again.points[1].workloads[1].layers[3].resources[2].name == "mxu");
}

TEST_CASE("a point survives JSON and back, with every number exact") {
  PointResult p = sample::single_run().points[0];
  p.latency_s = 0.1 + 0.2;
  p.edp = 5e-324;
  p.energy_pj = INFINITY;
  p.area_mm2 = -INFINITY;
  p.mapping_gap = NAN;
  p.index = INT64_MAX;
  const PointResult q = point_from_json(to_json(p));
  CHECK(q.latency_s == p.latency_s);
  CHECK(q.edp == p.edp);
  CHECK(q.energy_pj == p.energy_pj);
  CHECK(q.area_mm2 == p.area_mm2);
  CHECK(std::isnan(q.mapping_gap));
  CHECK(q.index == INT64_MAX);
  CHECK(to_json(q, 2) == to_json(p, 2));
}

TEST_CASE("names of any bytes survive as UTF-8") {
  const std::string text = to_json(sample::hostile());
  const SweepResult again = sweep_from_json(text);
  CHECK(to_json(again) == text);
  CHECK(again.points[0].design.find("<script>") != std::string::npos);
}

TEST_CASE("a bad result file is refused with the path of what is wrong") {
  const std::string good = to_json(sample::sweep({.designs_per_family = 1, .layers = 2}));
  CHECK(message_of(good) == "no error");
  CHECK(mentions(message_of(good.substr(0, good.size() / 2)), "not JSON, or cut off"));
  CHECK(mentions(message_of(""), "not JSON, or cut off"));
  CHECK(mentions(message_of("[1]"), "expected an object, found array"));
  CHECK(mentions(message_of(std::string(200000, '[')), "not JSON"));
  CHECK(mentions(message_of("{}"), "schema_version: missing"));
  CHECK(mentions(message_of(replaced(good, "\"schema_version\":1", "\"schema_version\":99")),
                 "schema_version: expected 1, found 99"));
  CHECK(mentions(message_of(good, false), "kind: expected \"point\", found \"sweep\""));
  CHECK(mentions(message_of(replaced(good, "\"kind\":\"sweep\"", "\"sort\":\"sweep\"")),
                 "kind: expected \"sweep\", found nothing"));
  CHECK(mentions(message_of(replaced(good, "\"area_mm2\":", "\"area\":")), ".area_mm2: missing"));
  CHECK(mentions(message_of(replaced(good, "\"fully_checked\":true", "\"fully_checked\":1")),
                 "points[0].fully_checked: expected true or false, found number"));
  CHECK(mentions(message_of(replaced(good, "\"design\":\"", "\"design\":7,\"x\":\"")),
                 "points[0].design: expected a string, found number"));
  CHECK(mentions(message_of(replaced(good, "\"index\":0", "\"index\":0.5")),
                 "points[0].index: expected an integer of 64 bits, found 0.5"));
  CHECK(mentions(message_of(replaced(good, "\"frontier\":[", "\"frontier\":[-1,")),
                 "frontier[0]: expected an integer >= 0, found -1"));
  CHECK(mentions(message_of(replaced(good, "\"frontier\":[", "\"frontier\":[77,")),
                 "frontier[0]: expected an index below 5"));
  CHECK(mentions(message_of(replaced(
                     good, "\"ranking\":[{",
                     "\"ranking\":[{\"p_better_than_next\":1,\"point\":1000,\"score\":1,\"tied_with_next\":false},{")),
                 "ranking[0].point: expected an index below 5"));
  CHECK(
      mentions(message_of(replaced(good, "\"axes\":[", "\"axes\":7,\"x\":[")), "axes: expected a list, found number"));
  CHECK(
      mentions(message_of(replaced(good, "\"manifest\":[[", "\"manifest\":[[\"x\",")), "manifest[0]: expected a pair"));
  CHECK(mentions(message_of(replaced(good, "\"edp\":", "\"edp\":null,\"x\":")),
                 "points[0].edp: expected a number, found null"));
  CHECK(mentions(message_of(replaced(good, "\"check\":{", "\"check\":[],\"x\":{")),
                 "points[0].workloads[0].check: expected an object, found array"));
}

}  // namespace assay
