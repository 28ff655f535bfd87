#include <algorithm>
#include <array>

#include "workloads/families/convnet.h"

namespace assay {
namespace {

struct Stage {
  std::int64_t expand, channels, repeat, stride;
};
/// Sandler et al. 2018, table 2.
constexpr std::array<Stage, 7> kStages = {
    {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}};

/// Width scaling: the nearest multiple of 8, never more than 10 % below (the published code's rule).
std::int64_t scaled(std::int64_t channels, std::int64_t percent) {
  const std::int64_t exact = channels * percent;  // in hundredths
  std::int64_t rounded = std::max<std::int64_t>(8, (exact + 400) / 800 * 8);
  if (10 * 100 * rounded < 9 * exact) rounded += 8;
  return rounded;
}

TensorId inverted_residual(Net& net, const std::string& at, TensorId x, std::int64_t expand, std::int64_t out,
                           std::int64_t stride, bool bn) {
  const std::int64_t in = net.shape(x)[1], inner = in * expand;
  TensorId y = x;
  if (expand != 1) y = conv_block(net, at + "expand", y, {.out = inner, .activation = Activation::relu6}, bn);
  y = conv_block(net, at + "depthwise", y,
                 {.out = inner, .kernel = 3, .stride = stride, .groups = inner, .activation = Activation::relu6}, bn);
  y = conv_block(net, at + "project", y, {.out = out}, bn);
  return stride == 1 && in == out ? net.op(at + "add", "Add", {x, y}) : y;
}

Graph make_mobilenet_v2(const FamilyParams& p, const FamilyOptions& options) {
  Net net("mobilenet_v2", options);
  const bool bn = p["norm"] == 1;
  const std::int64_t width = p["width"];
  TensorId x = net.input("image", {p["batch"], 3, p["image"], p["image"]});
  x = conv_block(net, "stem", x, {.out = scaled(32, width), .kernel = 3, .stride = 2, .activation = Activation::relu6},
                 bn);
  int number = 0;
  for (const Stage& s : kStages)
    for (std::int64_t i = 0; i < s.repeat; ++i)
      x = inverted_residual(net, "block" + std::to_string(number++) + ".", x, s.expand, scaled(s.channels, width),
                            i == 0 ? s.stride : 1, bn);
  // The last layer does not shrink with the width.
  x = conv_block(net, "head", x,
                 {.out = scaled(1280, std::max<std::int64_t>(width, 100)), .activation = Activation::relu6}, bn);
  net.output(classify(net, x, p["classes"]));
  return net.finish();
}

}  // namespace

void register_mobilenet_v2(FamilyRegistry& registry) {
  registry.add({.name = "mobilenet_v2",
                .summary = "MobileNetV2: image in, class scores out. Defaults: width 1.0 at 224 × 224.",
                .params = {{"batch", 1, 1, 4096, "images at once", {}},
                           {"image", 224, 32, 4096, "rows and columns of an image", {}},
                           {"width", 100, 10, 400, "channels in percent of the published network", {}},
                           {"classes", 1000, 1, 1 << 20, "scores", {}},
                           norm_param()},
                .check = nullptr,
                .make = make_mobilenet_v2});
}

}  // namespace assay
