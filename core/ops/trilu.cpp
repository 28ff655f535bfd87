#include "core/ops/build_nest.h"
#include "core/ops/eval.h"

// Trilu: keeps the triangle on and above (upper) or on and below diagonal k of each matrix.

namespace assay {
namespace {

bool is_upper(const OpContext& c) { return c.attributes->integer("upper", 1) != 0; }

void evaluate(EvalContext& c) {
  const std::int64_t k = c.op.has(1) ? c.in(1).get_int(0) : 0;
  const bool upper = is_upper(c.op);
  c.out[0] = c.in(0);
  const Shape& s = c.in(0).shape();
  const std::int64_t rows = s[s.size() - 2], cols = s.back();
  const auto width = static_cast<std::int64_t>(storage_size(c.in(0).dtype()));
  std::byte* x = c.out[0].bytes().data();
  for (std::int64_t flat = 0; flat < c.in(0).size(); ++flat) {
    const std::int64_t i = flat / cols % rows, j = flat % cols;
    // j − i fits; k may be anything.
    const bool keep = upper ? j - i >= k : j - i <= k;
    if (!keep) std::fill_n(x + flat * width, width, std::byte{0});
  }
}

std::optional<NestProgram> nests(const OpContext& c) {
  if (c.has(1) && !is_constant(c, 1)) return std::nullopt;
  const auto k = static_cast<double>(c.has(1) ? c.values[1]->get_int(0) : 0);
  const TensorType& t = c.type(0);
  const auto rank = static_cast<int>(t.shape.size());
  Nest nest = nest_over(t.shape);
  nest.ins = {identity_access(input_slot(0), t.shape.size())};
  nest.out = identity_access(output_slot(0), t.shape.size());
  Body& b = nest.body;
  const int x = b.input(0, t.dtype), zero = b.constant(0, t.dtype);
  const int i = b.push(ScalarOp::index, DType::i32, rank - 2), j = b.push(ScalarOp::index, DType::i32, rank - 1);
  const int offset = b.constant(k, DType::i32);  // saturates beyond any matrix
  const int distance = b.push(ScalarOp::sub, DType::i32, j, i);
  const int keep = is_upper(c) ? b.push(ScalarOp::less_equal, DType::boolean, offset, distance)
                               : b.push(ScalarOp::less_equal, DType::boolean, distance, offset);
  b.push(ScalarOp::select, t.dtype, keep, x, zero);
  nest.accumulator = t.dtype;
  return single(std::move(nest));
}

}  // namespace

void register_trilu(OpRegistry& r) {
  OpDef def;
  def.name = "Trilu";
  def.kind = OpKind::nest;
  def.max_inputs = 2;
  def.infer = [](const OpContext& c) {
    require_min_rank(c, 0, 2);
    if (c.has(1)) {
      if (c.type(1).dtype != DType::i64 || element_count(c.shape(1)) != 1) c.reject("k must be one int64");
    }
    return std::vector{c.type(0)};
  };
  def.evaluate = evaluate;
  def.nests = nests;
  r.add(std::move(def));
}

}  // namespace assay
