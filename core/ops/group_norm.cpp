#include <fmt/format.h>

#include <cmath>

#include "core/ops/build_nest.h"
#include "core/ops/eval.h"

// InstanceNormalization and GroupNormalization: y = (x − mean) / sqrt(var + epsilon) · scale + bias, with mean and
// variance over the spatial axes and the channels of one group (instance: one channel is one group).
// scale and bias are per channel; GroupNormalization before opset 21 has them per group.

namespace assay {
namespace {

struct Groups {
  std::int64_t n = 1, g = 1, cg = 1;  // x is [n, g · cg, spatial …]
  Shape spatial;
  bool per_group = false;  // scale and bias
};

Groups groups_of(const OpContext& c) {
  const Shape& x = c.shape(0);
  require_min_rank(c, 0, 2);
  Groups s;
  s.n = x[0];
  s.g = x[1];
  if (c.op == "GroupNormalization") {
    s.g = c.attributes->integer("num_groups", 0);
    if (s.g < 1 || x[1] % s.g != 0) c.reject(fmt::format("{} groups do not divide {} channels", s.g, x[1]));
    s.per_group = c.version < 21;
  }
  s.cg = s.g == 0 ? 0 : x[1] / s.g;
  s.spatial.assign(x.begin() + 2, x.end());
  return s;
}

std::vector<TensorType> infer(const OpContext& c) {
  require_type(c, 0, kFloats);
  const Groups s = groups_of(c);
  const std::int64_t expected = s.per_group ? s.g : c.shape(0)[1];
  for (std::size_t i = 1; i < 3; ++i) {
    require_type(c, i, kFloats);
    if (c.shape(i) != Shape{expected})
      c.reject(fmt::format("operand {} has shape {}, expected [{}]", i, to_string(c.shape(i)), expected));
  }
  return {c.type(0)};
}

double epsilon(const OpContext& c) { return static_cast<float>(c.attributes->real("epsilon", 1e-5)); }

void evaluate(EvalContext& c) {
  const Groups s = groups_of(c.op);
  const std::int64_t plane = product(s.spatial, 0, s.spatial.size()), length = s.cg * plane;
  visit_float(c.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = c.in(0).data<T>().data();
    T* y = c.out[0].data<T>().data();
    for (std::int64_t i = 0; i < s.n * s.g; ++i) {
      double mean = 0, square = 0;
      for (std::int64_t j = 0; j < length; ++j) mean += static_cast<double>(x[i * length + j]);
      mean /= static_cast<double>(length);
      for (std::int64_t j = 0; j < length; ++j) {
        const double d = static_cast<double>(x[i * length + j]) - mean;
        square += d * d;
      }
      const double inverse = 1 / std::sqrt(square / static_cast<double>(length) + epsilon(c.op));
      for (std::int64_t ch = 0; ch < s.cg; ++ch) {
        const std::int64_t parameter = s.per_group ? i % s.g : i % s.g * s.cg + ch;
        const double scale = c.in(1).get(parameter) * inverse, bias = c.in(2).get(parameter);
        for (std::int64_t j = 0; j < plane; ++j) {
          const std::int64_t at_x = i * length + ch * plane + j;
          y[at_x] = static_cast<T>((static_cast<double>(x[at_x]) - mean) * scale + bias);
        }
      }
    }
  });
}

// dims n g c and the spatial axes; `fold` makes c and the spatial ones reductions.
struct Dims {
  Nest nest;
  AccessDim n, g, channel;
  std::vector<AccessDim> spatial;
  std::vector<AccessDim> x() const {
    std::vector<AccessDim> d{n, channel};
    d.insert(d.end(), spatial.begin(), spatial.end());
    return d;
  }
};

Dims dims_of(const Groups& s, bool fold) {
  Dims d;
  const int n = add_dim(d.nest, "n", s.n), g = add_dim(d.nest, "g", s.g), c = add_dim(d.nest, "c", s.cg, fold);
  d.n = at(n);
  d.g = at(g);
  d.channel = at({{g, s.cg}, {c, 1}});
  for (std::size_t i = 0; i < s.spatial.size(); ++i)
    d.spatial.push_back(at(add_dim(d.nest, "x" + std::to_string(i), s.spatial[i], fold)));
  return d;
}

NestProgram nests(const OpContext& c) {
  const Groups s = groups_of(c);
  const TensorType& t = c.type(0);
  const DType work = work_type(t.dtype);
  const double inverse_count =
      1 / static_cast<double>(std::max<std::int64_t>(1, s.cg * product(s.spatial, 0, s.spatial.size())));
  NestProgram p;
  p.temps = {{work, {s.n, s.g}}, {work, t.shape}, {work, {s.n, s.g}}};  // sum, centred, sum of squares
  const auto fold = [&](Slot from, DType type, Slot to, bool square) {
    Dims d = dims_of(s, true);
    d.nest.ins = {access(from, d.x())};
    d.nest.out = access(to, {d.n, d.g});
    BodyWriter w(work);
    const int v = w.in(0, type);
    d.nest.body = w.done(square ? w.op(ScalarOp::mul, v, v) : v, work);
    d.nest.combine = Combine::sum;
    d.nest.accumulator = work;
    p.nests.push_back(std::move(d.nest));
  };
  fold(input_slot(0), t.dtype, temp_slot(0), false);
  {
    Dims d = dims_of(s, false);
    d.nest.ins = {access(input_slot(0), d.x()), access(temp_slot(0), {d.n, d.g})};
    d.nest.out = access(temp_slot(1), d.x());
    BodyWriter w(work);
    const int v = w.in(0, t.dtype), sum = w.in(1, work);
    const int mean = w.op(ScalarOp::mul, sum, w.number(inverse_count));
    d.nest.body = w.done(w.op(ScalarOp::sub, v, mean), work);
    d.nest.accumulator = work;
    p.nests.push_back(std::move(d.nest));
  }
  fold(temp_slot(1), work, temp_slot(2), true);
  Dims d = dims_of(s, false);
  const AccessDim parameter = s.per_group ? d.g : d.channel;
  d.nest.ins = {access(temp_slot(1), d.x()), access(temp_slot(2), {d.n, d.g}), access(input_slot(1), {parameter}),
                access(input_slot(2), {parameter})};
  d.nest.out = access(output_slot(0), d.x());
  BodyWriter w(work);
  const int v = w.in(0, work), squares = w.in(1, work), scale = w.in(2, c.type(1).dtype),
            bias = w.in(3, c.type(2).dtype);
  const int variance = w.op(ScalarOp::mul, squares, w.number(inverse_count));
  const int inverse = w.op(ScalarOp::rsqrt, w.op(ScalarOp::add, variance, w.number(epsilon(c))));
  const int scaled = w.op(ScalarOp::mul, w.op(ScalarOp::mul, v, inverse), scale);
  d.nest.body = w.done(w.op(ScalarOp::add, scaled, bias), t.dtype);
  d.nest.accumulator = t.dtype;
  p.nests.push_back(std::move(d.nest));
  return p;
}

}  // namespace

void register_group_norm(OpRegistry& r) {
  for (const char* name : {"InstanceNormalization", "GroupNormalization"}) {
    OpDef def;
    def.name = name;
    def.kind = OpKind::nest;
    def.min_inputs = def.max_inputs = 3;
    def.infer = infer;
    def.evaluate = widened(evaluate);
    def.nests = nests;
    r.add(std::move(def));
  }
}

}  // namespace assay
