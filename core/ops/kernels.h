#pragma once

#include <cstdint>
#include <vector>

#include "core/ops/op.h"

// Matrix products under the reference implementations. Results do not depend on the machine: the float product is
// compiled for the baseline instruction set, the integer product is exact.

namespace assay {

/// c[m, n] (+)= a[m, k] · b[k, n], dense row-major, fp32 or fp64.
template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, const T* b, T* c, bool accumulate = false);

/// c[m, n] = Σ_k a[m, k] · bt[n, k]: both operands contiguous along k. |a·b| < 2^31; sums wrap.
void gemm_i16(std::int64_t m, std::int64_t n, std::int64_t k, const std::int16_t* a, const std::int16_t* bt,
              std::int32_t* c);

/// An int8/uint8 tensor minus its zero point, which is a scalar or one per index along `axis`. InputError for other
/// shapes of the zero point.
std::vector<std::int16_t> centred(const OpContext& ctx, const Tensor& t, const Tensor* zero, std::size_t axis);

/// out[..., m, n] = Σ_k a[..., m, k] · b[..., k, n] with numpy's rules for batch dimensions and 1-D operands; any
/// numeric type but 16-bit floats.
void matmul(const Tensor& a, const Tensor& b, Tensor& out);

}  // namespace assay
