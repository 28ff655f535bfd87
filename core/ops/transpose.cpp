#include <fmt/format.h>

#include "core/ops/build_nest.h"
#include "core/ops/eval.h"

namespace assay {
namespace {

std::vector<std::size_t> permutation(const OpContext& c) {
  const std::size_t rank = c.shape(0).size();
  std::vector<std::int64_t> perm;
  for (std::size_t i = rank; i-- > 0;) perm.push_back(static_cast<std::int64_t>(i));
  perm = c.attributes->integers("perm", perm);
  if (perm.size() != rank) c.reject(fmt::format("perm has {} entries, expected {}", perm.size(), rank));
  normal_axes(c, perm, rank);  // each axis once
  std::vector<std::size_t> out;
  for (const std::int64_t p : perm) out.push_back(normal_axis(c, p, rank));
  return out;
}

}  // namespace

void register_transpose(OpRegistry& r) {
  OpDef def;
  def.name = "Transpose";
  def.kind = OpKind::nest;
  def.infer = [](const OpContext& c) {
    TensorType t{c.type(0).dtype, {}};
    for (const std::size_t p : permutation(c)) t.shape.push_back(c.shape(0)[p]);
    return std::vector{t};
  };
  def.evaluate = [](EvalContext& c) {
    const std::vector<std::int64_t> dense = strides_of(c.in(0).shape());
    std::vector<std::int64_t> strides;
    for (const std::size_t p : permutation(c.op)) strides.push_back(dense[p]);
    read_strided(c.in(0), 0, strides, c.out[0]);
  };
  def.nests = [](const OpContext& c) {
    const TensorType& t = c.outputs[0];
    const std::vector<std::size_t> perm = permutation(c);
    Nest nest = nest_over(t.shape);
    std::vector<AccessDim> from(perm.size());
    for (std::size_t i = 0; i < perm.size(); ++i) from[perm[i]] = at(static_cast<int>(i));
    nest.ins = {access(input_slot(0), std::move(from))};
    nest.out = identity_access(output_slot(0), perm.size());
    nest.body = identity_body(t.dtype);
    nest.accumulator = t.dtype;
    return single(std::move(nest));
  };
  r.add(std::move(def));
}

}  // namespace assay
