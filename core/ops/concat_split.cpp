#include <fmt/format.h>

#include "core/base/math.h"
#include "core/ops/build_nest.h"
#include "core/ops/eval.h"

// Concat and Split: one copy nest per part. The dimension along the axis is called c<i> for part i, because parts of
// equal extent are still different ranges of the whole.

namespace assay {
namespace {

Nest part_nest(const TensorType& part, std::size_t axis, std::size_t number, Slot whole, Slot piece, bool into_whole,
               std::int64_t offset) {
  Nest nest = nest_over(part.shape);
  nest.dims[axis].name = "c" + std::to_string(number);
  Access of_whole = identity_access(whole, part.shape.size()), of_piece = identity_access(piece, part.shape.size());
  of_whole.dims[axis] = at(static_cast<int>(axis), 1, offset);
  nest.ins = {into_whole ? of_piece : of_whole};
  nest.out = into_whole ? of_whole : of_piece;
  nest.body = identity_body(part.dtype);
  nest.accumulator = part.dtype;
  return nest;
}

std::size_t concat_axis(const OpContext& c) {
  // Opset 1 had a default of 1.
  if (!c.attributes->has("axis") && c.version >= 4) c.reject("attribute 'axis' is missing");
  return normal_axis(c, c.attributes->integer("axis", 1), c.shape(0).size());
}

std::vector<TensorType> infer_concat(const OpContext& c) {
  const std::size_t axis = concat_axis(c);
  TensorType out = c.type(0);
  for (std::size_t i = 1; i < c.inputs.size(); ++i) {
    require_same_type(c, 0, i);
    Shape expected = c.shape(i);
    if (expected.size() == out.shape.size()) {
      out.shape[axis] += expected[axis];
      expected[axis] = c.shape(0)[axis];
    }
    if (expected != c.shape(0))
      c.reject(fmt::format("operand {} of shape {} does not fit {} beside axis {}", i, to_string(c.shape(i)),
                           to_string(c.shape(0)), axis));
  }
  return {out};
}

void evaluate_concat(EvalContext& c) {
  const std::size_t axis = concat_axis(c.op);
  const std::vector<std::int64_t> strides = strides_of(c.out[0].shape());
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < c.op.inputs.size(); ++i) {
    write_strided(c.in(i), c.out[0], offset * strides[axis], strides);
    offset += c.in(i).shape()[axis];
  }
}

NestProgram concat_nests(const OpContext& c) {
  const std::size_t axis = concat_axis(c);
  NestProgram p;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (element_count(c.shape(i)) == 0) continue;
    p.nests.push_back(part_nest(c.type(i), axis, i, output_slot(0), input_slot(i), true, offset));
    offset += c.shape(i)[axis];
  }
  return p;
}

std::vector<std::int64_t> split_sizes(const OpContext& c, std::size_t axis) {
  const std::int64_t extent = c.shape(0)[axis];
  std::vector<std::int64_t> sizes = ints_from(c, "split", 1);
  if (sizes.empty()) {
    const std::int64_t parts = c.attributes->integer("num_outputs", static_cast<std::int64_t>(c.output_count));
    if (parts < 1 || parts > (1 << 20)) c.reject(fmt::format("{} parts", parts));
    const std::int64_t each = ceil_div(extent, parts);
    if (extent % parts != 0 && c.version < 18)
      c.reject(fmt::format("{} does not divide into {} equal parts (uneven parts need opset 18)", extent, parts));
    for (std::int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp<std::int64_t>(extent - i * each, 0, each));
    return sizes;
  }
  std::int64_t sum = 0;
  for (const std::int64_t s : sizes) {
    if (s < 0 || s > extent) c.reject(fmt::format("a part of {} along an axis of {}", s, extent));
    sum += s;
  }
  if (sum != extent) c.reject(fmt::format("the parts add up to {}, but the axis has {}", sum, extent));
  return sizes;
}

std::size_t split_axis(const OpContext& c) {
  return normal_axis(c, c.attributes->integer("axis", 0), c.shape(0).size());
}

std::vector<TensorType> infer_split(const OpContext& c) {
  const std::size_t axis = split_axis(c);
  std::vector<TensorType> out;
  for (const std::int64_t s : split_sizes(c, axis)) {
    out.push_back(c.type(0));
    out.back().shape[axis] = s;
  }
  return out;
}

void evaluate_split(EvalContext& c) {
  const std::size_t axis = split_axis(c.op);
  const std::vector<std::int64_t> strides = strides_of(c.in(0).shape());
  std::int64_t offset = 0;
  for (Tensor& part : c.out) {
    read_strided(c.in(0), offset * strides[axis], strides, part);
    offset += part.shape()[axis];
  }
}

NestProgram split_nests(const OpContext& c) {
  const std::size_t axis = split_axis(c);
  const std::vector<TensorType> types = infer_split(c);
  NestProgram p;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (c.wants(i) && element_count(types[i].shape) > 0)
      p.nests.push_back(part_nest(types[i], axis, i, input_slot(0), output_slot(i), false, offset));
    offset += types[i].shape[axis];
  }
  return p;
}

}  // namespace

void register_concat_split(OpRegistry& r) {
  OpDef concat;
  concat.name = "Concat";
  concat.kind = OpKind::nest;
  concat.max_inputs = SIZE_MAX;
  concat.infer = infer_concat;
  concat.evaluate = evaluate_concat;
  concat.nests = concat_nests;
  OpDef split;
  split.name = "Split";
  split.kind = OpKind::nest;
  split.max_inputs = 2;
  split.max_outputs = SIZE_MAX;
  split.infer = infer_split;
  split.evaluate = evaluate_split;
  split.nests = split_nests;
  r.add(std::move(concat));
  r.add(std::move(split));
}

}  // namespace assay
