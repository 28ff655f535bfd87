#include <cmath>
#include <limits>

#include "core/ops/eval.h"
#include "core/ops/reduction.h"

// ReduceSum, ReduceMean, … . Axes are an attribute; an operand from opset 13 (ReduceSum) or 18 (the others).

namespace assay {
namespace {

enum class Kind { sum, mean, max, min, prod, l1, l2, log_sum, log_sum_exp, sum_square };

struct Plan {
  Reduction r;
  bool keep = true;
  bool noop = false;  ///< no axes and noop_with_empty_axes: the result is the operand
};

Plan plan_of(const OpContext& c) {
  const std::size_t rank = c.shape(0).size();
  Plan p;
  p.keep = c.attributes->integer("keepdims", 1) != 0;
  p.r.folded.assign(rank, false);
  const std::vector<std::int64_t> axes = ints_from(c, "axes", 1);
  if (axes.empty()) {
    p.noop = c.attributes->integer("noop_with_empty_axes", 0) != 0;
    if (!p.noop) p.r.folded.assign(rank, true);
  }
  for (const std::size_t a : normal_axes(c, axes, rank)) p.r.folded[a] = true;
  return p;
}

// Folding in double (or 64-bit integers) keeps the reference better than any machine's accumulator.
template <class A>
A element(Kind k, A x) {
  switch (k) {
    case Kind::l1:
      return x < A{0} ? A{0} - x : x;
    case Kind::l2:
    case Kind::sum_square:
      return x * x;
    default:
      return x;
  }
}

template <class A>
A folded(Kind k, A a, A x) {
  switch (k) {
    case Kind::max:
      return x > a || x != x ? x : a;
    case Kind::min:
      return x < a || x != x ? x : a;
    case Kind::prod:
      return a * x;
    default:
      return a + x;
  }
}

template <class A>
A start(Kind k) {
  using L = std::numeric_limits<A>;
  if (k == Kind::max) return L::has_infinity ? -L::infinity() : L::lowest();
  if (k == Kind::min) return L::has_infinity ? L::infinity() : L::max();
  return k == Kind::prod ? A{1} : A{0};
}

template <class A>
A finished(Kind k, A a, std::int64_t count) {
  switch (k) {
    case Kind::mean:
      if constexpr (std::is_integral_v<A>) return count == 0 ? A{0} : a / static_cast<A>(count);
      return a / static_cast<A>(count);
    case Kind::l2:
      return static_cast<A>(std::sqrt(static_cast<double>(a)));
    case Kind::log_sum:
    case Kind::log_sum_exp:
      return static_cast<A>(std::log(static_cast<double>(a)));
    default:
      return a;
  }
}

// Integers fold in unsigned arithmetic where they may wrap; the order decides max and min.
template <class T>
using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;

void evaluate(EvalContext& c, Kind kind) {
  const Plan plan = plan_of(c.op);
  const Tensor& in = c.in(0);
  if (plan.noop) {
    c.out[0] = in;
    return;
  }
  const Shape kept = plan.r.kept_shape(in.shape());
  const std::vector<std::int64_t> out_strides = broadcast_strides(kept, in.shape());
  const std::int64_t step = out_strides.empty() ? 0 : out_strides.back(), count = plan.r.count(in.shape());
  visit_numeric(in.dtype(), [&](auto tag) {
    using T = decltype(tag);
    using A = Accumulator<T>;
    const T* x = in.data<T>().data();
    const auto out = c.out[0].data<T>();
    std::vector<A> acc(out.size(), start<A>(kind));
    const auto each = [&](auto&& f) {
      for_rows<1>(in.shape(), {out_strides}, [&](std::int64_t flat, const auto& base, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i)
          f(static_cast<std::size_t>(base[0] + i * step), static_cast<A>(x[flat + i]));
      });
    };
    std::vector<double> largest;
    if (kind == Kind::log_sum_exp) {
      largest.assign(out.size(), -std::numeric_limits<double>::infinity());
      each([&](std::size_t o, A v) { largest[o] = std::max(largest[o], static_cast<double>(v)); });
      for (double& m : largest)
        if (std::isinf(m)) m = 0;
      std::vector<double> sums(out.size(), 0);
      each([&](std::size_t o, A v) { sums[o] += std::exp(static_cast<double>(v) - largest[o]); });
      for (std::size_t o = 0; o < out.size(); ++o) out[o] = convert_scalar<T>(std::log(sums[o]) + largest[o]);
      return;
    }
    each([&](std::size_t o, A v) {
      if constexpr (std::is_integral_v<A>) {
        if (kind == Kind::max || kind == Kind::min) {
          acc[o] = folded(kind, acc[o], v);
        } else {
          auto u = static_cast<std::uint64_t>(v);
          if (kind == Kind::l1 && v < 0) u = 0 - u;
          acc[o] = static_cast<A>(folded(kind, static_cast<std::uint64_t>(acc[o]), element(kind, u)));
        }
      } else {
        acc[o] = folded(kind, acc[o], element(kind, v));
      }
    });
    for (std::size_t o = 0; o < out.size(); ++o) {
      // An empty maximum of a narrow integer is that type's own limit.
      if constexpr (std::is_integral_v<T>) {
        if (count == 0 && (kind == Kind::max || kind == Kind::min)) {
          out[o] = kind == Kind::max ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
          continue;
        }
      }
      out[o] = static_cast<T>(finished(kind, acc[o], count));
    }
  });
  if (c.op.outputs[0].dtype == DType::boolean)
    for (std::uint8_t& b : c.out[0].data<std::uint8_t>()) b = b != 0;
}

struct Steps {
  Combine combine;
  int (*before)(BodyWriter&, int);                     ///< nullptr: the operand
  int (*after)(BodyWriter&, int, std::int64_t count);  ///< nullptr: the fold
};

Steps steps_of(Kind k) {
  using enum ScalarOp;
  const auto absolute = [](BodyWriter& w, int x) { return w.op(abs, x); };
  const auto square = [](BodyWriter& w, int x) { return w.op(mul, x, x); };
  switch (k) {
    case Kind::max:
      return {Combine::max, nullptr, nullptr};
    case Kind::min:
      return {Combine::min, nullptr, nullptr};
    case Kind::prod:
      return {Combine::product, nullptr, nullptr};
    case Kind::l1:
      return {Combine::sum, absolute, nullptr};
    case Kind::sum_square:
      return {Combine::sum, square, nullptr};
    case Kind::l2:
      return {Combine::sum, square, [](BodyWriter& w, int x, std::int64_t) { return w.op(sqrt, x); }};
    case Kind::log_sum:
    case Kind::log_sum_exp:
      return {Combine::sum, nullptr, [](BodyWriter& w, int x, std::int64_t) { return w.op(log, x); }};
    case Kind::mean:
      return {Combine::sum, nullptr, [](BodyWriter& w, int x, std::int64_t count) {
                const auto n = static_cast<double>(count);
                if (!is_float(w.work())) return w.op(div, x, w.number(n));
                return w.op(mul, x, w.number(1 / n));
              }};
    case Kind::sum:
      break;
  }
  return {Combine::sum, nullptr, nullptr};
}

std::optional<NestProgram> nests(const OpContext& c, Kind kind) {
  const Plan plan = plan_of(c);
  const TensorType &in = c.type(0), &out = c.outputs[0];
  if (plan.noop)
    return elementwise_nest(c, {0}, out.dtype, [](BodyWriter&, const std::vector<int>& v) { return v[0]; });
  const DType work = work_type(out.dtype);
  if (!is_float(out.dtype) && (kind == Kind::l2 || kind == Kind::log_sum || kind == Kind::log_sum_exp))
    return std::nullopt;
  if (plan.r.count(in.shape) == 0 && kind == Kind::mean) return std::nullopt;
  const std::size_t rank = in.shape.size();
  const Steps steps = steps_of(kind);
  const auto final_access = [&](Slot s) { return plan.keep ? kept_access(s, plan.r) : dropped_access(s, plan.r); };
  const Shape kept = plan.r.kept_shape(in.shape);
  NestProgram p;
  if (kind == Kind::log_sum_exp) {
    p.temps.push_back({work, kept});  // the largest, against overflow
    p.nests.push_back(fold_nest(in.shape, plan.r, input_slot(0), in.dtype, temp_slot(0), work, Combine::max,
                                [](BodyWriter&, int x) { return x; }));
  }
  Nest fold = fold_nest(in.shape, plan.r, input_slot(0), in.dtype, output_slot(0), work, steps.combine,
                        [&](BodyWriter& w, int x) { return steps.before != nullptr ? steps.before(w, x) : x; });
  if (kind == Kind::log_sum_exp) {
    fold.ins.push_back(kept_access(temp_slot(0), plan.r));
    BodyWriter w(work);
    const int x = w.in(0, in.dtype), m = w.in(1, work);
    fold.body = w.done(w.op(ScalarOp::exp, w.op(ScalarOp::sub, x, m)), work);
  }
  if (steps.after == nullptr) {
    fold.out = final_access(output_slot(0));
    p.nests.push_back(std::move(fold));
    return p;
  }
  const std::size_t sum = p.temps.size();
  p.temps.push_back({work, kept});
  fold.out = kept_access(temp_slot(sum), plan.r);
  p.nests.push_back(std::move(fold));

  // The dimensions that are left keep their names.
  Nest last;
  std::vector<AccessDim> from, to;
  for (std::size_t i = 0; i < rank; ++i) {
    const AccessDim d = plan.r.folded[i] ? fixed() : at(add_dim(last, "d" + std::to_string(i), in.shape[i]));
    from.push_back(d);
    if (plan.keep || !plan.r.folded[i]) to.push_back(d);
  }
  last.ins = {access(temp_slot(sum), from)};
  BodyWriter w(work);
  int v = steps.after(w, w.in(0, work), plan.r.count(in.shape));
  if (kind == Kind::log_sum_exp) {
    last.ins.push_back(access(temp_slot(0), from));
    v = w.op(ScalarOp::add, v, w.in(1, work));
  }
  last.body = w.done(v, out.dtype);
  last.out = access(output_slot(0), std::move(to));
  last.accumulator = out.dtype;
  p.nests.push_back(std::move(last));
  return p;
}

void add_reduce(OpRegistry& r, const std::string& name, Kind kind) {
  OpDef def;
  def.name = name;
  def.kind = OpKind::nest;
  def.max_inputs = 2;
  def.infer = [kind](const OpContext& c) {
    require_type(c, 0, kind == Kind::max || kind == Kind::min ? kNumbers | kBooleans : kNumbers);
    const Plan p = plan_of(c);
    if (p.noop) return std::vector{c.type(0)};
    const Shape& in = c.shape(0);
    return std::vector<TensorType>{{c.type(0).dtype, p.keep ? p.r.kept_shape(in) : p.r.dropped_shape(in)}};
  };
  def.evaluate = widened([kind](EvalContext& c) { evaluate(c, kind); });
  def.nests = [kind](const OpContext& c) { return nests(c, kind); };
  r.add(std::move(def));
}

}  // namespace

void register_reduce(OpRegistry& r) {
  add_reduce(r, "ReduceSum", Kind::sum);
  add_reduce(r, "ReduceMean", Kind::mean);
  add_reduce(r, "ReduceMax", Kind::max);
  add_reduce(r, "ReduceMin", Kind::min);
  add_reduce(r, "ReduceProd", Kind::prod);
  add_reduce(r, "ReduceL1", Kind::l1);
  add_reduce(r, "ReduceL2", Kind::l2);
  add_reduce(r, "ReduceLogSum", Kind::log_sum);
  add_reduce(r, "ReduceLogSumExp", Kind::log_sum_exp);
  add_reduce(r, "ReduceSumSquare", Kind::sum_square);
}

}  // namespace assay
