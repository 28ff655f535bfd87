#include <fmt/format.h>

#include "core/ops/build_nest.h"
#include "core/ops/eval.h"

// Gather, GatherElements and GatherND. A negative index counts from the end: the nests use the indices as they are
// where they are constant and none is negative; otherwise a first nest maps them.

namespace assay {
namespace {

void require_index(const OpContext& c, std::size_t operand) {
  const DType t = c.type(operand).dtype;
  if (t != DType::i32 && t != DType::i64) c.reject(fmt::format("the indices are {}, expected int32 or int64", name(t)));
}

std::size_t axis_of(const OpContext& c) { return normal_axis(c, c.attributes->integer("axis", 0), c.shape(0).size()); }

bool known_non_negative(const OpContext& c) {
  if (!is_constant(c, 1)) return false;
  for (const std::int64_t v : c.values[1]->to_ints())
    if (v < 0) return false;
  return true;
}

// Makes the indices non-negative in a temporary if needed; returns the slot to read them from.
// `extents[j]`: what to add along the last axis' entry j; one entry for all where the axis means nothing. `first` is
// the output dimension that the indices' first dimension becomes: they share a name, so that both can be tiled.
Slot usable_indices(const OpContext& c, NestProgram& p, const std::vector<std::int64_t>& extents,
                    std::size_t first = 0) {
  if (known_non_negative(c)) return input_slot(1);
  const TensorType& t = c.type(1);
  p.temps.push_back(t);
  const Slot temp = temp_slot(p.temps.size() - 1);
  const std::size_t rank = t.shape.size();
  for (std::size_t j = 0; j < extents.size(); ++j) {
    Nest nest;
    Access in = access(input_slot(1), {});
    for (std::size_t i = 0; i < rank; ++i)
      in.dims.push_back(extents.size() > 1 && i + 1 == rank
                            ? fixed(static_cast<std::int64_t>(j))
                            : at(add_dim(nest, "d" + std::to_string(first + i), t.shape[i])));
    nest.out = in;
    nest.out.slot = temp;
    nest.ins = {std::move(in)};
    BodyWriter w(t.dtype);
    const int v = w.in(0, t.dtype);
    const int negative = w.test(ScalarOp::less, v, w.number(0));
    const int wrapped = w.op(ScalarOp::add, v, w.number(static_cast<double>(extents[j])));
    nest.body = w.done(w.op(ScalarOp::select, negative, wrapped, v), t.dtype);
    nest.accumulator = t.dtype;
    p.nests.push_back(std::move(nest));
  }
  return temp;
}

AccessDim indexed(int operand) {
  AccessDim d;
  d.index_operand = operand;
  return d;
}

void register_plain(OpRegistry& r) {
  OpDef def;
  def.name = "Gather";
  def.kind = OpKind::nest;
  def.min_inputs = def.max_inputs = 2;
  def.infer = [](const OpContext& c) {
    require_index(c, 1);
    require_min_rank(c, 0, 1);
    const std::size_t axis = axis_of(c);
    TensorType t = c.type(0);
    t.shape.erase(t.shape.begin() + static_cast<std::ptrdiff_t>(axis));
    t.shape.insert(t.shape.begin() + static_cast<std::ptrdiff_t>(axis), c.shape(1).begin(), c.shape(1).end());
    return std::vector{t};
  };
  def.evaluate = [](EvalContext& c) {
    const Tensor& data = c.in(0);
    const std::size_t axis = axis_of(c.op);
    const std::vector<std::int64_t> index = c.in(1).to_ints();
    const std::int64_t outer = product(data.shape(), 0, axis), extent = data.shape()[axis];
    const std::int64_t inner = product(data.shape(), axis + 1, data.shape().size()) * storage_size(data.dtype());
    const std::byte* from = data.bytes().data();
    std::byte* to = c.out[0].bytes().data();
    for (std::int64_t o = 0; o < outer; ++o)
      for (const std::int64_t i : index) {
        const std::byte* row = from + (o * extent + checked_index(c.op, i, extent)) * inner;
        to = std::copy(row, row + inner, to);
      }
  };
  def.nests = [](const OpContext& c) {
    const TensorType& t = c.outputs[0];
    const std::size_t axis = axis_of(c), index_rank = c.shape(1).size();
    NestProgram p;
    const Slot indices = usable_indices(c, p, {c.shape(0)[axis]}, axis);
    Nest nest = nest_over(t.shape);
    std::vector<AccessDim> data, index;
    for (std::size_t i = 0; i < c.shape(0).size(); ++i)
      data.push_back(i == axis ? indexed(1) : at(static_cast<int>(i < axis ? i : i + index_rank - 1)));
    for (std::size_t i = 0; i < index_rank; ++i) index.push_back(at(static_cast<int>(axis + i)));
    nest.ins = {access(input_slot(0), std::move(data)), access(indices, std::move(index))};
    nest.out = identity_access(output_slot(0), t.shape.size());
    nest.body = identity_body(t.dtype);
    nest.accumulator = t.dtype;
    p.nests.push_back(std::move(nest));
    return p;
  };
  r.add(std::move(def));
}

void register_elements(OpRegistry& r) {
  OpDef def;
  def.name = "GatherElements";
  def.kind = OpKind::nest;
  def.min_inputs = def.max_inputs = 2;
  def.infer = [](const OpContext& c) {
    require_index(c, 1);
    require_min_rank(c, 0, 1);
    require_rank(c, 1, c.shape(0).size());
    const std::size_t axis = axis_of(c);
    for (std::size_t i = 0; i < c.shape(0).size(); ++i)
      if (i != axis && c.shape(1)[i] > c.shape(0)[i])
        c.reject(fmt::format("indices of shape {} reach beyond {}", to_string(c.shape(1)), to_string(c.shape(0))));
    return std::vector<TensorType>{{c.type(0).dtype, c.shape(1)}};
  };
  def.evaluate = [](EvalContext& c) {
    const Tensor& data = c.in(0);
    const std::size_t axis = axis_of(c.op), width = static_cast<std::size_t>(storage_size(data.dtype()));
    const std::vector<std::int64_t> index = c.in(1).to_ints(), strides = strides_of(data.shape());
    const Shape& shape = c.in(1).shape();
    for (std::size_t flat = 0; flat < index.size(); ++flat) {
      auto rest = static_cast<std::int64_t>(flat);
      std::int64_t from = checked_index(c.op, index[flat], data.shape()[axis]) * strides[axis];
      for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d])
        if (d != axis) from += rest % shape[d] * strides[d];
      std::copy_n(data.bytes().data() + static_cast<std::size_t>(from) * width, width,
                  c.out[0].bytes().data() + flat * width);
    }
  };
  def.nests = [](const OpContext& c) {
    const TensorType& t = c.outputs[0];
    const std::size_t axis = axis_of(c);
    NestProgram p;
    const Slot indices = usable_indices(c, p, {c.shape(0)[axis]});
    Nest nest = nest_over(t.shape);
    Access data = identity_access(input_slot(0), t.shape.size());
    data.dims[axis] = indexed(1);
    nest.ins = {std::move(data), identity_access(indices, t.shape.size())};
    nest.out = identity_access(output_slot(0), t.shape.size());
    nest.body = identity_body(t.dtype);
    nest.accumulator = t.dtype;
    p.nests.push_back(std::move(nest));
    return p;
  };
  r.add(std::move(def));
}

