#include <algorithm>
#include <numeric>

#include "core/mapping/evaluator.h"

namespace assay {

Kernel with_drain(Kernel k, const MapEnvironment& env) {
  if (env.grid.cores() > 1 &&
      std::none_of(k.dims.begin(), k.dims.end(), [](const KernelDim& d) { return !d.reduction; })) {
    // Work that can't be divided is given a dimension of one, so that one core does it and the others stand by.
    k.dims.push_back({"one", 1, false});
    for (KernelNest& nest : k.nests) {
      nest.dims.push_back({"one", 1, false});
      nest.shared.push_back(static_cast<int>(k.dims.size()) - 1);
    }
  }
  if (!k.has_contraction()) return k;
  KernelNest& main = k.nests.front();
  const auto psum = static_cast<std::size_t>(main.out.tensor);
  const MemoryId memory = accumulator_memory(env);
  const bool accumulator = memory.valid() && env.memories[memory.index()].kind == MemoryKind::accumulator;
  const DType wide = main.accumulator;
  if (k.tensors[psum].kind == KernelTensorKind::output) {
    if (!accumulator && k.tensors[psum].type.dtype == wide) return k;  // results are stored from where they are
    KernelNest drain;
    std::vector<int> renumber(main.dims.size(), -1);
    for (std::size_t i = 0; i < main.dims.size(); ++i) {
      if (main.dims[i].reduction) continue;
      renumber[i] = static_cast<int>(drain.dims.size());
      drain.dims.push_back(main.dims[i]);
      drain.shared.push_back(main.shared[i]);
    }
    drain.out = main.out;
    for (AccessDim& d : drain.out.dims) {
      for (auto& [dim, c] : d.terms) dim = renumber[static_cast<std::size_t>(dim)];
    }
    KernelTensor internal = k.tensors[psum];
    internal.name += ".acc";
    internal.kind = KernelTensorKind::internal;
    internal.graph_tensor = {};
    internal.type.dtype = wide;
    const int index = static_cast<int>(k.tensors.size());
    const DType out_type = k.tensors[psum].type.dtype;
    k.tensors.push_back(internal);
    main.out.tensor = index;
    KernelAccess read = drain.out;
    read.tensor = index;
    drain.ins.push_back(read);
    const int v = drain.body.input(0, wide);
    if (out_type != wide) drain.body.push(ScalarOp::cast, out_type, v);
    drain.accumulator = wide;
    k.nests.push_back(std::move(drain));
    return k;
  }
  if (k.tensors[psum].type.dtype == wide) return k;
  // Partial sums stay wide; readers see them rounded to the tensor's own type, as the graph says.
  const DType narrow = k.tensors[psum].type.dtype;
  k.tensors[psum].type.dtype = wide;
  for (std::size_t n = 1; n < k.nests.size(); ++n) {
    KernelNest& nest = k.nests[n];
    for (std::size_t i = 0; i < nest.ins.size(); ++i) {
      if (nest.ins[i].tensor != static_cast<int>(psum)) continue;
      Body rounding;
      rounding.push(ScalarOp::cast, narrow, rounding.input(0, wide));
      std::vector<int> identity(nest.ins.size());
      std::iota(identity.begin(), identity.end(), 0);
      nest.body = substitute(nest.body, static_cast<int>(i), rounding, identity, {static_cast<int>(i)});
    }
  }
  return k;
}

}  // namespace assay
