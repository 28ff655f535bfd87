#include <fmt/format.h>

#include <limits>

#include "core/ops/build_nest.h"
#include "core/ops/eval.h"
#include "core/ops/reduction.h"
#include "core/ops/window.h"

// MaxPool and AveragePool. Taps outside the input count nothing; AveragePool divides by the number of taps inside the
// input, or inside the padded input with count_include_pad.

namespace assay {
namespace {

Window pool_window(const OpContext& c) {
  require_min_rank(c, 0, 3);
  const Shape& x = c.shape(0);
  const bool ceil_mode = c.attributes->integer("ceil_mode", 0) != 0;
  return window_of(c, Shape(x.begin() + 2, x.end()), {}, ceil_mode);
}

Shape result(const OpContext& c, const Window& w) {
  Shape s{c.shape(0)[0], c.shape(0)[1]};
  s.insert(s.end(), w.out.begin(), w.out.end());
  return s;
}

bool includes_pads(const OpContext& c) { return c.attributes->integer("count_include_pad", 0) != 0; }

// Calls body(plane offset in x, plane offset in y, output pixel, first and one-past-last in-bounds tap per axis).
struct Taps {
  std::int64_t lo[3], hi[3], base[3];  // taps [lo, hi) are inside the input; coordinate base + tap · dilation
};

template <class F>
void for_windows(const Window& w, std::int64_t planes, F&& body) {
  const std::int64_t in_plane = w.in[0] * w.in[1] * w.in[2], out_plane = w.out[0] * w.out[1] * w.out[2];
  for (std::int64_t i = 0; i < planes; ++i) {
    std::int64_t pixel = i * out_plane;
    std::int64_t at_out[3];
    for (at_out[0] = 0; at_out[0] < w.out[0]; ++at_out[0])
      for (at_out[1] = 0; at_out[1] < w.out[1]; ++at_out[1])
        for (at_out[2] = 0; at_out[2] < w.out[2]; ++at_out[2], ++pixel) {
          Taps t{};
          for (std::size_t a = 0; a < 3; ++a) {
            t.base[a] = at_out[a] * w.stride[a] - w.pad_begin[a];
            t.lo[a] = t.base[a] >= 0 ? 0 : (-t.base[a] + w.dilation[a] - 1) / w.dilation[a];
            const std::int64_t room = w.in[a] - 1 - t.base[a];
            t.hi[a] = room < 0 ? 0 : std::min(w.kernel[a], room / w.dilation[a] + 1);
          }
          body(i * in_plane, pixel, t);
        }
  }
}

template <class F>
void for_taps(const Window& w, const Taps& t, F&& body) {
  for (std::int64_t a = t.lo[0]; a < t.hi[0]; ++a)
    for (std::int64_t b = t.lo[1]; b < t.hi[1]; ++b)
      for (std::int64_t d = t.lo[2]; d < t.hi[2]; ++d)
        body(((t.base[0] + a * w.dilation[0]) * w.in[1] + t.base[1] + b * w.dilation[1]) * w.in[2] + t.base[2] +
             d * w.dilation[2]);
}

void evaluate_max(EvalContext& c) {
  const Window w = with_rank_3(pool_window(c.op));
  const std::int64_t planes = c.op.shape(0)[0] * c.op.shape(0)[1];
  const bool column_major = c.op.attributes->integer("storage_order", 0) != 0;
  const std::int64_t plane = w.in[0] * w.in[1] * w.in[2];
  visit_numeric(c.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = c.in(0).data<T>().data();
    T* y = c.out[0].data<T>().data();
    for_windows(w, planes, [&](std::int64_t base, std::int64_t pixel, const Taps& t) {
      T best =
          std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
      std::int64_t where = -1;
      for_taps(w, t, [&](std::int64_t i) {
        if (where >= 0 && !(x[base + i] > best)) return;
        best = x[base + i];
        where = i;
      });
      y[pixel] = best;
      if (c.out.size() < 2) return;
      std::int64_t index = where;
      if (column_major && where >= 0)
        index = (where % w.in[2] * w.in[1] + where / w.in[2] % w.in[1]) * w.in[0] + where / (w.in[1] * w.in[2]);
      c.out[1].data<std::int64_t>()[static_cast<std::size_t>(pixel)] = base / plane * plane + index;
    });
  });
}

void evaluate_average(EvalContext& c) {
  const Window w = with_rank_3(pool_window(c.op));
  const std::int64_t planes = c.op.shape(0)[0] * c.op.shape(0)[1];
  const bool pads = includes_pads(c.op);
  visit_float(c.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = c.in(0).data<T>().data();
    T* y = c.out[0].data<T>().data();
    for_windows(w, planes, [&](std::int64_t base, std::int64_t pixel, const Taps& t) {
      T sum{0};
      for_taps(w, t, [&](std::int64_t i) { sum += x[base + i]; });
      std::int64_t count = 1;
      for (std::size_t a = 0; a < 3; ++a) {
        std::int64_t inside = t.hi[a] - t.lo[a];
        if (pads) inside = std::min(w.kernel[a], (w.in[a] + w.pad_end[a] - 1 - t.base[a]) / w.dilation[a] + 1);
        count *= std::max<std::int64_t>(0, inside);
      }
      y[pixel] = count == 0 ? T{0} : sum / static_cast<T>(count);
    });
  });
}

