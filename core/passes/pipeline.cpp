#include "core/passes/batch_norm_folding.h"
#include "core/passes/canonicalise.h"
#include "core/passes/common_subexpression.h"
#include "core/passes/composite_recognition.h"
#include "core/passes/constant_folding.h"
#include "core/passes/dead_code.h"
#include "core/passes/dequantise_sinking.h"
#include "core/passes/gemm_to_matmul.h"
#include "core/passes/pass.h"
#include "core/passes/qdq_absorption.h"
#include "core/passes/transpose_elimination.h"

namespace assay {
namespace {

std::size_t fold_keeping_quantised(Graph& g, PassContext& c) {
  return fold_constants(g, c, {.keep_quantised_weights = true});
}
std::size_t fold_everything(Graph& g, PassContext& c) { return fold_constants(g, c, {}); }

// Tolerances are relative to the largest magnitude of an output, for fp32 (see value_check.h).
constexpr double kExact = 0, kReassociated = 1e-5, kRescaled = 1e-4;
// A normalisation divides by the spread of its operand: the rounding of the mean grows by mean / spread.
constexpr double kNormalised = 1e-4;

}  // namespace

std::vector<Pass> standard_pipeline() {
  return {
      // First: exporters write shapes as arithmetic, and every other pass looks for constants.
      {"constant-folding", "Evaluates nodes whose operands are all constants (quantised weights wait).",
       "Add(2, 3) -> 5", kExact, fold_keeping_quantised},
      // Before anything asks whether a value has a single use: a dead node is a use.
      {"dead-code", "Removes nodes and constants that no output needs.",
       "y = Relu(x), z = Exp(x), output y -> y = Relu(x), output y", kExact, remove_dead_code},
      // Before the passes that look for patterns: one form of each thing.
      {"canonicalise", "Removes nodes that do nothing and merges chains of transposes and reshapes.",
       "Transpose(Transpose(x)) -> Transpose(x)", kExact, canonicalise},
      // After canonicalise, which makes equal things look equal; before composites, whose pieces must appear once.
      {"common-subexpression", "Computes equal things once.", "Add(Exp(x), Exp(x)) -> t = Exp(x), Add(t, t)", kExact,
       merge_common_subexpressions},
      // Before anything rewrites the pieces.
      {"composite-recognition", "Recognises LayerNormalization, RMSNormalization and Softmax written in pieces.",
       "Mul(Div(Sub(x, mean), Sqrt(var + eps)), scale) + shift -> LayerNormalization(x, scale, shift)", kNormalised,
       recognise_composites},
      // While Gemm still has a bias to fold into.
      {"batch-norm-folding", "Folds BatchNormalization into the weights before it, or makes it Mul and Add.",
       "BatchNormalization(Conv(x, w, b)) -> Conv(x, w', b')", kRescaled, fold_batch_norm},
      // Before everything that looks for a matrix product.
      {"gemm-to-matmul", "Writes Gemm as MatMul and Add.", "Gemm(a, b, c) -> Add(MatMul(a, b), c)", kReassociated,
       lower_gemm},
      // Clears the way between DequantizeLinear and the products for the next pass.
      {"dequantise-sinking", "Moves data movement, MaxPool and Concat to the integer side of DequantizeLinear.",
       "Transpose(DequantizeLinear(q)) -> DequantizeLinear(Transpose(q))", kExact, sink_dequantise},
      {"qdq-absorption", "Runs products of dequantised operands on integers.",
       "MatMul(DQ(a), DQ(b)) -> Mul(Cast(MatMulInteger(a, b)), sa*sb)", kReassociated, absorb_qdq},
      // After the products took the nodes around them: what is left moves data for its own sake.
      {"transpose-elimination", "Removes transposes and reshapes that undo each other around elementwise chains.",
       "Transpose'(Relu(Transpose(x))) -> Relu(x)", kReassociated, eliminate_transposes},
      // Cleans up after the rewriting passes, in the order of the first time.
      {"late-constant-folding", "Constant folding again, quantised weights included.",
       "DequantizeLinear(3, 0.5) -> 1.5", kExact, fold_everything},
      {"late-canonicalise", "Canonicalisation again.", "Reshape(Reshape(x)) -> Reshape(x)", kExact, canonicalise},
      {"late-common-subexpression", "Common subexpressions again.", "Add(Exp(x), Exp(x)) -> t = Exp(x), Add(t, t)",
       kExact, merge_common_subexpressions},
  };
}

}  // namespace assay
