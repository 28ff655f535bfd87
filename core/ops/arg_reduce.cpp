#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/ops/eval.h"

// ArgMax, ArgMin, TopK, Hardmax and CumSum: along one axis, opaque.

namespace assay {
namespace {

// Calls body(base, stride): the elements of each line along `axis` are base + i · stride.
template <class F>
void for_lines(const Shape& shape, std::size_t axis, F&& body) {
  const std::int64_t outer = product(shape, 0, axis), inner = product(shape, axis + 1, shape.size());
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) body(o * shape[axis] * inner + i, inner);
}

void add_arg(OpRegistry& r, const std::string& name, bool largest) {
  OpDef def;
  def.name = name;
  const auto axis_of = [](const OpContext& c) {
    return normal_axis(c, c.attributes->integer("axis", 0), c.shape(0).size());
  };
  def.infer = [axis_of](const OpContext& c) {
    require_type(c, 0, kNumbers);
    const std::size_t axis = axis_of(c);
    TensorType t{DType::i64, c.shape(0)};
    if (t.shape[axis] == 0) c.reject("the axis is empty");
    if (c.attributes->integer("keepdims", 1) != 0)
      t.shape[axis] = 1;
    else
      t.shape.erase(t.shape.begin() + static_cast<std::ptrdiff_t>(axis));
    return std::vector{t};
  };
  def.evaluate = widened([axis_of, largest](EvalContext& c) {
    const std::size_t axis = axis_of(c.op);
    const bool last = c.op.attributes->integer("select_last_index", 0) != 0;
    const std::int64_t extent = c.in(0).shape()[axis];
    visit_numeric(c.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      const T* x = c.in(0).data<T>().data();
      std::int64_t* out = c.out[0].data<std::int64_t>().data();
      for_lines(c.in(0).shape(), axis, [&](std::int64_t base, std::int64_t stride) {
        std::int64_t best = 0;
        for (std::int64_t i = 1; i < extent; ++i) {
          const T a = x[base + i * stride], b = x[base + best * stride];
          if ((largest ? a > b : a < b) || (last && a == b)) best = i;
        }
        *out++ = best;
      });
    });
  });
  r.add(std::move(def));
}

struct TopPlan {
  std::size_t axis = 0;
  std::int64_t k = 0;
};

TopPlan top_plan(const OpContext& c) {
  TopPlan p;
  p.axis = normal_axis(c, c.attributes->integer("axis", -1), c.shape(0).size());
  if (c.has(1)) {
    const std::vector<std::int64_t> k = c.constant_ints(1);
    if (k.size() != 1) c.reject("K must be one number");
    p.k = k[0];
  } else {
    p.k = c.attributes->integer("k", -1);
  }
  if (p.k < 0 || p.k > c.shape(0)[p.axis]) c.reject(fmt::format("K is {} for an axis of {}", p.k, c.shape(0)[p.axis]));
  return p;
}

void register_topk(OpRegistry& r) {
  OpDef def;
  def.name = "TopK";
  def.max_inputs = 2;
  def.max_outputs = 2;
  def.infer = [](const OpContext& c) {
    require_type(c, 0, kNumbers);
    const TopPlan p = top_plan(c);
    TensorType t = c.type(0);
    t.shape[p.axis] = p.k;
    return std::vector<TensorType>{t, {DType::i64, t.shape}};
  };
  def.evaluate = widened([](EvalContext& c) {
    const TopPlan p = top_plan(c.op);
    const bool largest = c.op.attributes->integer("largest", 1) != 0;
    const std::int64_t extent = c.in(0).shape()[p.axis];
    if (extent == 0) return;
    visit_numeric(c.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      const T* x = c.in(0).data<T>().data();
      T* values = c.out[0].data<T>().data();
      std::vector<std::int64_t> order(static_cast<std::size_t>(extent));
      for_lines(c.in(0).shape(), p.axis, [&](std::int64_t base, std::int64_t stride) {
        std::iota(order.begin(), order.end(), std::int64_t{0});
        // Of equal elements the one with the lower index comes first.
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
          const T va = x[base + a * stride], vb = x[base + b * stride];
          return largest ? va > vb : va < vb;
        });
        const std::int64_t to = base / (extent * stride) * p.k * stride + base % stride;
        for (std::int64_t i = 0; i < p.k; ++i) {
          values[to + i * stride] = x[base + order[static_cast<std::size_t>(i)] * stride];
          if (c.out.size() > 1)
            c.out[1].data<std::int64_t>()[static_cast<std::size_t>(to + i * stride)] =
                order[static_cast<std::size_t>(i)];
        }
      });
    });
  });
  r.add(std::move(def));
}

void register_hardmax(OpRegistry& r) {
  OpDef def;
  def.name = "Hardmax";
  def.infer = [](const OpContext& c) {
    require_type(c, 0, kFloats);
    require_min_rank(c, 0, 1);
    normal_axis(c, c.attributes->integer("axis", c.version >= 13 ? -1 : 1), c.shape(0).size());
    return std::vector{c.type(0)};
  };
  def.evaluate = widened([](EvalContext& c) {
    Shape s = c.in(0).shape();
    std::size_t axis = normal_axis(c.op, c.op.attributes->integer("axis", c.op.version >= 13 ? -1 : 1), s.size());
    if (c.op.version < 13) {  // a matrix whose rows are the axes from `axis` on
      s = {product(s, 0, axis), product(s, axis, s.size())};
      axis = 1;
    }
    visit_float(c.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      const T* x = c.in(0).data<T>().data();
      T* y = c.out[0].data<T>().data();
      for_lines(s, axis, [&](std::int64_t base, std::int64_t stride) {
        std::int64_t best = 0;
        for (std::int64_t i = 1; i < s[axis]; ++i)
          if (x[base + i * stride] > x[base + best * stride]) best = i;
        if (s[axis] > 0) y[base + best * stride] = T{1};
      });
    });
  });
  r.add(std::move(def));
}

void register_cumsum(OpRegistry& r) {
  OpDef def;
  def.name = "CumSum";
  def.min_inputs = def.max_inputs = 2;
  def.infer = [](const OpContext& c) {
    require_type(c, 0, kNumbers);
    require_type(c, 1, kIntegers);
    if (element_count(c.shape(1)) != 1) c.reject("the axis must be one number");
    return std::vector{c.type(0)};
  };
  def.evaluate = widened([](EvalContext& c) {
    const std::size_t axis = normal_axis(c.op, c.in(1).get_int(0), c.in(0).shape().size());
    const bool exclusive = c.op.attributes->integer("exclusive", 0) != 0;
    const bool reverse = c.op.attributes->integer("reverse", 0) != 0;
    const std::int64_t extent = c.in(0).shape()[axis];
    visit_numeric(c.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      using A = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;
      const T* x = c.in(0).data<T>().data();
      T* y = c.out[0].data<T>().data();
      for_lines(c.in(0).shape(), axis, [&](std::int64_t base, std::int64_t stride) {
        A sum{0};
        for (std::int64_t i = 0; i < extent; ++i) {
          const std::int64_t at = base + (reverse ? extent - 1 - i : i) * stride;
          if (exclusive) y[at] = static_cast<T>(sum);
          sum = sum + static_cast<A>(x[at]);
          if (!exclusive) y[at] = static_cast<T>(sum);
        }
      });
    });
  });
  r.add(std::move(def));
}

}  // namespace

void register_arg_reduce(OpRegistry& r) {
  add_arg(r, "ArgMax", true);
  add_arg(r, "ArgMin", false);
  register_topk(r);
  register_hardmax(r);
  register_cumsum(r);
}

}  // namespace assay
