#include <cmath>

#include "core/ops/build_nest.h"
#include "core/ops/eval.h"

// Max, Min, Sum and Mean of any number of operands with numpy broadcasting.

namespace assay {
namespace {

template <class F>
void add_variadic(OpRegistry& r, const std::string& name, unsigned types, ScalarOp op, bool divide, F f) {
  OpDef def;
  def.name = name;
  def.kind = OpKind::nest;
  def.max_inputs = SIZE_MAX;
  def.infer = [types](const OpContext& c) {
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      require_type(c, i, types);
      require_same_type(c, 0, i);
      shapes.push_back(c.shape(i));
    }
    return std::vector<TensorType>{{c.type(0).dtype, broadcast_shape(c, shapes)}};
  };
  def.evaluate = widened([f, divide](EvalContext& c) {
    visit_numeric(c.in(0).dtype(), [&](auto tag) {
      using T = decltype(tag);
      Tensor& out = c.out[0];
      zip<T, T>(out, [](T x) { return x; }, {&c.in(0)});
      for (std::size_t i = 1; i < c.op.inputs.size(); ++i) zip<T, T, T>(out, f, {&out, &c.in(i)});
      if (divide) {
        const auto n = static_cast<T>(c.op.inputs.size());
        for (T& x : out.data<T>()) x = static_cast<T>(x / n);
      }
    });
  });
  def.nests = [op, divide](const OpContext& c) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) all.push_back(i);
    // Sums of more than two 16-bit floats are rounded once, as the reference does.
    const DType t = c.outputs[0].dtype;
    const DType work = all.size() > 2 || divide ? work_type(t) : t;
    return elementwise_nest(c, all, work, [&](BodyWriter& w, const std::vector<int>& v) {
      int x = v[0];
      // A lone operand still goes through the body: the result must be its last value.
      for (std::size_t i = 1; i < v.size(); ++i) x = w.op(op, x, v[i]);
      if (divide && v.size() > 1) x = w.op(ScalarOp::div, x, w.number(static_cast<double>(v.size())));
      return x;
    });
  };
  r.add(std::move(def));
}

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(x);
  else
    return false;
}

}  // namespace

void register_variadic(OpRegistry& r) {
  add_variadic(r, "Max", kNumbers, ScalarOp::max, false, [](auto a, auto b) { return is_nan(a) || a > b ? a : b; });
  add_variadic(r, "Min", kNumbers, ScalarOp::min, false, [](auto a, auto b) { return is_nan(a) || a < b ? a : b; });
  add_variadic(r, "Sum", kFloats, ScalarOp::add, false, [](auto a, auto b) { return a + b; });
  add_variadic(r, "Mean", kFloats, ScalarOp::add, true, [](auto a, auto b) { return a + b; });
}

}  // namespace assay
