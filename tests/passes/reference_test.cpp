#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/base/error.h"
#include "core/passes/pass.h"
#include "core/passes/value_check.h"
#include "workloads/arrays.h"
#include "workloads/onnx_import.h"

// Models from outside the repository, with their right outputs. Skipped where they are absent.

using namespace assay;
namespace fs = std::filesystem;

namespace {

fs::path reference() {
  const char* dir = std::getenv("ASSAY_REFERENCE_DIR");
  return dir != nullptr ? fs::path(dir) : fs::path(ASSAY_SOURCE_DIR "/../shared/reference");
}

std::vector<fs::path> sorted_entries(const fs::path& dir) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(dir)) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

// `in_x.npy` beside a model is the value of its input x.
TensorMap arrays(const fs::path& dir, const std::string& prefix) {
  TensorMap out;
  for (const fs::path& p : sorted_entries(dir)) {
    const std::string stem = p.stem().string();
    if (p.extension() == ".npy" && stem.starts_with(prefix))
      out[stem.substr(prefix.size())] = std::make_shared<const Tensor>(read_npy(p.string()));
  }
  return out;
}

std::size_t count(const Graph& g, const std::string& op) {
  const std::vector<NodeId> nodes = g.nodes();
  return static_cast<std::size_t>(
      std::count_if(nodes.begin(), nodes.end(), [&](NodeId n) { return g.node(n).op == op; }));
}

}  // namespace

TEST_CASE("graphs after public miscompile reports keep their right outputs through the pipeline") {
  const fs::path root = reference() / "regress";
  if (!fs::exists(root)) {
    MESSAGE("skipped: " << root.string() << " is absent");
    return;
  }
  std::size_t checked = 0;
  for (const fs::path& dir : sorted_entries(root)) {
    if (!fs::exists(dir / "model.onnx")) continue;
    CAPTURE(dir.filename().string());
    Graph g = import_onnx((dir / "model.onnx").string());
    PassContext context;
    REQUIRE_NOTHROW(run_passes(g, standard_pipeline(), {.check_values = true}, context));
    const TensorMap got = evaluate_graph(g, arrays(dir, "in_"));
    for (const auto& [name, want] : arrays(dir, "out_")) {
      REQUIRE_MESSAGE(got.contains(name), name);
      CHECK_MESSAGE(compare(*got.at(name), *want, 1e-5, 1e-4).equal,
                    compare(*got.at(name), *want, 1e-5, 1e-4).to_string());
    }
    ++checked;
  }
  CHECK(checked >= 19);
}

TEST_CASE("quantised exports run on integers after the pipeline and keep their values") {
  const fs::path root = reference() / "models" / "exported";
  if (!fs::exists(root)) {
    MESSAGE("skipped: " << root.string() << " is absent");
    return;
  }
  for (const fs::path& model : sorted_entries(root)) {
    const std::string name = model.stem().string();
    if (model.extension() != ".onnx" || name.find("_qdq_") == std::string::npos) continue;
    CAPTURE(name);
    Graph g = import_onnx(model.string());
    std::string data = name;
    data.erase(data.find("_op13"), 5);
    const TensorMap inputs = arrays(root / "data" / data, "in_");
    const std::size_t products = count(g, "Conv") + count(g, "MatMul") + count(g, "Gemm");
    const TensorMap before = evaluate_graph(g, inputs);
    PassContext context;
    run_passes(g, standard_pipeline(), {}, context);
    const std::size_t absorbed = count(g, "ConvInteger") + count(g, "MatMulInteger");
    CHECK(absorbed > 0);
    CHECK(absorbed + count(g, "Conv") + count(g, "MatMul") == products);
    const TensorMap after = evaluate_graph(g, inputs);
    for (const auto& [output, want] : before) {
      const Comparison c = compare(*after.at(output), *want, 0, 0);
      MESSAGE(name << ": " << absorbed << " of " << products << " products on integers, SQNR " << c.sqnr_db << " dB");
      CHECK(c.sqnr_db > 30);
    }
  }
}

TEST_CASE("float exports keep their values through the pipeline") {
  const fs::path root = reference() / "models" / "exported";
  if (!fs::exists(root)) {
    MESSAGE("skipped: " << root.string() << " is absent");
    return;
  }
  for (const std::string name :
       {"bert_layer_op13_static", "gpt_block_op11_static", "vit_op13_static", "resnet_op11_static",
        "mobilenetv2_op13_static", "unet_op17_static", "llama_decode_op13_static", "se_hswish_op13_static",
        "lstm_op13_static", "bert_layer_op17_fp16"}) {
    CAPTURE(name);
    Graph g = import_onnx((root / (name + ".onnx")).string());
    std::string data = name;
    data.erase(data.find("_op1"), 5);
    if (data.ends_with("_static")) data.erase(data.find("_static"));
    const TensorMap inputs = arrays(root / "data" / data, "in_");
    const std::size_t nodes = g.node_count();
    PassContext context;
    run_passes(g, standard_pipeline(), {.check_values = true}, context);
    MESSAGE(name << ": " << nodes << " -> " << g.node_count() << " nodes");
    const bool half = name.ends_with("fp16");
    const TensorMap got = evaluate_graph(g, inputs);
    for (const auto& [output, want] : arrays(root / "data" / data, half ? "ort_" : "out_")) {
      REQUIRE_MESSAGE(got.contains(output), output);
      CHECK(compare(*got.at(output), *want, 0, 0).sqnr_db > (half ? 35 : 80));
    }
  }
}
