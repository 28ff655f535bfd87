#include <array>

#include "workloads/families/convnet.h"

namespace assay {
namespace {

/// Simonyan and Zisserman 2014: convolutions per stage of 64, 128, 256, 512 and 512 channels.
constexpr std::array<std::array<std::int64_t, 5>, 4> kConvolutions = {
    {{1, 1, 2, 2, 2}, {2, 2, 2, 2, 2}, {2, 2, 3, 3, 3}, {2, 2, 4, 4, 4}}};

Graph make_vgg(const FamilyParams& p, const FamilyOptions& options) {
  Net net("vgg", options);
  const auto& convolutions = kConvolutions[static_cast<std::size_t>(p["depth"])];
  TensorId x = net.input("image", {p["batch"], 3, p["image"], p["image"]});
  for (std::size_t stage = 0; stage < 5; ++stage) {
    const std::int64_t channels = p["width"] << std::min<std::size_t>(stage, 3);
    const std::string at = "stage" + std::to_string(stage + 1) + ".";
    for (std::int64_t i = 0; i < convolutions[stage]; ++i)
      x = conv_block(net, at + "conv" + std::to_string(i), x,
                     {.out = channels, .kernel = 3, .activation = Activation::relu}, false);
    x = max_pool(net, at + "pool", x, 2, 2, 0);
  }
  x = net.op("flat", "Flatten", {x});
  x = activate(net, "fc1.out", fully_connected(net, "fc1", x, p["fc"]), Activation::relu);
  x = activate(net, "fc2.out", fully_connected(net, "fc2", x, p["fc"]), Activation::relu);
  net.output(fully_connected(net, "logits", x, p["classes"]));
  return net.finish();
}

}  // namespace

void register_vgg(FamilyRegistry& registry) {
  registry.add({.name = "vgg",
                .summary = "VGG: image in, class scores out. Defaults: VGG-16 at 224 × 224.",
                .params = {{"depth", 2, 0, 3, "layers", {"11", "13", "16", "19"}},
                           {"batch", 1, 1, 4096, "images at once", {}},
                           {"image", 224, 32, 4096, "rows and columns of an image", {}},
                           {"width", 64, 1, 4096, "channels of the first stage", {}},
                           {"fc", 4096, 1, 65536, "channels of the fully connected layers", {}},
                           {"classes", 1000, 1, 1 << 20, "scores", {}}},
                .check = nullptr,
                .make = make_vgg});
}

}  // namespace assay
