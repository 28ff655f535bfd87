#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/ops/op.h"

// What many shape rules share: axes, broadcasting, strides and operand types. Violations are ctx.reject.

namespace assay {

/// `axis` in [-rank, rank) as a number in [0, rank).
std::size_t normal_axis(const OpContext& ctx, std::int64_t axis, std::size_t rank);
/// The same for a list; duplicates are rejected. Sorted.
std::vector<std::size_t> normal_axes(const OpContext& ctx, const std::vector<std::int64_t>& axes, std::size_t rank);

/// The numpy broadcast of all shapes.
Shape broadcast_shape(const OpContext& ctx, std::span<const Shape> shapes);
/// Row-major strides in elements.
std::vector<std::int64_t> strides_of(const Shape& shape);
/// Strides with which `in`, aligned at the right, is read for every coordinate of `out`; 0 where it is broadcast.
std::vector<std::int64_t> broadcast_strides(const Shape& in, const Shape& out);
/// Product of shape[first..last).
std::int64_t product(const Shape& shape, std::size_t first, std::size_t last);

/// Kinds of element type, to be combined with `|`. The 4-bit integers only move and convert: kIntegers is without them.
enum TypeSet : unsigned { kFloats = 1, kIntegers = 2, kBooleans = 4, kFourBit = 8, kNumbers = 3, kAnyType = 15 };
void require_type(const OpContext& ctx, std::size_t operand, unsigned allowed);
void require_same_type(const OpContext& ctx, std::size_t a, std::size_t b);
void require_rank(const OpContext& ctx, std::size_t operand, std::size_t rank);
void require_min_rank(const OpContext& ctx, std::size_t operand, std::size_t rank);

/// Axes given by an attribute or, where `operand` is present, by a constant operand.
std::vector<std::int64_t> ints_from(const OpContext& ctx, const std::string& attribute, std::size_t operand,
                                    std::vector<std::int64_t> fallback = {});
bool is_half(DType t);     ///< fp16 or bf16
DType work_type(DType t);  ///< fp32 for the 16-bit floats, else the type itself
bool is_constant(const OpContext& ctx, std::size_t operand);

}  // namespace assay
