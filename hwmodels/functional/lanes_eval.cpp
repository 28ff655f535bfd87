#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/error.h"
#include "hwmodels/functional/lanes.h"

// One instruction for a block of lanes. The switch is outside the loops, so that each loop is a plain one.

namespace assay {
namespace {

/// Puts a value into `out`, wrapped or rounded to the type, by way of cast_lanes' rules.
void settle(DType t, Lanes& out, std::size_t n) {
  if (t == DType::f32 || t == DType::f64 || t == DType::i64 || t == DType::u64) return;
  // A same-class cast from the widest type of the class rounds or wraps.
  const DType wide = lane_class(t) == LaneClass::real32 ? DType::f32 : DType::i64;
  cast_lanes(wide, out, t, out, n);
}

template <class T>
T python_mod(T a, T b) {
  const T r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

template <class T, class F>
void map1(T* out, const T* a, std::size_t n, F f) {
  for (std::size_t i = 0; i < n; ++i) out[i] = f(a[i]);
}
template <class T, class F>
void map2(T* out, const T* a, const T* b, std::size_t n, F f) {
  for (std::size_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
}

[[noreturn]] void no_such(ScalarOp op, DType t) {
  throw InputError("program", "'" + std::string(name(op)) + "' of " + std::string(name(t)) + " is not defined");
}

template <class T>
void real_op(ScalarOp op, DType type, T* out, const T* a, const T* b, std::size_t n) {
  const T one = 1;
  switch (op) {
    case ScalarOp::add:
      return map2(out, a, b, n, [](T x, T y) { return x + y; });
    case ScalarOp::sub:
      return map2(out, a, b, n, [](T x, T y) { return x - y; });
    case ScalarOp::mul:
      return map2(out, a, b, n, [](T x, T y) { return x * y; });
    case ScalarOp::div:
      return map2(out, a, b, n, [](T x, T y) { return x / y; });
    case ScalarOp::mod:
      return map2(out, a, b, n, python_mod<T>);
    case ScalarOp::fmod:
      return map2(out, a, b, n, [](T x, T y) { return std::fmod(x, y); });
    case ScalarOp::pow:
      return map2(out, a, b, n, [](T x, T y) { return std::pow(x, y); });
    case ScalarOp::min:
      return map2(out, a, b, n, [](T x, T y) { return x != x || x < y ? x : y; });
    case ScalarOp::max:
      return map2(out, a, b, n, [](T x, T y) { return x != x || x > y ? x : y; });
    case ScalarOp::neg:
      return map1(out, a, n, [](T x) { return -x; });
    case ScalarOp::abs:
      return map1(out, a, n, [](T x) { return std::abs(x); });
    case ScalarOp::sign:
      return map1(out, a, n, [](T x) { return x != x ? x : T(x > 0) - T(x < 0); });
    case ScalarOp::floor:
      return map1(out, a, n, [](T x) { return std::floor(x); });
    case ScalarOp::ceil:
      return map1(out, a, n, [](T x) { return std::ceil(x); });
    case ScalarOp::round_even:
      return map1(out, a, n, [](T x) { return std::nearbyint(x); });
    case ScalarOp::trunc:
      return map1(out, a, n, [](T x) { return std::trunc(x); });
    case ScalarOp::sqrt:
      return map1(out, a, n, [](T x) { return std::sqrt(x); });
    case ScalarOp::rsqrt:
      return map1(out, a, n, [=](T x) { return one / std::sqrt(x); });
    case ScalarOp::reciprocal:
      return map1(out, a, n, [=](T x) { return one / x; });
    case ScalarOp::exp:
      return map1(out, a, n, [](T x) { return std::exp(x); });
    case ScalarOp::log:
      return map1(out, a, n, [](T x) { return std::log(x); });
    case ScalarOp::sin:
      return map1(out, a, n, [](T x) { return std::sin(x); });
    case ScalarOp::cos:
      return map1(out, a, n, [](T x) { return std::cos(x); });
    case ScalarOp::tan:
      return map1(out, a, n, [](T x) { return std::tan(x); });
    case ScalarOp::tanh:
      return map1(out, a, n, [](T x) { return std::tanh(x); });
    case ScalarOp::sinh:
      return map1(out, a, n, [](T x) { return std::sinh(x); });
    case ScalarOp::cosh:
      return map1(out, a, n, [](T x) { return std::cosh(x); });
    case ScalarOp::asin:
      return map1(out, a, n, [](T x) { return std::asin(x); });
    case ScalarOp::acos:
      return map1(out, a, n, [](T x) { return std::acos(x); });
    case ScalarOp::atan:
      return map1(out, a, n, [](T x) { return std::atan(x); });
    case ScalarOp::asinh:
      return map1(out, a, n, [](T x) { return std::asinh(x); });
    case ScalarOp::acosh:
      return map1(out, a, n, [](T x) { return std::acosh(x); });
    case ScalarOp::atanh:
      return map1(out, a, n, [](T x) { return std::atanh(x); });
    case ScalarOp::erf:
      return map1(out, a, n, [](T x) { return std::erf(x); });
    case ScalarOp::sigmoid:
      return map1(out, a, n, [=](T x) { return one / (one + std::exp(-x)); });
    default:
      no_such(op, type);
  }
}

std::int64_t wrapping_pow(std::int64_t base, std::int64_t exponent, bool is_unsigned) {
  if (!is_unsigned && exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  auto e = static_cast<std::uint64_t>(exponent), b = static_cast<std::uint64_t>(base), r = std::uint64_t{1};
  for (; e != 0; e >>= 1, b *= b)
    if ((e & 1U) != 0) r *= b;
  return static_cast<std::int64_t>(r);
}

void integer_op(ScalarOp op, DType type, std::int64_t* out, const std::int64_t* a, const std::int64_t* b,
                std::size_t n) {
  using I = std::int64_t;
  const auto u = [](I x) { return static_cast<std::uint64_t>(x); };
  const auto s = [](std::uint64_t x) { return static_cast<I>(x); };
  const bool big = type == DType::u64;
  const int width = bits(type);
  const auto less = [&](I x, I y) { return big ? u(x) < u(y) : x < y; };
  switch (op) {
    case ScalarOp::add:
      return map2(out, a, b, n, [&](I x, I y) { return s(u(x) + u(y)); });
    case ScalarOp::sub:
      return map2(out, a, b, n, [&](I x, I y) { return s(u(x) - u(y)); });
    case ScalarOp::mul:
      return map2(out, a, b, n, [&](I x, I y) { return s(u(x) * u(y)); });
    case ScalarOp::div:
      return map2(out, a, b, n, [&](I x, I y) {
        return y == 0 ? 0 : big ? s(u(x) / u(y)) : y == -1 ? s(0 - u(x)) : x / y;
      });
    case ScalarOp::mod:
    case ScalarOp::fmod:
      return map2(out, a, b, n, [&](I x, I y) {
        if (y == 0 || (!big && y == -1)) return I{0};
        if (big) return s(u(x) % u(y));
        const I r = x % y;
        return op == ScalarOp::mod && r != 0 && (r < 0) != (y < 0) ? r + y : r;
      });
    case ScalarOp::pow:
      return map2(out, a, b, n, [&](I x, I y) { return wrapping_pow(x, y, big); });
    case ScalarOp::min:
      return map2(out, a, b, n, [&](I x, I y) { return less(y, x) ? y : x; });
    case ScalarOp::max:
      return map2(out, a, b, n, [&](I x, I y) { return less(x, y) ? y : x; });
    case ScalarOp::neg:
      return map1(out, a, n, [&](I x) { return s(0 - u(x)); });
    case ScalarOp::abs:
      return map1(out, a, n, [&](I x) { return !big && x < 0 ? s(0 - u(x)) : x; });
    case ScalarOp::sign:
      return map1(out, a, n, [&](I x) { return big ? I{x != 0} : I{x > 0} - I{x < 0}; });
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::round_even:
    case ScalarOp::trunc:
      return map1(out, a, n, [](I x) { return x; });
    case ScalarOp::bit_and:
      return map2(out, a, b, n, [](I x, I y) { return x & y; });
    case ScalarOp::bit_or:
      return map2(out, a, b, n, [](I x, I y) { return x | y; });
    case ScalarOp::bit_xor:
      return map2(out, a, b, n, [](I x, I y) { return x ^ y; });
    case ScalarOp::bit_not:
      return map1(out, a, n, [](I x) { return ~x; });
    case ScalarOp::shift_left:
      return map2(out, a, b, n, [&](I x, I y) { return y < 0 || y >= width ? 0 : s(u(x) << y); });
    case ScalarOp::shift_right:
      return map2(out, a, b, n, [&](I x, I y) {
        if (y < 0 || y >= width) return !big && x < 0 ? I{-1} : I{0};
        return big ? s(u(x) >> y) : x >> y;
      });
    default:
      break;
  }
  // What is defined by real functions: through double, truncated like a cast.
  Lanes x, y;
  std::memcpy(x.raw, a, n * sizeof(I));
  cast_lanes(type, x, DType::f64, x, n);
  if (b != nullptr) {
    std::memcpy(y.raw, b, n * sizeof(I));
    cast_lanes(type, y, DType::f64, y, n);
  }
  Lanes r;
  real_op<double>(op, type, r.f64(), x.f64(), y.f64(), n);
  cast_lanes(DType::f64, r, type, r, n);
  std::memcpy(out, r.raw, n * sizeof(I));
}

/// Booleans as 0 and 1 of any type's lanes.
void truth(DType t, const Lanes& v, Lanes& out, std::size_t n) { cast_lanes(t, v, DType::boolean, out, n); }

template <class T, class F>
void compare(std::int64_t* out, const T* a, const T* b, std::size_t n, F f) {
  for (std::size_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
}
template <class T>
void compare_op(ScalarOp op, std::int64_t* out, const T* a, const T* b, std::size_t n) {
  if (op == ScalarOp::less) return compare(out, a, b, n, [](T x, T y) { return x < y; });
  if (op == ScalarOp::less_equal) return compare(out, a, b, n, [](T x, T y) { return x <= y; });
  compare(out, a, b, n, [](T x, T y) { return x == y; });
}

struct Evaluator {
  const Body& body;
  std::vector<Lanes>& values;
  std::size_t n;

  DType type_of(int v) const { return body.code[static_cast<std::size_t>(v)].type; }
  Lanes& value(int v) { return values[static_cast<std::size_t>(v)]; }
  /// The value as the type, converted into `spare` if it has another.
  const Lanes& as(int v, DType t, Lanes& spare) {
    if (type_of(v) == t) return value(v);
    cast_lanes(type_of(v), value(v), t, spare, n);
    return spare;
  }

  void boolean_result(DType type, Lanes& result, Lanes& out) { cast_lanes(DType::boolean, result, type, out, n); }

  void comparison(const ScalarInstr& in, Lanes& out) {
    Lanes result, spare;
    const DType t = type_of(in.a);
    const Lanes &a = value(in.a), &b = as(in.b, t, spare);
    switch (lane_class(t)) {
      case LaneClass::real32:
        compare_op(in.op, result.i64(), a.f32(), b.f32(), n);
        break;
      case LaneClass::real64:
        compare_op(in.op, result.i64(), a.f64(), b.f64(), n);
        break;
      case LaneClass::integer:
        if (t == DType::u64)
          compare_op(in.op, result.i64(), reinterpret_cast<const std::uint64_t*>(a.raw),
                     reinterpret_cast<const std::uint64_t*>(b.raw), n);
        else
          compare_op(in.op, result.i64(), a.i64(), b.i64(), n);
        break;
    }
    boolean_result(in.type, result, out);
  }

  void logical(const ScalarInstr& in, Lanes& out) {
    Lanes a, b;
    truth(type_of(in.a), value(in.a), a, n);
    if (in.op != ScalarOp::logical_not) truth(type_of(in.b), value(in.b), b, n);
    std::int64_t* r = a.i64();
    const std::int64_t* y = b.i64();
    for (std::size_t i = 0; i < n; ++i)
      r[i] = in.op == ScalarOp::logical_and   ? r[i] & y[i]
             : in.op == ScalarOp::logical_or  ? r[i] | y[i]
             : in.op == ScalarOp::logical_xor ? r[i] ^ y[i]
                                              : 1 - r[i];
    boolean_result(in.type, a, out);
  }

  void classify(const ScalarInstr& in, Lanes& out) {
    Lanes wide, result;
    cast_lanes(type_of(in.a), value(in.a), DType::f64, wide, n);
    for (std::size_t i = 0; i < n; ++i)
      result.i64()[i] = in.op == ScalarOp::is_nan ? std::isnan(wide.f64()[i]) : std::isinf(wide.f64()[i]);
    boolean_result(in.type, result, out);
  }

  void select(const ScalarInstr& in, Lanes& out) {
    Lanes condition, spare_b, spare_c;
    truth(type_of(in.a), value(in.a), condition, n);
    const Lanes &b = as(in.b, in.type, spare_b), &c = as(in.c, in.type, spare_c);
    const std::int64_t* k = condition.i64();
    if (lane_class(in.type) == LaneClass::real32)
      for (std::size_t i = 0; i < n; ++i) out.f32()[i] = k[i] != 0 ? b.f32()[i] : c.f32()[i];
    else  // both 64-bit classes by their bits
      for (std::size_t i = 0; i < n; ++i) out.i64()[i] = k[i] != 0 ? b.i64()[i] : c.i64()[i];
  }

  void step(const ScalarInstr& in, Lanes& out) {
    switch (in.op) {
      case ScalarOp::input:
      case ScalarOp::index:
        return;
      case ScalarOp::constant:
        return fill_run(in.type, in.imm, out, 0, n);
      case ScalarOp::cast:
        return cast_lanes(type_of(in.a), value(in.a), in.type, out, n);
      case ScalarOp::select:
        return select(in, out);
      case ScalarOp::less:
      case ScalarOp::less_equal:
      case ScalarOp::equal:
        return comparison(in, out);
      case ScalarOp::logical_and:
      case ScalarOp::logical_or:
      case ScalarOp::logical_xor:
      case ScalarOp::logical_not:
        return logical(in, out);
      case ScalarOp::is_nan:
      case ScalarOp::is_inf:
        return classify(in, out);
      default:
        break;
    }
    Lanes spare_a, spare_b;
    const Lanes& a = as(in.a, in.type, spare_a);
    const Lanes* b = arity(in.op) > 1 ? &as(in.b, in.type, spare_b) : nullptr;
    switch (lane_class(in.type)) {
      case LaneClass::real32:
        real_op<float>(in.op, in.type, out.f32(), a.f32(), b == nullptr ? nullptr : b->f32(), n);
        break;
      case LaneClass::real64:
        real_op<double>(in.op, in.type, out.f64(), a.f64(), b == nullptr ? nullptr : b->f64(), n);
        break;
      case LaneClass::integer:
        integer_op(in.op, in.type, out.i64(), a.i64(), b == nullptr ? nullptr : b->i64(), n);
        break;
    }
    settle(in.type, out, n);
  }
};

}  // namespace

void evaluate_body(const Body& body, std::vector<Lanes>& values, std::size_t n) {
  Evaluator e{body, values, n};
  for (std::size_t i = 0; i < body.code.size(); ++i) e.step(body.code[i], values[i]);
}

}  // namespace assay
