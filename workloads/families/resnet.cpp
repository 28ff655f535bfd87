#include <array>

#include "workloads/families/convnet.h"

namespace assay {
namespace {

struct Depth {
  std::array<std::int64_t, 4> blocks;
  bool bottleneck;
};
constexpr std::array<Depth, 5> kDepths = {
    {{{2, 2, 2, 2}, false}, {{3, 4, 6, 3}, false}, {{3, 4, 6, 3}, true}, {{3, 4, 23, 3}, true}, {{3, 8, 36, 3}, true}}};

/// He et al. 2015; the stride of a bottleneck is in its 3 × 3 convolution, as in torchvision.
TensorId block(Net& net, const std::string& at, TensorId x, std::int64_t channels, std::int64_t stride, bool bottleneck,
               bool bn) {
  const std::int64_t out = bottleneck ? 4 * channels : channels;
  TensorId y = x;
  if (bottleneck) {
    y = conv_block(net, at + "conv1", y, {.out = channels, .activation = Activation::relu}, bn);
    y = conv_block(net, at + "conv2", y,
                   {.out = channels, .kernel = 3, .stride = stride, .activation = Activation::relu}, bn);
    y = conv_block(net, at + "conv3", y, {.out = out}, bn);
  } else {
    y = conv_block(net, at + "conv1", y,
                   {.out = channels, .kernel = 3, .stride = stride, .activation = Activation::relu}, bn);
    y = conv_block(net, at + "conv2", y, {.out = channels, .kernel = 3}, bn);
  }
  if (stride != 1 || net.shape(x)[1] != out)
    x = conv_block(net, at + "downsample", x, {.out = out, .stride = stride}, bn);
  return activate(net, at + "out", net.op(at + "add", "Add", {y, x}), Activation::relu);
}

Graph make_resnet(const FamilyParams& p, const FamilyOptions& options) {
  Net net("resnet", options);
  const Depth& depth = kDepths[static_cast<std::size_t>(p["depth"])];
  const bool bn = p["norm"] == 1;
  TensorId x = net.input("image", {p["batch"], 3, p["image"], p["image"]});
  x = conv_block(net, "conv1", x, {.out = p["width"], .kernel = 7, .stride = 2, .activation = Activation::relu}, bn);
  x = max_pool(net, "maxpool", x, 3, 2, 1);
  for (std::size_t stage = 0; stage < 4; ++stage)
    for (std::int64_t i = 0; i < depth.blocks[stage]; ++i) {
      const std::string at = "layer" + std::to_string(stage + 1) + "." + std::to_string(i) + ".";
      const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1;
      x = block(net, at, x, p["width"] << stage, stride, depth.bottleneck, bn);
    }
  net.output(classify(net, x, p["classes"]));
  return net.finish();
}

}  // namespace

void register_resnet(FamilyRegistry& registry) {
  registry.add({.name = "resnet",
                .summary = "Residual network: image in, class scores out. Defaults: ResNet-50 at 224 × 224.",
                .params = {{"depth", 2, 0, 4, "layers", {"18", "34", "50", "101", "152"}},
                           {"batch", 1, 1, 4096, "images at once", {}},
                           {"image", 224, 32, 4096, "rows and columns of an image", {}},
                           {"width", 64, 1, 4096, "channels of the first stage; doubles with every stage", {}},
                           {"classes", 1000, 1, 1 << 20, "scores", {}},
                           norm_param()},
                .check = nullptr,
                .make = make_resnet});
}

}  // namespace assay
