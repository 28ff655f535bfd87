#include "core/ops/build_nest.h"

#include "core/base/check.h"

namespace assay {

AccessDim at(int dim, std::int64_t coefficient, std::int64_t offset) {
  AccessDim d;
  d.offset = offset;
  d.terms = {{dim, coefficient}};
  return d;
}

AccessDim at(std::vector<std::pair<int, std::int64_t>> terms, std::int64_t offset) {
  AccessDim d;
  d.offset = offset;
  d.terms = std::move(terms);
  return d;
}

AccessDim fixed(std::int64_t offset) {
  AccessDim d;
  d.offset = offset;
  return d;
}

Access access(Slot slot, std::vector<AccessDim> dims, std::optional<double> fill) {
  Access a;
  a.slot = slot;
  a.dims = std::move(dims);
  a.fill = fill;
  return a;
}

int add_dim(Nest& nest, std::string name, std::int64_t extent, bool reduction) {
  nest.dims.push_back({std::move(name), extent, reduction});
  return static_cast<int>(nest.dims.size()) - 1;
}

Nest nest_over(const Shape& shape) {
  Nest nest;
  for (std::size_t i = 0; i < shape.size(); ++i) add_dim(nest, "d" + std::to_string(i), shape[i]);
  return nest;
}

Access identity_access(Slot slot, std::size_t rank) {
  Access a = access(slot, {});
  for (std::size_t i = 0; i < rank; ++i) a.dims.push_back(at(static_cast<int>(i)));
  return a;
}

Access broadcast_access(Slot slot, const Shape& in, const Shape& out) {
  Access a = access(slot, {});
  const std::size_t lead = out.size() - in.size();
  for (std::size_t i = 0; i < in.size(); ++i)
    a.dims.push_back(in[i] == out[lead + i] ? at(static_cast<int>(lead + i)) : fixed());
  return a;
}

int BodyWriter::in(int operand, DType type) { return cast(body_.input(operand, type), work_); }

int BodyWriter::index(int dim) { return body_.push(ScalarOp::index, work_, dim); }

int BodyWriter::cast(int v, DType to) {
  return body_.code[static_cast<std::size_t>(v)].type == to ? v : body_.push(ScalarOp::cast, to, v);
}

Body BodyWriter::done(int value, DType out) {
  const int v = cast(value, out);
  ASSAY_CHECK(v + 1 == static_cast<int>(body_.code.size()), "the result of a body must be its last value");
  return body_;
}

Body identity_body(DType type) {
  Body b;
  b.input(0, type);
  return b;
}

NestProgram elementwise_nest(const OpContext& ctx, const std::vector<std::size_t>& operands, DType work,
                             const WriteBody& write) {
  const TensorType& out = ctx.outputs[0];
  Nest nest = nest_over(out.shape);
  BodyWriter w(work);
  std::vector<int> values;
  for (const std::size_t i : operands) {
    nest.ins.push_back(broadcast_access(input_slot(i), ctx.shape(i), out.shape));
    values.push_back(w.in(static_cast<int>(values.size()), ctx.type(i).dtype));
  }
  nest.out = identity_access(output_slot(0), out.shape.size());
  nest.body = w.done(write(w, values), out.dtype);
  nest.accumulator = out.dtype;
  return single(std::move(nest));
}

NestProgram single(Nest nest) {
  NestProgram p;
  p.nests.push_back(std::move(nest));
  return p;
}

}  // namespace assay
