#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/dtype.h"

namespace assay {

using Shape = std::vector<std::int64_t>;  ///< row-major; empty: a scalar

std::int64_t element_count(const Shape& shape);  ///< checked product; 1 for a scalar
std::string to_string(const Shape& shape);       ///< `[1, 3, 224, 224]`

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  std::int64_t bytes() const;  ///< dense size
  friend bool operator==(const TensorType&, const TensorType&) = default;
};
std::string to_string(const TensorType& type);  ///< `fp32[1, 3, 224, 224]`

/// A dense row-major tensor value. 4-bit types are stored one element per byte (sign-extended) here; only a
/// machine's memory packs them. Booleans are 0 or 1. Copies are deep; share with std::shared_ptr<const Tensor>.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(TensorType type);  ///< zero-filled
  template <class T>
  static Tensor of(DType dtype, Shape shape, std::span<const T> values);
  static Tensor scalar(DType dtype, double value);

  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  std::int64_t size() const { return element_count(type_.shape); }
  std::span<std::byte> bytes() { return data_; }
  std::span<const std::byte> bytes() const { return data_; }
  /// Typed access; the C++ type must be the dtype's storage type (fp16 and bf16: std::uint16_t, 4-bit: (u)int8_t,
  /// boolean: std::uint8_t). Checked.
  template <class T>
  std::span<T> data();
  template <class T>
  std::span<const T> data() const;

  /// Any dtype as double (int64 beyond 2^53 loses bits: use get_int there) and back with the dtype's rounding and
  /// saturation. For edges and tests, not inner loops.
  double get(std::int64_t flat_index) const;
  std::int64_t get_int(std::int64_t flat_index) const;
  void set(std::int64_t flat_index, double value);
  std::vector<double> to_doubles() const;
  std::vector<std::int64_t> to_ints() const;
  Tensor reshaped(Shape shape) const;  ///< same elements
  Tensor cast(DType to) const;         ///< ScalarOp::cast semantics

 private:
  TensorType type_;
  std::vector<std::byte> data_;
};

/// Bytes of one element in a Tensor (1 for the 4-bit types).
std::int64_t storage_size(DType t);

/// The result of comparing a computed tensor with an expected one.
struct Comparison {
  bool equal = false;  ///< within tolerance everywhere (NaN equals NaN)
  double max_abs_error = 0;
  double max_rel_error = 0;  ///< against max(|expected|, 1e-6 · max|expected|)
  double sqnr_db = 0;        ///< 10·log10(Σ expected² / Σ error²); infinity when equal
  std::int64_t mismatches = 0;
  std::int64_t first_mismatch = -1;
  std::string to_string() const;
};
/// |got − expected| <= abs + rel·|expected|. Types and shapes must agree.
Comparison compare(const Tensor& got, const Tensor& expected, double abs, double rel);

}  // namespace assay
