#include "core/ops/shapes.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/math.h"

namespace assay {

std::size_t normal_axis(const OpContext& ctx, std::int64_t axis, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r) ctx.reject(fmt::format("axis {} is out of range for rank {}", axis, rank));
  return static_cast<std::size_t>(axis < 0 ? axis + r : axis);
}

std::vector<std::size_t> normal_axes(const OpContext& ctx, const std::vector<std::int64_t>& axes, std::size_t rank) {
  std::vector<std::size_t> out;
  for (const std::int64_t a : axes) out.push_back(normal_axis(ctx, a, rank));
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end())
    ctx.reject(fmt::format("the axes [{}] name one axis twice", fmt::join(axes, ", ")));
  return out;
}

Shape broadcast_shape(const OpContext& ctx, std::span<const Shape> shapes) {
  Shape out;
  for (const Shape& s : shapes) {
    if (s.size() > out.size()) out.insert(out.begin(), s.size() - out.size(), 1);
    const std::size_t lead = out.size() - s.size();
    for (std::size_t i = 0; i < s.size(); ++i) {
      std::int64_t& d = out[lead + i];
      if (d == 1) d = s[i];
      if (s[i] != d && s[i] != 1) {
        std::vector<std::string> texts;
        for (const Shape& each : shapes) texts.push_back(to_string(each));
        ctx.reject(fmt::format("the shapes {} do not broadcast", fmt::join(texts, " and ")));
      }
    }
  }
  return out;
}

std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> out(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) out[i - 1] = out[i] * shape[i];
  return out;
}

std::vector<std::int64_t> broadcast_strides(const Shape& in, const Shape& out) {
  const std::vector<std::int64_t> dense = strides_of(in);
  std::vector<std::int64_t> s(out.size(), 0);
  const std::size_t lead = out.size() - in.size();
  for (std::size_t i = 0; i < in.size(); ++i) s[lead + i] = in[i] == 1 ? 0 : dense[i];
  return s;
}

std::int64_t product(const Shape& shape, std::size_t first, std::size_t last) {
  std::int64_t p = 1;
  for (std::size_t i = first; i < last; ++i) p *= shape[i];
  return p;
}

void require_type(const OpContext& ctx, std::size_t operand, unsigned allowed) {
  const DType t = ctx.type(operand).dtype;
  const unsigned kind = is_float(t) ? kFloats : t == DType::boolean ? kBooleans : bits(t) == 4 ? kFourBit : kIntegers;
  if ((kind & allowed) == 0) ctx.reject(fmt::format("operand {} is {}, which is not supported here", operand, name(t)));
}

void require_same_type(const OpContext& ctx, std::size_t a, std::size_t b) {
  if (ctx.type(a).dtype != ctx.type(b).dtype)
    ctx.reject(
        fmt::format("operand {} is {}, but operand {} is {}", a, name(ctx.type(a).dtype), b, name(ctx.type(b).dtype)));
}

void require_rank(const OpContext& ctx, std::size_t operand, std::size_t rank) {
  if (ctx.shape(operand).size() != rank)
    ctx.reject(fmt::format("operand {} has shape {}, expected rank {}", operand, to_string(ctx.shape(operand)), rank));
}

void require_min_rank(const OpContext& ctx, std::size_t operand, std::size_t rank) {
  if (ctx.shape(operand).size() < rank)
    ctx.reject(
        fmt::format("operand {} has shape {}, expected rank {} or more", operand, to_string(ctx.shape(operand)), rank));
}

std::vector<std::int64_t> ints_from(const OpContext& ctx, const std::string& attribute, std::size_t operand,
                                    std::vector<std::int64_t> fallback) {
  if (ctx.has(operand)) return ctx.constant_ints(operand);
  return ctx.attributes->integers(attribute, std::move(fallback));
}

bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }
DType work_type(DType t) { return is_half(t) ? DType::f32 : t; }
bool is_constant(const OpContext& ctx, std::size_t operand) {
  return operand < ctx.values.size() && ctx.values[operand] != nullptr;
}

}  // namespace assay
