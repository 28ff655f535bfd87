#include "workloads/families/family.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "core/ops/op.h"
#include "tests/workloads/onnx_models.h"
#include "tests/workloads/says.h"
#include "workloads/arrays.h"

namespace assay {
namespace {

using Settings = std::map<std::string, std::string>;

FamilyParams params(const Family& f, const Settings& settings) {
  FamilyParams p = f.defaults();
  for (const auto& [name, text] : settings) {
    const auto problem = f.set(p, name, text);
    if (problem) FAIL(problem->message);
  }
  return p;
}

Graph make(const std::string& name, const Settings& settings = {},
           FamilyOptions options = {.weights = WeightMode::absent}) {
  const Family* f = families().find(name);
  REQUIRE(f != nullptr);
  Graph g = f->build(params(*f, settings), options);
  verify_graph(g);
  return g;
}

struct Weights {
  std::int64_t elements = 0, bytes = 0;
};

Weights weights(const Graph& g, const std::string& prefix = {}) {
  Weights w;
  for (const TensorId t : g.tensors()) {
    const GraphTensor& tensor = g.tensor(t);
    if (tensor.kind != TensorKind::constant || tensor.value != nullptr || !tensor.name.starts_with(prefix)) continue;
    w.elements += element_count(tensor.type.shape);
    w.bytes += tensor.type.bytes();
  }
  return w;
}

TEST_CASE("BERT-base has 85,054,464 parameters in its layers and the multiply-accumulates of its products") {
  for (const std::int64_t s : {128, 384}) {
    const Graph g = make("bert", {{"seq", std::to_string(s)}});
    // Per layer: four 768 × 768 projections, the two of the feed-forward part, their biases, two norms.
    CHECK(weights(g, "layer.").elements == 12 * (4 * (768 * 768 + 768) + 2 * 768 * 3072 + 3072 + 768 + 4 * 768));
    CHECK(weights(g, "layer.").elements == 85'054'464);
    CHECK(mac_count(g) == 12 * (s * (4 * 768 * 768 + 2 * 768 * 3072) + 2 * s * s * 768));
    CHECK(to_string(g.tensor(g.outputs()[0]).type) == "fp32[1, " + std::to_string(s) + ", 768]");
  }
}

TEST_CASE("Llama-2-7B has 6,738,415,616 parameters: 13.5 GB in fp16") {
  const FamilyOptions half{.dtype = DType::f16, .weights = WeightMode::absent};
  for (const Settings& s : {Settings{{"phase", "prefill"}, {"seq", "64"}}, Settings{{"phase", "decode"}}}) {
    const Graph g = make("llama", s, half);
    const std::int64_t layer = 4 * 4096 * 4096 + 3 * 4096 * 11008 + 2 * 4096;
    CHECK(weights(g).elements == 32 * layer + 2 * 32000 * 4096 + 4096);
    CHECK(weights(g).elements == 6'738'415'616);
    CHECK(weights(g).bytes == 13'476'831'232);
  }
}

TEST_CASE("a token of Llama-2-7B costs its weights and its context") {
  const FamilyOptions half{.dtype = DType::f16, .weights = WeightMode::absent};
  for (const std::int64_t c : {1, 576}) {
    const Graph g = make("llama", {{"phase", "decode"}, {"context", std::to_string(c)}}, half);
    const std::int64_t layer = 4 * 4096 * 4096 + 3 * 4096 * 11008;
    CHECK(mac_count(g) == 32 * (layer + 2 * (c + 1) * 4096) + 4096 * 32000);
  }
}

TEST_CASE("the caches of a decode step are state, updated by the new column and row") {
  const Graph g = make("llama", {{"phase", "decode"}, {"context", "40"}, {"layers", "2"}, {"kv_heads", "8"}});
  std::size_t states = 0;
  for (const TensorId t : g.inputs()) {
    const GraphTensor& tensor = g.tensor(t);
    if (tensor.state_alias.empty()) continue;
    ++states;
    const GraphTensor& update = g.tensor(*g.find_tensor(tensor.state_alias));
    CHECK(update.is_output);
    const bool key = tensor.name.ends_with("past_k");
    CHECK(tensor.type.shape == (key ? Shape{1, 8, 128, 40} : Shape{1, 8, 40, 128}));
    CHECK(update.type.shape == (key ? Shape{1, 8, 128, 1} : Shape{1, 8, 1, 128}));
  }
  CHECK(states == 4);
}

Tensor part(const Tensor& t, std::int64_t axis, std::int64_t from, std::int64_t to) {
  Shape shape = t.shape();
  const auto a = static_cast<std::size_t>(axis);
  std::int64_t outer = 1, inner = 1;
  for (std::size_t d = 0; d < a; ++d) outer *= shape[d];
  for (std::size_t d = a + 1; d < shape.size(); ++d) inner *= shape[d];
  const std::int64_t whole = shape[a];
  shape[a] = to - from;
  Tensor out({t.dtype(), shape});
  std::int64_t i = 0;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t m = from; m < to; ++m)
      for (std::int64_t k = 0; k < inner; ++k) out.set(i++, t.get((o * whole + m) * inner + k));
  return out;
}

TEST_CASE("decoding a token against the cache gives what prefilling one token more gives") {
  // Two ways to the same numbers: causal attention over s + 1 tokens, and one step against the caches of s tokens.
  for (const char* kv_heads : {"4", "2"}) {
    const Settings sizes = {{"layers", "2"}, {"hidden", "32"}, {"heads", "4"}, {"kv_heads", kv_heads},
                            {"ffn", "48"},   {"vocab", "50"},  {"batch", "2"}};
    const std::int64_t s = 6;
    Settings longer = sizes, step = sizes;
    longer["seq"] = std::to_string(s + 1);
    step["phase"] = "decode", step["context"] = std::to_string(s);
    const FamilyOptions options{.weights = WeightMode::seeded, .seed = 5};
    const Graph prefill = make("llama", longer, options), decode = make("llama", step, options);
    const TensorMap in = seeded_inputs(prefill, 9);
    const TensorMap all = evaluate_graph(prefill, in);
    TensorMap one;
    one["input_ids"] = std::make_shared<const Tensor>(part(*in.at("input_ids"), 1, s, s + 1));
    for (const std::string l : {"layers.0.", "layers.1."}) {
      one[l + "past_k"] = std::make_shared<const Tensor>(part(*all.at(l + "k_cache"), 3, 0, s));
      one[l + "past_v"] = std::make_shared<const Tensor>(part(*all.at(l + "v_cache"), 2, 0, s));
    }
    const TensorMap got = evaluate_graph(decode, one);
    const Comparison logits = compare(*got.at("logits"), *all.at("logits"), 1e-4, 1e-4);
    CHECK_MESSAGE(logits.equal, logits.to_string());
    const Comparison k = compare(*got.at("layers.1.new_k"), part(*all.at("layers.1.k_cache"), 3, s, s + 1), 1e-4, 1e-4);
    CHECK_MESSAGE(k.equal, k.to_string());
    const Comparison v = compare(*got.at("layers.1.new_v"), part(*all.at("layers.1.v_cache"), 2, s, s + 1), 1e-4, 1e-4);
    CHECK_MESSAGE(v.equal, v.to_string());
  }
}

TEST_CASE("a causal model's first logits do not depend on later tokens") {
  const Settings sizes = {{"layers", "1"}, {"hidden", "16"}, {"heads", "2"}, {"ffn", "24"}, {"vocab", "30"}};
  for (const std::string family : {"gpt2", "llama"}) {
    Settings s = sizes;
    s["seq"] = "5", s["logits"] = "all";
    if (family == "llama") s["kv_heads"] = "1";
    const Graph g = make(family, s, {.weights = WeightMode::seeded});
    TensorMap in = seeded_inputs(g, 3);
    const TensorMap before = evaluate_graph(g, in);
    Tensor ids = *in.at("input_ids");
    ids.set(4, ids.get(4) == 7 ? 8 : 7);
    in["input_ids"] = std::make_shared<const Tensor>(ids);
    const TensorMap after = evaluate_graph(g, in);
    const std::vector<double> a = before.at("logits")->to_doubles(), b = after.at("logits")->to_doubles();
    CHECK(std::vector<double>(a.begin(), a.begin() + 4 * 30) == std::vector<double>(b.begin(), b.begin() + 4 * 30));
    CHECK(a != b);
  }
}

TEST_CASE("BERT's mask keeps padding from the other tokens") {
  const Graph g = make("bert",
                       {{"layers", "1"},
                        {"hidden", "16"},
                        {"heads", "2"},
                        {"ffn", "24"},
                        {"vocab", "30"},
                        {"seq", "4"},
                        {"mask", "yes"}},
                       {.weights = WeightMode::seeded});
  TensorMap in = seeded_inputs(g, 3);
  in["attention_mask"] =
      std::make_shared<const Tensor>(Tensor::of<float>(DType::f32, {1, 4}, std::vector<float>{1, 1, 1, 0}));
  const auto run = [&](double last) {
    Tensor ids = *in.at("input_ids");
    ids.set(3, last);
    in["input_ids"] = std::make_shared<const Tensor>(ids);
    const std::vector<double> y = evaluate_graph(g, in).begin()->second->to_doubles();
    return std::vector<double>(y.begin(), y.begin() + 3 * 16);
  };
  CHECK(run(1) == run(2));
}

TEST_CASE("the convolutional families have the published counts") {
  CHECK(mac_count(make("resnet")) == 4'089'184'256);
  CHECK(mac_count(make("resnet", {{"depth", "18"}})) == 1'814'073'344);
  CHECK(mac_count(make("mobilenet_v2")) == 300'774'272);
  CHECK(mac_count(make("vgg")) == 15'470'264'320);
  // With batch norms as nodes: torchvision's parameters, plus the running means and variances that are buffers there.
  CHECK(weights(make("resnet", {{"norm", "batch_norm"}})).elements == 25'557'032 + 2 * 26'560);
  CHECK(weights(make("mobilenet_v2", {{"norm", "batch_norm"}})).elements == 3'504'872 + 2 * 17'056);
  CHECK(weights(make("vgg")).elements == 138'357'544);
}

TEST_CASE("the transformer families have the published counts") {
  CHECK(weights(make("vit")).elements == 86'567'656);
  CHECK(weights(make("gpt2", {{"seq", "1024"}})).elements == 124'439'808);
  CHECK(mac_count(make("vit")) == 17'563'828'224);
}

TEST_CASE("families and the ONNX files of the same networks agree") {
  ImportOptions options;
  options.weights = WeightMode::absent;
  const std::string root = ASSAY_SOURCE_DIR;
  for (const auto& [file, family, settings] : {std::tuple<std::string, std::string, Settings>{"resnet50", "resnet", {}},
                                               {"resnet18", "resnet", {{"depth", "18"}}},
                                               {"mobilenet_v2", "mobilenet_v2", {}},
                                               {"vit_b_16", "vit", {}}}) {
    CAPTURE(file);
    const Graph imported = import_onnx(root + "/configs/models/" + file + ".onnx", options),
                made = make(family, settings);
    CHECK(mac_count(imported) == mac_count(made));
    CHECK(weights(imported).elements == weights(made).elements);
  }
}

TEST_CASE("every family computes finite outputs of the right size at a reduced size, in every type") {
  const std::map<std::string, Settings> small = {
      {"bert", {{"layers", "2"}, {"hidden", "32"}, {"heads", "4"}, {"ffn", "48"}, {"vocab", "40"}, {"seq", "8"}}},
      {"gpt2", {{"layers", "2"}, {"hidden", "32"}, {"heads", "4"}, {"ffn", "48"}, {"vocab", "40"}, {"seq", "8"}}},
      {"llama",
       {{"layers", "2"},
        {"hidden", "32"},
        {"heads", "4"},
        {"kv_heads", "2"},
        {"ffn", "48"},
        {"vocab", "40"},
        {"seq", "8"}}},
      {"vit",
       {{"layers", "2"},
        {"hidden", "32"},
        {"heads", "4"},
        {"ffn", "48"},
        {"image", "32"},
        {"classes", "10"},
        {"batch", "2"}}},
      {"resnet", {{"image", "32"}, {"width", "8"}, {"classes", "10"}, {"norm", "batch_norm"}}},
      {"mobilenet_v2", {{"image", "32"}, {"width", "25"}, {"classes", "10"}}},
      {"vgg", {{"depth", "11"}, {"image", "32"}, {"width", "8"}, {"fc", "16"}, {"classes", "10"}}}};
  for (const std::string& name : families().names()) {
    CAPTURE(name);
    REQUIRE(small.contains(name));
    for (const DType t : {DType::f32, DType::f16, DType::bf16}) {
      const Graph g = make(name, small.at(name), {.dtype = t, .weights = WeightMode::seeded});
      for (const auto& [output, value] : evaluate_graph(g, seeded_inputs(g, 1))) {
        CHECK(value->dtype() == t);
        double square = 0;
        for (const double v : value->to_doubles()) square += v * v;
        CHECK(std::isfinite(square));
        CHECK(square > 0);
      }
    }
  }
}

TEST_CASE("the parameter table says what is wrong") {
  const Family& bert = *families().find("bert");
  FamilyParams p = bert.defaults();
  const auto unknown = bert.set(p, "hiden", "64");
  REQUIRE(unknown.has_value());
  CHECK(unknown->suggestion == "hidden");
  CHECK_SAYS(unknown->message, "family 'bert' has no such parameter; it has batch, seq");
  CHECK_SAYS(bert.set(p, "seq", "0")->message, "found '0', expected a whole number, 1 … 65536");
  CHECK_SAYS(bert.set(p, "seq", "010")->message, "found '010'");
  CHECK_SAYS(bert.set(p, "seq", "12.5")->message, "found '12.5'");
  CHECK_SAYS(bert.set(p, "seq", "99999999999999999999")->message, "expected a whole number");
  CHECK_SAYS(bert.set(p, "mask", "on")->message, "found 'on', expected one of no, yes");
}

TEST_CASE("rules between parameters and the limit on weights are reported") {
  CHECK_SAYS(error_of([] { make("bert", {{"hidden", "100"}}); }), "hidden (100) must be a multiple of heads (12)");
  CHECK_SAYS(error_of([] { make("llama", {{"kv_heads", "5"}}); }), "heads (32) must be a multiple of kv_heads (5)");
  CHECK_SAYS(error_of([] { make("llama", {{"hidden", "96"}}); }), "hidden / heads (3) must be even");
  CHECK_SAYS(error_of([] { make("vit", {{"image", "100"}}); }), "image (100) must be a multiple of patch (16)");
  CHECK_SAYS(error_of([] { make("llama", {}, {.weights = WeightMode::seeded, .max_weight_bytes = 1000}); }),
             "its weights are larger than 1000 bytes at 'embed.weight'; 'weights: absent' keeps their shapes only");
}

TEST_CASE("every family describes its parameters, and docs/workloads.md has the tables") {
  std::ifstream in(std::string(ASSAY_SOURCE_DIR) + "/docs/workloads.md");
  const std::string doc{std::istreambuf_iterator<char>(in), {}};
  for (const std::string& name : families().names()) {
    const Family& f = *families().find(name);
    const std::string text = describe(f);
    CHECK_MESSAGE(doc.find(text) != std::string::npos, text);
    for (const ParamSpec& p : f.params) {
      CHECK(text.find("| `" + p.name + "` |") != std::string::npos);
      CHECK(!p.doc.empty());
    }
  }
}

}  // namespace
}  // namespace assay
