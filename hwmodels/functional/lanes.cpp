#include "hwmodels/functional/lanes.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "core/base/check.h"
#include "core/ir/convert.h"

namespace assay {
namespace {

/// fp16 → fp32 by table: loads of half-precision data are frequent.
const float* f16_table() {
  static const std::unique_ptr<float[]> table = [] {
    auto t = std::make_unique<float[]>(65536);
    for (std::uint32_t i = 0; i < 65536; ++i) t[i] = from_f16(static_cast<std::uint16_t>(i));
    return t;
  }();
  return table.get();
}

template <class T>
T read(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <class T, class Out, class F>
void load_as(const std::byte* from, std::int64_t stride, Out* out, std::size_t n, F f) {
  if (stride == sizeof(T)) {
    for (std::size_t i = 0; i < n; ++i) out[i] = f(read<T>(from + i * sizeof(T)));
  } else if (stride == 0) {
    const Out v = f(read<T>(from));
    for (std::size_t i = 0; i < n; ++i) out[i] = v;
  } else {
    for (std::size_t i = 0; i < n; ++i) out[i] = f(read<T>(from + static_cast<std::int64_t>(i) * stride));
  }
}

template <class T, class In, class F>
void store_as(const In* in, std::byte* to, std::int64_t stride, std::size_t n, F f) {
  for (std::size_t i = 0; i < n; ++i) {
    const T v = f(in[i]);
    std::memcpy(to + static_cast<std::int64_t>(i) * stride, &v, sizeof v);
  }
}

/// A 64-bit value wrapped to an integer type's width, or 0/1 for booleans.
std::int64_t wrap(DType t, std::int64_t v) {
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

template <class From>
std::int64_t to_integer(DType t, From v) {
  switch (t) {
    case DType::i4:
      return v != v ? 0 : std::min<std::int64_t>(7, std::max<std::int64_t>(-8, convert_scalar<std::int8_t>(v)));
    case DType::u4:
      return v != v ? 0 : std::min<std::int64_t>(15, convert_scalar<std::uint8_t>(v));
    case DType::i8:
      return convert_scalar<std::int8_t>(v);
    case DType::u8:
      return convert_scalar<std::uint8_t>(v);
    case DType::i16:
      return convert_scalar<std::int16_t>(v);
    case DType::u16:
      return convert_scalar<std::uint16_t>(v);
    case DType::i32:
      return convert_scalar<std::int32_t>(v);
    case DType::u32:
      return convert_scalar<std::uint32_t>(v);
    case DType::i64:
      return convert_scalar<std::int64_t>(v);
    case DType::u64:
      return static_cast<std::int64_t>(convert_scalar<std::uint64_t>(v));
    default:
      return v != From{0};
  }
}

float rounded(DType t, float v) {
  if (t == DType::f16) return f16_table()[to_f16(v)];
  if (t == DType::bf16) return from_bf16(to_bf16(v));
  return v;
}
void round_lanes(DType t, float* v, std::size_t n) {
  if (t == DType::f32) return;
  for (std::size_t i = 0; i < n; ++i) v[i] = rounded(t, v[i]);
}

template <class T>
T lowest() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}

std::int64_t extreme(DType t, bool highest) {
  const int width = bits(t);
  if (t == DType::boolean) return highest;
  if (!is_signed(t)) return highest ? (width == 64 ? -1 : (std::int64_t{1} << width) - 1) : 0;
  const std::int64_t top =
      width == 64 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << (width - 1)) - 1;
  return highest ? top : -top - 1;
}

template <class T>
T fold_one(Combine c, T a, T b) {
  switch (c) {
    case Combine::sum:
      return a + b;
    case Combine::product:
      return a * b;
    case Combine::max:
      return a != a || a > b ? a : b;  // NaN of either side stays
    case Combine::min:
      return a != a || a < b ? a : b;
    case Combine::none:
      return b;
  }
  return b;
}
std::int64_t fold_integer(Combine c, DType t, std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  const bool less = t == DType::u64 ? ua < ub : a < b;
  switch (c) {
    case Combine::sum:
      return wrap(t, static_cast<std::int64_t>(ua + ub));
    case Combine::product:
      return wrap(t, static_cast<std::int64_t>(ua * ub));
    case Combine::max:
      return less ? b : a;
    case Combine::min:
      return less ? a : b;
    case Combine::none:
      return b;
  }
  return b;
}

}  // namespace

LaneClass lane_class(DType t) {
  if (t == DType::f64) return LaneClass::real64;
  return is_float(t) ? LaneClass::real32 : LaneClass::integer;
}

void load_run(DType t, const std::byte* from, std::int64_t stride, Lanes& to, std::size_t at, std::size_t n) {
  float* f = to.f32() + at;
  std::int64_t* i = to.i64() + at;
  const auto same = [](auto v) { return static_cast<std::int64_t>(v); };
  switch (t) {
    case DType::f32:
      return load_as<float>(from, stride, f, n, [](float v) { return v; });
    case DType::f16:
      return load_as<std::uint16_t>(from, stride, f, n, [table = f16_table()](std::uint16_t v) { return table[v]; });
    case DType::bf16:
      return load_as<std::uint16_t>(from, stride, f, n, from_bf16);
    case DType::f64:
      return load_as<double>(from, stride, to.f64() + at, n, [](double v) { return v; });
    case DType::i4:
    case DType::i8:
      return load_as<std::int8_t>(from, stride, i, n, same);
    case DType::u4:
    case DType::u8:
      return load_as<std::uint8_t>(from, stride, i, n, same);
    case DType::boolean:
      return load_as<std::uint8_t>(from, stride, i, n, [](std::uint8_t v) { return std::int64_t{v != 0}; });
    case DType::i16:
      return load_as<std::int16_t>(from, stride, i, n, same);
    case DType::u16:
      return load_as<std::uint16_t>(from, stride, i, n, same);
    case DType::i32:
      return load_as<std::int32_t>(from, stride, i, n, same);
    case DType::u32:
      return load_as<std::uint32_t>(from, stride, i, n, same);
    case DType::i64:
    case DType::u64:
      return load_as<std::int64_t>(from, stride, i, n, same);
  }
}

void store_run(DType t, const Lanes& from, std::size_t at, std::byte* to, std::int64_t stride, std::size_t n) {
  const float* f = from.f32() + at;
  const std::int64_t* i = from.i64() + at;
  switch (t) {
    case DType::f32:
      return store_as<float>(f, to, stride, n, [](float v) { return v; });
    case DType::f16:
      return store_as<std::uint16_t>(f, to, stride, n, to_f16);
    case DType::bf16:
      return store_as<std::uint16_t>(f, to, stride, n, to_bf16);
    case DType::f64:
      return store_as<double>(from.f64() + at, to, stride, n, [](double v) { return v; });
    case DType::i4:
    case DType::u4:
    case DType::boolean:
    case DType::i8:
    case DType::u8:
      return store_as<std::uint8_t>(i, to, stride, n, [](std::int64_t v) { return static_cast<std::uint8_t>(v); });
    case DType::i16:
    case DType::u16:
      return store_as<std::uint16_t>(i, to, stride, n, [](std::int64_t v) { return static_cast<std::uint16_t>(v); });
    case DType::i32:
    case DType::u32:
      return store_as<std::uint32_t>(i, to, stride, n, [](std::int64_t v) { return static_cast<std::uint32_t>(v); });
    case DType::i64:
    case DType::u64:
      return store_as<std::int64_t>(i, to, stride, n, [](std::int64_t v) { return v; });
  }
}

void fill_run(DType t, double value, Lanes& to, std::size_t at, std::size_t n) {
  switch (lane_class(t)) {
    case LaneClass::real32:
      std::fill_n(to.f32() + at, n, rounded(t, static_cast<float>(value)));
      break;
    case LaneClass::real64:
      std::fill_n(to.f64() + at, n, value);
      break;
    case LaneClass::integer:
      std::fill_n(to.i64() + at, n, to_integer(t, value));
      break;
  }
}

void cast_lanes(DType from_type, const Lanes& from, DType to_type, Lanes& to, std::size_t n) {
  const LaneClass a = lane_class(from_type), b = lane_class(to_type);
  if (from_type == to_type) {
    if (&from != &to) std::memcpy(to.raw, from.raw, n * (a == LaneClass::real32 ? 4 : 8));
    return;
  }
  // Through a copy where the two arrays differ in element size and may be one.
  const auto convert = [&](auto* out, const auto* in, auto f) {
    std::array<std::remove_pointer_t<decltype(out)>, kLanes> result;
    for (std::size_t i = 0; i < n; ++i) result[i] = f(in[i]);
    std::memcpy(out, result.data(), n * sizeof result[0]);
  };
  const bool unsigned_64 = from_type == DType::u64;
  switch (b) {
    case LaneClass::real32:
      if (a == LaneClass::real32)
        convert(to.f32(), from.f32(), [](float v) { return v; });
      else if (a == LaneClass::real64)
        convert(to.f32(), from.f64(), [](double v) { return static_cast<float>(v); });
      else
        convert(to.f32(), from.i64(), [&](std::int64_t v) {
          return unsigned_64 ? static_cast<float>(static_cast<std::uint64_t>(v)) : static_cast<float>(v);
        });
      round_lanes(to_type, to.f32(), n);
      break;
    case LaneClass::real64:
      if (a == LaneClass::real32)
        convert(to.f64(), from.f32(), [](float v) { return static_cast<double>(v); });
      else
        convert(to.f64(), from.i64(), [&](std::int64_t v) {
          return unsigned_64 ? static_cast<double>(static_cast<std::uint64_t>(v)) : static_cast<double>(v);
        });
      break;
    case LaneClass::integer:
      if (a == LaneClass::real32)
        convert(to.i64(), from.f32(), [&](float v) { return to_integer(to_type, v); });
      else if (a == LaneClass::real64)
        convert(to.i64(), from.f64(), [&](double v) { return to_integer(to_type, v); });
      else
        convert(to.i64(), from.i64(), [&](std::int64_t v) { return wrap(to_type, v); });
      break;
  }
}

std::int64_t lane_integer(DType t, const Lanes& lanes, std::size_t i) {
  ASSAY_CHECK(lane_class(t) == LaneClass::integer, std::string(name(t)));
  return lanes.i64()[i];
}

void fold_lanes(Combine combine, DType type, Lanes& acc, const Lanes& value, std::size_t n) {
  switch (lane_class(type)) {
    case LaneClass::real32: {
      float* a = acc.f32();
      const float* v = value.f32();
      if (combine == Combine::sum)
        for (std::size_t i = 0; i < n; ++i) a[i] += v[i];
      else
        for (std::size_t i = 0; i < n; ++i) a[i] = fold_one(combine, a[i], v[i]);
      round_lanes(type, a, n);
      break;
    }
    case LaneClass::real64:
      for (std::size_t i = 0; i < n; ++i) acc.f64()[i] = fold_one(combine, acc.f64()[i], value.f64()[i]);
      break;
    case LaneClass::integer:
      for (std::size_t i = 0; i < n; ++i) acc.i64()[i] = fold_integer(combine, type, acc.i64()[i], value.i64()[i]);
      break;
  }
}

void fold_into_first(Combine combine, DType type, Lanes& acc, const Lanes& value, std::size_t n) {
  switch (lane_class(type)) {
    case LaneClass::real32: {
      float a = acc.f32()[0];
      for (std::size_t i = 0; i < n; ++i) a = rounded(type, fold_one(combine, a, value.f32()[i]));
      acc.f32()[0] = a;
      break;
    }
    case LaneClass::real64: {
      double a = acc.f64()[0];
      for (std::size_t i = 0; i < n; ++i) a = fold_one(combine, a, value.f64()[i]);
      acc.f64()[0] = a;
      break;
    }
    case LaneClass::integer: {
      std::int64_t a = acc.i64()[0];
      for (std::size_t i = 0; i < n; ++i) a = fold_integer(combine, type, a, value.i64()[i]);
      acc.i64()[0] = a;
      break;
    }
  }
}

void fill_identity(Combine combine, DType type, Lanes& acc, std::size_t n) {
  const bool product = combine == Combine::product, max = combine == Combine::max, min = combine == Combine::min;
  switch (lane_class(type)) {
    case LaneClass::real32:
      std::fill_n(acc.f32(), n, product ? 1.0F : max ? lowest<float>() : min ? -lowest<float>() : 0.0F);
      break;
    case LaneClass::real64:
      std::fill_n(acc.f64(), n, product ? 1.0 : max ? lowest<double>() : min ? -lowest<double>() : 0.0);
      break;
    case LaneClass::integer:
      std::fill_n(acc.i64(), n, product ? 1 : max ? extreme(type, false) : min ? extreme(type, true) : 0);
      break;
  }
}

}  // namespace assay
