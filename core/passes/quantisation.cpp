#include "core/passes/quantisation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/passes/rewrite.h"

namespace assay {

std::optional<std::int64_t> Quantisation::uniform_zero() const {
  if (!std::all_of(zero.begin(), zero.end(), [&](std::int64_t z) { return z == zero[0]; })) return std::nullopt;
  return zero[0];
}

bool Quantisation::scales_positive() const {
  // The margins keep (q − zero) · scale of 16-bit values inside the normal range, where the division undoes it.
  return std::all_of(scale.begin(), scale.end(), [](double s) { return s > 1e-30 && s < 1e30; });
}

std::optional<Quantisation> quantisation_of(const Graph& g, TensorId q, TensorId scale, TensorId zero,
                                            std::int64_t axis) {
  const Tensor* scales = value_of(g, scale);
  if (scales == nullptr || scales->size() == 0 || scales->shape().size() > 1) return std::nullopt;
  Quantisation out;
  out.type = g.tensor(q).type.dtype;
  out.real = scales->dtype();
  out.scale = scales->to_doubles();
  out.zero.assign(out.scale.size(), 0);
  out.axis = out.per_tensor() ? 0 : positive_axis(axis, g.tensor(q).type.shape.size());
  if (zero.valid()) {
    const Tensor* zeros = value_of(g, zero);
    if (zeros == nullptr) return std::nullopt;
    const std::vector<std::int64_t> values = zeros->to_ints();
    if (values.size() == out.zero.size()) {
      out.zero = values;
    } else if (values.size() == 1) {
      out.zero.assign(out.scale.size(), values[0]);
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::optional<Quantisation> quantisation_of(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  if (node.attributes.integer("block_size", 0) != 0) return std::nullopt;
  const TensorId q = node.op == "QuantizeLinear" ? node.outputs[0] : node.inputs[0];
  return quantisation_of(g, q, node.inputs[1], operand(node, 2), node.attributes.integer("axis", 1));
}

std::int64_t largest_offset(DType type, std::int64_t zero) {
  const int width = bits(type);
  const std::int64_t lo = is_signed(type) ? -(std::int64_t{1} << (width - 1)) : 0;
  const std::int64_t hi = lo + (std::int64_t{1} << width) - 1;
  return std::max(std::abs(lo - zero), std::abs(hi - zero));
}

}  // namespace assay
