#include <fmt/format.h>

#include <limits>

#include "core/ops/build_nest.h"
#include "core/ops/eval.h"

// Clip: the limits are attributes up to opset 10, optional scalar operands from 11.

namespace assay {
namespace {

std::vector<TensorType> infer(const OpContext& c) {
  require_type(c, 0, kNumbers);
  if (c.version < 11 && c.inputs.size() > 1) c.reject("limits as operands need opset 11");
  for (std::size_t i = 1; i <= 2; ++i) {
    if (!c.has(i)) continue;
    require_same_type(c, 0, i);
    if (element_count(c.shape(i)) != 1)
      c.reject(fmt::format("operand {} has shape {}, expected a scalar", i, to_string(c.shape(i))));
  }
  return {c.type(0)};
}

void evaluate(EvalContext& c) {
  visit_numeric(c.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    T lo = std::numeric_limits<T>::lowest(), hi = std::numeric_limits<T>::max();
    if constexpr (std::is_floating_point_v<T>) {
      lo = -std::numeric_limits<T>::infinity();
      hi = std::numeric_limits<T>::infinity();
    }
    const Attributes& a = *c.op.attributes;
    if (c.op.version < 11 && a.has("min")) lo = static_cast<T>(a.real("min", 0));
    if (c.op.version < 11 && a.has("max")) hi = static_cast<T>(a.real("max", 0));
    if (c.op.has(1)) lo = c.in(1).data<T>()[0];
    if (c.op.has(2)) hi = c.in(2).data<T>()[0];
    // The upper limit wins where they cross.
    const auto f = [lo, hi](T x) {
      const T y = x < lo ? lo : x;
      return y > hi ? hi : y;
    };
    zip<T, T>(c.out[0], f, {&c.in(0)});
  });
}

NestProgram nests(const OpContext& c) {
  const TensorType& out = c.outputs[0];
  Nest nest = nest_over(out.shape);
  BodyWriter w(out.dtype);
  nest.ins.push_back(identity_access(input_slot(0), out.shape.size()));
  int x = w.in(0, out.dtype);
  const auto limit = [&](std::size_t i, const char* attribute, ScalarOp op) {
    int bound = -1;
    if (c.has(i) && is_constant(c, i)) {
      bound = w.number(c.values[i]->get(0));
    } else if (c.has(i)) {
      nest.ins.push_back(access(input_slot(i), std::vector<AccessDim>(c.shape(i).size(), fixed())));
      bound = w.in(static_cast<int>(nest.ins.size()) - 1, out.dtype);
    } else if (c.version < 11 && c.attributes->has(attribute)) {
      bound = w.number(c.attributes->real(attribute, 0));
    }
    if (bound >= 0) x = w.op(op, x, bound);
  };
  limit(1, "min", ScalarOp::max);
  limit(2, "max", ScalarOp::min);
  nest.body = w.done(x, out.dtype);
  nest.out = identity_access(output_slot(0), out.shape.size());
  nest.accumulator = out.dtype;
  return single(std::move(nest));
}

}  // namespace

void register_clip(OpRegistry& r) {
  OpDef def;
  def.name = "Clip";
  def.kind = OpKind::nest;
  def.max_inputs = 3;
  def.infer = infer;
  def.evaluate = widened(evaluate);
  def.nests = nests;
  r.add(std::move(def));
}

}  // namespace assay
