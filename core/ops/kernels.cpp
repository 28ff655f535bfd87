#include "core/ops/kernels.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>

#include "core/ops/eval.h"
#include "core/ops/matmul_shape.h"

namespace assay {
namespace {

template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Four results share the loads of `a`; the compiler turns the loop into multiply-add of 16-bit pairs. The clone for
// AVX2 is chosen when the program starts and gives the same integers.
[[gnu::target_clones("avx2", "default"), gnu::optimize("O3")]] void dot4(const std::int16_t* a, const std::int16_t* b,
                                                                         std::int64_t stride, std::int64_t k,
                                                                         std::int32_t* out) {
  std::int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  const std::int16_t *b0 = b, *b1 = b + stride, *b2 = b1 + stride, *b3 = b2 + stride;
  for (std::int64_t i = 0; i < k; ++i) {
    s0 += a[i] * b0[i];
    s1 += a[i] * b1[i];
    s2 += a[i] * b2[i];
    s3 += a[i] * b3[i];
  }
  out[0] = s0;
  out[1] = s1;
  out[2] = s2;
  out[3] = s3;
}

std::int32_t dot1(const std::int16_t* a, const std::int16_t* b, std::int64_t k) {
  std::uint32_t s = 0;
  for (std::int64_t i = 0; i < k; ++i) s += static_cast<std::uint32_t>(a[i] * b[i]);
  return static_cast<std::int32_t>(s);
}

// The plain triple loop for integers, which wrap.
template <class T>
void gemm_integer(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, const T* b, T* c) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      std::uint64_t sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += static_cast<std::uint64_t>(a[i * k + l]) * static_cast<std::uint64_t>(b[l * n + j]);
      c[i * n + j] = static_cast<T>(sum);
    }
}

}  // namespace

template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, const T* b, T* c, bool accumulate) {
  if (m == 0 || n == 0) return;
  Eigen::Map<RowMajor<T>> mc(c, m, n);
  if (k == 0) {
    if (!accumulate) mc.setZero();
    return;
  }
  const Eigen::Map<const RowMajor<T>> ma(a, m, k), mb(b, k, n);
  if (accumulate)
    mc.noalias() += ma * mb;
  else
    mc.noalias() = ma * mb;
}
template void gemm<float>(std::int64_t, std::int64_t, std::int64_t, const float*, const float*, float*, bool);
template void gemm<double>(std::int64_t, std::int64_t, std::int64_t, const double*, const double*, double*, bool);

void gemm_i16(std::int64_t m, std::int64_t n, std::int64_t k, const std::int16_t* a, const std::int16_t* bt,
              std::int32_t* c) {
  // Blocks of rows of `bt` that stay in the first-level cache while all rows of `a` pass by.
  const std::int64_t block = std::max<std::int64_t>(4, 12 * 1024 / std::max<std::int64_t>(k, 1) / 4 * 4);
  for (std::int64_t j0 = 0; j0 < n; j0 += block) {
    const std::int64_t end = std::min(n, j0 + block);
    for (std::int64_t i = 0; i < m; ++i) {
      std::int64_t j = j0;
      for (; j + 4 <= end; j += 4) dot4(a + i * k, bt + j * k, k, k, c + i * n + j);
      for (; j < end; ++j) c[i * n + j] = dot1(a + i * k, bt + j * k, k);
    }
  }
}

std::vector<std::int16_t> centred(const OpContext& ctx, const Tensor& t, const Tensor* zero, std::size_t axis) {
  std::vector<std::int16_t> out(static_cast<std::size_t>(t.size()));
  std::vector<std::int64_t> zeros(1, 0);
  if (zero != nullptr) zeros = zero->to_ints();
  const std::int64_t extent = axis < t.shape().size() ? t.shape()[axis] : 1;
  const auto zero_count = static_cast<std::int64_t>(zeros.size());
  if (zero_count != 1 && zero_count != extent)
    ctx.reject(fmt::format("{} zero points for an axis of {}", zero_count, extent));
  const std::int64_t inner = product(t.shape(), std::min(axis + 1, t.shape().size()), t.shape().size());
  visit_storage(t.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto v = t.data<T>();
    for (std::size_t i = 0; i < v.size(); ++i) {
      const std::size_t z = zero_count == 1 ? 0 : i / static_cast<std::size_t>(inner) % zeros.size();
      out[i] = static_cast<std::int16_t>(static_cast<std::int64_t>(v[i]) - zeros[z]);
    }
  });
  return out;
}

void matmul(const Tensor& a, const Tensor& b, Tensor& out) {
  const MatMulShape s = matmul_shape(a.shape(), b.shape());
  const std::vector<std::int64_t> a_strides = broadcast_strides(s.a_batch, s.batch);
  const std::vector<std::int64_t> b_strides = broadcast_strides(s.b_batch, s.batch);
  const std::int64_t count = element_count(s.batch);
  visit_numeric(out.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T *pa = a.data<T>().data(), *pb = b.data<T>().data();
    T* pc = out.data<T>().data();
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = i, ia = 0, ib = 0;
      for (std::size_t d = s.batch.size(); d-- > 0;) {
        ia += rest % s.batch[d] * a_strides[d];
        ib += rest % s.batch[d] * b_strides[d];
        rest /= s.batch[d];
      }
      const T *xa = pa + ia * s.m * s.k, *xb = pb + ib * s.k * s.n;
      T* xc = pc + i * s.m * s.n;
      if constexpr (std::is_floating_point_v<T>)
        gemm<T>(s.m, s.n, s.k, xa, xb, xc);
      else
        gemm_integer<T>(s.m, s.n, s.k, xa, xb, xc);
    }
  });
}

}  // namespace assay
