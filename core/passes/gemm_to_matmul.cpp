#include "core/passes/gemm_to_matmul.h"

#include <algorithm>

#include "core/ir/convert.h"
#include "core/passes/rewrite.h"

namespace assay {
namespace {

const char* const kPass = "gemm-to-matmul";

Tensor transposed(const Tensor& t) {
  const std::int64_t rows = t.shape()[0], cols = t.shape()[1];
  Tensor out({t.dtype(), {cols, rows}});
  visit_storage(t.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* const from = t.data<T>().data();
    T* const to = out.data<T>().data();
    // Square blocks: a large weight is neither read nor written a cache line per element.
    constexpr std::int64_t kBlock = 32;
    for (std::int64_t i0 = 0; i0 < rows; i0 += kBlock)
      for (std::int64_t j0 = 0; j0 < cols; j0 += kBlock)
        for (std::int64_t j = j0; j < std::min(cols, j0 + kBlock); ++j)
          for (std::int64_t i = i0; i < std::min(rows, i0 + kBlock); ++i) to[j * rows + i] = from[i * cols + j];
  });
  return out;
}

TensorId transposed_operand(Rewrite& r, TensorId t, const Node& gemm) {
  Graph& g = r.graph();
  const GraphTensor tensor = g.tensor(t);
  const std::string hint = tensor.name + "_transposed";
  if (tensor.kind != TensorKind::constant) return r.transpose(t, {1, 0}, hint, gemm.sources);
  if (tensor.value == nullptr)
    return g.add_weight(hint, {tensor.type.dtype, {tensor.type.shape[1], tensor.type.shape[0]}});
  return r.constant(hint, transposed(*tensor.value));
}

TensorId times(Rewrite& r, TensorId t, double factor, const std::string& hint, const Node& gemm) {
  if (factor == 1.0) return t;
  Graph& g = r.graph();
  const GraphTensor tensor = g.tensor(t);
  if (tensor.kind == TensorKind::constant) {
    if (tensor.value == nullptr) return g.add_weight(tensor.name + "_scaled", tensor.type);
    Tensor scaled = *tensor.value;
    for (std::int64_t i = 0; i < scaled.size(); ++i) scaled.set(i, scaled.get(i) * factor);
    return r.constant(tensor.name + "_scaled", std::move(scaled));
  }
  const TensorId by = r.constant(hint + "_by", Tensor::scalar(tensor.type.dtype, factor));
  return r.insert("Mul", {t, by}, {}, hint, gemm.sources);
}

}  // namespace

std::size_t lower_gemm(Graph& g, PassContext& context) {
  Rewrite r(g);
  for (const NodeId n : g.topological_order()) {
    const Node gemm = g.node(n);
    if (gemm.op != "Gemm") continue;
    const double alpha = gemm.attributes.real("alpha", 1.0), beta = gemm.attributes.real("beta", 1.0);
    const TensorType out_type = g.tensor(gemm.outputs[0]).type;
    if (!is_float(out_type.dtype) && (alpha != 1.0 || beta != 1.0)) {
      context.remark(kPass, gemm.name, "not lowered: alpha or beta of an integer Gemm");
      continue;
    }
    TensorId a = gemm.inputs[0], b = gemm.inputs[1], c = operand(gemm, 2);
    if (gemm.attributes.integer("transA", 0) != 0) a = transposed_operand(r, a, gemm);
    if (gemm.attributes.integer("transB", 0) != 0) b = transposed_operand(r, b, gemm);
    const bool alpha_in_b = is_constant(g, b);
    if (alpha_in_b) b = times(r, b, alpha, "", gemm);
    TensorId y = r.insert("MatMul", {a, b}, {}, gemm.name + "_matmul", gemm.sources);
    if (!alpha_in_b) y = times(r, y, alpha, gemm.name + "_alpha", gemm);
    if (c.valid() && beta != 0.0) {
      c = times(r, c, beta, gemm.name + "_beta", gemm);
      y = r.insert("Add", {y, c}, {}, gemm.name + "_bias", gemm.sources);
    }
    r.replace(gemm.outputs[0], y);
  }
  r.sweep();
  return r.count();
}

}  // namespace assay
