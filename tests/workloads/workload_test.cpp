#include "workloads/workload.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/ops/op.h"
#include "tests/workloads/onnx_models.h"
#include "tests/workloads/reference.h"
#include "tests/workloads/says.h"
#include "workloads/arrays.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// A folder with a model (input x: [N, 8], weight w) and whatever workload files a test writes.
class Files : public ScratchFolder {
 public:
  Files() {
    TestModel m;
    m.input("x", 1, {"N", "8"}).output("y").floats("w", {8, 4}, std::vector<float>(32, 0.5F));
    m.node("MatMul", {"x", "w"}, {"y"});
    write("m.onnx", m.bytes());
  }
  std::vector<Workload> load(const std::string& yaml, const WorkloadOptions& options = {}) const {
    return load_workloads(write("w.yaml", yaml), options);
  }
  std::string error(const std::string& yaml, const WorkloadOptions& options = {}) const {
    return error_of([&] { load(yaml, options); });
  }
};

std::string input_type(const Graph& g) { return to_string(g.tensor(g.inputs()[0]).type); }

TEST_CASE("every workload in configs loads; each twin has values, executes, and has the structure of the full model") {
  std::size_t files = 0;
  for (const auto& e : fs::directory_iterator(repository("configs/workloads"))) {
    CAPTURE(e.path().filename().string());
    ++files;
    // Shapes only: the structure is looked at, and a full set of weights would take seconds.
    WorkloadOptions shape_only;
    shape_only.weights = WeightMode::absent;
    for (const Workload& w : load_workloads(e.path().string(), shape_only)) {
      CHECK(!w.phases.empty());
      for (const WorkloadPhase& p : w.phases) {
        CAPTURE(p.name);
        const Graph full = build(p);
        verify_graph(full);
        CHECK(mac_count(full) > 0);
        if (!p.has_twin) continue;
        const Graph twin = build(p, true);
        verify_graph(twin);
        CHECK(mac_count(twin) * 10 < mac_count(full));
        for (const auto& [name, value] : evaluate_graph(twin, seeded_inputs(twin, 1)))
          for (const double v : value->to_doubles()) REQUIRE(std::isfinite(v));
      }
    }
  }
  CHECK(files >= 8);
}

