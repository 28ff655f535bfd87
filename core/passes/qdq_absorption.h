#pragma once

#include "core/passes/pass.h"

namespace assay {

/// Conv(DQ(x), DQ(w), b)  -> Add(Mul(Cast(ConvInteger(x, w)), sx·sw[channel]), b)
/// MatMul(DQ(a), DQ(b))   -> Mul(Cast(MatMulInteger(a, b)), sa·sb[column])
/// QLinearConv(x, w, b)   -> Q(Mul(Cast(Add(ConvInteger(x, w), b)), sx·sw[channel]))
/// QLinearMatMul(a, b)    -> Q(Mul(Cast(MatMulInteger(a, b)), sa·sb[column]))
///
/// The product runs on integers; what follows (Relu, QuantizeLinear, …) stays and fuses behind it as an elementwise
/// chain. Stands after dequantise-sinking, which clears the way between DequantizeLinear and the product, and after
/// gemm-to-matmul. Legal where scales and zero points are constants; x per tensor; w per tensor or per output
/// channel (axis 0 of Conv, last axis of MatMul) with one zero point; 8-bit operands; fp32 scales; and where int32
/// provably can't overflow. Otherwise the node stays on floats, with a remark.
///
/// Tolerance: the integer sum is exact where the float sum was rounded, so floats differ by rounding (1e-5 of the
/// largest). Behind a QuantizeLinear that can turn a tie: one step of that quantiser (see explain_difference).
std::size_t absorb_qdq(Graph& g, PassContext& context);

}  // namespace assay
