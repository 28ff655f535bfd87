#include "hwmodels/functional/gemm.h"

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>

// One object file, several instruction sets: the loader picks (integer sums are the same on all of them).
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define ASSAY_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))
#else
#define ASSAY_CLONES
#endif

namespace assay {
namespace {

template <class T>
void eigen_gemm(const T* a, const T* b, T* c, std::int64_t m, std::int64_t n, std::int64_t k) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const Matrix> left(a, m, k), right(b, n, k);
  Eigen::Map<Matrix> out(c, m, n);
  out.noalias() = left * right.transpose();
}

/// Sums of 2^14 products of 9-bit magnitudes (|x| <= 2^8) stay below 2^31.
constexpr std::int64_t kChunk = 1 << 14;

/// A strip of one row of A against four rows of B; the compiler makes multiply-add pairs of the inner loop.
ASSAY_CLONES void dot4(const std::int16_t* __restrict a, const std::int16_t* __restrict b, std::int64_t b_stride,
                       std::int64_t k, std::int32_t* __restrict out) {
  const std::int16_t *b0 = b, *b1 = b + b_stride, *b2 = b + 2 * b_stride, *b3 = b + 3 * b_stride;
  std::int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (std::int64_t i = 0; i < k; ++i) {
    const std::int32_t x = a[i];
    s0 += x * b0[i];
    s1 += x * b1[i];
    s2 += x * b2[i];
    s3 += x * b3[i];
  }
  out[0] = s0;
  out[1] = s1;
  out[2] = s2;
  out[3] = s3;
}

ASSAY_CLONES void dot_rows(const std::int16_t* __restrict a, const std::int16_t* __restrict b, std::int64_t k,
                           std::int32_t* __restrict out, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int16_t* row = b + j * k;
    std::int32_t s = 0;
    for (std::int64_t i = 0; i < k; ++i) s += static_cast<std::int32_t>(a[i]) * row[i];
    out[j] = s;
  }
}

}  // namespace

void gemm(const float* a, const float* b, float* c, std::int64_t m, std::int64_t n, std::int64_t k) {
  eigen_gemm(a, b, c, m, n, k);
}
void gemm(const double* a, const double* b, double* c, std::int64_t m, std::int64_t n, std::int64_t k) {
  eigen_gemm(a, b, c, m, n, k);
}

void gemm(const std::int16_t* a, const std::int16_t* b, std::int32_t* c, std::int64_t m, std::int64_t n,
          std::int64_t k) {
  const auto add = [](std::int32_t& to, std::int32_t v) {
    to = static_cast<std::int32_t>(static_cast<std::uint32_t>(to) + static_cast<std::uint32_t>(v));
  };
  std::fill_n(c, m * n, 0);
  // Blocks of B's rows stay in the first-level cache while all rows of A pass.
  for (std::int64_t k0 = 0; k0 < k; k0 += kChunk) {
    const std::int64_t depth = std::min(kChunk, k - k0);
    const std::int64_t block = std::max<std::int64_t>(4, std::min<std::int64_t>(64, (12'000 / depth) / 4 * 4));
    for (std::int64_t n0 = 0; n0 < n; n0 += block) {
      const std::int64_t n1 = std::min(n, n0 + block);
      for (std::int64_t i = 0; i < m; ++i) {
        const std::int16_t* row = a + i * k + k0;
        std::int64_t j = n0;
        std::int32_t sum[4];
        for (; j + 4 <= n1; j += 4) {
          dot4(row, b + j * k + k0, k, depth, sum);
          for (std::int64_t q = 0; q < 4; ++q) add(c[i * n + j + q], sum[q]);
        }
        for (; j < n1; ++j) {
          dot_rows(row, b + j * k + k0, depth, sum, 1);
          add(c[i * n + j], sum[0]);
        }
      }
    }
  }
}

void gemm(const std::int64_t* a, const std::int64_t* b, std::int64_t* c, std::int64_t m, std::int64_t n,
          std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      std::uint64_t sum = 0;
      for (std::int64_t x = 0; x < k; ++x)
        sum += static_cast<std::uint64_t>(a[i * k + x]) * static_cast<std::uint64_t>(b[j * k + x]);
      c[i * n + j] = static_cast<std::int64_t>(sum);
    }
}

}  // namespace assay
