#pragma once

#include <string>
#include <vector>

#include "workloads/onnx_import.h"

namespace assay {

/// A network whose outputs are recorded: a file of configs/models with seeded weights, at one size.
struct RecordedNetwork {
  const char* record;  ///< tests/data/onnxruntime/<record>.json
  const char* model;   ///< configs/models/<model>.onnx
  std::int64_t image;
};

inline constexpr RecordedNetwork kSmallNetworks[] = {
    {"resnet18_64", "resnet18", 64},
    {"mobilenet_v2_64", "mobilenet_v2", 64},
};
inline constexpr RecordedNetwork kNetworks[] = {
    {"resnet18", "resnet18", 224},
    {"resnet50", "resnet50", 224},
    {"mobilenet_v2", "mobilenet_v2", 224},
    {"vit_b_16", "vit_b_16", 224},
};

/// Seeded with 1, `img` of the network's size.
inline ImportOptions options_of(const RecordedNetwork& n) {
  ImportOptions o;
  o.weights = WeightMode::seeded;
  o.shapes["img"] = {1, 3, n.image, n.image};
  return o;
}

}  // namespace assay
