#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/ops/nest.h"
#include "core/ops/op.h"
#include "core/ops/shapes.h"

// Small words for writing nests.

namespace assay {

inline Slot input_slot(std::size_t i) { return {Slot::Kind::input, static_cast<int>(i)}; }
inline Slot output_slot(std::size_t i) { return {Slot::Kind::output, static_cast<int>(i)}; }
inline Slot temp_slot(std::size_t i) { return {Slot::Kind::temp, static_cast<int>(i)}; }

/// coordinate = coefficient · dim + offset
AccessDim at(int dim, std::int64_t coefficient = 1, std::int64_t offset = 0);
/// coordinate = Σ coefficient · dim + offset
AccessDim at(std::vector<std::pair<int, std::int64_t>> terms, std::int64_t offset = 0);
AccessDim fixed(std::int64_t offset = 0);
Access access(Slot slot, std::vector<AccessDim> dims, std::optional<double> fill = std::nullopt);

int add_dim(Nest& nest, std::string name, std::int64_t extent, bool reduction = false);
/// A nest with one parallel dimension d0, d1, … per axis of `shape`.
Nest nest_over(const Shape& shape);
/// Dimension i of the nest at axis i, for the first `rank` dimensions.
Access identity_access(Slot slot, std::size_t rank);
/// An operand of shape `in` that numpy-broadcasts to dimensions d0 … of `out`: no term where it is broadcast.
Access broadcast_access(Slot slot, const Shape& in, const Shape& out);

/// Writes a Body. Values are in `work` unless said otherwise.
class BodyWriter {
 public:
  explicit BodyWriter(DType work) : work_(work) {}
  int in(int operand, DType type);  ///< converted to the work type where it differs
  int number(double v) { return body_.constant(v, work_); }
  int index(int dim);  ///< the coordinate along a dimension
  int op(ScalarOp o, int a, int b = -1, int c = -1) { return body_.push(o, work_, a, b, c); }
  int test(ScalarOp o, int a, int b = -1) { return body_.push(o, DType::boolean, a, b); }
  int cast(int v, DType to);
  Body done(int value, DType out);  ///< the body whose result is `value`, of type `out`
  DType work() const { return work_; }

 private:
  DType work_;
  Body body_;
};

Body identity_body(DType type);

/// One nest over output 0 whose operands are the given inputs, broadcast. `write` gets the operands' values in
/// order, already in `work`, and returns the result. `work` is the type of the first operand unless given.
using WriteBody = std::function<int(BodyWriter&, const std::vector<int>&)>;
NestProgram elementwise_nest(const OpContext& ctx, const std::vector<std::size_t>& operands, DType work,
                             const WriteBody& write);

NestProgram single(Nest nest);

}  // namespace assay
