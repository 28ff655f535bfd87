#include "core/ops/eval.h"

#include <fmt/format.h>

namespace assay {
namespace {

// Copies are by element size; the type does not matter.
template <class F>
void visit_width(const Tensor& t, F&& f) {
  switch (storage_size(t.dtype())) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
  }
  fail_check(__FILE__, __LINE__, "element size", to_string(t.type()));
}

}  // namespace

std::function<void(EvalContext&)> widened(std::function<void(EvalContext&)> evaluate) {
  return [evaluate = std::move(evaluate)](EvalContext& c) {
    bool any = false;
    for (const auto& t : c.op.inputs) any = any || (t && is_half(t->dtype));
    for (const TensorType& t : c.op.outputs) any = any || is_half(t.dtype);
    if (!any) return evaluate(c);
    EvalContext wide;
    wide.op = c.op;
    for (std::size_t i = 0; i < wide.op.values.size(); ++i) {
      if (wide.op.values[i] == nullptr || !is_half(wide.op.values[i]->dtype())) continue;
      wide.op.values[i] = std::make_shared<const Tensor>(wide.op.values[i]->cast(DType::f32));
      wide.op.inputs[i]->dtype = DType::f32;
    }
    for (TensorType& t : wide.op.outputs) t.dtype = work_type(t.dtype);
    for (const TensorType& t : wide.op.outputs) wide.out.emplace_back(t);
    evaluate(wide);
    for (std::size_t i = 0; i < c.out.size(); ++i) c.out[i] = wide.out[i].cast(c.op.outputs[i].dtype);
  };
}

void read_strided(const Tensor& in, std::int64_t base, const std::vector<std::int64_t>& strides, Tensor& out) {
  const std::int64_t step = strides.empty() ? 0 : strides.back();
  visit_width(out, [&](auto v) {
    using T = decltype(v);
    const T* src = reinterpret_cast<const T*>(in.bytes().data());
    T* dst = reinterpret_cast<T*>(out.bytes().data());
    for_rows<1>(out.shape(), {strides}, [&](std::int64_t flat, const std::array<std::int64_t, 1>& at, std::int64_t n) {
      const T* row = src + base + at[0];
      for (std::int64_t i = 0; i < n; ++i) dst[flat + i] = row[i * step];
    });
  });
}

void write_strided(const Tensor& in, Tensor& out, std::int64_t base, const std::vector<std::int64_t>& strides) {
  const std::int64_t step = strides.empty() ? 0 : strides.back();
  visit_width(out, [&](auto v) {
    using T = decltype(v);
    const T* src = reinterpret_cast<const T*>(in.bytes().data());
    T* dst = reinterpret_cast<T*>(out.bytes().data());
    for_rows<1>(in.shape(), {strides}, [&](std::int64_t flat, const std::array<std::int64_t, 1>& at, std::int64_t n) {
      T* row = dst + base + at[0];
      for (std::int64_t i = 0; i < n; ++i) row[i * step] = src[flat + i];
    });
  });
}

void read_mapped(const Tensor& in, const std::vector<std::vector<std::int64_t>>& maps, Tensor& out) {
  const std::size_t rank = maps.size();
  const std::vector<std::int64_t> strides = strides_of(in.shape());
  visit_width(out, [&](auto v) {
    using T = decltype(v);
    const T* src = reinterpret_cast<const T*>(in.bytes().data());
    T* dst = reinterpret_cast<T*>(out.bytes().data());
    std::vector<std::int64_t> at(rank, 0);
    const std::int64_t n = out.size(), row = rank == 0 ? 1 : out.shape().back();
    for (std::int64_t flat = 0; flat < n; flat += row) {
      std::int64_t base = 0;
      bool inside = true;
      for (std::size_t d = 0; d + 1 < rank; ++d) {
        const std::int64_t x = maps[d][static_cast<std::size_t>(at[d])];
        inside = inside && x >= 0;
        base += x * strides[d];
      }
      for (std::int64_t i = 0; inside && i < row; ++i) {
        const std::int64_t x = rank == 0 ? 0 : maps[rank - 1][static_cast<std::size_t>(i)];
        if (x >= 0) dst[flat + i] = src[base + x];
      }
      for (std::size_t d = rank == 0 ? 0 : rank - 1; d-- > 0;) {
        if (++at[d] < out.shape()[d]) break;
        at[d] = 0;
      }
    }
  });
}

void fill_with(Tensor& out, const Tensor& value) {
  ASSAY_CHECK(out.dtype() == value.dtype() && value.size() == 1, "one element of the same type");
  visit_width(out, [&](auto v) {
    using T = decltype(v);
    const T x = *reinterpret_cast<const T*>(value.bytes().data());
    T* dst = reinterpret_cast<T*>(out.bytes().data());
    for (std::int64_t i = 0; i < out.size(); ++i) dst[i] = x;
  });
}

std::int64_t checked_index(const OpContext& ctx, std::int64_t index, std::int64_t extent) {
  if (index < -extent || index >= extent)
    ctx.reject(fmt::format("index {} is out of range for an axis of {}", index, extent));
  return index < 0 ? index + extent : index;
}

}  // namespace assay
