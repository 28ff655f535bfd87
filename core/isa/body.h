#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"

// The scalar body of a loop nest: a short straight-line program in SSA form, evaluated once per iteration point.
//   gelu-free example, relu(x * s + b):   v0 = input 0   v1 = input 1   v2 = mul v0 v1   v3 = input 2
//                                         v4 = add v2 v3   v5 = constant 0   v6 = max v4 v5

namespace assay {

enum class ScalarOp : std::uint8_t {
  input,     ///< a = operand number
  constant,  ///< imm
  index,     ///< a = iteration dimension: the global coordinate (used for masks and iota)
  add,
  sub,
  mul,
  div,
  mod,
  min,
  max,
  pow,   // two operands (mod: sign of the divisor, Python's %)
  fmod,  // sign of the dividend, C's fmod
  neg,
  abs,
  sign,
  floor,
  ceil,
  round_even,
  trunc,  // one operand
  sqrt,
  rsqrt,
  reciprocal,
  exp,
  log,
  sin,
  cos,
  tan,
  tanh,
  sinh,
  cosh,
  asin,
  acos,
  atan,
  asinh,
  acosh,
  atanh,
  erf,
  sigmoid,
  less,
  less_equal,
  equal,  // -> boolean
  logical_and,
  logical_or,
  logical_xor,
  logical_not,
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  shift_left,
  shift_right,
  is_nan,
  is_inf,
  select,  ///< a ? b : c
  cast,    ///< to `type`: float → integer saturates after truncation toward zero, NaN → 0
};

/// `type` is the type in which the operation is carried out and of its result. fp16/bf16 operations are computed in
/// fp32 and rounded; integer operations wrap to their width; `div` of integers truncates toward zero.
struct ScalarInstr {
  ScalarOp op = ScalarOp::constant;
  DType type = DType::f32;
  int a = -1, b = -1, c = -1;
  double imm = 0;
  friend bool operator==(const ScalarInstr&, const ScalarInstr&) = default;
};

struct Body {
  std::vector<ScalarInstr> code;  ///< the value of the body is the last instruction's
  friend bool operator==(const Body&, const Body&) = default;

  int input(int operand, DType type);
  int constant(double value, DType type);
  int push(ScalarOp op, DType type, int a, int b = -1, int c = -1);
  bool is_identity() const;  ///< exactly `input 0`
  DType type() const { return code.back().type; }
};

/// Folds the body's values over the reduction dimensions of the nest.
enum class Combine : std::uint8_t { none, sum, product, max, min };

int arity(ScalarOp op);  ///< operands among a, b, c that are instruction numbers
std::string_view name(ScalarOp op);
std::optional<ScalarOp> parse_scalar_op(std::string_view text);
std::string_view name(Combine c);
std::optional<Combine> parse_combine(std::string_view text);
/// `arithmetic`, `compare`, `transcendental`, `convert`: the class a vector unit may list instead of the name.
std::string_view op_class(ScalarOp op);
/// `body` with `inner` substituted for its operand `operand`; operands of `inner` are renumbered by `inner_map`,
/// the others of `body` by `outer_map` (old number → new number). This is how elementwise chains fuse.
Body substitute(const Body& body, int operand, const Body& inner, const std::vector<int>& outer_map,
                const std::vector<int>& inner_map);

}  // namespace assay
