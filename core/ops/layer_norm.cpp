#include <fmt/format.h>

#include <cmath>

#include "core/ops/eval.h"
#include "core/ops/reduction.h"

// LayerNormalization: y = (x − mean) / sqrt(var + epsilon) · scale + bias over the axes from `axis` on.
// RMSNormalization:   y = x / sqrt(mean(x²) + epsilon) · scale.

namespace assay {
namespace {

Reduction axes_of(const OpContext& c) {
  const std::size_t rank = c.shape(0).size();
  Reduction r;
  r.folded.assign(rank, false);
  for (std::size_t i = normal_axis(c, c.attributes->integer("axis", -1), rank); i < rank; ++i) r.folded[i] = true;
  return r;
}

std::vector<TensorType> infer(const OpContext& c) {
  require_type(c, 0, kFloats);
  require_min_rank(c, 0, 1);
  const Reduction r = axes_of(c);
  for (std::size_t i = 1; i < c.inputs.size(); ++i) {
    if (!c.has(i)) continue;
    require_type(c, i, kFloats);
    if (broadcast_shape(c, std::vector{c.shape(0), c.shape(i)}) != c.shape(0))
      c.reject(fmt::format("operand {} of shape {} does not broadcast to {}", i, to_string(c.shape(i)),
                           to_string(c.shape(0))));
  }
  // Statistics are computed and given in fp32 (stash_type 1).
  const TensorType statistics{work_type(c.type(0).dtype), r.kept_shape(c.shape(0))};
  return {{c.type(0).dtype, c.shape(0)}, statistics, statistics};
}

double epsilon(const OpContext& c) { return static_cast<float>(c.attributes->real("epsilon", 1e-5)); }

void evaluate(EvalContext& c, bool centre) {
  const Tensor& in = c.in(0);
  const Reduction r = axes_of(c.op);
  const std::int64_t length = r.count(in.shape()), rows = length == 0 ? 0 : in.size() / length;
  visit_float(in.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = in.data<T>().data();
    T* y = c.out[0].data<T>().data();
    for (std::int64_t i = 0; i < rows; ++i) {
      const T* row = x + i * length;
      double mean = 0, square = 0;
      if (centre) {
        for (std::int64_t j = 0; j < length; ++j) mean += static_cast<double>(row[j]);
        mean /= static_cast<double>(length);
      }
      for (std::int64_t j = 0; j < length; ++j) {
        const double d = static_cast<double>(row[j]) - mean;
        square += d * d;
      }
      const double inverse = 1 / std::sqrt(square / static_cast<double>(length) + epsilon(c.op));
      for (std::int64_t j = 0; j < length; ++j)
        y[i * length + j] = static_cast<T>((static_cast<double>(row[j]) - mean) * inverse);
      if (c.out.size() > 1) c.out[1].set(i, mean);
      if (c.out.size() > 2) c.out[2].set(i, inverse);
    }
    Tensor& out = c.out[0];
    if (c.op.has(1)) {
      const Tensor scale = c.in(1).cast(out.dtype());
      zip<T, T, T>(out, [](T v, T s) { return v * s; }, {&out, &scale});
    }
    if (c.op.has(2)) {
      const Tensor bias = c.in(2).cast(out.dtype());
      zip<T, T, T>(out, [](T v, T b) { return v + b; }, {&out, &bias});
    }
  });
}

NestProgram nests(const OpContext& c, bool centre) {
  const TensorType& t = c.type(0);
  const DType work = work_type(t.dtype);
  const Reduction r = axes_of(c);
  const std::size_t rank = t.shape.size();
  const Shape kept = r.kept_shape(t.shape);
  const double inverse_count = 1 / static_cast<double>(std::max<std::int64_t>(1, r.count(t.shape)));
  NestProgram p;
  Slot x = input_slot(0);
  DType x_type = t.dtype;
  const auto same = [](BodyWriter&, int v) { return v; };
  const auto temp = [&](const Shape& shape) {
    p.temps.push_back({work, shape});
    return temp_slot(p.temps.size() - 1);
  };
  std::optional<Slot> sum;
  if (centre) {
    sum = temp(kept);
    p.nests.push_back(fold_nest(t.shape, r, x, t.dtype, *sum, work, Combine::sum, same));
    const Slot centred = temp(t.shape);
    Nest n = nest_over(t.shape);
    n.ins = {identity_access(x, rank), kept_access(*sum, r)};
    BodyWriter w(work);
    const int v = w.in(0, t.dtype), s = w.in(1, work);
    const int mean = w.op(ScalarOp::mul, s, w.number(inverse_count));
    n.body = w.done(w.op(ScalarOp::sub, v, mean), work);
    n.out = identity_access(centred, rank);
    n.accumulator = work;
    p.nests.push_back(std::move(n));
    x = centred;
    x_type = work;
  }
  const Slot squares = temp(kept);
  p.nests.push_back(fold_nest(t.shape, r, x, x_type, squares, work, Combine::sum,
                              [](BodyWriter& w, int v) { return w.op(ScalarOp::mul, v, v); }));
  const auto inverse_root = [&](BodyWriter& w, int s) {
    const int variance = w.op(ScalarOp::mul, s, w.number(inverse_count));
    return w.op(ScalarOp::rsqrt, w.op(ScalarOp::add, variance, w.number(epsilon(c))));
  };
  Nest last = nest_over(t.shape);
  last.ins = {identity_access(x, rank), kept_access(squares, r)};
  BodyWriter w(work);
  const int v = w.in(0, x_type), s = w.in(1, work);
  int y = w.op(ScalarOp::mul, v, inverse_root(w, s));
  for (std::size_t i = 1; i <= 2 && i < c.inputs.size(); ++i) {
    if (!c.has(i)) continue;
    last.ins.push_back(broadcast_access(input_slot(i), c.shape(i), t.shape));
    const int operand = w.in(static_cast<int>(last.ins.size()) - 1, c.type(i).dtype);
    y = w.op(i == 1 ? ScalarOp::mul : ScalarOp::add, y, operand);
  }
  last.body = w.done(y, t.dtype);
  last.out = identity_access(output_slot(0), rank);
  last.accumulator = t.dtype;
  p.nests.push_back(std::move(last));

  // The optional statistics: one small nest each over the axes that are left.
  const auto statistic = [&](std::size_t output, Slot from, const auto& write) {
    if (!c.wants(output)) return;
    Nest n;
    std::vector<AccessDim> dims;
    for (std::size_t i = 0; i < rank; ++i)
      dims.push_back(r.folded[i] ? fixed() : at(add_dim(n, "d" + std::to_string(i), t.shape[i])));
    n.ins = {access(from, dims)};
    n.out = access(output_slot(output), dims);
    BodyWriter b(work);
    const int value = b.in(0, work);
    n.body = b.done(write(b, value), work);
    n.accumulator = work;
    p.nests.push_back(std::move(n));
  };
  if (sum)
    statistic(1, *sum, [&](BodyWriter& b, int value) { return b.op(ScalarOp::mul, value, b.number(inverse_count)); });
  statistic(2, squares, inverse_root);
  return p;
}

}  // namespace

void register_layer_norm(OpRegistry& r) {
  OpDef layer;
  layer.name = "LayerNormalization";
  layer.kind = OpKind::nest;
  layer.min_inputs = 1;
  layer.max_inputs = 3;
  layer.max_outputs = 3;
  layer.infer = infer;
  layer.evaluate = widened([](EvalContext& c) { evaluate(c, true); });
  layer.nests = [](const OpContext& c) { return nests(c, true); };
  OpDef rms = layer;
  rms.name = "RMSNormalization";
  rms.max_inputs = 2;
  rms.max_outputs = 1;
  rms.evaluate = widened([](EvalContext& c) { evaluate(c, false); });
  rms.nests = [](const OpContext& c) { return nests(c, false); };
  r.add(std::move(layer));
  r.add(std::move(rms));
}

}  // namespace assay
