#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "explorers/result_json.h"
#include "explorers/store.h"
#include "explorers/sweep.h"

using namespace assay;

namespace {

/// A folder of its own that goes away.
struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "assay-sweep-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
};

const std::string kMachines = std::string(ASSAY_SOURCE_DIR) + "/configs/machines/";

void write_inputs(const Folder& f, const std::string& extra = "") {
  f.write("tiny.yaml",
          "workload: tiny\nfamily: bert\n"
          "params: {batch: 1, seq: 8, layers: 1, hidden: 32, heads: 2, ffn: 64, vocab: 40}\n"
          "twin: {params: {seq: 4}}\n");
  f.write("sweep.yaml",
          "sweep: small\nprecision: int8\nworkloads: [tiny.yaml]\nmachines:\n"
          "- machine: " +
              kMachines +
              "gemmini_like.yaml\n"
              "  axes: {params.spad: [64 KiB, 256 KiB], params.acc: [16 KiB, 64 KiB]}\n"
              "- machine: " +
              kMachines +
              "tpu_v1_like.yaml\n"
              "  axes: {params.rows: [64, 256]}\n" +
              extra);
}

std::string rejected(const Folder& f, const std::string& text) {
  try {
    load_sweep(f.write("bad.yaml", text));
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a sweep's export does not depend on threads, the store or an interruption") {
  const Folder f;
  write_inputs(f);
  const SweepSpec spec = load_sweep((f.path / "sweep.yaml").string());
  CHECK(space_size(spec) == 6);
  SweepOptions one;
  one.threads = 1;
  const std::string expected = to_json(run_sweep(spec, one));

  SweepOptions two;
  two.threads = 2;
  two.store_path = (f.path / "store.sqlite").string();
  // Stopped after two points, then continued.
  std::atomic<bool> stop{false};
  two.stop = &stop;
  two.progress = [&](const SweepProgress& p) {
    if (p.done >= 2) stop = true;
  };
  const SweepResult part = run_sweep(spec, two);
  CHECK(part.points.size() < 6);
  stop = false;
  std::int64_t reused = 0;
  two.progress = [&](const SweepProgress& p) {
    if (p.stage == "points") reused = p.reused;
  };
  CHECK(to_json(run_sweep(spec, two)) == expected);
  CHECK(reused >= 2);
  CHECK(to_json(run_sweep(spec, two)) == expected);
  CHECK(reused == 6);
}

TEST_CASE("every point of a sweep is proven, executed on its twin and timed by both models") {
  const Folder f;
  write_inputs(f);
  const SweepResult r = run_sweep(load_sweep((f.path / "sweep.yaml").string()), {});
  REQUIRE(r.points.size() == 6);
  for (const PointResult& p : r.points) {
    CAPTURE(p.design);
    CHECK(p.status == "ok");
    CHECK(p.fully_checked);
    for (const WorkloadResult& w : p.workloads) {
      CHECK(w.check.passed);
      CHECK(w.seconds >= w.lower_bound_seconds);
      double parts = 0;
      for (const NamedValue& v : w.energy_by_part) parts += v.value;
      CHECK(parts == doctest::Approx(w.energy_pj));
    }
  }
}

TEST_CASE("points beyond a constraint are kept and not ranked; when none is left the reasons are told") {
  const Folder f;
  write_inputs(f, "constraints: {area_mm2: 5}\n");
  const SweepResult r = run_sweep(load_sweep((f.path / "sweep.yaml").string()), {});
  CHECK(r.points.size() == 6);
  CHECK(r.ranking.size() == 4);
  write_inputs(f, "constraints: {area_mm2: 0.0001}\n");
  CHECK_THROWS_WITH_AS(run_sweep(load_sweep((f.path / "sweep.yaml").string()), {}),
                       doctest::Contains("none of the 6 points is feasible"), Infeasible);
}

TEST_CASE("a float model on an int8 machine is refused with the option that helps") {
  const Folder f;
  write_inputs(f);
  f.write("native.yaml", "sweep: native\nworkloads: [tiny.yaml]\nmachines: [" + kMachines + "tpu_v1_like.yaml]\n");
  CHECK_THROWS_WITH_AS(run_sweep(load_sweep((f.path / "native.yaml").string()), {}),
                       doctest::Contains("--precision int8"), Infeasible);
}

TEST_CASE("wrong sweep files are refused before anything runs, with position and nearest name") {
  const Folder f;
  write_inputs(f);
  const std::string tail = "workloads: [tiny.yaml]\nmachines: [" + kMachines + "tpu_v1_like.yaml]\n";
  CHECK(has(rejected(f, "sweep: a\nobjektive: energy\n" + tail), "bad.yaml:2:1: objektive: unknown key"));
  CHECK(has(rejected(f, "sweep: a\nobjective: latencie\n" + tail), "did you mean 'latency'?"));
  CHECK(has(rejected(f, "sweep: a\nworkloads: [none.yaml]\nmachines: [" + kMachines + "tpu_v1_like.yaml]\n"),
            "there is no file"));
  CHECK(has(rejected(f, "sweep: a\nworkloads: []\nmachines: []\n"), "expected a list of workload files"));
  CHECK(has(rejected(f, "sweep: a\nworkloads: [{workload: tiny.yaml, weight: -1}]\nmachines: [" + kMachines +
                            "tpu_v1_like.yaml]\n"),
            "expected a number >= 0"));
  CHECK(has(rejected(f, "sweep: a\nworkloads: [{workload: tiny.yaml, weight: 0}]\nmachines: [" + kMachines +
                            "tpu_v1_like.yaml]\n"),
            "nothing would be ranked"));
  CHECK(has(rejected(f, "sweep: a\naxes: {params.rovs: [1]}\n" + tail), "no value of this axis gives a machine"));
  CHECK(has(rejected(f, "sweep: a\naxes: {params.rows: []}\n" + tail), "the axis has no values"));
  CHECK(has(rejected(f, "sweep: a\naxes: {params.rows: [64, 64]}\n" + tail), "listed twice"));
  CHECK(has(rejected(f, "sweep: a\nstrategy: random\n" + tail), "needs 'samples'"));
  CHECK(has(rejected(f, "sweep: a\nconstraints: {area_mm2: 0}\n" + tail), "expected a number > 0"));
}

TEST_CASE("ranges and powers of two become axis values with their unit") {
  const Folder f;
  write_inputs(f);
  const SweepSpec s = load_sweep(f.write("axes.yaml",
                                         "sweep: a\naxes:\n  params.ub: {powers_of_two: [4 MiB, 16 MiB]}\n"
                                         "  params.rows: {from: 64, to: 256, step: 96}\n"
                                         "workloads: [tiny.yaml]\nmachines: [" +
                                             kMachines + "tpu_v1_like.yaml]\n"));
  REQUIRE(s.machines[0].axes.size() == 2);
  CHECK(s.machines[0].axes[0].values == std::vector<std::string>{"4 MiB", "8 MiB", "16 MiB"});
  CHECK(s.machines[0].axes[1].values == std::vector<std::string>{"64", "160", "256"});
  CHECK(point_at(s, 4).label() == "ub=8 MiB rows=160");
}

TEST_CASE("a store refuses what is not one, and a second writer") {
  const Folder f;
  CHECK_THROWS_WITH_AS(Store(f.write("text.sqlite", std::string(4096, 'x'))), doctest::Contains("not a store of Assay"),
                       InputError);
  const std::string path = (f.path / "s.sqlite").string();
  Store store(path);
  store.put("k", "1", "{}");
  CHECK(store.find("k") == "{}");
  CHECK_THROWS_WITH_AS(Store second(path), doctest::Contains("another process is writing"), InputError);
}
