#include "core/ir/tensor.h"

#include <fmt/format.h>

#include <cstring>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/math.h"
#include "core/ir/convert.h"

namespace assay {
namespace {

// A value larger than this is a mistake in the input: nothing here could be executed on it anyway.
constexpr std::int64_t kMaxValueBytes = std::int64_t{16} << 30;

bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }
float load_half(DType t, std::uint16_t v) { return t == DType::f16 ? from_f16(v) : from_bf16(v); }
std::uint16_t store_half(DType t, float v) { return t == DType::f16 ? to_f16(v) : to_bf16(v); }

// One element of a value of type `from`, stored as type `to`.
template <class To, class From>
To convert_element(DType from, DType to, From v) {
  if (is_half(from)) {
    const float wide = load_half(from, static_cast<std::uint16_t>(v));
    if (to == from) return static_cast<To>(v);
    if constexpr (std::is_same_v<From, std::uint16_t>) return convert_element<To, float>(DType::f32, to, wide);
  }
  if (is_half(to)) return static_cast<To>(store_half(to, static_cast<float>(v)));
  if (to == DType::boolean) return static_cast<To>(v != From{0});
  if (to == DType::i4 || to == DType::u4) {
    if constexpr (std::is_floating_point_v<From>) {
      const auto wide = convert_scalar<std::int8_t>(v);
      const int lo = to == DType::i4 ? -8 : 0, hi = to == DType::i4 ? 7 : 15;
      return static_cast<To>(wide < lo ? lo : wide > hi ? hi : wide);
    } else {
      const auto wide = static_cast<std::int64_t>(v);
      return to == DType::i4 ? static_cast<To>(wrap_i4(wide)) : static_cast<To>(wrap_u4(wide));
    }
  }
  return convert_scalar<To>(v);
}

}  // namespace

std::int64_t element_count(const Shape& shape) {
  for (const std::int64_t d : shape)
    if (d < 0) throw InputError("size", fmt::format("shape {} has a negative dimension", to_string(shape)));
  for (const std::int64_t d : shape)
    if (d == 0) return 0;
  return checked_product(shape);
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::int64_t TensorType::bytes() const { return byte_size(dtype, element_count(shape)); }

std::string to_string(const TensorType& type) { return fmt::format("{}{}", name(type.dtype), to_string(type.shape)); }

std::int64_t storage_size(DType t) { return std::max(1, bits(t) / 8); }

Tensor::Tensor(TensorType type) : type_(std::move(type)) {
  const std::int64_t bytes = checked_mul(element_count(type_.shape), storage_size(type_.dtype));
  if (bytes > kMaxValueBytes)
    throw InputError("size", fmt::format("a value of type {} takes {} bytes, more than the limit of {}",
                                         to_string(type_), bytes, kMaxValueBytes));
  data_.resize(static_cast<std::size_t>(bytes));
}

template <class T>
std::span<T> Tensor::data() {
  const bool fits = visit_storage(dtype(), [](auto v) { return std::is_same_v<decltype(v), T>; });
  ASSAY_CHECK(fits, fmt::format("a {} tensor read as another type", assay::name(dtype())));
  return {reinterpret_cast<T*>(data_.data()), data_.size() / sizeof(T)};
}

template <class T>
std::span<const T> Tensor::data() const {
  return const_cast<Tensor*>(this)->data<T>();
}

template <class T>
Tensor Tensor::of(DType dtype, Shape shape, std::span<const T> values) {
  Tensor t({dtype, std::move(shape)});
  const std::span<T> to = t.data<T>();
  ASSAY_CHECK(to.size() == values.size(), fmt::format("{} values for {}", values.size(), to_string(t.type())));
  if (!values.empty()) std::memcpy(to.data(), values.data(), values.size_bytes());
  return t;
}

#define ASSAY_TENSOR_TYPE(T)                           \
  template std::span<T> Tensor::data<T>();             \
  template std::span<const T> Tensor::data<T>() const; \
  template Tensor Tensor::of<T>(DType, Shape, std::span<const T>);
ASSAY_TENSOR_TYPE(float)
ASSAY_TENSOR_TYPE(double)
ASSAY_TENSOR_TYPE(std::int8_t)
ASSAY_TENSOR_TYPE(std::uint8_t)
ASSAY_TENSOR_TYPE(std::int16_t)
ASSAY_TENSOR_TYPE(std::uint16_t)
ASSAY_TENSOR_TYPE(std::int32_t)
ASSAY_TENSOR_TYPE(std::uint32_t)
ASSAY_TENSOR_TYPE(std::int64_t)
ASSAY_TENSOR_TYPE(std::uint64_t)
#undef ASSAY_TENSOR_TYPE

Tensor Tensor::scalar(DType dtype, double value) {
  Tensor t({dtype, {}});
  t.set(0, value);
  return t;
}

double Tensor::get(std::int64_t i) const {
  ASSAY_CHECK(i >= 0 && i < size(), fmt::format("element {} of {}", i, to_string(type_)));
  return visit_storage(dtype(), [&](auto v) {
    const auto raw = data<decltype(v)>()[static_cast<std::size_t>(i)];
    if (is_half(dtype())) return static_cast<double>(load_half(dtype(), static_cast<std::uint16_t>(raw)));
    return static_cast<double>(raw);
  });
}

std::int64_t Tensor::get_int(std::int64_t i) const {
  if (is_float(dtype())) return convert_scalar<std::int64_t>(get(i));
  ASSAY_CHECK(i >= 0 && i < size(), fmt::format("element {} of {}", i, to_string(type_)));
  return visit_storage(
      dtype(), [&](auto v) { return static_cast<std::int64_t>(data<decltype(v)>()[static_cast<std::size_t>(i)]); });
}

void Tensor::set(std::int64_t i, double value) {
  ASSAY_CHECK(i >= 0 && i < size(), fmt::format("element {} of {}", i, to_string(type_)));
  visit_storage(dtype(), [&](auto v) {
    using T = decltype(v);
    data<T>()[static_cast<std::size_t>(i)] = convert_element<T, double>(DType::f64, dtype(), value);
  });
}

std::vector<double> Tensor::to_doubles() const {
  std::vector<double> out(static_cast<std::size_t>(size()));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = get(static_cast<std::int64_t>(i));
  return out;
}

std::vector<std::int64_t> Tensor::to_ints() const {
  std::vector<std::int64_t> out(static_cast<std::size_t>(size()));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = get_int(static_cast<std::int64_t>(i));
  return out;
}

Tensor Tensor::reshaped(Shape shape) const {
  ASSAY_CHECK(element_count(shape) == size(), fmt::format("{} reshaped to {}", to_string(type_), to_string(shape)));
  Tensor out = *this;
  out.type_.shape = std::move(shape);
  return out;
}

Tensor Tensor::cast(DType to) const {
  if (to == dtype()) return *this;
  Tensor out({to, shape()});
  visit_storage(dtype(), [&](auto f) {
    using From = decltype(f);
    const std::span<const From> src = data<From>();
    visit_storage(to, [&](auto t) {
      using To = decltype(t);
      const std::span<To> dst = out.data<To>();
      for (std::size_t i = 0; i < src.size(); ++i) dst[i] = convert_element<To, From>(dtype(), to, src[i]);
    });
  });
  return out;
}

}  // namespace assay
