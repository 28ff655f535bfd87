#pragma once

#include <string>

#include "workloads/families/net.h"

namespace assay {

enum class Activation : std::uint8_t { none, relu, relu6 };

struct ConvSpec {
  std::int64_t out = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t groups = 1;
  Activation activation = Activation::none;
};

/// Convolution with `same`-like padding (kernel / 2), then batch normalisation where the family's `norm` says so (else
/// it is folded into weights and bias already), then the activation. [n, c, h, w] in and out.
TensorId conv_block(Net& net, const std::string& name, TensorId x, const ConvSpec& spec, bool batch_norm);
TensorId activate(Net& net, const std::string& name, TensorId x, Activation a);
TensorId max_pool(Net& net, const std::string& name, TensorId x, std::int64_t kernel, std::int64_t stride,
                  std::int64_t pad);
/// Global average pooling and a fully connected layer.
TensorId classify(Net& net, TensorId x, std::int64_t classes);
/// y = x · Wᵀ + b, W: [out, in], on [n, in].
TensorId fully_connected(Net& net, const std::string& name, TensorId x, std::int64_t out);

/// `norm`: how batch normalisation appears.
ParamSpec norm_param();

}  // namespace assay
