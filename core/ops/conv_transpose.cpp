#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/base/math.h"
#include "core/ops/build_nest.h"
#include "core/ops/eval.h"
#include "core/ops/kernels.h"
#include "core/ops/window.h"

// ConvTranspose: every input pixel adds its filter, scaled, to the output at stride · i + dilation · r − pad_begin.
//
// As loop nests, each residue e of the output coordinate modulo the stride S is a convolution of its own: output
// S·p + e uses the taps r with (e + pad − dilation·r) ≡ 0 (mod S). These are r = r0 + m·ρ with m = S / gcd(dilation, S),
// and tap ρ reads input p + (e + pad − dilation·r0) / S − (dilation·m / S)·ρ.

namespace assay {
namespace {

constexpr std::int64_t kLimit = std::int64_t{1} << 30;

struct TransposedShape {
  std::int64_t n = 0, g = 1, cg = 0, kg = 0;
  std::vector<std::int64_t> in, kernel, stride, dilation, pad_begin, out;
  Shape result() const {
    Shape r{n, g * kg};
    r.insert(r.end(), out.begin(), out.end());
    return r;
  }
};

std::vector<std::int64_t> attribute(const OpContext& c, const char* name, std::size_t count, std::int64_t fallback,
                                    std::int64_t lowest) {
  std::vector<std::int64_t> v = c.attributes->integers(name, std::vector<std::int64_t>(count, fallback));
  if (v.size() != count) c.reject(fmt::format("{} has {} values, expected {}", name, v.size(), count));
  for (const std::int64_t x : v)
    if (x < lowest || x > kLimit) c.reject(fmt::format("{} holds {}, expected {} to {}", name, x, lowest, kLimit));
  return v;
}

TransposedShape shape_of(const OpContext& c) {
  const Shape &x = c.shape(0), &w = c.shape(1);
  require_min_rank(c, 0, 3);
  require_rank(c, 1, x.size());
  const std::size_t rank = x.size() - 2;
  if (rank > 3) c.reject(fmt::format("{} spatial axes, expected 1 to 3", rank));
  TransposedShape s;
  s.n = x[0];
  s.g = c.attributes->integer("group", 1);
  if (s.g < 1 || x[1] % s.g != 0) c.reject(fmt::format("group {} does not divide {} input channels", s.g, x[1]));
  if (w[0] != x[1]) c.reject(fmt::format("the weights have {} input channels, the data {}", w[0], x[1]));
  s.cg = x[1] / s.g;
  s.kg = w[1];
  s.in.assign(x.begin() + 2, x.end());
  s.kernel.assign(w.begin() + 2, w.end());
  s.stride = attribute(c, "strides", rank, 1, 1);
  s.dilation = attribute(c, "dilations", rank, 1, 1);
  const auto extra = attribute(c, "output_padding", rank, 0, 0);
  const auto pads = attribute(c, "pads", 2 * rank, 0, 0);
  const bool sized = c.attributes->has("output_shape");
  std::vector<std::int64_t> wanted;
  if (sized) {
    wanted = c.attributes->integers("output_shape");
    if (wanted.size() == rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
    if (wanted.size() != rank) c.reject(fmt::format("output_shape has {} values, expected {}", wanted.size(), rank));
  }
  const std::string mode = c.attributes->text("auto_pad", "NOTSET");
  for (std::size_t i = 0; i < rank; ++i) {
    if (s.kernel[i] < 1 || s.kernel[i] > kLimit) c.reject(fmt::format("a kernel extent is {}", s.kernel[i]));
    const std::int64_t full = checked_mul(s.in[i] - 1, s.stride[i]) + extra[i] + (s.kernel[i] - 1) * s.dilation[i] + 1;
    std::int64_t begin = mode == "VALID" ? 0 : pads[i], end = mode == "VALID" ? 0 : pads[rank + i];
    const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
    if (sized || same) {
      const std::int64_t target = sized ? wanted[i] : checked_mul(s.in[i], s.stride[i]);
      const std::int64_t total = std::max<std::int64_t>(0, full - target);
      // The odd pixel goes to the end for SAME_UPPER and to the beginning otherwise.
      begin = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      end = total - begin;
      if (full - begin - end != target && !sized)
        c.reject(fmt::format("auto_pad cannot give {} outputs along axis {}", target, i));
      s.out.push_back(sized ? target : full - begin - end);
    } else {
      s.out.push_back(full - begin - end);
    }
    if (s.out.back() < 0 || (s.in[i] > 0 && s.out.back() < 1))
      c.reject(fmt::format("axis {} would have {} outputs", i, s.out.back()));
    s.pad_begin.push_back(begin);
  }
  return s;
}

// The same with three spatial axes.
TransposedShape with_3_axes(TransposedShape s) {
  const std::size_t missing = 3 - s.in.size();
  for (auto* v : {&s.in, &s.kernel, &s.stride, &s.dilation, &s.out}) v->insert(v->begin(), missing, 1);
  s.pad_begin.insert(s.pad_begin.begin(), missing, 0);
  return s;
}

std::vector<TensorType> infer(const OpContext& c) {
  require_type(c, 0, kFloats);
  require_same_type(c, 0, 1);
  const TransposedShape s = shape_of(c);
  if (c.has(2) && c.shape(2) != Shape{s.g * s.kg})
    c.reject(fmt::format("the bias has shape {}, expected [{}]", to_string(c.shape(2)), s.g * s.kg));
  return {{c.type(0).dtype, s.result()}};
}

void evaluate(EvalContext& c) {
  const TransposedShape s = with_3_axes(shape_of(c.op));
  const std::int64_t in_plane = product(s.in, 0, 3), out_plane = product(s.out, 0, 3);
  const std::int64_t taps = product(s.kernel, 0, 3);
  visit_float(c.in(0).dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T *x = c.in(0).data<T>().data(), *w = c.in(1).data<T>().data();
    T* y = c.out[0].data<T>().data();
    if (c.op.has(2)) {
      const auto bias = c.in(2).data<T>();
      for (std::int64_t i = 0; i < s.n * s.g * s.kg; ++i)
        std::fill_n(y + i * out_plane, out_plane, bias[static_cast<std::size_t>(i % (s.g * s.kg))]);
    }
    // columns[k·taps, pixel] = Σ_c w[c, k·taps] · x[c, pixel], then scattered.
    std::vector<T> wt(static_cast<std::size_t>(s.kg * taps * s.cg));
    std::vector<T> columns(static_cast<std::size_t>(s.kg * taps * in_plane));
    for (std::int64_t image = 0; image < s.n; ++image)
      for (std::int64_t g = 0; g < s.g; ++g) {
        for (std::int64_t ch = 0; ch < s.cg; ++ch)
          for (std::int64_t k = 0; k < s.kg * taps; ++k)
            wt[static_cast<std::size_t>(k * s.cg + ch)] = w[(g * s.cg + ch) * s.kg * taps + k];
        gemm<T>(s.kg * taps, in_plane, s.cg, wt.data(), x + (image * s.g + g) * s.cg * in_plane, columns.data());
        const T* from = columns.data();
        for (std::int64_t k = 0; k < s.kg; ++k) {
          T* to = y + ((image * s.g + g) * s.kg + k) * out_plane;
          for (std::int64_t t = 0; t < s.kernel[0]; ++t)
            for (std::int64_t r = 0; r < s.kernel[1]; ++r)
              for (std::int64_t u = 0; u < s.kernel[2]; ++u)
                for (std::int64_t i = 0; i < s.in[0]; ++i)
                  for (std::int64_t j = 0; j < s.in[1]; ++j)
                    for (std::int64_t l = 0; l < s.in[2]; ++l) {
                      const T v = *from++;
                      const std::int64_t a = i * s.stride[0] + t * s.dilation[0] - s.pad_begin[0];
                      const std::int64_t b = j * s.stride[1] + r * s.dilation[1] - s.pad_begin[1];
                      const std::int64_t d = l * s.stride[2] + u * s.dilation[2] - s.pad_begin[2];
                      if (a < 0 || a >= s.out[0] || b < 0 || b >= s.out[1] || d < 0 || d >= s.out[2]) continue;
                      to[(a * s.out[1] + b) * s.out[2] + d] += v;
                    }
        }
      }
  });
}

// One axis, one residue e of the output coordinate: outputs S·p + e for p < count; taps r0 + m·ρ for ρ < taps;
// input coordinate p + shift − step·ρ.
struct Phase {
  std::int64_t e = 0, count = 0, r0 = 0, m = 1, taps = 0, shift = 0, step = 0;
};

std::vector<Phase> phases_of(const TransposedShape& s, std::size_t axis) {
  const std::int64_t stride = s.stride[axis], dil = s.dilation[axis];
  std::vector<Phase> phases;
  for (std::int64_t e = 0; e < std::min(stride, s.out[axis]); ++e) {
    Phase p;
    p.e = e;
    p.count = (s.out[axis] - e + stride - 1) / stride;
    p.m = stride / std::gcd(stride, dil);
    p.step = dil * p.m / stride;
    for (p.r0 = 0; p.r0 < std::min(p.m, s.kernel[axis]); ++p.r0)
      if (floor_mod(e + s.pad_begin[axis] - dil * p.r0, stride) == 0) {
        p.taps = (s.kernel[axis] - p.r0 + p.m - 1) / p.m;
        p.shift = (e + s.pad_begin[axis] - dil * p.r0) / stride;
        break;
      }
    phases.push_back(p);
  }
  return phases;
}

std::optional<NestProgram> nests(const OpContext& c) {
  const TransposedShape s = shape_of(c);
  const std::size_t rank = s.in.size();
  std::vector<std::vector<Phase>> phases;
  std::size_t combinations = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    phases.push_back(phases_of(s, i));
    combinations *= phases.back().size();
    for (const Phase& p : phases.back())
      if (p.taps == 0) return std::nullopt;  // outputs that no tap reaches: constants, not a contraction
    if (combinations > 64) return std::nullopt;
  }
  const DType out = c.outputs[0].dtype, work = work_type(out);
  NestProgram program;
  if (c.has(2)) program.temps.push_back({work, c.outputs[0].shape});
  for (std::size_t i = 0; i < combinations; ++i) {
    std::vector<Phase> phase;
    std::size_t rest = i;
    for (std::size_t a = 0; a < rank; ++a) {
      phase.push_back(phases[a][rest % phases[a].size()]);
      rest /= phases[a].size();
    }
    Nest nest;
    const int n = add_dim(nest, "n", s.n), g = s.g > 1 ? add_dim(nest, "g", s.g) : -1, k = add_dim(nest, "k", s.kg);
    std::vector<int> p;
    for (std::size_t a = 0; a < rank; ++a) p.push_back(add_dim(nest, output_dim_names(rank)[a], phase[a].count));
    const int ch = add_dim(nest, "c", s.cg, true);
    const auto channel = [&](int inner, std::int64_t per_group) {
      return g < 0 ? at(inner) : at({{g, per_group}, {inner, 1}});
    };
    std::vector<AccessDim> dx{at(n), channel(ch, s.cg)}, dw{channel(ch, s.cg), at(k)}, dy{at(n), channel(k, s.kg)};
    for (std::size_t a = 0; a < rank; ++a) {
      const int r = add_dim(nest, kernel_dim_names(rank)[a], phase[a].taps, true);
      dx.push_back(at({{p[a], 1}, {r, -phase[a].step}}, phase[a].shift));
      dw.push_back(at(r, phase[a].m, phase[a].r0));
      dy.push_back(at(p[a], s.stride[a], phase[a].e));
    }
    nest.ins = {access(input_slot(0), std::move(dx), 0.0), access(input_slot(1), std::move(dw))};
    nest.out = access(c.has(2) ? temp_slot(0) : output_slot(0), std::move(dy));
    nest.combine = Combine::sum;
    nest.accumulator = work;
    nest.contraction = true;
    program.nests.push_back(std::move(nest));
  }
  if (c.has(2)) {
    Nest nest = nest_over(c.outputs[0].shape);
    nest.ins = {identity_access(temp_slot(0), rank + 2), access(input_slot(2), {at(1)})};
    nest.out = identity_access(output_slot(0), rank + 2);
    BodyWriter w(work);
    const int v = w.in(0, work), b = w.in(1, out);
    nest.body = w.done(w.op(ScalarOp::add, v, b), out);
    nest.accumulator = out;
    program.nests.push_back(std::move(nest));
  }
  return program;
}

}  // namespace

void register_conv_transpose(OpRegistry& r) {
  OpDef def;
  def.name = "ConvTranspose";
  def.kind = OpKind::nest;
  def.min_inputs = 2;
  def.max_inputs = 3;
  def.infer = infer;
  def.evaluate = widened(evaluate);
  def.nests = nests;
  r.add(std::move(def));
}

}  // namespace assay