TEST_CASE("the Llama workload is a prefill and 128 decode steps, 13.5 GB of fp16 weights each") {
  const auto all = load_workloads(repository("configs/workloads/llama2_7b.yaml"));
  REQUIRE(all.size() == 1);
  REQUIRE(all[0].phases.size() == 2);
  CHECK(all[0].phases[0].name == "prefill");
  CHECK(all[0].phases[1].repeat == 128);
  const Graph g = build(all[0].phases[1]);
  std::int64_t bytes = 0;
  for (const TensorId t : g.tensors())
    if (g.tensor(t).kind == TensorKind::constant && g.tensor(t).value == nullptr) bytes += g.tensor(t).type.bytes();
  CHECK(bytes == 13'476'831'232);
}

TEST_CASE("a workload of a model file, with twin, precision and limit") {
  const Files files;
  const auto all = files.load(
      "workload: small\ndescription: a test\nonnx: m.onnx\nbind: {N: 64}\nweights: seeded\nseed: 4\nprecision: int8\n"
      "latency_limit: 5 ms\ntwin: {bind: {N: 2}}\n");
  REQUIRE(all.size() == 1);
  const Workload& w = all[0];
  CHECK(w.name == "small");
  CHECK(w.description == "a test");
  CHECK(w.precision == "int8");
  CHECK(w.latency_limit_s == doctest::Approx(0.005));
  CHECK(w.weight == 1);
  REQUIRE(w.sources.size() == 2);
  CHECK(w.sources[0].path.ends_with("w.yaml"));
  CHECK(w.sources[1].path.ends_with("m.onnx"));
  CHECK(w.sources[1].sha256.size() == 64);
  REQUIRE(w.phases.size() == 1);
  CHECK(w.phases[0].name == "small");
  CHECK(input_type(build(w.phases[0])) == "fp32[64, 8]");
  CHECK(input_type(build(w.phases[0], true)) == "fp32[2, 8]");
  const Graph g = build(w.phases[0]);
  CHECK(g.tensor(*g.find_tensor("w")).value->get(0) != 0.5);
}

TEST_CASE("shapes are written with x or as lists") {
  const Files files;
  CHECK(input_type(build(files.load("workload: a\nonnx: m.onnx\nshapes: {x: 3x8}\n")[0].phases[0])) == "fp32[3, 8]");
  CHECK(input_type(build(files.load("workload: a\nonnx: m.onnx\nshapes: {x: [4, 8]}\n")[0].phases[0])) == "fp32[4, 8]");
}

TEST_CASE("a bare model file is a workload, and the command line binds its symbols") {
  const Files files;
  WorkloadOptions options;
  options.bind["N"] = 7;
  options.weights = WeightMode::absent;
  const auto all = load_workloads(files.path() + "/m.onnx", options);
  REQUIRE(all.size() == 1);
  CHECK(all[0].name == "m");
  CHECK(!all[0].phases[0].has_twin);
  const Graph g = build(all[0].phases[0]);
  CHECK(input_type(g) == "fp32[7, 8]");
  CHECK(g.tensor(*g.find_tensor("w")).value == nullptr);
  CHECK_SAYS(error_of([&] { build(all[0].phases[0], true); }),
             "phase 'm' has no twin; a 'twin:' block gives its reduced");
}

TEST_CASE("phases change the sizes, the command line goes over them, and the twin's own sizes over that") {
  const Files files;
  const std::string yaml =
      "workload: b\nfamily: bert\nweights: absent\nparams: {layers: 1, hidden: 16, heads: 2, ffn: 24, vocab: 30}\n"
      "twin: {params: {seq: 4}}\n"
      "phases:\n- {name: short, params: {seq: 32}}\n- {name: long, repeat: 3, params: {seq: 64}, twin: {params: {seq: "
      "5}}}\n";
  const Workload w = files.load(yaml)[0];
  REQUIRE(w.phases.size() == 2);
  CHECK(input_type(build(w.phases[0])) == "int32[1, 32]");
  CHECK(input_type(build(w.phases[1])) == "int32[1, 64]");
  CHECK(w.phases[1].repeat == 3);
  CHECK(input_type(build(w.phases[0], true)) == "int32[1, 4]");
  CHECK(input_type(build(w.phases[1], true)) == "int32[1, 5]");
  WorkloadOptions options;
  options.params = {{"seq", "16"}, {"batch", "2"}};
  options.precision = "int8";
  const Workload changed = files.load(yaml, options)[0];
  CHECK(changed.precision == "int8");
  CHECK(input_type(build(changed.phases[1])) == "int32[2, 16]");
  CHECK(input_type(build(changed.phases[1], true)) == "int32[2, 5]");
  const Graph twin = build(changed.phases[0], true);
  for (const TensorId t : twin.tensors())
    CHECK((twin.tensor(t).kind != TensorKind::constant || twin.tensor(t).value != nullptr));
}

TEST_CASE("a suite weights workloads and models") {
  const Files files;
  files.write("b.yaml", "workload: b\nfamily: bert\nweights: absent\n");
  const auto all = files.load("suite:\n- {workload: b.yaml, weight: 2.5}\n- {workload: m.onnx}\n");
  REQUIRE(all.size() == 2);
  CHECK(all[0].weight == 2.5);
  CHECK(all[1].name == "m");
  CHECK(all[0].sources.size() == 2);
}

TEST_CASE("problems of a workload file are reported together, with their places") {
  const Files files;
  const std::string said = files.error(
      "workload: b\nfamily: bert\nprams: {seq: 4}\nparams: {hiden: 4, seq: 010}\nprecision: int9\nlatency_limit: 5\n");
  CHECK_SAYS(said, "w.yaml:3:1: prams: unknown key");
  CHECK_SAYS(said, "did you mean 'params'");
  CHECK_SAYS(said, "w.yaml:4:10: params.hiden: family 'bert' has no such parameter");
  CHECK_SAYS(said, "w.yaml:4:25: params.seq: found '010'");
  CHECK_SAYS(said, "w.yaml:5:12: precision: found 'int9', expected one of native, fp16, bf16, int8");
  CHECK_SAYS(said, "latency_limit: found '5', expected a time with a unit, for example 5 ms");
}

TEST_CASE("each message of a workload file is provoked") {
  const Files files;
  CHECK_SAYS(files.error("- a\n"), "expected a map with the key 'workload' or 'suite'");
  CHECK_SAYS(files.error("family: bert\n"), "has no key 'workload'");
  CHECK_SAYS(files.error("workload: a\n"), "expected one of the keys 'onnx' and 'family'");
  CHECK_SAYS(files.error("workload: a\nonnx: m.onnx\nfamily: bert\n"), "has both 'onnx' and 'family'");
  CHECK_SAYS(files.error("workload: a\nonnx: none.onnx\n"), "there is no file '");
  CHECK_SAYS(files.error("workload: a\nfamily: brt\n"), "did you mean 'bert'");
  CHECK_SAYS(files.error("workload: a\nworkload: b\nfamily: bert\n"), "duplicate key");
  CHECK_SAYS(files.error("workload: [a]\nfamily: bert\n"), "workload: found a list, expected text");
  CHECK_SAYS(files.error("workload: a\nfamily: bert\nparams: 3\n"), "params: found '3', expected a map");
  CHECK_SAYS(files.error("workload: a\nfamily: bert\nparams: {seq: [1]}\n"), "found a list, expected a value");
  CHECK_SAYS(files.error("workload: a\nfamily: bert\nparams: {hidden: 100}\n"),
             "params: hidden (100) must be a multiple of heads (12)");
  CHECK_SAYS(files.error("workload: a\nfamily: bert\nbind: {N: 1}\n"), "a model family takes its sizes as 'params'");
  CHECK_SAYS(files.error("workload: a\nonnx: m.onnx\nparams: {N: 1}\n"), "an ONNX model has no parameters");
  CHECK_SAYS(files.error("workload: a\nonnx: m.onnx\ndtype: fp16\n"), "'precision' converts them");
  CHECK_SAYS(files.error("workload: a\nfamily: bert\ndtype: int8\n"), "expected one of fp32, fp16, bf16");
  CHECK_SAYS(files.error("workload: a\nfamily: bert\nweights: as_in_file\n"), "expected one of seeded, absent");
  CHECK_SAYS(files.error("workload: a\nfamily: bert\nseed: -1\n"), "seed: found '-1', expected a whole number");
  CHECK_SAYS(files.error("workload: a\nonnx: m.onnx\nbind: {N: 0}\n"), "bind.N: found '0'");
  CHECK_SAYS(files.error("workload: a\nonnx: m.onnx\nshapes: {x: 3 by 4}\n"), "expected a shape such as 1x3x64x64");
  CHECK_SAYS(files.error("workload: a\nonnx: m.onnx\nshapes: {x: 0x4}\n"), "expected a shape such as 1x3x64x64");
  CHECK_SAYS(files.error("workload: a\nfamily: bert\ntwin: {parms: {}}\n"), "twin.parms: unknown key");
  CHECK_SAYS(files.error("workload: a\nfamily: bert\nphases: []\n"), "expected a list of at least one phase");
  CHECK_SAYS(files.error("workload: a\nfamily: bert\nphases: [{repeat: 2}]\n"), "every phase has a name");
  CHECK_SAYS(files.error("workload: a\nfamily: bert\nphases: [{name: p, repeat: 0}]\n"), "phases[0].repeat: found '0'");
  CHECK_SAYS(files.error("workload: a\nfamily: bert\nphases: [{name: p}, {name: p}]\n"), "another phase is called 'p'");
  CHECK_SAYS(files.error("suite: []\n"), "expected a list of at least one workload");
  CHECK_SAYS(files.error("suite: [{weight: 2}]\n"), "has no key 'workload' (a file)");
  CHECK_SAYS(files.error("suite: [{workload: none.yaml}]\n"), "there is no file '");
  CHECK_SAYS(files.error("suite: [{workload: m.onnx, weight: 0}]\n"), "found '0', expected a number above 0");
  CHECK_SAYS(files.error("suite: [{workload: m.onnx}, {workload: m.onnx}]\n"), "are both called 'm'");
  files.write("s.yaml", "suite: [{workload: m.onnx}]\n");
  CHECK_SAYS(files.error("suite: [{workload: s.yaml}]\n"), "is a suite itself; expected a workload");
}

TEST_CASE("options that do not fit the model are refused") {
  const Files files;
  WorkloadOptions params, bind, shape, in_file, precision;
  params.params["seq"] = "4";
  bind.bind["N"] = 4;
  shape.shapes["x"] = {1, 8};
  in_file.weights = WeightMode::as_in_file;
  precision.precision = "int9";
  const std::string onnx = "workload: a\nonnx: m.onnx\n", bert = "workload: a\nfamily: bert\n";
  CHECK_SAYS(files.error(onnx, params), "--param: an ONNX model has no parameters; use --bind or --shape");
  CHECK_SAYS(files.error(bert, bind), "--bind: a model family has no symbolic dimensions; use --param");
  CHECK_SAYS(files.error(bert, shape), "--shape: a model family takes its sizes as parameters; use --param");
  CHECK_SAYS(files.error(bert, in_file), "a model family has no file; expected seeded or absent");
  CHECK_SAYS(files.error(bert, precision), "--precision: found 'int9', expected one of native, fp16, bf16, int8");
  params.params = {{"sek", "4"}};
  CHECK_SAYS(files.error(bert, params), "--param sek: family 'bert' has no such parameter");
  CHECK_SAYS(files.error("suite: [{workload: m.onnx}]\n", bind), "a suite has several models");
  CHECK_SAYS(error_of([&] { load_workloads(files.path() + "/m.onnx", params); }), "an ONNX model has no parameters");
}

TEST_CASE("files of other kinds and missing ones are refused") {
  const Files files;
  CHECK_SAYS(error_of([&] { load_workloads(files.path() + "/none.yaml"); }), "no such file");
  CHECK_SAYS(error_of([&] { load_workloads(files.write("w.txt", "")); }),
             "expected a workload or suite (.yaml) or a model (.onnx)");
}

}  // namespace
}  // namespace assay
