#include <fmt/format.h>

#include "core/ops/eval.h"

// Operations whose result's shape depends on values. On constants they fold; otherwise they are refused, because a
// machine's program has fixed shapes.

namespace assay {
namespace {

void require_known(const OpContext& c, std::size_t operand) {
  if (!is_constant(c, operand))
    c.reject("the shape of the result depends on data, which is not supported (only on constants)");
}

std::vector<std::int64_t> nonzero_positions(const Tensor& t) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < t.size(); ++i)
    if (t.get(i) != 0) out.push_back(i);
  return out;
}

void register_nonzero(OpRegistry& r) {
  OpDef def;
  def.name = "NonZero";
  def.infer = [](const OpContext& c) {
    require_known(c, 0);
    const auto count = static_cast<std::int64_t>(nonzero_positions(*c.values[0]).size());
    return std::vector<TensorType>{{DType::i64, {static_cast<std::int64_t>(c.shape(0).size()), count}}};
  };
  def.evaluate = [](EvalContext& c) {
    const Shape& s = c.in(0).shape();
    const std::vector<std::int64_t> positions = nonzero_positions(c.in(0));
    const auto out = c.out[0].data<std::int64_t>();
    for (std::size_t i = 0; i < positions.size(); ++i) {
      std::int64_t rest = positions[i];
      for (std::size_t d = s.size(); d-- > 0; rest /= s[d]) out[d * positions.size() + i] = rest % s[d];
    }
  };
  r.add(std::move(def));
}

struct Compressed {
  std::size_t axis = 0;
  std::vector<std::int64_t> kept;
  Shape data;  // flattened without an axis
};

Compressed compressed(const OpContext& c) {
  require_known(c, 1);
  Compressed out;
  out.data = c.shape(0);
  if (c.attributes->has("axis"))
    out.axis = normal_axis(c, c.attributes->integer("axis", 0), c.shape(0).size());
  else
    out.data = {element_count(c.shape(0))};
  out.kept = nonzero_positions(*c.values[1]);
  require_type(c, 1, kBooleans);
  require_rank(c, 1, 1);
  if (c.shape(1)[0] > out.data[out.axis]) c.reject("the condition is longer than the axis");
  return out;
}

void register_compress(OpRegistry& r) {
  OpDef def;
  def.name = "Compress";
  def.min_inputs = def.max_inputs = 2;
  def.infer = [](const OpContext& c) {
    Compressed s = compressed(c);
    s.data[s.axis] = static_cast<std::int64_t>(s.kept.size());
    return std::vector<TensorType>{{c.type(0).dtype, s.data}};
  };
  def.evaluate = [](EvalContext& c) {
    const Compressed s = compressed(c.op);
    std::vector<std::vector<std::int64_t>> maps;
    for (std::size_t i = 0; i < s.data.size(); ++i) {
      std::vector<std::int64_t> all;
      for (std::int64_t j = 0; j < s.data[i]; ++j) all.push_back(j);
      maps.push_back(i == s.axis ? s.kept : all);
    }
    read_mapped(c.in(0).reshaped(s.data), maps, c.out[0]);
  };
  r.add(std::move(def));
}

}  // namespace

void register_data_dependent(OpRegistry& r) {
  register_nonzero(r);
  register_compress(r);
}

}  // namespace assay
