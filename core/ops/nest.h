#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ir/tensor.h"
#include "core/isa/body.h"

// What an operation computes, as loop nests with affine accesses: tiling, fusion legality, cost and lowering all
// derive from this; nothing downstream looks at an operation's name.
//
//   Conv 3x3, stride 2, pad 1:
//     dims   n k p q | c r s (reduction)
//     in 0   x[n, c, 2p + r - 1, 2q + s - 1]  fill 0        in 1   w[k, c, r, s]
//     out    y[n, k, p, q]   combine sum, contraction
//
//   Softmax over the last axis: four nests and three temporaries (max, exp, sum)

namespace assay {

/// A tensor an operation's nests talk about.
struct Slot {
  enum class Kind : std::uint8_t { input, output, temp } kind = Kind::input;
  int number = 0;
  friend auto operator<=>(const Slot&, const Slot&) = default;
};

struct NestDim {
  std::string name;  ///< unique in the nest; same name and extent in two nests of one operation
                     ///< means the same dimension
  std::int64_t extent = 1;
  bool reduction = false;
};

struct AccessDim {
  std::int64_t offset = 0;
  std::vector<std::pair<int, std::int64_t>> terms;  ///< (nest dimension, coefficient)
  std::optional<int> index_operand;                 ///< gather: number among `ins` whose element is added
};

struct Access {
  Slot slot;
  std::vector<AccessDim> dims;  ///< one per dimension of the slot's tensor; empty for a scalar
  std::optional<double> fill;   ///< value of out-of-bounds reads (padding)
};

struct Nest {
  std::vector<NestDim> dims;
  std::vector<Access> ins;
  Access out;                       ///< each parallel iteration point writes one distinct element
  Body body;                        ///< operand numbers index `ins`
  Combine combine = Combine::none;  ///< `none` exactly if no dimension is a reduction
  DType accumulator = DType::f32;   ///< type of the fold
  bool contraction = false;         ///< body is (in0 − zero0)·(in1 − zero1), combine is sum
  double zero[2] = {0, 0};
  double init = 0;  ///< value of an empty fold (sum 0, product 1, max −inf, min +inf)
};

struct NestProgram {
  std::vector<TensorType> temps;
  std::vector<Nest> nests;  ///< in execution order
};

}  // namespace assay
