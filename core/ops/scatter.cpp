#include <fmt/format.h>

#include "core/ops/eval.h"

// ScatterElements (Scatter before opset 11) and ScatterND: a copy of the data in which indexed elements are replaced by
// updates, or combined with them. Opaque: several updates may meet one element, in order.

namespace assay {
namespace {

enum class Reduce { none, add, mul, max, min };

Reduce reduce_of(const OpContext& c) {
  const std::string r = c.attributes->text("reduction", "none");
  if (r == "none") return Reduce::none;
  if (r == "add") return Reduce::add;
  if (r == "mul") return Reduce::mul;
  if (r == "max") return Reduce::max;
  if (r == "min") return Reduce::min;
  c.reject("unknown reduction '" + r + "'");
}

template <class T>
T reduced(Reduce r, T old, T update) {
  using W = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;
  switch (r) {
    case Reduce::add:
      return static_cast<T>(static_cast<W>(old) + static_cast<W>(update));
    case Reduce::mul:
      return static_cast<T>(static_cast<W>(old) * static_cast<W>(update));
    case Reduce::max:
      return old < update ? update : old;
    case Reduce::min:
      return update < old ? update : old;
    case Reduce::none:
      break;
  }
  return update;
}

void check(const OpContext& c) {
  const DType t = c.type(1).dtype;
  if (t != DType::i32 && t != DType::i64) c.reject(fmt::format("the indices are {}, expected int32 or int64", name(t)));
  require_same_type(c, 0, 2);
  if (reduce_of(c) != Reduce::none) require_type(c, 0, kNumbers);
}

std::vector<TensorType> infer_elements(const OpContext& c) {
  check(c);
  require_min_rank(c, 0, 1);
  require_rank(c, 1, c.shape(0).size());
  const std::size_t axis = normal_axis(c, c.attributes->integer("axis", 0), c.shape(0).size());
  if (c.shape(1) != c.shape(2)) c.reject("indices and updates have different shapes");
  for (std::size_t i = 0; i < c.shape(0).size(); ++i)
    if (i != axis && c.shape(1)[i] > c.shape(0)[i]) c.reject("the indices reach beyond the data");
  return {c.type(0)};
}

void evaluate_elements(EvalContext& c) {
  Tensor& out = c.out[0];
  out = c.in(0);
  const std::size_t axis = normal_axis(c.op, c.op.attributes->integer("axis", 0), out.shape().size());
  const std::vector<std::int64_t> index = c.in(1).to_ints(), strides = strides_of(out.shape());
  const Shape& shape = c.in(1).shape();
  const Reduce reduce = reduce_of(c.op);
  visit_storage(out.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto to = out.data<T>();
    const auto from = c.in(2).data<T>();
    for (std::size_t flat = 0; flat < index.size(); ++flat) {
      std::int64_t at = checked_index(c.op, index[flat], out.shape()[axis]) * strides[axis];
      auto rest = static_cast<std::int64_t>(flat);
      for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d])
        if (d != axis) at += rest % shape[d] * strides[d];
      T& slot = to[static_cast<std::size_t>(at)];
      slot = reduced(reduce, slot, from[flat]);
    }
  });
}

std::vector<TensorType> infer_nd(const OpContext& c) {
  check(c);
  const Shape &data = c.shape(0), &index = c.shape(1);
  require_min_rank(c, 0, 1);
  require_min_rank(c, 1, 1);
  const std::int64_t depth = index.back();
  if (depth < 1 || depth > static_cast<std::int64_t>(data.size()))
    c.reject(fmt::format("indices of {} coordinates into {}", depth, to_string(data)));
  Shape expected(index.begin(), index.end() - 1);
  expected.insert(expected.end(), data.begin() + depth, data.end());
  if (c.shape(2) != expected)
    c.reject(fmt::format("the updates have shape {}, expected {}", to_string(c.shape(2)), to_string(expected)));
  return {c.type(0)};
}

void evaluate_nd(EvalContext& c) {
  Tensor& out = c.out[0];
  out = c.in(0);
  const std::vector<std::int64_t> index = c.in(1).to_ints(), strides = strides_of(out.shape());
  const auto depth = static_cast<std::size_t>(c.in(1).shape().back());
  const auto inner = static_cast<std::size_t>(product(out.shape(), depth, out.shape().size()));
  const Reduce reduce = reduce_of(c.op);
  visit_storage(out.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto to = out.data<T>();
    const auto from = c.in(2).data<T>();
    for (std::size_t i = 0; i * depth < index.size(); ++i) {
      std::int64_t at = 0;
      for (std::size_t j = 0; j < depth; ++j)
        at += checked_index(c.op, index[i * depth + j], out.shape()[j]) * strides[j];
      for (std::size_t k = 0; k < inner; ++k) {
        T& slot = to[static_cast<std::size_t>(at) + k];
        slot = reduced(reduce, slot, from[i * inner + k]);
      }
    }
  });
}

// 16-bit floats are combined in fp32.
std::function<void(EvalContext&)> evaluator(void (*f)(EvalContext&)) {
  return [wide = widened(f), f](EvalContext& c) { reduce_of(c.op) == Reduce::none ? f(c) : wide(c); };
}

}  // namespace

void register_scatter(OpRegistry& r) {
  for (const char* name : {"ScatterElements", "Scatter", "ScatterND"}) {
    const bool nd = std::string(name) == "ScatterND";
    OpDef def;
    def.name = name;
    def.min_inputs = def.max_inputs = 3;
    def.infer = nd ? infer_nd : infer_elements;
    def.evaluate = evaluator(nd ? evaluate_nd : evaluate_elements);
    r.add(std::move(def));
  }
}

}  // namespace assay
