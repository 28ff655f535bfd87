#include <fmt/format.h>

#include <cmath>

#include "core/ops/build_nest.h"
#include "core/ops/eval.h"

// BatchNormalization at inference: y = (x − mean) / sqrt(var + epsilon) · scale + bias, per channel (axis 1).

namespace assay {
namespace {

std::vector<TensorType> infer(const OpContext& c) {
  require_type(c, 0, kFloats);
  require_min_rank(c, 0, 1);
  const Shape& x = c.shape(0);
  const std::int64_t channels = x.size() > 1 ? x[1] : 1;
  for (std::size_t i = 1; i < 5; ++i) {
    require_type(c, i, kFloats);
    if (c.shape(i) != Shape{channels})
      c.reject(fmt::format("operand {} has shape {}, expected [{}]", i, to_string(c.shape(i)), channels));
  }
  // Opsets up to 6 had is_test, 7 to 13 trained when more than one result was named, 14 has training_mode.
  const bool trains = c.version >= 14 ? c.attributes->integer("training_mode", 0) != 0
                      : c.version < 7 ? c.attributes->integer("is_test", 0) == 0 && c.output_count > 1
                                      : c.output_count > 1;
  if (trains) c.reject("training mode is not supported");
  if (c.attributes->integer("spatial", 1) != 1) c.reject("spatial = 0 is not supported");
  return {c.type(0)};
}

double epsilon(const OpContext& c) { return static_cast<float>(c.attributes->real("epsilon", 1e-5)); }

void evaluate(EvalContext& c) {
  const Tensor& in = c.in(0);
  const std::int64_t channels = c.op.shape(1)[0];
  const std::int64_t inner = in.shape().size() > 1 ? product(in.shape(), 2, in.shape().size()) : 1;
  visit_float(in.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = in.data<T>().data();
    T* y = c.out[0].data<T>().data();
    for (std::int64_t i = 0; i < in.size(); ++i) {
      const std::int64_t ch = i / inner % channels;
      const T scale = static_cast<T>(c.in(1).get(ch)), bias = static_cast<T>(c.in(2).get(ch));
      const T mean = static_cast<T>(c.in(3).get(ch)), var = static_cast<T>(c.in(4).get(ch));
      const T factor = scale / std::sqrt(var + static_cast<T>(epsilon(c.op)));
      const std::int64_t end = i + inner;
      for (; i < end; ++i) y[i] = (x[i] - mean) * factor + bias;
      --i;
    }
  });
}

NestProgram nests(const OpContext& c) {
  const TensorType& t = c.outputs[0];
  Nest nest = nest_over(t.shape);
  BodyWriter w(work_type(t.dtype));
  nest.ins.push_back(identity_access(input_slot(0), t.shape.size()));
  int v[5] = {w.in(0, t.dtype)};
  for (std::size_t i = 1; i < 5; ++i) {
    nest.ins.push_back(access(input_slot(i), {t.shape.size() > 1 ? at(1) : fixed()}));
    v[i] = w.in(static_cast<int>(i), c.type(i).dtype);
  }
  const int centred = w.op(ScalarOp::sub, v[0], v[3]);
  const int inverse = w.op(ScalarOp::rsqrt, w.op(ScalarOp::add, v[4], w.number(epsilon(c))));
  const int factor = w.op(ScalarOp::mul, v[1], inverse);
  nest.body = w.done(w.op(ScalarOp::add, w.op(ScalarOp::mul, centred, factor), v[2]), t.dtype);
  nest.out = identity_access(output_slot(0), t.shape.size());
  nest.accumulator = t.dtype;
  return single(std::move(nest));
}

}  // namespace

void register_batch_norm(OpRegistry& r) {
  OpDef def;
  def.name = "BatchNormalization";
  def.kind = OpKind::nest;
  def.min_inputs = def.max_inputs = 5;
  def.max_outputs = 5;
  def.infer = infer;
  def.evaluate = widened(evaluate);
  def.nests = nests;
  r.add(std::move(def));
}

}  // namespace assay
