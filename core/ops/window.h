#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/ops/op.h"

namespace assay {

/// The sliding window of convolutions and pools, one entry per spatial axis:
///   input coordinate = output · stride − pad_begin + tap · dilation
struct Window {
  std::vector<std::int64_t> in, kernel, stride, dilation, pad_begin, pad_end, out;
  std::size_t rank() const { return in.size(); }
};

/// Reads kernel_shape, strides, dilations, pads and auto_pad and computes the output extents.
/// `kernel`: the extents of the weights; empty for pools, whose kernel_shape is required. `x` is operand 0's spatial
/// extents. With `ceil_mode` a last window that would start in the end padding is dropped. Rejects ranks above 3,
/// contradicting or absurd attributes, and windows that are larger than the padded input.
Window window_of(const OpContext& ctx, const Shape& x, const std::vector<std::int64_t>& kernel, bool ceil_mode);

/// The same with leading axes of extent 1 so that rank is 3: one set of loops serves all ranks.
Window with_rank_3(const Window& w);

/// Names of output and kernel dimensions in nests: (p, q) and (r, s), with o and t in front for 3-D.
std::vector<std::string> output_dim_names(std::size_t rank);
std::vector<std::string> kernel_dim_names(std::size_t rank);

}  // namespace assay
