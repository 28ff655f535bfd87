#include <fmt/format.h>

#include "core/ops/build_nest.h"
#include "core/ops/eval.h"

// OneHot: values[1] where the new axis' coordinate equals the index (negative: from the end), else values[0].

namespace assay {
namespace {

std::size_t axis_of(const OpContext& c) {
  return normal_axis(c, c.attributes->integer("axis", -1), c.shape(0).size() + 1);
}

std::int64_t depth_of(const OpContext& c) {
  const std::vector<std::int64_t> depth = c.constant_ints(1);
  if (depth.size() != 1 || depth[0] < 0) c.reject("depth must be one number that is not negative");
  return depth[0];
}

std::vector<TensorType> infer(const OpContext& c) {
  require_type(c, 0, kNumbers);
  require_type(c, 1, kNumbers);
  if (c.shape(2) != Shape{2}) c.reject(fmt::format("values have shape {}, expected [2]", to_string(c.shape(2))));
  TensorType t{c.type(2).dtype, c.shape(0)};
  t.shape.insert(t.shape.begin() + static_cast<std::ptrdiff_t>(axis_of(c)), depth_of(c));
  return {t};
}

void evaluate(EvalContext& c) {
  const std::vector<std::int64_t> index = c.in(0).to_ints();
  const std::size_t axis = axis_of(c.op);
  const std::int64_t depth = depth_of(c.op), inner = product(c.op.shape(0), axis, c.op.shape(0).size());
  visit_storage(c.in(2).dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto values = c.in(2).data<T>();
    const auto out = c.out[0].data<T>();
    std::fill(out.begin(), out.end(), values[0]);
    for (std::size_t i = 0; i < index.size(); ++i) {
      const std::int64_t at_axis = index[i] < 0 ? index[i] + depth : index[i];
      if (at_axis < 0 || at_axis >= depth) continue;
      const auto outer = static_cast<std::int64_t>(i) / inner, rest = static_cast<std::int64_t>(i) % inner;
      out[static_cast<std::size_t>((outer * depth + at_axis) * inner + rest)] = values[1];
    }
  });
}

NestProgram nests(const OpContext& c) {
  const TensorType& t = c.outputs[0];
  const std::size_t axis = axis_of(c);
  Nest nest = nest_over(t.shape);
  std::vector<AccessDim> index;
  for (std::size_t i = 0; i < t.shape.size(); ++i)
    if (i != axis) index.push_back(at(static_cast<int>(i)));
  nest.ins = {access(input_slot(0), std::move(index)), access(input_slot(2), {fixed(0)}),
              access(input_slot(2), {fixed(1)})};
  nest.out = identity_access(output_slot(0), t.shape.size());
  Body& b = nest.body;
  int i = b.input(0, c.type(0).dtype);
  const int off = b.input(1, t.dtype), on = b.input(2, t.dtype);
  if (c.type(0).dtype != DType::i64) i = b.push(ScalarOp::cast, DType::i64, i);
  const int depth = b.constant(static_cast<double>(t.shape[axis]), DType::i64), zero = b.constant(0, DType::i64);
  const int wrapped = b.push(ScalarOp::add, DType::i64, i, depth);
  const int negative = b.push(ScalarOp::less, DType::boolean, i, zero);
  const int usable = b.push(ScalarOp::select, DType::i64, negative, wrapped, i);
  const int here = b.push(ScalarOp::index, DType::i64, static_cast<int>(axis));
  const int hit = b.push(ScalarOp::equal, DType::boolean, usable, here);
  b.push(ScalarOp::select, t.dtype, hit, on, off);
  nest.accumulator = t.dtype;
  return single(std::move(nest));
}

}  // namespace

void register_one_hot(OpRegistry& r) {
  OpDef def;
  def.name = "OneHot";
  def.kind = OpKind::nest;
  def.min_inputs = def.max_inputs = 3;
  def.infer = infer;
  def.evaluate = evaluate;
  def.nests = nests;
  r.add(std::move(def));
}

}  // namespace assay
