#pragma once

#include <optional>
#include <vector>

#include "core/ops/op.h"

namespace assay {

/// What a QuantizeLinear or DequantizeLinear with constant parameters means: x = (q − zero) · scale.
struct Quantisation {
  DType type = DType::i8;          ///< of q
  DType real = DType::f32;         ///< of x
  std::vector<double> scale;       ///< one, or one per index of `axis`
  std::vector<std::int64_t> zero;  ///< as many
  std::int64_t axis = 0;           ///< counted from the front; no meaning if there is one scale
  bool per_tensor() const { return scale.size() == 1; }
  std::optional<std::int64_t> uniform_zero() const;  ///< the zero point if all are equal
  bool scales_positive() const;  ///< all finite, normal and > 0: monotone, and exactly undone by quantising
  friend bool operator==(const Quantisation&, const Quantisation&) = default;
};

/// Parameters of the node, which must be a QuantizeLinear or DequantizeLinear; nullopt where they are not constants
/// with values, or where the node quantises in blocks.
std::optional<Quantisation> quantisation_of(const Graph& g, NodeId n);
/// The same from operands, as QLinearConv and QLinearMatMul have them: scale and zero point of `q`.
std::optional<Quantisation> quantisation_of(const Graph& g, TensorId q, TensorId scale, TensorId zero,
                                            std::int64_t axis);
/// Largest |q − zero| that values of this type and zero point can have.
std::int64_t largest_offset(DType type, std::int64_t zero);

}  // namespace assay
