#include <cmath>
#include <limits>

#include "core/ops/eval.h"
#include "core/ops/reduction.h"

// Softmax and LogSoftmax. Before opset 13 the operand is read as a matrix whose rows are the axes from `axis` (default
// 1) on; from 13 they run along one axis (default the last). Both are folds over a set of axes.

namespace assay {
namespace {

Reduction axes_of(const OpContext& c) {
  const std::size_t rank = c.shape(0).size();
  Reduction r;
  r.folded.assign(rank, false);
  if (c.version >= 13) {
    r.folded[normal_axis(c, c.attributes->integer("axis", -1), rank)] = true;
    return r;
  }
  const std::int64_t axis = c.attributes->integer("axis", 1);
  // One past the last axis is allowed: rows of one element.
  std::size_t first = axis == static_cast<std::int64_t>(rank) ? rank : normal_axis(c, axis, rank);
  for (; first < rank; ++first) r.folded[first] = true;
  return r;
}

void evaluate(EvalContext& c, bool log) {
  const Tensor& in = c.in(0);
  const Reduction r = axes_of(c.op);
  const Shape kept = r.kept_shape(in.shape());
  const std::vector<std::int64_t> strides = broadcast_strides(kept, in.shape());
  const std::int64_t step = strides.empty() ? 0 : strides.back();
  visit_float(in.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = in.data<T>().data();
    T* y = c.out[0].data<T>().data();
    const auto folds = static_cast<std::size_t>(element_count(kept));
    std::vector<T> largest(folds, -std::numeric_limits<T>::infinity());
    std::vector<double> sums(folds, 0);
    const auto each = [&](auto&& f) {
      for_rows<1>(in.shape(), {strides}, [&](std::int64_t flat, const auto& base, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) f(static_cast<std::size_t>(base[0] + i * step), flat + i);
      });
    };
    each([&](std::size_t o, std::int64_t i) { largest[o] = std::max(largest[o], x[i]); });
    each([&](std::size_t o, std::int64_t i) {
      const T e = std::exp(x[i] - largest[o]);
      sums[o] += static_cast<double>(e);
      y[i] = log ? x[i] - largest[o] : e;
    });
    each([&](std::size_t o, std::int64_t i) {
      y[i] = log ? y[i] - static_cast<T>(std::log(sums[o])) : y[i] / static_cast<T>(sums[o]);
    });
  });
}

NestProgram nests(const OpContext& c, bool log) {
  const TensorType& t = c.type(0);
  const DType work = work_type(t.dtype);
  const Reduction r = axes_of(c);
  const std::size_t rank = t.shape.size();
  const Shape kept = r.kept_shape(t.shape);
  const Slot x = input_slot(0), largest = temp_slot(0), sum = temp_slot(1), powers = temp_slot(2);
  NestProgram p;
  p.temps = {{work, kept}, {work, kept}};
  if (!log) p.temps.push_back({work, t.shape});
  const auto same = [](BodyWriter&, int v) { return v; };
  p.nests.push_back(fold_nest(t.shape, r, x, t.dtype, largest, work, Combine::max, same));
  if (log) {
    Nest fold = fold_nest(t.shape, r, x, t.dtype, sum, work, Combine::sum, same);
    fold.ins.push_back(kept_access(largest, r));
    BodyWriter w(work);
    const int v = w.in(0, t.dtype), m = w.in(1, work);
    fold.body = w.done(w.op(ScalarOp::exp, w.op(ScalarOp::sub, v, m)), work);
    p.nests.push_back(std::move(fold));
  } else {
    Nest e = nest_over(t.shape);
    e.ins = {identity_access(x, rank), kept_access(largest, r)};
    BodyWriter w(work);
    const int v = w.in(0, t.dtype), m = w.in(1, work);
    e.body = w.done(w.op(ScalarOp::exp, w.op(ScalarOp::sub, v, m)), work);
    e.out = identity_access(powers, rank);
    e.accumulator = work;
    p.nests.push_back(std::move(e));
    p.nests.push_back(fold_nest(t.shape, r, powers, work, sum, work, Combine::sum, same));
  }
  Nest last = nest_over(t.shape);
  last.out = identity_access(output_slot(0), rank);
  last.accumulator = t.dtype;
  BodyWriter w(work);
  if (log) {
    last.ins = {identity_access(x, rank), kept_access(largest, r), kept_access(sum, r)};
    const int v = w.in(0, t.dtype), m = w.in(1, work), s = w.in(2, work);
    const int centred = w.op(ScalarOp::sub, v, m);
    last.body = w.done(w.op(ScalarOp::sub, centred, w.op(ScalarOp::log, s)), t.dtype);
  } else {
    last.ins = {identity_access(powers, rank), kept_access(sum, r)};
    const int e = w.in(0, work), s = w.in(1, work);
    last.body = w.done(w.op(ScalarOp::div, e, s), t.dtype);
  }
  p.nests.push_back(std::move(last));
  return p;
}

void add(OpRegistry& r, const std::string& name, bool log) {
  OpDef def;
  def.name = name;
  def.kind = OpKind::nest;
  def.infer = [](const OpContext& c) {
    require_type(c, 0, kFloats);
    require_min_rank(c, 0, 1);
    axes_of(c);
    return std::vector{c.type(0)};
  };
  def.evaluate = widened([log](EvalContext& c) { evaluate(c, log); });
  def.nests = [log](const OpContext& c) { return nests(c, log); };
  r.add(std::move(def));
}

}  // namespace

void register_softmax(OpRegistry& r) {
  add(r, "Softmax", false);
  add(r, "LogSoftmax", true);
}

}  // namespace assay
