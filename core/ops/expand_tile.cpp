#include <fmt/format.h>

#include "core/base/math.h"
#include "core/ops/build_nest.h"
#include "core/ops/eval.h"

// Expand (numpy broadcast to a shape) and Tile (repetition along axes).

namespace assay {
namespace {

void register_expand(OpRegistry& r) {
  OpDef def;
  def.name = "Expand";
  def.kind = OpKind::nest;
  def.min_inputs = def.max_inputs = 2;
  def.infer = [](const OpContext& c) {
    const Shape target = c.constant_ints(1);
    for (const std::int64_t d : target)
      if (d < 0) c.reject(fmt::format("the shape {} has a negative dimension", to_string(target)));
    return std::vector<TensorType>{{c.type(0).dtype, broadcast_shape(c, std::vector{c.shape(0), target})}};
  };
  def.evaluate = [](EvalContext& c) {
    read_strided(c.in(0), 0, broadcast_strides(c.in(0).shape(), c.out[0].shape()), c.out[0]);
  };
  def.nests = [](const OpContext& c) {
    const DType t = c.outputs[0].dtype;
    return elementwise_nest(c, {0}, t, [](BodyWriter&, const std::vector<int>& v) { return v[0]; });
  };
  r.add(std::move(def));
}

void register_tile(OpRegistry& r) {
  OpDef def;
  def.name = "Tile";
  def.kind = OpKind::nest;
  def.min_inputs = def.max_inputs = 2;
  def.infer = [](const OpContext& c) {
    const std::vector<std::int64_t> repeats = c.constant_ints(1);
    TensorType t = c.type(0);
    if (repeats.size() != t.shape.size())
      c.reject(fmt::format("{} repeats for {} axes", repeats.size(), t.shape.size()));
    for (std::size_t i = 0; i < repeats.size(); ++i) {
      if (repeats[i] < 0) c.reject(fmt::format("a repeat is {}", repeats[i]));
      t.shape[i] = checked_mul(t.shape[i], repeats[i]);
    }
    return std::vector{t};
  };
  def.evaluate = [](EvalContext& c) {
    std::vector<std::vector<std::int64_t>> maps;
    for (std::size_t i = 0; i < c.in(0).shape().size(); ++i) {
      std::vector<std::int64_t> map;
      for (std::int64_t j = 0; j < c.out[0].shape()[i]; ++j) map.push_back(j % c.in(0).shape()[i]);
      maps.push_back(std::move(map));
    }
    read_mapped(c.in(0), maps, c.out[0]);
  };
  def.nests = [](const OpContext& c) {
    // Axis i is (repetition t<i>, position d<i>) where it is repeated.
    const TensorType& in = c.type(0);
    Nest nest;
    std::vector<AccessDim> from, to;
    for (std::size_t i = 0; i < in.shape.size(); ++i) {
      const std::int64_t d = in.shape[i], repeats = d == 0 ? 1 : c.outputs[0].shape[i] / d;
      const int t = repeats != 1 ? add_dim(nest, "t" + std::to_string(i), repeats) : -1;
      const int p = add_dim(nest, "d" + std::to_string(i), d);
      from.push_back(at(p));
      to.push_back(t < 0 ? at(p) : at({{t, d}, {p, 1}}));
    }
    nest.ins = {access(input_slot(0), std::move(from))};
    nest.out = access(output_slot(0), std::move(to));
    nest.body = identity_body(in.dtype);
    nest.accumulator = in.dtype;
    return single(std::move(nest));
  };
  r.add(std::move(def));
}

}  // namespace

void register_expand_tile(OpRegistry& r) {
  register_expand(r);
  register_tile(r);
}

}  // namespace assay
