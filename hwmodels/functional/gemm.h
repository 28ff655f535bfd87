#pragma once

#include <cstdint>

namespace assay {

// C[m][n] = Σ_k A[m][k] · B[n][k], all row-major and dense: both operands have k innermost.

/// fp32 and fp64 through Eigen: accumulated in the operands' type.
void gemm(const float* a, const float* b, float* c, std::int64_t m, std::int64_t n, std::int64_t k);
void gemm(const double* a, const double* b, double* c, std::int64_t m, std::int64_t n, std::int64_t k);
/// Operands of at most 9 bits with sign (8-bit values less their zero point); exact modulo 2^32.
void gemm(const std::int16_t* a, const std::int16_t* b, std::int32_t* c, std::int64_t m, std::int64_t n,
          std::int64_t k);
/// Any integers; exact modulo 2^64.
void gemm(const std::int64_t* a, const std::int64_t* b, std::int64_t* c, std::int64_t m, std::int64_t n,
          std::int64_t k);

}  // namespace assay
