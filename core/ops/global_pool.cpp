#include <limits>

#include "core/ops/eval.h"
#include "core/ops/reduction.h"

// GlobalAveragePool and GlobalMaxPool: folds over all spatial axes, which stay with extent 1.

namespace assay {
namespace {

Reduction spatial(const Shape& x) {
  Reduction r;
  r.folded.assign(x.size(), true);
  r.folded[0] = r.folded[1] = false;
  return r;
}

std::vector<TensorType> infer(const OpContext& c) {
  require_type(c, 0, kFloats);
  require_min_rank(c, 0, 3);
  return {{c.type(0).dtype, spatial(c.shape(0)).kept_shape(c.shape(0))}};
}

void evaluate(EvalContext& c, bool average) {
  const std::int64_t count = spatial(c.in(0).shape()).count(c.in(0).shape());
  visit_float(c.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = c.in(0).data<T>().data();
    for (T& y : c.out[0].data<T>()) {
      double sum = 0;
      T best = -std::numeric_limits<T>::infinity();
      for (std::int64_t i = 0; i < count; ++i, ++x) {
        sum += static_cast<double>(*x);
        if (*x > best) best = *x;
      }
      y = average ? static_cast<T>(sum / static_cast<double>(count)) : best;
    }
  });
}

NestProgram nests(const OpContext& c, bool average) {
  const TensorType& t = c.type(0);
  const DType work = work_type(t.dtype);
  const Reduction r = spatial(t.shape);
  const auto same = [](BodyWriter&, int v) { return v; };
  if (!average)
    return single(fold_nest(t.shape, r, input_slot(0), t.dtype, output_slot(0), t.dtype, Combine::max, same));
  NestProgram p;
  p.temps.push_back({work, c.outputs[0].shape});
  p.nests.push_back(fold_nest(t.shape, r, input_slot(0), t.dtype, temp_slot(0), work, Combine::sum, same));
  Nest last;
  std::vector<AccessDim> dims{at(add_dim(last, "d0", t.shape[0])), at(add_dim(last, "d1", t.shape[1]))};
  dims.resize(t.shape.size(), fixed());
  last.ins = {access(temp_slot(0), dims)};
  last.out = access(output_slot(0), dims);
  BodyWriter w(work);
  const int v = w.in(0, work);
  last.body = w.done(w.op(ScalarOp::mul, v, w.number(1 / static_cast<double>(r.count(t.shape)))), t.dtype);
  last.accumulator = t.dtype;
  p.nests.push_back(std::move(last));
  return p;
}

void add(OpRegistry& r, const std::string& name, bool average) {
  OpDef def;
  def.name = name;
  def.kind = OpKind::nest;
  def.infer = infer;
  def.evaluate = widened([average](EvalContext& c) { evaluate(c, average); });
  def.nests = [average](const OpContext& c) { return nests(c, average); };
  r.add(std::move(def));
}

}  // namespace

void register_global_pool(OpRegistry& r) {
  add(r, "GlobalAveragePool", true);
  add(r, "GlobalMaxPool", false);
}

}  // namespace assay
