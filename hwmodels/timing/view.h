#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/isa/program.h"

// How many elements an operand's view touches, in closed form where the view's dimensions are independent.
//
//   x[c, 2p + r - 1]   c < 3, p < 4, r < 3, size 8, fill 0
//     points   (p, r) pairs whose coordinate is in bounds, times c      = 3 · 11
//     distinct coordinates 0..7 reached                                 = 3 · 8

namespace assay {

/// A view with its offsets evaluated: the numbers of one command instance.
struct ConcreteView {
  const Operand* operand = nullptr;
  const Operand* index = nullptr;         ///< operand whose element is added (gather), or nullptr
  std::span<const std::int64_t> extents;  ///< per iteration dimension, clipped
  std::vector<std::int64_t> offsets;      ///< per view dimension
};

/// Iteration points (of the dimensions that the view mentions, the index operand's included) at which the view is
/// in bounds. Without `fill` every point is in bounds by contract, and so is a gathered coordinate.
/// O(1) per independent dimension with one term; O(smaller extents) with several.
std::int64_t points_in_bounds(const ConcreteView& view);

/// Distinct elements touched in bounds. Gathered elements count as distinct for each element of the index operand.
/// InputError when a view whose dimensions share an iteration dimension has more than 2^22 points.
std::int64_t distinct_elements(const ConcreteView& view);

/// Whether the view (or its index operand) mentions an iteration dimension.
bool mentions(const ConcreteView& view, int dim);
bool mentions(const Operand& operand, int dim);

/// Longest run of consecutive bytes in memory that an instance covers. Dimensions are merged from the smallest
/// stride upwards, while each begins where the last one ended.
std::int64_t contiguous_run(const ConcreteView& view);

/// The runs one after the other: run i starts at base + Σ digit·stride, outermost level first.
struct RunPattern {
  std::int64_t run_bytes = 1;
  std::vector<std::pair<std::int64_t, std::int64_t>> levels;  ///< (byte stride, count), largest stride first
  std::int64_t runs() const;
  std::int64_t offset_of(std::int64_t run) const;  ///< bytes from the first run
};
RunPattern run_pattern(const ConcreteView& view);

}  // namespace assay
