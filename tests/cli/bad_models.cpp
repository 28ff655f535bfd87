#include <onnx/onnx_pb.h>

#include "tests/cli/bad_input.h"
#include "tests/workloads/onnx_models.h"

namespace assay {
namespace {

TestModel relu(const std::string& type_and_shape = "4", int type = 1) {
  TestModel m;
  std::vector<std::string> dims;
  for (std::size_t begin = 0; begin <= type_and_shape.size();) {
    const std::size_t end = std::min(type_and_shape.find('x', begin), type_and_shape.size());
    dims.push_back(type_and_shape.substr(begin, end - begin));
    begin = end + 1;
  }
  m.input("x", type, dims).output("y");
  m.node("Relu", {"x"}, {"y"}, "relu");
  return m;
}

std::vector<std::string> run_args(const std::string& workload, std::vector<std::string> more = {}) {
  std::vector<std::string> args{"run", "-m", "m.yaml", "-w", workload, "-o", "out"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

BadInput model(const std::string& name, const std::string& bytes, std::vector<std::string> says,
               std::vector<std::string> more = {}) {
  return {.name = name,
          .files = {{"m.yaml", machine_with()}, {"x.onnx", bytes}},
          .args = run_args("x.onnx", std::move(more)),
          .says = std::move(says)};
}

BadInput workload(const std::string& name, const std::string& text, std::vector<std::string> says) {
  return {.name = name,
          .files = {{"m.yaml", machine_with()}, {"w.yaml", text}, {"x.onnx", good_model()}},
          .args = run_args("w.yaml"),
          .says = std::move(says)};
}

std::string cyclic() {
  TestModel m;
  m.input("x", 1, {"4"}).output("b");
  m.node("Add", {"x", "b"}, {"a"}, "first");
  m.node("Relu", {"a"}, {"b"}, "second");
  return m.bytes();
}

std::string mixed_types() {
  TestModel m;
  m.input("x", 1, {"4"}).input("i", 7, {"4"}).output("y");
  m.node("Add", {"x", "i"}, {"y"}, "mixed");
  return m.bytes();
}

std::string short_weight() {
  TestModel m;
  m.input("x", 1, {"4"}).output("y");
  m.initialiser("w", 1, {4}).set_raw_data("12345678");
  m.node("Add", {"x", "w"}, {"y"}, "add");
  return m.bytes();
}

std::string unsupported() {
  TestModel m;
  m.input("x", 1, {"4"}).output("y");
  m.node("Frobnicate", {"x"}, {"a"}, "f1");
  m.node("If", {"a"}, {"y"}, "branch");
  return m.bytes();
}

std::string large_product() {
  TestModel m;
  m.input("x", 1, {"1", "600000"}).output("y");
  m.initialiser("w", 1, {600'000, 1}).set_raw_data(std::string(2'400'000, '\0'));
  m.node("MatMul", {"x", "w"}, {"y"}, "product");
  return m.bytes();
}

}  // namespace

std::string good_model() { return relu().bytes(); }

std::vector<BadInput> bad_models() {
  const std::string good = good_model();
  const std::string onnx = "x.onnx: is not a complete ONNX model (truncated, damaged or another kind of file)";
  std::vector<BadInput> rows{
      // The file
      model("truncated", good.substr(0, good.size() - 7), {onnx}),
      model("one byte", good.substr(0, 1), {onnx}),
      model("empty", "", {"x.onnx: is not an ONNX model: there is no graph in it"}),
      model("text for a model", machine_with(), {onnx}),
      {.name = "no such model",
       .files = {{"m.yaml", machine_with()}},
       .args = run_args("x.onnx"),
       .says = {"x.onnx: no such file"}},
      {.name = "a folder for a model",
       .files = {{"m.yaml", machine_with()}, {"x.onnx/", ""}},
       .args = run_args("x.onnx"),
       .says = {"x.onnx: not a regular file"}},
      {.name = "a model that may not be read",
       .files = {{"m.yaml", machine_with()}, {"x.onnx", good}},
       .args = {"run", "-m", "m.yaml", "-w", "x.onnx"},
       .says = {"x.onnx: can't be read"},
       .powerless = true,
       .closed = "x.onnx"},
      // What it says
      model("a cyclic graph", cyclic(), {"x.onnx: graph: the nodes 'second' -> 'first' form a cycle"}),
      model("wrong types", mixed_types(), {"x.onnx: node 'mixed' (Add): operand 0 is fp32, but operand 1 is int64"}),
      model("too little data", short_weight(), {"x.onnx: tensor 'w': 8 bytes of data, but fp32[4] needs 16"}),
      model("a negative size", relu("-4").bytes(), {"x.onnx: input 'x'", "a dimension of -4"}),
      model("a size of nothing", relu("0x4").bytes(), {"x.onnx: input 'x'", "a dimension of 0"}),
      model("an absurd size", relu("4294967296x4294967296").bytes(), {"x.onnx: input 'x'", "more than 2^40 elements"}),
      model("an input beyond any memory", relu("1048576x1048576").bytes(),
            {"input 'x': fp32[1048576, 1048576] takes 4398046511104 bytes"}),
      model(
          "operations that do not exist", unsupported(),
          {"x.onnx: 2 operations can't be imported:", "Frobnicate: 1 node, first 'f1'", "If: 1 node, first 'branch'"}),
      model("unbound symbols", relu("batchx4").bytes(),
            {"x.onnx: inputs: symbolic dimensions without an extent: batch; bind them, for example --bind batch=1"}),
      model("strings", relu("4", 8).bytes(), {"x.onnx: input 'x': has elements of type string"}),
      // Options
      model("a bound size with a leading zero", relu("batchx4").bytes(), {"--bind: ", "found '010'"},
            {"--bind", "batch=010"}),
      model("a negative bound size", relu("batchx4").bytes(), {"bind: batch = -1, expected at least 1"},
            {"--bind", "batch=-1"}),
      model("a bound size beyond 64 bits", relu("batchx4").bytes(), {"--bind: ", "found '99999999999999999999'"},
            {"--bind", "batch=99999999999999999999"}),
      model("a shape with a leading zero", relu("batchx4").bytes(), {"--shape: expected 1x3x224x224"},
            {"--shape", "x=01x4"}),
      model("a level of checking that does not exist", good, {"--check: expected none, static, twin or full"},
            {"--check", "ful"}),
      // Workload files
      workload("an empty workload", "", {"w.yaml:1:1: the file is empty"}),
      workload("a machine for a workload", machine_with(),
               {"w.yaml:1:1: expected a workload, found a machine description"}),
      workload("a sweep for a workload", sweep_with(), {"w.yaml:1:1: expected a workload, found a sweep"}),
      workload("a workload with a missing model", "workload: w\nonnx: gone.onnx\n",
               {"w.yaml:2:7: onnx: there is no file 'gone.onnx'"}),
      workload("a machine for a model", "workload: w\nonnx: m.yaml\n", {"m.yaml: is not a complete ONNX model"}),
      workload("an unknown key", "workload: w\nonxx: x.onnx\nonnx: x.onnx\n",
               {"w.yaml:2:1: onxx: unknown key", "did you mean 'onnx'?"}),
      workload("a duplicate key", "workload: w\nonnx: x.onnx\nonnx: x.onnx\n", {"w.yaml:3:1: onnx: duplicate key"}),
      workload("a leading zero", "workload: w\nfamily: bert\nparams: {layers: 010}\n",
               {"w.yaml:3:18: params.layers: found '010'"}),
      workload("a negative size", "workload: w\nfamily: bert\nparams: {layers: -1}\n",
               {"w.yaml:3:18: params.layers: found '-1'"}),
      workload("a name that is a path", "workload: ../w\nonnx: x.onnx\n",
               {"w.yaml:1:11: workload: found '../w', expected a name"}),
      workload("an alias of what holds it", "workload: w\nparams: &a {x: *a}\n", {"w.yaml:2:16: this alias refers"}),
      workload("a suite of itself", "suite: [{workload: w.yaml}]\n",
               {"w.yaml:1:20: suite: 'w.yaml' is a suite itself"}),
      workload("a suite weight with a leading zero", "suite: [{workload: x.onnx, weight: 010}]\n",
               {"w.yaml:1:36: suite[0].weight: found '010'"}),
  };
  const auto infeasible = [&](const std::string& name, const std::string& bytes, std::vector<std::string> says) {
    rows.push_back(model(name, bytes, std::move(says)));
    rows.back().code = 3;
  };
  infeasible("a tensor larger than every memory", relu("1024x1024").bytes(),
             {"infeasible: x: memory 'dram' holds 1048576 bytes; the model's tensors need up to 8388608"});
  infeasible("weights larger than every memory", large_product(), {"infeasible: x: memory 'dram' holds 1048576 bytes"});
  rows.push_back({.name = "a machine for a workload, a workload for a machine",
                  .files = {{"m.yaml", machine_with()}, {"w.yaml", "workload: w\nonnx: x.onnx\n"}, {"x.onnx", good}},
                  .args = {"run", "-m", "w.yaml", "-w", "m.yaml"},
                  .says = {"w.yaml:1:1: expected a machine description, found a workload"}});
  rows.push_back({.name = "a float model on a machine of integers",
                  .files = {{"m.yaml", machine_with("{fp32: fp32}", "{int8: int32}")},
                            {"x.onnx",
                             [] {
                               TestModel m;
                               m.input("a", 1, {"4", "4"}).input("b", 1, {"4", "4"}).output("c");
                               m.node("MatMul", {"a", "b"}, {"c"}, "product");
                               return m.bytes();
                             }()}},
                  .args = run_args("x.onnx"),
                  .says = {"no matrix unit multiplies fp32; a float model can be quantised with --precision int8"},
                  .code = 3});
  // Where results go
  rows.push_back({.name = "results into a file",
                  .files = {{"m.yaml", machine_with()}, {"x.onnx", good}, {"out", "mine"}},
                  .args = run_args("x.onnx"),
                  .says = {"out: '", "is not a folder"}});
  rows.push_back({.name = "results into a folder that may not be written",
                  .files = {{"m.yaml", machine_with()}, {"x.onnx", good}, {"out/", ""}},
                  .args = run_args("x.onnx"),
                  .says = {"out: the folder '", "can't be written into"},
                  .powerless = true,
                  .closed = "out/"});
  rows.push_back({.name = "a program into a folder that is not there",
                  .files = {{"m.yaml", machine_with()}, {"x.onnx", good}},
                  .args = {"compile", "-m", "m.yaml", "-w", "x.onnx", "-o", "none/p.txt"},
                  .says = {"none/p.txt: can't be written: there is no folder 'none'"}});
  rows.push_back({.name = "a program over a folder",
                  .files = {{"m.yaml", machine_with()}, {"x.onnx", good}, {"p.txt/", ""}},
                  .args = {"compile", "-m", "m.yaml", "-w", "x.onnx", "-o", "p.txt"},
                  .says = {"p.txt: can't be written: it is a folder"}});
  return rows;
}

}  // namespace assay
