#include "workloads/families/convnet.h"

namespace assay {

TensorId activate(Net& net, const std::string& name, TensorId x, Activation a) {
  switch (a) {
    case Activation::none:
      return x;
    case Activation::relu:
      return net.op(name + ".relu", "Relu", {x});
    case Activation::relu6:
      return net.op(name + ".relu6", "Clip", {x, net.number(name + ".low", 0), net.number(name + ".high", 6)});
  }
  return x;
}

TensorId conv_block(Net& net, const std::string& name, TensorId x, const ConvSpec& spec, bool batch_norm) {
  const std::int64_t in = net.shape(x)[1] / spec.groups, k = spec.kernel, pad = k / 2;
  std::vector<TensorId> operands = {x,
                                    net.weight(name + ".weight", {spec.out, in, k, k}, WeightRole::matrix, in * k * k)};
  if (!batch_norm) operands.push_back(net.weight(name + ".bias", {spec.out}, WeightRole::bias));
  TensorId y = net.op(name, "Conv", std::move(operands),
                      {{"kernel_shape", std::vector<std::int64_t>{k, k}},
                       {"strides", std::vector<std::int64_t>{spec.stride, spec.stride}},
                       {"pads", std::vector<std::int64_t>{pad, pad, pad, pad}},
                       {"group", spec.groups}});
  if (batch_norm) {
    const auto parameter = [&](const std::string& which, WeightRole role) {
      return net.weight(name + ".bn." + which, {spec.out}, role);
    };
    y = net.op(name + ".bn", "BatchNormalization",
               {y, parameter("weight", WeightRole::scale), parameter("bias", WeightRole::bias),
                parameter("mean", WeightRole::bias), parameter("var", WeightRole::variance)},
               {{"epsilon", 1e-5}});
  }
  return activate(net, name, y, spec.activation);
}

TensorId max_pool(Net& net, const std::string& name, TensorId x, std::int64_t kernel, std::int64_t stride,
                  std::int64_t pad) {
  return net.op(name, "MaxPool", {x},
                {{"kernel_shape", std::vector<std::int64_t>{kernel, kernel}},
                 {"strides", std::vector<std::int64_t>{stride, stride}},
                 {"pads", std::vector<std::int64_t>{pad, pad, pad, pad}}});
}

TensorId fully_connected(Net& net, const std::string& name, TensorId x, std::int64_t out) {
  const std::int64_t in = net.shape(x)[1];
  return net.op(name, "Gemm",
                {x, net.weight(name + ".weight", {out, in}, WeightRole::matrix, in),
                 net.weight(name + ".bias", {out}, WeightRole::bias)},
                {{"transB", std::int64_t{1}}});
}

TensorId classify(Net& net, TensorId x, std::int64_t classes) {
  const TensorId pooled = net.op("pool", "GlobalAveragePool", {x});
  return fully_connected(net, "logits", net.op("flat", "Flatten", {pooled}), classes);
}

ParamSpec norm_param() {
  return {"norm", 0, 0, 1, "batch normalisation folded into the convolutions, or as nodes", {"folded", "batch_norm"}};
}

}  // namespace assay
