#pragma once

#include <array>
#include <functional>
#include <tuple>
#include <utility>

#include "core/ir/convert.h"
#include "core/ops/op.h"
#include "core/ops/shapes.h"

// Loops that reference implementations share. They work on storage types; 16-bit floats are handled by `widened`.

namespace assay {

/// Runs `evaluate` on fp32 copies where operands or results are fp16 or bf16 and rounds the results once.
std::function<void(EvalContext&)> widened(std::function<void(EvalContext&)> evaluate);

/// visit_storage for code that must not see 16-bit floats as integers.
template <class F>
decltype(auto) visit_numeric(DType t, F&& f) {
  ASSAY_CHECK(!is_half(t), "a 16-bit float in a reference loop");
  return visit_storage(t, std::forward<F>(f));
}
template <class F>
decltype(auto) visit_float(DType t, F&& f) {
  ASSAY_CHECK(t == DType::f32 || t == DType::f64, "not a float type");
  return t == DType::f32 ? f(float{}) : f(double{});
}

/// Walks the rows (innermost dimension) of `shape`: body(flat index in shape, offset of each operand, row length).
/// N operands with their strides; the caller uses strides.back() inside the row. O(rows · rank).
template <std::size_t N, class F>
void for_rows(const Shape& shape, const std::array<std::vector<std::int64_t>, N>& strides, F&& body) {
  if (element_count(shape) == 0) return;
  std::array<std::int64_t, N> offset{};
  if (shape.empty()) {
    body(std::int64_t{0}, offset, std::int64_t{1});
    return;
  }
  const std::size_t outer = shape.size() - 1;
  const std::int64_t n = shape[outer];
  std::vector<std::int64_t> at(outer, 0);
  for (std::int64_t flat = 0;; flat += n) {
    body(flat, offset, n);
    std::size_t d = outer;
    for (; d-- > 0;) {
      for (std::size_t k = 0; k < N; ++k) offset[k] += strides[k][d];
      if (++at[d] < shape[d]) break;
      for (std::size_t k = 0; k < N; ++k) offset[k] -= strides[k][d] * shape[d];
      at[d] = 0;
    }
    if (d == SIZE_MAX) return;
  }
}

/// out[...] = f(in0[...], in1[...], …) with numpy broadcasting; Out and In are the storage types.
template <class Out, class... In, class F>
void zip(Tensor& out, F f, const std::array<const Tensor*, sizeof...(In)>& ins) {
  constexpr std::size_t N = sizeof...(In);
  bool same = true;
  for (const Tensor* t : ins) same = same && t->shape() == out.shape();
  const Shape shape = same ? Shape{out.size()} : out.shape();
  std::array<std::vector<std::int64_t>, N> strides;
  std::array<std::int64_t, N> step{};
  for (std::size_t k = 0; k < N; ++k) {
    strides[k] = same ? std::vector<std::int64_t>{1} : broadcast_strides(ins[k]->shape(), shape);
    step[k] = strides[k].empty() ? 0 : strides[k].back();
  }
  Out* const o = out.data<Out>().data();
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const std::tuple<const In*...> p{ins[I]->template data<In>().data()...};
    for_rows<N>(shape, strides, [&](std::int64_t flat, const std::array<std::int64_t, N>& base, std::int64_t n) {
      if (((step[I] == 1) && ...)) {
        for (std::int64_t i = 0; i < n; ++i) o[flat + i] = static_cast<Out>(f(std::get<I>(p)[base[I] + i]...));
      } else {
        for (std::int64_t i = 0; i < n; ++i)
          o[flat + i] = static_cast<Out>(f(std::get<I>(p)[base[I] + i * step[I]]...));
      }
    });
  }
  (std::make_index_sequence<N>{});
}

/// out[i] = in[base + Σ i_d · strides[d]] for every coordinate of `out`: transposes, slices, broadcasts.
void read_strided(const Tensor& in, std::int64_t base, const std::vector<std::int64_t>& strides, Tensor& out);
/// out[base + Σ i_d · strides[d]] = in[i] for every coordinate of `in`.
void write_strided(const Tensor& in, Tensor& out, std::int64_t base, const std::vector<std::int64_t>& strides);

/// out[i0, i1, …] = in[map0[i0], map1[i1], …]; elements with a map entry of −1 keep what `out` holds.
void read_mapped(const Tensor& in, const std::vector<std::vector<std::int64_t>>& maps, Tensor& out);
/// Sets every element of `out` to the one element of `value`, which has the same type.
void fill_with(Tensor& out, const Tensor& value);

/// An index of a gather or scatter: negative counts from the end; InputError when out of range.
std::int64_t checked_index(const OpContext& ctx, std::int64_t index, std::int64_t extent);

}  // namespace assay
