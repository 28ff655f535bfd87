#include <algorithm>

#include "core/ops/eval.h"

// Shape and Size: known from the operand's type, so they are constants before a program exists.

namespace assay {
namespace {

Shape part(const OpContext& c) {
  const Shape& s = c.shape(0);
  const auto rank = static_cast<std::int64_t>(s.size());
  const auto bound = [rank](std::int64_t v) { return std::clamp<std::int64_t>(v < 0 ? v + rank : v, 0, rank); };
  const std::int64_t first = bound(c.attributes->integer("start", 0)), last = bound(c.attributes->integer("end", rank));
  return first < last ? Shape(s.begin() + first, s.begin() + last) : Shape{};
}

}  // namespace

void register_shape_of(OpRegistry& r) {
  OpDef shape;
  shape.name = "Shape";
  shape.type_only = true;
  shape.infer = [](const OpContext& c) {
    return std::vector<TensorType>{{DType::i64, {static_cast<std::int64_t>(part(c).size())}}};
  };
  shape.evaluate = [](EvalContext& c) {
    const Shape s = part(c.op);
    std::copy(s.begin(), s.end(), c.out[0].data<std::int64_t>().begin());
  };
  OpDef size;
  size.name = "Size";
  size.type_only = true;
  size.infer = [](const OpContext&) { return std::vector<TensorType>{{DType::i64, {}}}; };
  size.evaluate = [](EvalContext& c) { c.out[0].data<std::int64_t>()[0] = element_count(c.op.shape(0)); };
  r.add(std::move(shape));
  r.add(std::move(size));
}

}  // namespace assay
