#pragma once

#include "core/ops/nest.h"
#include "core/ops/window.h"

namespace assay {

/// x[n, g·cg, …], w[g·kg, cg, …], y[n, g·kg, …].
struct ConvShape {
  std::int64_t n = 0, g = 1, cg = 0, kg = 0;
  Window window;
  Shape result() const;
};

/// Checks operands `x` and `w` and the attributes.
ConvShape conv_shape(const OpContext& ctx, std::size_t x, std::size_t w);

/// Reference: blocked im2col and a matrix product; depthwise layers directly. fp32 or fp64.
template <class T>
void convolve(const ConvShape& s, const T* x, const T* w, T* y);
/// Operands minus their zero points; padding is 0. Exact, wrapping at 32 bits.
void convolve_i16(const ConvShape& s, const std::int16_t* x, const std::int16_t* w, std::int32_t* y);

/// dims n [g] k p q | c r s (o and t in front for 3-D; no q and s for 1-D); `fill` is the value of padding.
Nest conv_nest(const ConvShape& s, Slot x, Slot w, Slot out, DType accumulator, double fill);
/// out = in + bias[channel], in the same dimensions. `in` and `out` have the result's shape.
Nest conv_bias_nest(const ConvShape& s, Slot in, DType in_type, Slot bias, DType bias_type, Slot out, DType out_type);

}  // namespace assay
