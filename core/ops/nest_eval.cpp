#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/math.h"
#include "core/ir/convert.h"
#include "core/ops/op.h"
#include "core/ops/shapes.h"

// A literal interpreter of nests, written for clearness and not for speed: it is the oracle that ties each
// operation's nests to its reference. It shares no arithmetic with the reference implementations.

namespace assay {
namespace {

// A scalar of any type: `f` holds floats, `i` everything else (uint64 by bits).
struct Value {
  DType type = DType::f32;
  double f = 0;
  std::int64_t i = 0;
};

double rounded(DType t, double v) {
  switch (t) {
    case DType::f32:
      return static_cast<float>(v);
    case DType::f16:
      return from_f16(to_f16(static_cast<float>(v)));
    case DType::bf16:
      return from_bf16(to_bf16(static_cast<float>(v)));
    default:
      return v;
  }
}

std::int64_t wrapped(DType t, std::int64_t v) {
  switch (t) {
    case DType::i4:
      return wrap_i4(v);
    case DType::u4:
      return wrap_u4(v);
    case DType::i8:
      return static_cast<std::int8_t>(v);
    case DType::u8:
      return static_cast<std::uint8_t>(v);
    case DType::i16:
      return static_cast<std::int16_t>(v);
    case DType::u16:
      return static_cast<std::uint16_t>(v);
    case DType::i32:
      return static_cast<std::int32_t>(v);
    case DType::u32:
      return static_cast<std::uint32_t>(v);
    case DType::boolean:
      return v != 0;
    default:
      return v;
  }
}

Value real(DType t, double v) { return {t, rounded(t, v), 0}; }
Value whole(DType t, std::int64_t v) { return {t, 0, wrapped(t, v)}; }
bool truth(const Value& v) { return is_float(v.type) ? v.f != 0 : v.i != 0; }

Value convert(const Value& v, DType to) {
  if (is_float(v.type)) {
    Tensor t = Tensor::scalar(DType::f64, v.f);
    if (is_float(to)) return real(to, v.f);
    return whole(to, t.cast(to).get_int(0));
  }
  if (!is_float(to)) return whole(to, v.i);
  return real(to,
              v.type == DType::u64 ? static_cast<double>(static_cast<std::uint64_t>(v.i)) : static_cast<double>(v.i));
}

Value number(DType t, double v) { return convert({DType::f64, v, 0}, t); }

Value load(const Tensor& t, std::int64_t flat) {
  if (is_float(t.dtype())) return {t.dtype(), t.get(flat), 0};
  return {t.dtype(), 0, t.get_int(flat)};
}

void store(Tensor& t, std::int64_t flat, const Value& v) {
  const Value c = convert(v, t.dtype());
  if (is_float(t.dtype())) return t.set(flat, c.f);
  visit_storage(t.dtype(), [&](auto tag) {
    using T = decltype(tag);
    t.data<T>()[static_cast<std::size_t>(flat)] = static_cast<T>(c.i);
  });
}

double float_op(ScalarOp op, double a, double b) {
  switch (op) {
    case ScalarOp::add:
      return a + b;
    case ScalarOp::sub:
      return a - b;
    case ScalarOp::mul:
      return a * b;
    case ScalarOp::div:
      return a / b;
    case ScalarOp::mod: {
      const double r = std::fmod(a, b);
      return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
    case ScalarOp::fmod:
      return std::fmod(a, b);
    case ScalarOp::min:
      return std::isnan(a) || a < b ? a : b;
    case ScalarOp::max:
      return std::isnan(a) || a > b ? a : b;
    case ScalarOp::pow:
      return std::pow(a, b);
    case ScalarOp::neg:
      return -a;
    case ScalarOp::abs:
      return std::abs(a);
    case ScalarOp::sign:
      return a > 0 ? 1 : a < 0 ? -1 : a;
    case ScalarOp::floor:
      return std::floor(a);
    case ScalarOp::ceil:
      return std::ceil(a);
    case ScalarOp::round_even:
      return std::nearbyint(a);
    case ScalarOp::trunc:
      return std::trunc(a);
    case ScalarOp::sqrt:
      return std::sqrt(a);
    case ScalarOp::rsqrt:
      return 1 / std::sqrt(a);
    case ScalarOp::reciprocal:
      return 1 / a;
    case ScalarOp::exp:
      return std::exp(a);
    case ScalarOp::log:
      return std::log(a);
    case ScalarOp::sin:
      return std::sin(a);
    case ScalarOp::cos:
      return std::cos(a);
    case ScalarOp::tan:
      return std::tan(a);
    case ScalarOp::tanh:
      return std::tanh(a);
    case ScalarOp::sinh:
      return std::sinh(a);
    case ScalarOp::cosh:
      return std::cosh(a);
    case ScalarOp::asin:
      return std::asin(a);
    case ScalarOp::acos:
      return std::acos(a);
    case ScalarOp::atan:
      return std::atan(a);
    case ScalarOp::asinh:
      return std::asinh(a);
    case ScalarOp::acosh:
      return std::acosh(a);
    case ScalarOp::atanh:
      return std::atanh(a);
    case ScalarOp::erf:
      return std::erf(a);
    case ScalarOp::sigmoid:
      return 1 / (1 + std::exp(-a));
    default:
      break;
  }
  throw InternalError(fmt::format("'{}' is no operation on floats", name(op)));
}

std::int64_t integer_op(ScalarOp op, DType t, std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  const auto less = [&](std::int64_t x, std::int64_t y) {
    return t == DType::u64 ? static_cast<std::uint64_t>(x) < static_cast<std::uint64_t>(y) : x < y;
  };
  switch (op) {
    case ScalarOp::add:
      return static_cast<std::int64_t>(ua + ub);
    case ScalarOp::sub:
      return static_cast<std::int64_t>(ua - ub);
    case ScalarOp::mul:
      return static_cast<std::int64_t>(ua * ub);
    case ScalarOp::div:
    case ScalarOp::mod:
    case ScalarOp::fmod:
      if (b == 0) throw InputError("division", "an integer is divided by zero");
      if (t == DType::u64) return static_cast<std::int64_t>(op == ScalarOp::div ? ua / ub : ua % ub);
      if (b == -1) return op == ScalarOp::div ? static_cast<std::int64_t>(0 - ua) : 0;
      return op == ScalarOp::div ? a / b : op == ScalarOp::mod ? floor_mod(a, b) : a % b;
    case ScalarOp::min:
      return less(a, b) ? a : b;
    case ScalarOp::max:
      return less(a, b) ? b : a;
    case ScalarOp::neg:
      return static_cast<std::int64_t>(0 - ua);
    case ScalarOp::abs:
      return less(a, 0) ? static_cast<std::int64_t>(0 - ua) : a;
    case ScalarOp::sign:
      return a == 0 ? 0 : less(a, 0) ? -1 : 1;
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::round_even:
    case ScalarOp::trunc:
      return a;
    case ScalarOp::bit_and:
      return a & b;
    case ScalarOp::bit_or:
      return a | b;
    case ScalarOp::bit_xor:
      return a ^ b;
    case ScalarOp::bit_not:
      return ~a;
    case ScalarOp::shift_left:
      return ub >= 64 ? 0 : static_cast<std::int64_t>(ua << ub);
    case ScalarOp::shift_right:
      return ub >= 64 ? 0 : static_cast<std::int64_t>(ua >> ub);
    default:
      break;
  }
  throw InternalError(fmt::format("'{}' is no operation on integers", name(op)));
}

bool compare_op(ScalarOp op, const Value& a, const Value& b) {
  const bool fl = is_float(a.type);
  const auto ua = static_cast<std::uint64_t>(a.i), ub = static_cast<std::uint64_t>(b.i);
  const bool is_less = fl ? a.f < b.f : a.type == DType::u64 ? ua < ub : a.i < b.i;
  const bool is_equal = fl ? a.f == b.f : a.i == b.i;
  return op == ScalarOp::less ? is_less : op == ScalarOp::equal ? is_equal : is_less || is_equal;
}

Value run_instr(const ScalarInstr& s, const std::vector<Value>& v) {
  const auto arg = [&](int i) -> const Value& { return v[static_cast<std::size_t>(i)]; };
  switch (s.op) {
    case ScalarOp::constant:
      return number(s.type, s.imm);
    case ScalarOp::cast:
      return convert(arg(s.a), s.type);
    case ScalarOp::select:
      return convert(truth(arg(s.a)) ? arg(s.b) : arg(s.c), s.type);
    case ScalarOp::less:
    case ScalarOp::less_equal:
    case ScalarOp::equal:
      return whole(DType::boolean, compare_op(s.op, arg(s.a), arg(s.b)));
    case ScalarOp::logical_and:
      return whole(DType::boolean, truth(arg(s.a)) && truth(arg(s.b)));
    case ScalarOp::logical_or:
      return whole(DType::boolean, truth(arg(s.a)) || truth(arg(s.b)));
    case ScalarOp::logical_xor:
      return whole(DType::boolean, truth(arg(s.a)) != truth(arg(s.b)));
    case ScalarOp::logical_not:
      return whole(DType::boolean, !truth(arg(s.a)));
    case ScalarOp::is_nan:
      return whole(DType::boolean, is_float(arg(s.a).type) && std::isnan(arg(s.a).f));
    case ScalarOp::is_inf:
      return whole(DType::boolean, is_float(arg(s.a).type) && std::isinf(arg(s.a).f));
    default:
      break;
  }
  const Value& a = arg(s.a);
  const Value b = arity(s.op) > 1 ? arg(s.b) : Value{a.type, 0, 0};
  ASSAY_CHECK(a.type == s.type && b.type == s.type,
              fmt::format("'{}' in {} of {} and {}", name(s.op), name(s.type), name(a.type), name(b.type)));
  if (is_float(s.type)) return real(s.type, float_op(s.op, a.f, b.f));
  return whole(s.type, integer_op(s.op, s.type, a.i, b.i));
}

Value combined(Combine c, DType t, const Value& a, const Value& b) {
  const ScalarOp op = c == Combine::sum       ? ScalarOp::add
                      : c == Combine::product ? ScalarOp::mul
                      : c == Combine::max     ? ScalarOp::max
                                              : ScalarOp::min;
  return run_instr({.op = op, .type = t, .a = 0, .b = 1}, {a, b});
}

class Interpreter {
 public:
  Interpreter(const NestProgram& p, const std::vector<std::shared_ptr<const Tensor>>& inputs,
              const std::vector<TensorType>& outputs)
      : program_(p), inputs_(inputs) {
    for (const TensorType& t : p.temps) add_writable(temps_, temp_written_, t);
    for (const TensorType& t : outputs) add_writable(outputs_, output_written_, t);
  }

  std::vector<Tensor> run() {
    for (const Nest& n : program_.nests) nest(n);
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      for (const bool w : output_written_[i]) ASSAY_CHECK(w, fmt::format("output {} is not written in full", i));
    return std::move(outputs_);
  }

 private:
  static void add_writable(std::vector<Tensor>& list, std::vector<std::vector<bool>>& written, const TensorType& t) {
    list.emplace_back(t);
    written.emplace_back(static_cast<std::size_t>(element_count(t.shape)), false);
  }

  const Tensor& tensor(Slot s) const {
    const auto n = static_cast<std::size_t>(s.number);
    if (s.kind == Slot::Kind::input) {
      ASSAY_CHECK(n < inputs_.size() && inputs_[n] != nullptr, fmt::format("input {} is absent", n));
      return *inputs_[n];
    }
    ASSAY_CHECK(n < (s.kind == Slot::Kind::temp ? temps_ : outputs_).size(), fmt::format("slot {}", n));
    return s.kind == Slot::Kind::temp ? temps_[n] : outputs_[n];
  }

  /// The flat index, or nothing where a coordinate is out of bounds.
  std::optional<std::int64_t> address(const Access& a, const std::vector<std::int64_t>& at,
                                      const std::vector<Value>& ins) const {
    const Shape& shape = tensor(a.slot).shape();
    ASSAY_CHECK(a.dims.size() == shape.size(), fmt::format("{} coordinates for {}", a.dims.size(), to_string(shape)));
    std::int64_t flat = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::int64_t x = a.dims[d].offset;
      for (const auto& [dim, coefficient] : a.dims[d].terms) x += coefficient * at[static_cast<std::size_t>(dim)];
      if (a.dims[d].index_operand) x += ins[static_cast<std::size_t>(*a.dims[d].index_operand)].i;
      if (x < 0 || x >= shape[d]) return std::nullopt;
      flat = flat * shape[d] + x;
    }
    return flat;
  }

  Value read(const Access& a, const std::vector<std::int64_t>& at, const std::vector<Value>& ins) const {
    const Tensor& t = tensor(a.slot);
    const auto flat = address(a, at, ins);
    if (!flat) {
      ASSAY_CHECK(a.fill.has_value(), "a read outside the bounds without a fill value");
      return number(t.dtype(), *a.fill);
    }
    const auto n = static_cast<std::size_t>(a.slot.number);
    if (a.slot.kind == Slot::Kind::temp)
      ASSAY_CHECK(temp_written_[n][static_cast<std::size_t>(*flat)], fmt::format("temp {} is read unwritten", n));
    if (a.slot.kind == Slot::Kind::output)
      ASSAY_CHECK(output_written_[n][static_cast<std::size_t>(*flat)], fmt::format("output {} is read unwritten", n));
    return load(t, *flat);
  }

  Value body(const Nest& n, const std::vector<std::int64_t>& at) const {
    std::vector<Value> ins(n.ins.size());
    // Index operands first: the reads that depend on them come after.
    std::vector<bool> is_index(n.ins.size(), false);
    for (const Access& a : n.ins)
      for (const AccessDim& d : a.dims)
        if (d.index_operand) is_index.at(static_cast<std::size_t>(*d.index_operand)) = true;
    for (const bool index_pass : {true, false})
      for (std::size_t i = 0; i < ins.size(); ++i)
        if (is_index[i] == index_pass) ins[i] = read(n.ins[i], at, ins);
    if (n.contraction) {
      const Value a = convert(ins[0], n.accumulator), b = convert(ins[1], n.accumulator);
      if (is_float(n.accumulator)) return real(n.accumulator, (a.f - n.zero[0]) * (b.f - n.zero[1]));
      const std::int64_t x = a.i - static_cast<std::int64_t>(n.zero[0]), y = b.i - static_cast<std::int64_t>(n.zero[1]);
      return whole(n.accumulator, integer_op(ScalarOp::mul, n.accumulator, x, y));
    }
    std::vector<Value> v;
    for (const ScalarInstr& s : n.body.code) {
      if (s.op == ScalarOp::input) {
        const Value& x = ins.at(static_cast<std::size_t>(s.a));
        ASSAY_CHECK(x.type == s.type, fmt::format("operand {} is {}, read as {}", s.a, name(x.type), name(s.type)));
        v.push_back(x);
      } else if (s.op == ScalarOp::index) {
        v.push_back(convert({DType::i64, 0, at.at(static_cast<std::size_t>(s.a))}, s.type));
      } else {
        v.push_back(run_instr(s, v));
      }
    }
    return v.back();
  }

  void nest(const Nest& n) {
    std::vector<std::size_t> parallel, reduction;
    for (std::size_t d = 0; d < n.dims.size(); ++d) (n.dims[d].reduction ? reduction : parallel).push_back(d);
    ASSAY_CHECK(reduction.empty() == (n.combine == Combine::none), "combine belongs to reductions");
    ASSAY_CHECK(!n.contraction || (n.body.code.empty() && n.ins.size() == 2 && n.combine == Combine::sum),
                "a contraction is a sum of products of two operands");
    std::vector<std::int64_t> at(n.dims.size(), 0);
    walk(n, parallel, 0, at, [&] {
      Value result;
      if (reduction.empty()) {
        result = body(n, at);
      } else {
        result = number(n.accumulator, n.init);
        walk(n, reduction, 0, at,
             [&] { result = combined(n.combine, n.accumulator, result, convert(body(n, at), n.accumulator)); });
      }
      write(n.out, at, result);
    });
  }

  template <class F>
  void walk(const Nest& n, const std::vector<std::size_t>& dims, std::size_t depth, std::vector<std::int64_t>& at,
            F&& f) {
    if (depth == dims.size()) return f();
    for (std::int64_t i = 0; i < n.dims[dims[depth]].extent; ++i) {
      at[dims[depth]] = i;
      walk(n, dims, depth + 1, at, f);
    }
  }

  void write(const Access& a, const std::vector<std::int64_t>& at, const Value& v) {
    const auto flat = address(a, at, {});
    ASSAY_CHECK(flat.has_value(), "a write outside the bounds");
    ASSAY_CHECK(a.slot.kind != Slot::Kind::input, "a nest writes an input");
    const bool temp = a.slot.kind == Slot::Kind::temp;
    const auto n = static_cast<std::size_t>(a.slot.number);
    auto&& done = (temp ? temp_written_ : output_written_)[n][static_cast<std::size_t>(*flat)];
    ASSAY_CHECK(!done, fmt::format("an element of {} {} is written twice", temp ? "temp" : "output", n));
    done = true;
    store((temp ? temps_ : outputs_)[n], *flat, v);
  }

  const NestProgram& program_;
  const std::vector<std::shared_ptr<const Tensor>>& inputs_;
  std::vector<Tensor> temps_, outputs_;
  std::vector<std::vector<bool>> temp_written_, output_written_;
};

}  // namespace

std::vector<Tensor> evaluate_nests(const OpContext& ctx, const std::vector<std::shared_ptr<const Tensor>>& inputs) {
  const OpDef* def = operations().find(ctx.op);
  ASSAY_CHECK(def != nullptr && def->nests != nullptr, "operation '" + ctx.op + "' has no nests");
  const auto program = def->nests(ctx);
  if (!program) ctx.reject("this variant has no loop-nest form");
  return Interpreter(*program, inputs, ctx.outputs).run();
}

}  // namespace assay
