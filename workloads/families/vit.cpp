#include "workloads/families/transformer.h"

namespace assay {
namespace {

/// Dosovitskiy et al. 2020, pre-norm, classification by the class token.
Graph make_vit(const FamilyParams& p, const FamilyOptions& options) {
  Net net("vit", options);
  const std::int64_t b = p["batch"], h = p["hidden"], c = p["channels"], patch = p["patch"], image = p["image"];
  const std::int64_t patches = (image / patch) * (image / patch);
  const TensorId img = net.input("image", {b, c, image, image});
  const TensorId kernel = net.weight("patch.weight", {h, c, patch, patch}, WeightRole::matrix, c * patch * patch);
  const TensorId maps = net.op("patch", "Conv", {img, kernel, net.weight("patch.bias", {h}, WeightRole::bias)},
                               {{"kernel_shape", std::vector<std::int64_t>{patch, patch}},
                                {"strides", std::vector<std::int64_t>{patch, patch}}});
  const TensorId tokens = net.transpose("tokens", net.reshape("patches", maps, {b, h, patches}), {0, 2, 1});
  TensorId first = net.weight("class_token", {1, 1, h}, WeightRole::table);
  if (b > 1) first = net.op("class_tokens", "Expand", {first, net.ints("class_tokens.shape", {b, 1, h})});
  TensorId x = net.op("with_class", "Concat", {first, tokens}, {{"axis", std::int64_t{1}}});
  x = net.op("embedding", "Add", {x, net.weight("position.weight", {1, patches + 1, h}, WeightRole::table)});
  for (std::int64_t l = 0; l < p["layers"]; ++l) {
    const std::string at = "layer." + std::to_string(l) + ".";
    const TensorId normal = layer_norm(net, at + "norm_1", x, 1e-6);
    const TensorId q = linear(net, at + "attention.query", normal, h);
    const TensorId k = linear(net, at + "attention.key", normal, h);
    const TensorId v = linear(net, at + "attention.value", normal, h);
    const TensorId mixed = attend(net, at + "attention", q, k, v, p["heads"], std::nullopt);
    x = net.op(at + "attention.residual", "Add", {linear(net, at + "attention.output", mixed, h), x});
    const TensorId wide = linear(net, at + "mlp.up", layer_norm(net, at + "norm_2", x, 1e-6), p["ffn"]);
    const TensorId narrow = linear(net, at + "mlp.down", gelu_erf(net, at + "mlp.gelu", wide), h);
    x = net.op(at + "mlp.residual", "Add", {narrow, x});
  }
  x = layer_norm(net, "norm", x, 1e-6);
  const TensorId token = net.op(
      "class", "Slice", {x, net.ints("class.from", {0}), net.ints("class.to", {1}), net.ints("class.axis", {1})});
  net.output(linear(net, "logits", net.reshape("class.flat", token, {b, h}), p["classes"]));
  return net.finish();
}

}  // namespace

void register_vit(FamilyRegistry& registry) {
  registry.add({.name = "vit",
                .summary = "Vision transformer: image in, class scores out. Defaults: ViT-B/16 at 224 × 224.",
                .params = {{"batch", 1, 1, 4096, "images at once", {}},
                           {"image", 224, 1, 4096, "rows and columns of an image", {}},
                           {"patch", 16, 1, 1024, "rows and columns of a patch; divides image", {}},
                           {"channels", 3, 1, 1024, "channels of an image", {}},
                           {"layers", 12, 1, 512, "encoder layers", {}},
                           {"hidden", 768, 1, 65536, "channels of a token", {}},
                           {"heads", 12, 1, 1024, "attention heads; divides hidden", {}},
                           {"ffn", 3072, 1, 262144, "channels inside the feed-forward part", {}},
                           {"classes", 1000, 1, 1 << 20, "scores", {}}},
                .check = [](const FamilyParams& p) -> std::optional<std::string> {
                  if (const auto broken = must_divide(p, "hidden", "heads")) return broken;
                  return must_divide(p, "image", "patch");
                },
                .make = make_vit});
}

}  // namespace assay
