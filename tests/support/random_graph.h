#pragma once

#include "core/base/random.h"
#include "core/ir/graph.h"

namespace assay {

/// What random_graph draws from. Extents are small on purpose: graphs are executed many times.
struct RandomGraphOptions {
  int min_nodes = 5, max_nodes = 25;  ///< of the source graph, before any pass
  std::int64_t max_extent = 8;        ///< of one dimension; convolutions see images up to twice that
  bool convolutions = true;           ///< Conv (grouped, strided, padded), BatchNormalization, pools
  bool products = true;               ///< MatMul and Gemm
  bool elementwise = true;            ///< unary and binary, with broadcast
  bool reductions = true;
  bool movement = true;        ///< Transpose, Reshape, Slice, Concat, Split, Squeeze, Unsqueeze, Pad
  bool normalisations = true;  ///< Softmax, LayerNormalization (whole and in pieces)
  bool quantised = true;       ///< QuantizeLinear and DequantizeLinear around some of the above
  bool noise = true;           ///< Identity, constant arithmetic, dead nodes, repeated nodes: work for passes
};

/// A valid graph of fp32 tensors (integers only between quantisers) with all weights given, types inferred and
/// values tame (no overflow on inputs of deviation 1). Same generator state, same graph.
Graph random_graph(Random& random, const RandomGraphOptions& options = {});

}  // namespace assay
