#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "core/ops/op.h"
#include "tests/workloads/reference.h"
#include "workloads/arrays.h"
#include "workloads/onnx_import.h"

namespace assay {
namespace {

std::int64_t parameters(const Graph& g) {
  std::int64_t n = 0;
  for (const TensorId t : g.tensors())
    if (g.tensor(t).kind == TensorKind::constant && g.tensor(t).value == nullptr)
      n += element_count(g.tensor(t).type.shape);
  return n;
}

Graph shape_only(const std::string& path) {
  ImportOptions options;
  options.weights = WeightMode::absent;
  Graph g = import_onnx(path, options);
  verify_graph(g);
  return g;
}

/// Σ over convolutions of out positions · out channels · in channels · kernel, by hand from He et al. 2015, table 1.
std::int64_t resnet50_macs() {
  std::int64_t macs = std::int64_t{112} * 112 * 64 * 3 * 49;
  const std::int64_t blocks[4] = {3, 4, 6, 3}, size[4] = {56, 28, 14, 7};
  std::int64_t in = 64;
  for (int s = 0; s < 4; ++s) {
    const std::int64_t c = std::int64_t{64} << s, out = 4 * c, p = size[s] * size[s];
    for (std::int64_t b = 0; b < blocks[s]; ++b) {
      const std::int64_t before = b == 0 && s > 0 ? 4 * p : p;  // the first 1 × 1 of a stage runs at the old size
      macs += before * in * c + p * c * c * 9 + p * c * out;
      if (b == 0) macs += p * in * out;
      in = out;
    }
  }
  return macs + 2048 * 1000;
}

TEST_CASE("ResNet-50 imports with its own node, parameter and multiply-accumulate counts") {
  const Graph g = shape_only(repository("configs/models/resnet50.onnx"));
  CHECK(g.node_count() == 122);  // 53 Conv, 49 Relu, 16 Add, MaxPool, GlobalAveragePool, Flatten, Gemm
  CHECK(mac_count(g) == 4'089'184'256);
  CHECK(resnet50_macs() == 4'089'184'256);
  CHECK(parameters(g) == 25'530'472);  // 25,557,032 less the 26,560 that folding the batch norms saves
}

TEST_CASE("the other kept models have the published counts") {
  const Graph resnet18 = shape_only(repository("configs/models/resnet18.onnx"));
  CHECK(resnet18.node_count() == 49);
  CHECK(mac_count(resnet18) == 1'814'073'344);
  CHECK(parameters(resnet18) == 11'684'712);
  const Graph mobilenet = shape_only(repository("configs/models/mobilenet_v2.onnx"));
  CHECK(mobilenet.node_count() == 100);
  CHECK(mac_count(mobilenet) == 300'774'272);
  CHECK(parameters(mobilenet) == 3'487'816);
  const Graph vit = shape_only(repository("configs/models/vit_b_16.onnx"));
  CHECK(mac_count(vit) == 17'563'828'224);
  CHECK(parameters(vit) == 86'567'656);
}

TEST_CASE("the reduced twin of ResNet-50 has the same nodes and computes finite, varied scores") {
  ImportOptions options;
  options.weights = WeightMode::seeded;
  options.shapes["img"] = {1, 3, 32, 32};
  const Graph g = import_onnx(repository("configs/models/resnet50.onnx"), options);
  CHECK(g.node_count() == 122);
  const TensorMap out = evaluate_graph(g, seeded_inputs(g, 1));
  const std::vector<double> scores = out.at("logits")->to_doubles();
  const std::set<double> distinct(scores.begin(), scores.end());
  CHECK(distinct.size() > 900);
  for (const double s : scores) CHECK(std::isfinite(s));
}

TEST_CASE("Swin-T (6,415 nodes in the file) imports in one fast sweep") {
  const auto folder = reference("models/structures");
  if (!folder) return;
  const auto start = std::chrono::steady_clock::now();
  const Graph g = shape_only((*folder / "light_tv_swin_t.onnx").string());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  CHECK(mac_count(g) == 4'490'566'656);
  CHECK(g.node_count() < 700);
  CHECK(seconds < 5);  // 0.2 s on an idle machine
}

TEST_CASE("EfficientNet-B0 has the published number of multiply-accumulates") {
  const auto folder = reference("models/structures");
  if (!folder) return;
  CHECK(mac_count(shape_only((*folder / "light_tv_efficientnet_b0.onnx").string())) == 385'814'752);
}

TEST_CASE("the light ONNX networks (opset 9, weights by ConstantOfShape) import") {
  const auto folder = reference("models/onnx_light");
  if (!folder) return;
  const std::map<std::string, std::int64_t> macs = {{"light_resnet50.onnx", 4'089'184'256},
                                                    {"light_vgg19.onnx", 19'632'062'464}};
  std::size_t files = 0;
  for (const auto& e : std::filesystem::directory_iterator(*folder)) {
    if (e.path().extension() != ".onnx") continue;
    CAPTURE(e.path().filename().string());
    ++files;
    const Graph g = shape_only(e.path().string());
    CHECK(parameters(g) > 1'000'000);
    const auto expected = macs.find(e.path().filename().string());
    if (expected != macs.end()) CHECK(mac_count(g) == expected->second);
  }
  CHECK(files == 9);
}

}  // namespace
}  // namespace assay