struct NdShape {
  std::size_t batch = 0, depth = 0;  ///< leading axes in common, coordinates per index
};

NdShape nd_shape(const OpContext& c) {
  const Shape &data = c.shape(0), &index = c.shape(1);
  require_min_rank(c, 0, 1);
  require_min_rank(c, 1, 1);
  const std::int64_t batch = c.attributes->integer("batch_dims", 0), depth = index.back();
  if (batch < 0 || batch >= static_cast<std::int64_t>(std::min(data.size(), index.size())))
    c.reject(fmt::format("batch_dims is {}", batch));
  if (depth < 1 || batch + depth > static_cast<std::int64_t>(data.size()))
    c.reject(fmt::format("indices of {} coordinates into {}", depth, to_string(data)));
  for (std::int64_t i = 0; i < batch; ++i)
    if (data[static_cast<std::size_t>(i)] != index[static_cast<std::size_t>(i)])
      c.reject("the batch axes of data and indices differ");
  return {static_cast<std::size_t>(batch), static_cast<std::size_t>(depth)};
}

void register_nd(OpRegistry& r) {
  OpDef def;
  def.name = "GatherND";
  def.kind = OpKind::nest;
  def.min_inputs = def.max_inputs = 2;
  def.infer = [](const OpContext& c) {
    require_index(c, 1);
    const NdShape s = nd_shape(c);
    Shape out(c.shape(1).begin(), c.shape(1).end() - 1);
    out.insert(out.end(), c.shape(0).begin() + static_cast<std::ptrdiff_t>(s.batch + s.depth), c.shape(0).end());
    return std::vector<TensorType>{{c.type(0).dtype, out}};
  };
  def.evaluate = [](EvalContext& c) {
    const Tensor& data = c.in(0);
    const NdShape s = nd_shape(c.op);
    const std::vector<std::int64_t> index = c.in(1).to_ints(), strides = strides_of(data.shape());
    const Shape& shape = c.in(1).shape();
    const std::int64_t width = storage_size(data.dtype());
    const std::int64_t inner = product(data.shape(), s.batch + s.depth, data.shape().size()) * width;
    const std::int64_t per_batch = product(shape, s.batch, shape.size() - 1), depth = shape.back();
    std::byte* to = c.out[0].bytes().data();
    for (std::int64_t i = 0; i * depth < static_cast<std::int64_t>(index.size()); ++i) {
      std::int64_t from = s.batch == 0 ? 0 : i / per_batch * strides[s.batch - 1];
      for (std::int64_t j = 0; j < depth; ++j) {
        const std::size_t axis = s.batch + static_cast<std::size_t>(j);
        from += checked_index(c.op, index[static_cast<std::size_t>(i * depth + j)], data.shape()[axis]) * strides[axis];
      }
      const std::byte* row = data.bytes().data() + from * width;
      to = std::copy(row, row + inner, to);
    }
  };
  def.nests = [](const OpContext& c) {
    const TensorType& t = c.outputs[0];
    const NdShape s = nd_shape(c);
    const Shape &data = c.shape(0), &index = c.shape(1);
    NestProgram p;
    const Slot indices =
        usable_indices(c, p,
                       std::vector<std::int64_t>(data.begin() + static_cast<std::ptrdiff_t>(s.batch),
                                                 data.begin() + static_cast<std::ptrdiff_t>(s.batch + s.depth)));
    Nest nest = nest_over(t.shape);
    std::vector<AccessDim> from;
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (i >= s.batch && i < s.batch + s.depth)
        from.push_back(indexed(static_cast<int>(1 + i - s.batch)));
      else
        from.push_back(at(static_cast<int>(i < s.batch ? i : i - s.batch - s.depth + index.size() - 1)));
    }
    nest.ins = {access(input_slot(0), std::move(from))};
    for (std::size_t j = 0; j < s.depth; ++j) {
      Access a = identity_access(indices, index.size() - 1);
      a.dims.push_back(fixed(static_cast<std::int64_t>(j)));
      nest.ins.push_back(std::move(a));
    }
    nest.out = identity_access(output_slot(0), t.shape.size());
    nest.body = identity_body(t.dtype);
    nest.accumulator = t.dtype;
    p.nests.push_back(std::move(nest));
    return p;
  };
  r.add(std::move(def));
}

}  // namespace

void register_gather(OpRegistry& r) {
  register_plain(r);
  register_elements(r);
  register_nd(r);
}

}  // namespace assay
