#include "core/ops/reduction.h"

#include <limits>

#include "core/ir/convert.h"

namespace assay {

Shape Reduction::kept_shape(const Shape& in) const {
  Shape s = in;
  for (std::size_t i = 0; i < s.size(); ++i)
    if (folded[i]) s[i] = 1;
  return s;
}

Shape Reduction::dropped_shape(const Shape& in) const {
  Shape s;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (!folded[i]) s.push_back(in[i]);
  return s;
}

std::int64_t Reduction::count(const Shape& in) const {
  std::int64_t n = 1;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (folded[i]) n *= in[i];
  return n;
}

Nest reduction_dims(const Shape& in, const Reduction& r) {
  Nest nest = nest_over(in);
  for (std::size_t i = 0; i < in.size(); ++i) nest.dims[i].reduction = r.folded[i];
  return nest;
}

Access kept_access(Slot slot, const Reduction& r) {
  Access a = access(slot, {});
  for (std::size_t i = 0; i < r.folded.size(); ++i) a.dims.push_back(r.folded[i] ? fixed() : at(static_cast<int>(i)));
  return a;
}

Access dropped_access(Slot slot, const Reduction& r) {
  Access a = access(slot, {});
  for (std::size_t i = 0; i < r.folded.size(); ++i)
    if (!r.folded[i]) a.dims.push_back(at(static_cast<int>(i)));
  return a;
}

Nest fold_nest(const Shape& in_shape, const Reduction& r, Slot in, DType in_type, Slot out, DType work, Combine combine,
               const std::function<int(BodyWriter&, int)>& write) {
  Nest nest = reduction_dims(in_shape, r);
  nest.ins = {identity_access(in, in_shape.size())};
  nest.out = kept_access(out, r);
  BodyWriter w(work);
  const int x = w.in(0, in_type);
  nest.body = w.done(write(w, x), work);
  nest.accumulator = work;
  bool any = false;
  for (const bool f : r.folded) any = any || f;
  nest.combine = any ? combine : Combine::none;
  nest.init = neutral(combine, work);
  return nest;
}

double neutral(Combine c, DType t) {
  if (c == Combine::none || c == Combine::sum) return 0;
  if (c == Combine::product) return 1;
  const bool lowest = c == Combine::max;
  if (is_float(t)) return lowest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  if (t == DType::boolean) return lowest ? 0 : 1;
  return visit_storage(t, [&](auto tag) {
    using L = std::numeric_limits<decltype(tag)>;
    return lowest ? static_cast<double>(L::lowest()) : static_cast<double>(L::max());
  });
}

}  // namespace assay
