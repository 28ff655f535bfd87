#include <fmt/format.h>

#include "core/ops/build_nest.h"
#include "core/ops/eval.h"
#include "core/ops/kernels.h"
#include "core/ops/matmul_shape.h"

namespace assay {

MatMulShape matmul_shape(const Shape& a, const Shape& b) {
  MatMulShape s;
  s.row = a.size() == 1;
  s.column = b.size() == 1;
  s.k = a.back();
  s.k_right = s.column ? b[0] : b[b.size() - 2];
  if (!s.row) s.m = a[a.size() - 2];
  if (!s.column) s.n = b.back();
  if (a.size() > 2) s.a_batch.assign(a.begin(), a.end() - 2);
  if (b.size() > 2) s.b_batch.assign(b.begin(), b.end() - 2);
  OpContext c;
  c.op = "MatMul";
  s.batch = broadcast_shape(c, std::vector{s.a_batch, s.b_batch});
  return s;
}

Shape MatMulShape::result() const {
  Shape r = batch;
  if (!row) r.push_back(m);
  if (!column) r.push_back(n);
  return r;
}

MatMulShape checked_matmul_shape(const OpContext& ctx, std::size_t a, std::size_t b) {
  require_min_rank(ctx, a, 1);
  require_min_rank(ctx, b, 1);
  const Shape &x = ctx.shape(a), &y = ctx.shape(b);
  if (x.size() > 2 && y.size() > 2)
    broadcast_shape(ctx, std::vector{Shape(x.begin(), x.end() - 2), Shape(y.begin(), y.end() - 2)});
  MatMulShape s = matmul_shape(x, y);
  if (s.k != s.k_right)
    ctx.reject(
        fmt::format("the inner dimensions of {} and {} differ: {} and {}", to_string(x), to_string(y), s.k, s.k_right));
  return s;
}

Nest matmul_nest(const MatMulShape& s, Slot a, Slot b, Slot out, DType accumulator) {
  Nest nest;
  const std::size_t rank = s.batch.size();
  for (std::size_t i = 0; i < rank; ++i) add_dim(nest, "b" + std::to_string(i), s.batch[i]);
  const int m = s.row ? -1 : add_dim(nest, "m", s.m);
  const int n = s.column ? -1 : add_dim(nest, "n", s.n);
  const int k = add_dim(nest, "k", s.k, true);
  const auto batch_dims = [&](const Shape& operand) { return broadcast_access(a, operand, s.batch).dims; };
  std::vector<AccessDim> da = batch_dims(s.a_batch), db = batch_dims(s.b_batch), dout = batch_dims(s.batch);
  if (!s.row) da.push_back(at(m)), dout.push_back(at(m));
  da.push_back(at(k));
  db.push_back(at(k));
  if (!s.column) db.push_back(at(n)), dout.push_back(at(n));
  nest.ins = {access(a, std::move(da)), access(b, std::move(db))};
  nest.out = access(out, std::move(dout));
  nest.combine = Combine::sum;
  nest.accumulator = accumulator;
  nest.contraction = true;
  return nest;
}

std::optional<double> uniform_zero(const OpContext& ctx, std::size_t operand) {
  if (!ctx.has(operand)) return 0;
  if (!is_constant(ctx, operand)) return std::nullopt;
  const std::vector<std::int64_t> z = ctx.values[operand]->to_ints();
  for (const std::int64_t v : z)
    if (v != z[0]) return std::nullopt;
  return z.empty() ? 0 : static_cast<double>(z[0]);
}

namespace {

void register_plain(OpRegistry& r) {
  OpDef def;
  def.name = "MatMul";
  def.kind = OpKind::nest;
  def.min_inputs = def.max_inputs = 2;
  def.infer = [](const OpContext& c) {
    require_type(c, 0, kNumbers);
    require_same_type(c, 0, 1);
    return std::vector<TensorType>{{c.type(0).dtype, checked_matmul_shape(c, 0, 1).result()}};
  };
  def.evaluate = widened([](EvalContext& c) { matmul(c.in(0), c.in(1), c.out[0]); });
  def.nests = [](const OpContext& c) {
    const MatMulShape s = checked_matmul_shape(c, 0, 1);
    return single(matmul_nest(s, input_slot(0), input_slot(1), output_slot(0), work_type(c.outputs[0].dtype)));
  };
  r.add(std::move(def));
}

std::vector<TensorType> infer_integer(const OpContext& c) {
  for (std::size_t i = 0; i < 2; ++i) {
    const DType t = c.type(i).dtype;
    if (t != DType::i8 && t != DType::u8) c.reject(fmt::format("operand {} is {}, expected int8 or uint8", i, name(t)));
  }
  const MatMulShape s = checked_matmul_shape(c, 0, 1);
  for (std::size_t i = 2; i < 4; ++i) {
    if (!c.has(i)) continue;
    require_same_type(c, i - 2, i);
    const std::int64_t count = element_count(c.shape(i)), extent = i == 2 ? s.m : s.n;
    if (count != 1 && count != extent)
      c.reject(fmt::format("{} zero points in operand {}, expected 1 or {}", count, i, extent));
  }
  return {{DType::i32, s.result()}};
}

void evaluate_integer(EvalContext& c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  const MatMulShape s = matmul_shape(a.shape(), b.shape());
  const auto zero = [&](std::size_t i) { return c.op.has(i) ? &c.in(i) : nullptr; };
  const std::size_t a_axis = s.row ? a.shape().size() : a.shape().size() - 2;
  const std::size_t b_axis = s.column ? b.shape().size() : b.shape().size() - 1;
  const std::vector<std::int16_t> ca = centred(c.op, a, zero(2), a_axis), cb = centred(c.op, b, zero(3), b_axis);
  const std::vector<std::int64_t> sa = broadcast_strides(s.a_batch, s.batch),
                                  sb = broadcast_strides(s.b_batch, s.batch);
  std::vector<std::int16_t> bt(static_cast<std::size_t>(s.k * s.n));
  std::int32_t* out = c.out[0].data<std::int32_t>().data();
  const std::int64_t count = element_count(s.batch);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, ia = 0, ib = 0;
    for (std::size_t d = s.batch.size(); d-- > 0;) {
      ia += rest % s.batch[d] * sa[d];
      ib += rest % s.batch[d] * sb[d];
      rest /= s.batch[d];
    }
    const std::int16_t* pb = cb.data() + ib * s.k * s.n;
    for (std::int64_t k = 0; k < s.k; ++k)
      for (std::int64_t n = 0; n < s.n; ++n) bt[static_cast<std::size_t>(n * s.k + k)] = pb[k * s.n + n];
    gemm_i16(s.m, s.n, s.k, ca.data() + ia * s.m * s.k, bt.data(), out + i * s.m * s.n);
  }
}

void register_integer(OpRegistry& r) {
  OpDef def;
  def.name = "MatMulInteger";
  def.kind = OpKind::nest;
  def.min_inputs = 2;
  def.max_inputs = 4;
  def.infer = infer_integer;
  def.evaluate = evaluate_integer;
  def.nests = [](const OpContext& c) -> std::optional<NestProgram> {
    const auto za = uniform_zero(c, 2), zb = uniform_zero(c, 3);
    if (!za || !zb) return std::nullopt;
    const MatMulShape s = checked_matmul_shape(c, 0, 1);
    Nest nest = matmul_nest(s, input_slot(0), input_slot(1), output_slot(0), DType::i32);
    nest.zero[0] = *za;
    nest.zero[1] = *zb;
    return single(std::move(nest));
  };
  r.add(std::move(def));
}

}  // namespace

void register_matmul(OpRegistry& r) {
  register_plain(r);
  register_integer(r);
}

}  // namespace assay
