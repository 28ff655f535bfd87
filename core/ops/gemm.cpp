#include <fmt/format.h>

#include "core/ops/build_nest.h"
#include "core/ops/eval.h"
#include "core/ops/kernels.h"

// Gemm: y = alpha · op(A) · op(B) + beta · C.

namespace assay {
namespace {

struct GemmShape {
  bool ta = false, tb = false;
  std::int64_t m = 0, n = 0, k = 0;
};

GemmShape gemm_shape(const OpContext& c) {
  require_rank(c, 0, 2);
  require_rank(c, 1, 2);
  GemmShape s;
  s.ta = c.attributes->integer("transA", 0) != 0;
  s.tb = c.attributes->integer("transB", 0) != 0;
  s.m = c.shape(0)[s.ta ? 1 : 0];
  s.k = c.shape(0)[s.ta ? 0 : 1];
  s.n = c.shape(1)[s.tb ? 0 : 1];
  const std::int64_t kb = c.shape(1)[s.tb ? 1 : 0];
  if (s.k != kb) c.reject(fmt::format("the inner dimensions differ: {} and {}", s.k, kb));
  return s;
}

std::vector<TensorType> infer(const OpContext& c) {
  require_type(c, 0, kNumbers);
  require_same_type(c, 0, 1);
  const GemmShape s = gemm_shape(c);
  const Shape out{s.m, s.n};
  if (c.has(2)) {
    require_same_type(c, 0, 2);
    if (c.shape(2).size() > 2 || broadcast_shape(c, std::vector{out, c.shape(2)}) != out)
      c.reject(fmt::format("C of shape {} does not broadcast to {}", to_string(c.shape(2)), to_string(out)));
  }
  if (!is_float(c.type(0).dtype) && (c.attributes->real("alpha", 1) != 1 || c.attributes->real("beta", 1) != 1))
    c.reject("integer operands need alpha = beta = 1");
  return {{c.type(0).dtype, out}};
}

Tensor transposed(const Tensor& t) {
  Tensor out({t.dtype(), {t.shape()[1], t.shape()[0]}});
  read_strided(t, 0, {1, t.shape()[1]}, out);
  return out;
}

void evaluate(EvalContext& c) {
  const GemmShape s = gemm_shape(c.op);
  const Tensor& a = c.in(0);
  const Tensor& b = c.in(1);
  Tensor& out = c.out[0];
  matmul(s.ta ? transposed(a) : a, s.tb ? transposed(b) : b, out);
  visit_numeric(out.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T alpha = static_cast<T>(c.op.attributes->real("alpha", 1));
    const T beta = static_cast<T>(c.op.attributes->real("beta", 1));
    if (c.op.has(2))
      zip<T, T, T>(out, [=](T x, T y) { return static_cast<T>(alpha * x + beta * y); }, {&out, &c.in(2)});
    else if (alpha != T{1})
      zip<T, T>(out, [=](T x) { return static_cast<T>(alpha * x); }, {&out});
  });
}

NestProgram nests(const OpContext& c) {
  const GemmShape s = gemm_shape(c);
  const TensorType& out = c.outputs[0];
  const DType work = work_type(out.dtype);
  const double alpha = c.attributes->real("alpha", 1), beta = c.attributes->real("beta", 1);
  const bool add_c = c.has(2) && beta != 0, epilogue = add_c || alpha != 1;
  NestProgram p;
  Nest nest;
  const int m = add_dim(nest, "m", s.m), n = add_dim(nest, "n", s.n), k = add_dim(nest, "k", s.k, true);
  nest.ins = {access(input_slot(0), s.ta ? std::vector{at(k), at(m)} : std::vector{at(m), at(k)}),
              access(input_slot(1), s.tb ? std::vector{at(n), at(k)} : std::vector{at(k), at(n)})};
  nest.out = access(epilogue ? temp_slot(0) : output_slot(0), {at(m), at(n)});
  nest.combine = Combine::sum;
  nest.accumulator = work;
  nest.contraction = true;
  p.nests.push_back(std::move(nest));
  if (!epilogue) return p;

  p.temps.push_back({work, out.shape});
  Nest last;
  add_dim(last, "m", s.m);
  add_dim(last, "n", s.n);
  BodyWriter w(work);
  last.ins.push_back(identity_access(temp_slot(0), 2));
  int v = w.in(0, work);
  if (alpha != 1) v = w.op(ScalarOp::mul, v, w.number(alpha));
  if (add_c) {
    last.ins.push_back(broadcast_access(input_slot(2), c.shape(2), out.shape));
    int bias = w.in(1, c.type(2).dtype);
    if (beta != 1) bias = w.op(ScalarOp::mul, bias, w.number(beta));
    v = w.op(ScalarOp::add, v, bias);
  }
  last.out = identity_access(output_slot(0), 2);
  last.body = w.done(v, out.dtype);
  last.accumulator = out.dtype;
  p.nests.push_back(std::move(last));
  return p;
}

}  // namespace

void register_gemm(OpRegistry& r) {
  OpDef def;
  def.name = "Gemm";
  def.kind = OpKind::nest;
  def.min_inputs = 2;
  def.max_inputs = 3;
  def.infer = infer;
  def.evaluate = widened(evaluate);
  def.nests = nests;
  r.add(std::move(def));
}

}  // namespace assay
