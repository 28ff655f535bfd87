#include <fmt/format.h>

#include <cmath>

#include "core/ops/build_nest.h"
#include "core/ops/eval.h"

// LRN: y = x / (bias + alpha / size · Σ x²)^beta, the sum over `size` neighbouring channels,
// from c − floor((size − 1) / 2) to c + ceil((size − 1) / 2).

namespace assay {
namespace {

std::int64_t size_of(const OpContext& c) {
  const std::int64_t size = c.attributes->integer("size", 0);
  if (size < 1 || size > (1 << 20)) c.reject(fmt::format("size is {}, expected 1 to {}", size, 1 << 20));
  return size;
}

double scale_of(const OpContext& c) { return c.attributes->real("alpha", 1e-4) / static_cast<double>(size_of(c)); }

void evaluate(EvalContext& c) {
  const Shape& shape = c.in(0).shape();
  const std::int64_t size = size_of(c.op), channels = shape[1], inner = product(shape, 2, shape.size());
  const double scale = scale_of(c.op), beta = c.op.attributes->real("beta", 0.75),
               bias = c.op.attributes->real("bias", 1);
  visit_float(c.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = c.in(0).data<T>().data();
    T* y = c.out[0].data<T>().data();
    std::vector<T> sum(static_cast<std::size_t>(inner));
    for (std::int64_t n = 0; n < shape[0]; ++n)
      for (std::int64_t ch = 0; ch < channels; ++ch) {
        std::fill(sum.begin(), sum.end(), T{0});
        const std::int64_t first = std::max<std::int64_t>(0, ch - (size - 1) / 2);
        const std::int64_t last = std::min(channels - 1, ch + size / 2);
        for (std::int64_t k = first; k <= last; ++k) {
          const T* row = x + (n * channels + k) * inner;
          for (std::int64_t i = 0; i < inner; ++i) sum[static_cast<std::size_t>(i)] += row[i] * row[i];
        }
        const std::int64_t base = (n * channels + ch) * inner;
        for (std::int64_t i = 0; i < inner; ++i)
          y[base + i] =
              x[base + i] / std::pow(static_cast<T>(bias) + static_cast<T>(scale) * sum[static_cast<std::size_t>(i)],
                                     static_cast<T>(beta));
      }
  });
}

NestProgram nests(const OpContext& c) {
  const TensorType& t = c.type(0);
  const DType work = work_type(t.dtype);
  const std::int64_t size = size_of(c);
  const std::size_t rank = t.shape.size();
  NestProgram p;
  p.temps.push_back({work, t.shape});
  Nest fold = nest_over(t.shape);
  const int r = add_dim(fold, "r", size, true);
  Access x = identity_access(input_slot(0), rank);
  x.dims[1] = at({{1, 1}, {r, 1}}, -((size - 1) / 2));
  x.fill = 0;
  fold.ins = {std::move(x)};
  fold.out = identity_access(temp_slot(0), rank);
  BodyWriter w(work);
  const int v = w.in(0, t.dtype);
  fold.body = w.done(w.op(ScalarOp::mul, v, v), work);
  fold.combine = Combine::sum;
  fold.accumulator = work;
  p.nests.push_back(std::move(fold));

  Nest last = nest_over(t.shape);
  last.ins = {identity_access(input_slot(0), rank), identity_access(temp_slot(0), rank)};
  last.out = identity_access(output_slot(0), rank);
  BodyWriter b(work);
  const int value = b.in(0, t.dtype), sum = b.in(1, work);
  const int scaled = b.op(ScalarOp::mul, sum, b.number(scale_of(c)));
  const int base = b.op(ScalarOp::add, scaled, b.number(c.attributes->real("bias", 1)));
  const int power = b.op(ScalarOp::pow, base, b.number(c.attributes->real("beta", 0.75)));
  last.body = b.done(b.op(ScalarOp::div, value, power), t.dtype);
  last.accumulator = t.dtype;
  p.nests.push_back(std::move(last));
  return p;
}

}  // namespace

void register_lrn(OpRegistry& r) {
  OpDef def;
  def.name = "LRN";
  def.kind = OpKind::nest;
  def.infer = [](const OpContext& c) {
    require_type(c, 0, kFloats);
    require_min_rank(c, 0, 2);
    size_of(c);
    return std::vector{c.type(0)};
  };
  def.evaluate = widened(evaluate);
  def.nests = nests;
  r.add(std::move(def));
}

}  // namespace assay
