#pragma once

#include "core/ops/op.h"

namespace assay {

/// The quantising pass of `--precision int8`. Float Conv/Gemm/MatMul become ConvInteger/MatMulInteger on int8
/// operands (weights symmetric per output channel, activations symmetric per tensor with ranges from the reference
/// run `calibration`), followed by Cast, Mul(scale), Add(bias) and the float epilogue. MatMuls between two
/// activations are quantised per tensor on both sides. Everything else stays float.
///
/// Run it on a graph that has gone through the pipeline (batch norms folded), and the pipeline again on the result.
/// Left on floats, with a remark: weights that are not constant (Conv), sums that could overflow int32. Throws
/// InputError when there is no calibration, and when a calibrated tensor holds infinities or NaN. A graph whose
/// weights have no values can't be calibrated: with no calibration given, its scales have no values either.
struct QuantiseOptions {
  std::vector<TensorMap> calibration = {};  ///< at least one input set
};
struct QuantiseResult {
  Graph graph;
  std::size_t quantised_nodes = 0;
  std::vector<std::string> remarks;  ///< what stays on floats and why
};
QuantiseResult quantise_int8(const Graph& g, const QuantiseOptions& options);

/// `--precision fp16|bf16`: every float tensor and constant becomes that type; Cast at inputs and outputs so that
/// the model's interface keeps its types. Finite constants stay finite (clamped to the largest value of the type).
/// State (a KV cache) is internal: it changes its type in the interface too. Scales of quantisers and of Resize stay
/// fp32, as their operations demand. Throws InputError on another type and on nodes that hold graphs.
Graph convert_precision(const Graph& g, DType to);

}  // namespace assay
