#include "core/ops/convolution.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/ops/build_nest.h"
#include "core/ops/kernels.h"

namespace assay {
namespace {

constexpr std::int64_t kBlockElements = 1 << 18;  // of the unfolded input: stays in the second-level cache

// Unfolds output rows [row, row_end) (a row is one (o, p)) of one image's group: element (k, pixel) goes to
// dst[k · k_stride + pixel · pixel_stride], with k = ((c · T + t) · R + r) · S + s.
template <class T>
void unfold(const Window& w, std::int64_t channels, const T* x, std::int64_t row, std::int64_t row_end, T* dst,
            std::int64_t k_stride, std::int64_t pixel_stride) {
  const std::int64_t plane = w.in[0] * w.in[1] * w.in[2], q_count = w.out[2];
  for (std::int64_t c = 0, k = 0; c < channels; ++c)
    for (std::int64_t t = 0; t < w.kernel[0]; ++t)
      for (std::int64_t r = 0; r < w.kernel[1]; ++r)
        for (std::int64_t s = 0; s < w.kernel[2]; ++s, ++k) {
          T* out = dst + k * k_stride;
          for (std::int64_t i = row; i < row_end; ++i) {
            const std::int64_t d = i / w.out[1] * w.stride[0] - w.pad_begin[0] + t * w.dilation[0];
            const std::int64_t h = i % w.out[1] * w.stride[1] - w.pad_begin[1] + r * w.dilation[1];
            const std::int64_t first = s * w.dilation[2] - w.pad_begin[2];
            const bool inside = d >= 0 && d < w.in[0] && h >= 0 && h < w.in[1];
            const T* line = inside ? x + c * plane + (d * w.in[1] + h) * w.in[2] : nullptr;
            for (std::int64_t q = 0; q < q_count; ++q, out += pixel_stride) {
              const std::int64_t at = first + q * w.stride[2];
              *out = inside && at >= 0 && at < w.in[2] ? line[at] : T{0};
            }
          }
        }
}

// One channel, one filter.
template <class T, class A>
void depthwise(const Window& w, const T* x, const T* f, A* y) {
  std::fill(y, y + w.out[0] * w.out[1] * w.out[2], A{0});
  for (std::int64_t t = 0; t < w.kernel[0]; ++t)
    for (std::int64_t r = 0; r < w.kernel[1]; ++r)
      for (std::int64_t s = 0; s < w.kernel[2]; ++s, ++f) {
        const std::int64_t first = s * w.dilation[2] - w.pad_begin[2], stride = w.stride[2];
        // The outputs whose tap lies inside the line.
        std::int64_t q0 = 0, q1 = w.out[2];
        while (q0 < q1 && first + q0 * stride < 0) ++q0;
        while (q1 > q0 && first + (q1 - 1) * stride >= w.in[2]) --q1;
        for (std::int64_t o = 0; o < w.out[0]; ++o)
          for (std::int64_t p = 0; p < w.out[1]; ++p) {
            const std::int64_t d = o * w.stride[0] - w.pad_begin[0] + t * w.dilation[0];
            const std::int64_t h = p * w.stride[1] - w.pad_begin[1] + r * w.dilation[1];
            if (d < 0 || d >= w.in[0] || h < 0 || h >= w.in[1]) continue;
            const T* line = x + (d * w.in[1] + h) * w.in[2] + first;
            A* out = y + (o * w.out[1] + p) * w.out[2];
            for (std::int64_t q = q0; q < q1; ++q) out[q] += static_cast<A>(*f) * static_cast<A>(line[q * stride]);
          }
      }
}

bool is_pointwise(const Window& w) {
  for (std::size_t i = 0; i < 3; ++i)
    if (w.kernel[i] != 1 || w.stride[i] != 1 || w.pad_begin[i] != 0 || w.pad_end[i] != 0) return false;
  return true;
}

struct Sizes {
  std::int64_t taps, k, pixels, rows, rows_per_block;
};

Sizes sizes_of(const ConvShape& s, const Window& w) {
  Sizes z{};
  z.taps = w.kernel[0] * w.kernel[1] * w.kernel[2];
  z.k = s.cg * z.taps;
  z.rows = w.out[0] * w.out[1];
  z.pixels = z.rows * w.out[2];
  const std::int64_t per_row = std::max<std::int64_t>(1, z.k * w.out[2]);
  z.rows_per_block = std::clamp<std::int64_t>(kBlockElements / per_row, 1, std::max<std::int64_t>(1, z.rows));
  return z;
}

}  // namespace

Shape ConvShape::result() const {
  Shape r{n, g * kg};
  r.insert(r.end(), window.out.begin(), window.out.end());
  return r;
}

ConvShape conv_shape(const OpContext& ctx, std::size_t x_operand, std::size_t w_operand) {
  const Shape &x = ctx.shape(x_operand), &w = ctx.shape(w_operand);
  require_min_rank(ctx, x_operand, 3);
  require_rank(ctx, w_operand, x.size());
  ConvShape s;
  s.n = x[0];
  s.g = ctx.attributes->integer("group", 1);
  if (s.g < 1 || x[1] % s.g != 0 || w[0] % s.g != 0)
    ctx.reject(fmt::format("group {} does not divide {} input and {} output channels", s.g, x[1], w[0]));
  s.cg = w[1];
  s.kg = w[0] / s.g;
  if (s.cg != x[1] / s.g)
    ctx.reject(fmt::format("{} input channels in {} groups, but the weights {} have {} per group", x[1], s.g,
                           to_string(w), w[1]));
  s.window = window_of(ctx, Shape(x.begin() + 2, x.end()), Shape(w.begin() + 2, w.end()), false);
  return s;
}

template <class T>
void convolve(const ConvShape& s, const T* x, const T* f, T* y) {
  const Window w = with_rank_3(s.window);
  const Sizes z = sizes_of(s, w);
  const std::int64_t plane = w.in[0] * w.in[1] * w.in[2];
  std::vector<T> columns, block;
  for (std::int64_t image = 0; image < s.n; ++image)
    for (std::int64_t g = 0; g < s.g; ++g) {
      const T* xg = x + (image * s.g + g) * s.cg * plane;
      const T* fg = f + g * s.kg * z.k;
      T* yg = y + (image * s.g + g) * s.kg * z.pixels;
      if (s.cg == 1 && s.g > 1) {
        for (std::int64_t k = 0; k < s.kg; ++k) depthwise(w, xg, fg + k * z.taps, yg + k * z.pixels);
        continue;
      }
      if (is_pointwise(w)) {
        gemm<T>(s.kg, z.pixels, s.cg, fg, xg, yg);
        continue;
      }
      for (std::int64_t row = 0; row < z.rows; row += z.rows_per_block) {
        const std::int64_t end = std::min(z.rows, row + z.rows_per_block), pixels = (end - row) * w.out[2];
        columns.resize(static_cast<std::size_t>(z.k * pixels));
        block.resize(static_cast<std::size_t>(s.kg * pixels));
        unfold(w, s.cg, xg, row, end, columns.data(), pixels, std::int64_t{1});
        gemm<T>(s.kg, pixels, z.k, fg, columns.data(), block.data());
        for (std::int64_t k = 0; k < s.kg; ++k)
          std::copy_n(block.data() + k * pixels, pixels, yg + k * z.pixels + row * w.out[2]);
      }
    }
}
template void convolve<float>(const ConvShape&, const float*, const float*, float*);
template void convolve<double>(const ConvShape&, const double*, const double*, double*);

void convolve_i16(const ConvShape& s, const std::int16_t* x, const std::int16_t* f, std::int32_t* y) {
  const Window w = with_rank_3(s.window);
  const Sizes z = sizes_of(s, w);
  const std::int64_t plane = w.in[0] * w.in[1] * w.in[2];
  std::vector<std::int16_t> patches;
  std::vector<std::int32_t> block;
  for (std::int64_t image = 0; image < s.n; ++image)
    for (std::int64_t g = 0; g < s.g; ++g) {
      const std::int16_t* xg = x + (image * s.g + g) * s.cg * plane;
      std::int32_t* yg = y + (image * s.g + g) * s.kg * z.pixels;
      if (s.cg == 1 && s.g > 1) {
        for (std::int64_t k = 0; k < s.kg; ++k) depthwise(w, xg, f + (g * s.kg + k) * z.taps, yg + k * z.pixels);
        continue;
      }
      for (std::int64_t row = 0; row < z.rows; row += z.rows_per_block) {
        const std::int64_t end = std::min(z.rows, row + z.rows_per_block), pixels = (end - row) * w.out[2];
        patches.resize(static_cast<std::size_t>(z.k * pixels));
        block.resize(static_cast<std::size_t>(s.kg * pixels));
        unfold(w, s.cg, xg, row, end, patches.data(), std::int64_t{1}, z.k);
        gemm_i16(s.kg, pixels, z.k, f + g * s.kg * z.k, patches.data(), block.data());
        for (std::int64_t k = 0; k < s.kg; ++k)
          std::copy_n(block.data() + k * pixels, pixels, yg + k * z.pixels + row * w.out[2]);
      }
    }
}

Nest conv_nest(const ConvShape& s, Slot x, Slot f, Slot out, DType accumulator, double fill) {
  const Window& w = s.window;
  Nest nest;
  const int n = add_dim(nest, "n", s.n);
  const int g = s.g > 1 ? add_dim(nest, "g", s.g) : -1;
  const int k = add_dim(nest, "k", s.kg);
  std::vector<int> p, r;
  for (std::size_t i = 0; i < w.rank(); ++i) p.push_back(add_dim(nest, output_dim_names(w.rank())[i], w.out[i]));
  const int c = add_dim(nest, "c", s.cg, true);
  for (std::size_t i = 0; i < w.rank(); ++i)
    r.push_back(add_dim(nest, kernel_dim_names(w.rank())[i], w.kernel[i], true));
  const auto channel = [&](int inner, std::int64_t per_group) {
    return g < 0 ? at(inner) : at({{g, per_group}, {inner, 1}});
  };
  std::vector<AccessDim> dx{at(n), channel(c, s.cg)}, df{channel(k, s.kg), at(c)}, dy{at(n), channel(k, s.kg)};
  bool padded = false;
  for (std::size_t i = 0; i < w.rank(); ++i) {
    dx.push_back(at({{p[i], w.stride[i]}, {r[i], w.dilation[i]}}, -w.pad_begin[i]));
    df.push_back(at(r[i]));
    dy.push_back(at(p[i]));
    padded = padded || w.pad_begin[i] > 0 || w.pad_end[i] > 0;
  }
  nest.ins = {access(x, std::move(dx), padded ? std::optional(fill) : std::nullopt), access(f, std::move(df))};
  nest.out = access(out, std::move(dy));
  nest.combine = Combine::sum;
  nest.accumulator = accumulator;
  nest.contraction = true;
  return nest;
}

Nest conv_bias_nest(const ConvShape& s, Slot in, DType in_type, Slot bias, DType bias_type, Slot out, DType out_type) {
  const Window& w = s.window;
  Nest nest;
  const int n = add_dim(nest, "n", s.n);
  const int g = s.g > 1 ? add_dim(nest, "g", s.g) : -1;
  const int k = add_dim(nest, "k", s.kg);
  const AccessDim channel = g < 0 ? at(k) : at({{g, s.kg}, {k, 1}});
  std::vector<AccessDim> dims{at(n), channel};
  for (std::size_t i = 0; i < w.rank(); ++i) dims.push_back(at(add_dim(nest, output_dim_names(w.rank())[i], w.out[i])));
  nest.ins = {access(in, dims), access(bias, {channel})};
  nest.out = access(out, std::move(dims));
  BodyWriter b(in_type);
  const int v = b.in(0, in_type), a = b.in(1, bias_type);
  nest.body = b.done(b.op(ScalarOp::add, v, a), out_type);
  nest.accumulator = out_type;
  return nest;
}

}  // namespace assay