// The fold over the window: dims n c p q | r s.
Nest window_nest(const OpContext& c, const Window& w, Slot out, DType work, Combine combine, double fill) {
  Nest nest;
  std::vector<AccessDim> x{at(add_dim(nest, "n", c.shape(0)[0])), at(add_dim(nest, "c", c.shape(0)[1]))}, y = x;
  std::vector<int> p;
  for (std::size_t i = 0; i < w.rank(); ++i) p.push_back(add_dim(nest, output_dim_names(w.rank())[i], w.out[i]));
  bool outside = false;
  for (std::size_t i = 0; i < w.rank(); ++i) {
    const int r = add_dim(nest, kernel_dim_names(w.rank())[i], w.kernel[i], true);
    x.push_back(at({{p[i], w.stride[i]}, {r, w.dilation[i]}}, -w.pad_begin[i]));
    y.push_back(at(p[i]));
    const std::int64_t last = (w.out[i] - 1) * w.stride[i] - w.pad_begin[i] + (w.kernel[i] - 1) * w.dilation[i];
    outside = outside || w.pad_begin[i] > 0 || last >= w.in[i];
  }
  nest.ins = {access(input_slot(0), std::move(x), outside ? std::optional(fill) : std::nullopt)};
  nest.out = access(out, std::move(y));
  BodyWriter b(work);
  nest.body = b.done(b.in(0, c.type(0).dtype), work);
  nest.combine = combine;
  nest.accumulator = work;
  nest.init = neutral(combine, work);
  return nest;
}

// The number of counted taps along one axis, as a value, for the output coordinate of dimension `dim`:
//   taps r with lower <= stride·p − pad + dilation·r < upper
int tap_count(BodyWriter& b, const Window& w, std::size_t axis, int dim, bool pads) {
  using enum ScalarOp;
  const double dil = static_cast<double>(w.dilation[axis]), kernel = static_cast<double>(w.kernel[axis]);
  const auto upper = static_cast<double>(w.in[axis] + (pads ? w.pad_end[axis] : 0));
  const int scaled = b.op(mul, b.index(dim), b.number(static_cast<double>(w.stride[axis])));
  const int base = b.op(sub, scaled, b.number(static_cast<double>(w.pad_begin[axis])));
  // last: min(kernel − 1, floor((upper − 1 − base) / dil)); first: max(0, ceil(−base / dil))
  int last = b.op(sub, b.number(upper - 1), base);
  if (dil != 1) last = b.op(floor, b.op(div, last, b.number(dil)));
  last = b.op(min, last, b.number(kernel - 1));
  int count = b.op(add, last, b.number(1));
  if (!pads) {
    int first = b.op(neg, base);
    if (dil != 1) first = b.op(ceil, b.op(div, first, b.number(dil)));
    first = b.op(max, first, b.number(0));
    count = b.op(sub, count, first);
  }
  return b.op(max, count, b.number(0));
}

bool count_is_constant(const Window& w, std::size_t axis, bool pads) {
  const std::int64_t last =
      (w.out[axis] - 1) * w.stride[axis] - w.pad_begin[axis] + (w.kernel[axis] - 1) * w.dilation[axis];
  return (pads || w.pad_begin[axis] == 0) && last < w.in[axis] + (pads ? w.pad_end[axis] : 0);
}

NestProgram average_nests(const OpContext& c) {
  const Window w = pool_window(c);
  const TensorType& out = c.outputs[0];
  const DType work = work_type(out.dtype);
  const bool pads = includes_pads(c);
  NestProgram p;
  p.temps.push_back({work, out.shape});
  p.nests.push_back(window_nest(c, w, temp_slot(0), work, Combine::sum, 0));
  Nest last;
  std::vector<AccessDim> dims{at(add_dim(last, "n", out.shape[0])), at(add_dim(last, "c", out.shape[1]))};
  for (std::size_t i = 0; i < w.rank(); ++i) dims.push_back(at(add_dim(last, output_dim_names(w.rank())[i], w.out[i])));
  last.ins = {access(temp_slot(0), dims)};
  last.out = access(output_slot(0), dims);
  BodyWriter b(work);
  int v = b.in(0, work);
  double constant = 1;
  int count = -1;
  for (std::size_t i = 0; i < w.rank(); ++i) {
    if (count_is_constant(w, i, pads)) {
      constant *= static_cast<double>(w.kernel[i]);
      continue;
    }
    const int along = tap_count(b, w, i, static_cast<int>(i) + 2, pads);
    count = count < 0 ? along : b.op(ScalarOp::mul, count, along);
  }
  if (constant != 1 || count < 0) v = b.op(ScalarOp::mul, v, b.number(1 / constant));
  // A window without a tap has the sum 0.
  if (count >= 0) v = b.op(ScalarOp::div, v, b.op(ScalarOp::max, count, b.number(1)));
  last.body = b.done(v, out.dtype);
  last.accumulator = out.dtype;
  p.nests.push_back(std::move(last));
  return p;
}

}  // namespace

void register_pool(OpRegistry& r) {
  OpDef max;
  max.name = "MaxPool";
  max.kind = OpKind::nest;
  max.max_outputs = 2;
  max.infer = [](const OpContext& c) {
    require_type(c, 0, kNumbers);
    const Shape s = result(c, pool_window(c));
    return std::vector<TensorType>{{c.type(0).dtype, s}, {DType::i64, s}};
  };
  max.evaluate = widened(evaluate_max);
  max.nests = [](const OpContext& c) -> std::optional<NestProgram> {
    if (c.wants(1)) return std::nullopt;  // positions of maxima are no fold
    const DType t = c.outputs[0].dtype;
    return single(window_nest(c, pool_window(c), output_slot(0), t, Combine::max, neutral(Combine::max, t)));
  };
  OpDef average;
  average.name = "AveragePool";
  average.kind = OpKind::nest;
  average.infer = [](const OpContext& c) {
    require_type(c, 0, kFloats);
    return std::vector<TensorType>{{c.type(0).dtype, result(c, pool_window(c))}};
  };
  average.evaluate = widened(evaluate_average);
  average.nests = average_nests;
  r.add(std::move(max));
  r.add(std::move(average));
}

}  // namespace assay
