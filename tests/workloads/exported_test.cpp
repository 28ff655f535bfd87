#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/ops/op.h"
#include "tests/workloads/reference.h"
#include "workloads/arrays.h"
#include "workloads/onnx_import.h"

// 70 small models as PyTorch exports them (opsets 11, 13 and 17; static and dynamic shapes; fp16; QDQ), each with
// inputs and outputs: import and reference semantics against another implementation.

namespace assay {
namespace {

namespace fs = std::filesystem;

/// `bert_layer_op13_qdq_int8pc` → `bert_layer_qdq_int8pc`; static and dynamic variants share their data.
std::string data_name(const std::string& stem) {
  const std::size_t at = stem.find("_op");
  const std::string variant = stem.substr(stem.find('_', at + 1));
  return stem.substr(0, at) + (variant == "_static" || variant == "_dyn" ? "" : variant);
}

struct Tolerance {
  std::string prefix;  ///< of the expected outputs' files
  double sqnr_db;
};

/// Float models are compared with the float results, quantised and fp16 ones with the results of an engine that rounds
/// elsewhere: one step of a late scale is no error, a wrong scale or zero point would be far below.
Tolerance tolerance(const std::string& data) {
  if (data.ends_with("_fp16")) return {"ort_", 60};
  if (data.find("_qdq_") != std::string::npos) return {"ort_", 40};
  return {"out_", 110};
}

TEST_CASE("every exported model gives the outputs that ship with it") {
  const auto folder = reference("models/exported");
  if (!folder) return;
  std::vector<fs::path> files;
  for (const auto& e : fs::directory_iterator(*folder))
    if (e.path().extension() == ".onnx") files.push_back(e.path());
  std::sort(files.begin(), files.end());
  CHECK(files.size() == 70);
  for (const fs::path& file : files) {
    CAPTURE(file.filename().string());
    const std::string data = data_name(file.stem().string());
    TensorMap inputs;
    ImportOptions options;
    std::map<std::string, Tensor> expected;
    const Tolerance t = tolerance(data);
    for (const auto& e : fs::directory_iterator(*folder / "data" / data)) {
      const std::string stem = e.path().stem().string();
      if (stem.starts_with("in_")) {
        auto v = std::make_shared<const Tensor>(read_npy(e.path().string()));
        options.shapes[stem.substr(3)] = v->shape();
        inputs[stem.substr(3)] = v;
      }
      if (stem.starts_with(t.prefix)) expected.emplace(stem.substr(t.prefix.size()), read_npy(e.path().string()));
    }
    try {
      const Graph g = import_onnx(file.string(), options);
      verify_graph(g);
      const TensorMap got = evaluate_graph(g, inputs);
      CHECK(got.size() == expected.size());
      for (const auto& [name, value] : expected) {
        CAPTURE(name);
        REQUIRE(got.contains(name));
        REQUIRE(got.at(name)->type() == value.type());
        const Comparison c = compare(*got.at(name), value, 0, 0);
        CHECK_MESSAGE(c.sqnr_db >= t.sqnr_db, c.to_string());
      }
    } catch (const InputError& e) {
      FAIL_CHECK(e.what());
    }
  }
}

TEST_CASE("a dynamic export becomes the same graph by binding symbols as by giving whole shapes") {
  const auto folder = reference("models/exported");
  if (!folder) return;
  const std::string path = (*folder / "gpt2l_op13_dyn.onnx").string();
  ImportOptions by_symbol, by_shape;
  by_symbol.bind = {{"B", 2}, {"T", 8}};
  by_shape.shapes = {{"idx", {2, 8}}};
  CHECK(print_graph(import_onnx(path, by_symbol)) == print_graph(import_onnx(path, by_shape)));
}

TEST_CASE("shape computations of a dynamic export are folded away") {
  const auto folder = reference("models/exported");
  if (!folder) return;
  ImportOptions options;
  options.bind = {{"B", 2}};
  const Graph g = import_onnx((*folder / "bert_layer_op13_dyn.onnx").string(), options);
  const std::set<std::string> shape_ops = {"Shape", "ConstantOfShape", "Range", "Constant"};
  for (const NodeId n : g.nodes()) CHECK_MESSAGE(!shape_ops.contains(g.node(n).op), g.node(n).name);
}

}  // namespace
}  // namespace assay
