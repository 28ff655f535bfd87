#pragma once

#include "core/passes/pass.h"

namespace assay {

/// Seeded values for every input of a graph: floats normal with deviation 1, booleans fair, int8 and uint8
/// their whole range (quantised data), other integers from 0 to `largest_integer` (they are often indices).
TensorMap random_inputs(const Graph& g, std::uint64_t seed, std::int64_t largest_integer = 3);

/// How far the outputs of `got` may be from those of `expected` after a pass with this tolerance, or the reason why
/// they are too far; empty if all is well.
///
/// - tolerance 0: bit for bit (NaN equals NaN).
/// - floats otherwise: |got − expected| <= tolerance · max|expected|, where the tolerance is stated for fp32 and
///   grows with the machine epsilon of the narrowest float type in the graph (× 2^13 for fp16, × 2^16 for bf16).
/// - in a graph that quantises, a float change of any size can turn a rounding tie: integer outputs of at most 16
///   bits may then differ by one unit and float outputs by 1/64 of the largest magnitude (two steps of an int8
///   range).
/// - all other integers and booleans: exact.
std::string explain_difference(const Graph& g, const TensorMap& got, const TensorMap& expected, double tolerance);

/// The graph's outputs on seeded inputs, to be compared after each pass.
class ValueCheck {
 public:
  /// Throws InputError if the graph can't be executed (weights by shape only, an input rejected by an operation).
  ValueCheck(const Graph& g, std::uint64_t seed);
  /// Executes `g` and compares with the previous state; throws InternalError naming the pass if they differ by more
  /// than it may. What it computed is the expectation for the next pass.
  void require_same(const Graph& g, const Pass& pass);

 private:
  TensorMap inputs_, expected_;
};

}  // namespace assay
