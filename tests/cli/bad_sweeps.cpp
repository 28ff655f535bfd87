#include "tests/cli/bad_input.h"

namespace assay {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

BadInput sweep(const std::string& name, const std::string& text, std::vector<std::string> says, Files more = {}) {
  Files files{{"m.yaml", machine_with()}, {"w.yaml", "workload: w\nonnx: x.onnx\n"}, {"x.onnx", good_model()}};
  for (auto& [file, content] : more) {
    std::erase_if(files, [&](const auto& f) { return f.first == file; });
    files.emplace_back(file, content);
  }
  files.emplace_back("s.yaml", text);
  return {.name = name, .files = files, .args = {"sweep", "s.yaml", "-o", "out"}, .says = std::move(says)};
}

}  // namespace

std::string sweep_with(const std::string& from, const std::string& to) {
  static const std::string text =
      "sweep: s\n"
      "workloads: [w.yaml]\n"
      "machines: [m.yaml]\n"
      "check: none\n";
  return replaced(text, from, to);
}

std::vector<BadInput> bad_sweeps() {
  const std::string good = sweep_with();
  std::vector<BadInput> rows{
      {.name = "no such sweep", .files = {}, .args = {"sweep", "s.yaml"}, .says = {"s.yaml: no such file"}},
      {.name = "a folder for a sweep",
       .files = {{"s.yaml/", ""}},
       .args = {"sweep", "s.yaml"},
       .says = {"not a regular file"}},
      sweep("an empty sweep", "", {"s.yaml:1:1: the file is empty"}),
      sweep("a machine for a sweep", machine_with(), {"s.yaml:1:1: expected a sweep, found a machine description"}),
      sweep("a workload for a sweep", "workload: w\nonnx: x.onnx\n",
            {"s.yaml:1:1: expected a sweep, found a workload"}),
      {.name = "an ONNX model for a sweep",
       .files = {{"x.onnx", good_model()}},
       .args = {"sweep", "x.onnx"},
       .says = {"x.onnx: an ONNX model stands where a YAML file is expected"}},
      sweep("a missing workload", sweep_with("w.yaml", "gone.yaml"),
            {"s.yaml:2:13: workloads[0]: there is no file 'gone.yaml'"}),
      sweep("a missing machine", sweep_with("m.yaml", "gone.yaml"),
            {"s.yaml:3:12: machines[0]: there is no file 'gone.yaml'"}),
      sweep("a folder for a workload", sweep_with("w.yaml", "f"), {"s.yaml:2:13: workloads[0]: there is no file 'f'"},
            {{"f/", ""}}),
      sweep("a workload whose model is missing", good, {"w.yaml:2:7: onnx: there is no file 'gone.onnx'"},
            {{"w.yaml", "workload: w\nonnx: gone.onnx\n"}}),
      sweep("a workload whose model is truncated", good, {"x.onnx: is not a complete ONNX model"},
            {{"x.onnx", good_model().substr(0, 20)}}),
      sweep("a workload that is a machine", sweep_with("w.yaml", "m.yaml"),
            {"m.yaml:1:1: expected a workload, found a machine description"}),
      sweep("a machine that is a workload", sweep_with("m.yaml", "w.yaml"),
            {"w.yaml:1:1: expected a machine description, found a workload"}),
      sweep("a machine that is a model", sweep_with("m.yaml", "x.onnx"), {"x.onnx: an ONNX model stands where"}),
      sweep("a machine with zero bandwidth", good, {"m.yaml:6:56: memories.spad.bandwidth: expected a value >= 1 B/s"},
            {{"m.yaml", machine_with("64 B/cycle", "0 B/cycle")}}),
      sweep("an unknown key", good + "objektive: energy\n",
            {"s.yaml:5:1: objektive: unknown key", "did you mean 'objective'?"}),
      sweep("a duplicate key", good + "sweep: t\n", {"s.yaml:5:1: sweep: duplicate key"}),
      sweep("a leading zero", good + "strategy: random\nsamples: 010\n",
            {"s.yaml:6:10: samples: expected an integer >= 1, found '010'"}),
      sweep("a negative count", good + "samples: -1\n", {"s.yaml:5:10: samples: expected an integer >= 1, found '-1'"}),
      sweep("no count for the random strategy", good + "strategy: random\n",
            {"s.yaml:5:11: samples: the random strategy needs 'samples'"}),
      sweep("a name that is a path", sweep_with("sweep: s", "sweep: ../s"),
            {"s.yaml:1:8: sweep: expected a name", "found '../s'"}),
      sweep("JSON that is cut off", R"({"sweep": "s", "workloads": ["w.yaml")",
            {"s.yaml:1:1: this '{' is never closed"}),
      sweep("an alias of what holds it", "sweep: s\naxes: &a {x: *a}\n", {"s.yaml:2:14: this alias refers"}),
      sweep("an axis of nothing", good + "axes: {units.mxu.rovs: [4]}\n",
            {"s.yaml:5:8: machines[0].axes.units.mxu.rovs", "unknown key 'rovs'"}),
      sweep("an axis of an unknown part", good + "axes: {params.n: [4]}\n",
            {"s.yaml:5:8: machines[0].axes.params.n", "names nothing in the description"}),
      sweep("an axis without a value that works", good + "axes: {units.mxu.rows: {from: 70000, to: 70100, step: 1}}\n",
            {"s.yaml:5:8: machines[0].axes.units.mxu.rows: no value of this axis gives a machine"}),
      sweep("an axis with leading zeros", good + "axes: {units.mxu.rows: {from: 01, to: 04, step: 1}}\n",
            {"s.yaml:5:24: axes.units.mxu.rows"}),
      sweep("more points than can be enumerated",
            good + "axes:\n"
                   "  units.mxu.rows: {from: 1, to: 60000, step: 1}\n"
                   "  units.mxu.cols: {from: 1, to: 60000, step: 1}\n"
                   "  units.vpu.lanes: {from: 1, to: 60000, step: 1}\n"
                   "  memories.spad.latency: {from: 1 cycle, to: 60000 cycle, step: 1 cycle}\n",
            {"points; 'exhaustive' goes up to 10000000"}),
      {.name = "threads without number",
       .files = {{"s.yaml", good}},
       .args = {"sweep", "s.yaml", "-j", "-5"},
       .says = {"--threads", "-5"}},
      {.name = "a command that does not exist",
       .files = {},
       .args = {"swep", "s.yaml"},
       .says = {"swep: there is no such command", "did you mean 'sweep'?"}},
  };
  BadInput cyclic = sweep("a cyclic model", good, {"x.onnx: "});
  for (auto& [file, content] : cyclic.files) {
    if (file != "x.onnx") continue;
    for (const BadInput& row : bad_models()) {
      if (row.name == "a cyclic graph") content = row.files.at(1).second;
    }
  }
  cyclic.says = {"x.onnx: graph: the nodes 'second' -> 'first' form a cycle"};
  rows.push_back(cyclic);
  BadInput file = sweep("results into a file", good, {"out: '", "is not a folder"}, {{"out", "mine"}});
  rows.push_back(file);
  BadInput closed = sweep("results into a folder that may not be written", good,
                          {"out: the folder '", "can't be written into"}, {{"out/", ""}});
  closed.powerless = true;
  closed.closed = "out/";
  rows.push_back(closed);
  // The program runs, and finds that nothing fits: what it found stays in the store.
  BadInput nothing_fits = sweep("a tensor larger than every memory", good,
                                {"infeasible: none of the 1 points is feasible", "memory 'dram' holds 16 bytes"},
                                {{"m.yaml", machine_with("capacity: 1 MiB", "capacity: 16 B")}});
  nothing_fits.code = 3;
  nothing_fits.args.push_back("-q");
  nothing_fits.leaves = {"out", "out/store.sqlite"};
  rows.push_back(nothing_fits);
  return rows;
}

}  // namespace assay
