#include "workloads/families/transformer.h"

namespace assay {
namespace {

/// Radford et al. 2019: pre-norm decoder, output weights tied to the embedding.
Graph make_gpt2(const FamilyParams& p, const FamilyOptions& options) {
  Net net("gpt2", options);
  const std::int64_t b = p["batch"], s = p["seq"], h = p["hidden"], vocab = p["vocab"];
  const TensorId ids = net.input("input_ids", {b, s}, DType::i32);
  const TensorId words = net.weight("wte.weight", {vocab, h}, WeightRole::table);
  const TensorId looked_up = net.op("wte", "Gather", {words, ids}, {{"axis", std::int64_t{0}}});
  TensorId x = net.op("embedding", "Add", {looked_up, net.weight("wpe.weight", {s, h}, WeightRole::table)});
  const TensorId mask = causal_mask(net, "causal_mask", s);
  for (std::int64_t l = 0; l < p["layers"]; ++l) {
    const std::string at = "h." + std::to_string(l) + ".";
    const TensorId qkv = linear(net, at + "attn.c_attn", layer_norm(net, at + "ln_1", x, 1e-5), 3 * h);
    const std::vector<TensorId> parts = net.split(at + "attn.split", qkv, 2, {h, h, h});
    const TensorId mixed = attend(net, at + "attn", parts[0], parts[1], parts[2], p["heads"], mask);
    x = net.op(at + "attn.residual", "Add", {linear(net, at + "attn.c_proj", mixed, h), x});
    const TensorId wide = linear(net, at + "mlp.c_fc", layer_norm(net, at + "ln_2", x, 1e-5), p["ffn"]);
    const TensorId narrow = linear(net, at + "mlp.c_proj", gelu_tanh(net, at + "mlp.gelu", wide), h);
    x = net.op(at + "mlp.residual", "Add", {narrow, x});
  }
  x = layer_norm(net, "ln_f", x, 1e-5);
  if (p["logits"] == 1) x = last_token(net, "last", x);
  const std::int64_t rows = b * net.shape(x)[1];
  const TensorId flat = net.reshape("flat", x, {rows, h});
  net.output(net.op("logits", "Gemm", {flat, words}, {{"transB", std::int64_t{1}}}));
  return net.finish();
}

}  // namespace

void register_gpt2(FamilyRegistry& registry) {
  registry.add({.name = "gpt2",
                .summary = "GPT-2 over a whole sequence: token ids in, logits [batch · tokens, vocab] out. Defaults: "
                           "GPT-2 small.",
                .params = {{"batch", 1, 1, 4096, "sequences at once", {}},
                           {"seq", 128, 1, 8192, "tokens of a sequence", {}},
                           {"layers", 12, 1, 512, "decoder layers", {}},
                           {"hidden", 768, 1, 65536, "channels of a token", {}},
                           {"heads", 12, 1, 1024, "attention heads; divides hidden", {}},
                           {"ffn", 3072, 1, 262144, "channels inside the feed-forward part", {}},
                           {"vocab", 50257, 2, 1 << 20, "rows of the embedding table", {}},
                           {"logits", 0, 0, 1, "for every token or the last one", {"all", "last"}}},
                .check = [](const FamilyParams& p) { return must_divide(p, "hidden", "heads"); },
                .make = make_gpt2});
}

}  // namespace assay
