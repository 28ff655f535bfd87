#include "workloads/families/transformer.h"

namespace assay {
namespace {

/// Devlin et al. 2018: post-norm encoder. One sentence per sequence, so the row of token type 0 is part of the
/// positions' table.
Graph make_bert(const FamilyParams& p, const FamilyOptions& options) {
  Net net("bert", options);
  const std::int64_t b = p["batch"], s = p["seq"], h = p["hidden"];
  const TensorId ids = net.input("input_ids", {b, s}, DType::i32);
  std::optional<TensorId> mask;
  if (p["mask"] == 1) {
    const TensorId keep = net.input("attention_mask", {b, s});
    const TensorId wide = net.reshape("mask.wide", keep, {b, 1, 1, s});
    const TensorId shifted = net.op("mask.shift", "Sub", {wide, net.number("mask.one", 1)});
    mask = net.op("mask.bias", "Mul", {shifted, net.number("mask.far", 10000)});
  }
  const TensorId words = net.weight("embeddings.word.weight", {p["vocab"], h}, WeightRole::table);
  const TensorId looked_up = net.op("embeddings.word", "Gather", {words, ids}, {{"axis", std::int64_t{0}}});
  const TensorId positions = net.weight("embeddings.position.weight", {s, h}, WeightRole::table);
  TensorId x = net.op("embeddings.sum", "Add", {looked_up, positions});
  x = layer_norm(net, "embeddings.norm", x, 1e-12);
  for (std::int64_t l = 0; l < p["layers"]; ++l) {
    const std::string at = "layer." + std::to_string(l) + ".";
    const TensorId q = linear(net, at + "attention.query", x, h);
    const TensorId k = linear(net, at + "attention.key", x, h);
    const TensorId v = linear(net, at + "attention.value", x, h);
    const TensorId mixed = attend(net, at + "attention", q, k, v, p["heads"], mask);
    const TensorId projected = linear(net, at + "attention.output", mixed, h);
    const TensorId first = net.op(at + "attention.residual", "Add", {projected, x});
    x = layer_norm(net, at + "attention.norm", first, 1e-12);
    const TensorId wide = gelu_erf(net, at + "ffn.gelu", linear(net, at + "ffn.up", x, p["ffn"]));
    const TensorId narrow = linear(net, at + "ffn.down", wide, h);
    const TensorId second = net.op(at + "ffn.residual", "Add", {narrow, x});
    x = layer_norm(net, at + "ffn.norm", second, 1e-12);
  }
  net.output(x);
  return net.finish();
}

}  // namespace

void register_bert(FamilyRegistry& registry) {
  registry.add({.name = "bert",
                .summary = "BERT encoder: token ids in, hidden states of the last layer out. Defaults: BERT-base.",
                .params = {{"batch", 1, 1, 4096, "sequences at once", {}},
                           {"seq", 128, 1, 65536, "tokens of a sequence", {}},
                           {"layers", 12, 1, 512, "encoder layers", {}},
                           {"hidden", 768, 1, 65536, "channels of a token", {}},
                           {"heads", 12, 1, 1024, "attention heads; divides hidden", {}},
                           {"ffn", 3072, 1, 262144, "channels inside the feed-forward part", {}},
                           {"vocab", 30522, 2, 1 << 20, "rows of the embedding table", {}},
                           {"mask", 0, 0, 1, "an input `attention_mask` of 1 (token) and 0 (padding)", {"no", "yes"}}},
                .check = [](const FamilyParams& p) { return must_divide(p, "hidden", "heads"); },
                .make = make_bert});
}

}  // namespace assay
