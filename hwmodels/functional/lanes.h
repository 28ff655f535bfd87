#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/isa/body.h"

// Bodies evaluated for a block of iteration points at once: one array of kLanes values per instruction.

namespace assay {

inline constexpr std::size_t kLanes = 512;

/// How a type's values are held while computing: fp32, fp16 and bf16 as float (the small ones rounded after every
/// operation), fp64 as double, integers and booleans as 64-bit integers wrapped to their width.
enum class LaneClass : std::uint8_t { real32, real64, integer };
LaneClass lane_class(DType t);

/// One array of values. Which member is meant follows from the type that goes with it.
struct Lanes {
  alignas(64) std::byte raw[kLanes * 8];
  float* f32() { return reinterpret_cast<float*>(raw); }
  const float* f32() const { return reinterpret_cast<const float*>(raw); }
  double* f64() { return reinterpret_cast<double*>(raw); }
  const double* f64() const { return reinterpret_cast<const double*>(raw); }
  std::int64_t* i64() { return reinterpret_cast<std::int64_t*>(raw); }
  const std::int64_t* i64() const { return reinterpret_cast<const std::int64_t*>(raw); }
};

/// Elements of a memory, `stride` bytes apart, to and from lanes of the same type. Any alignment.
void load_run(DType t, const std::byte* from, std::int64_t stride, Lanes& to, std::size_t at, std::size_t n);
void store_run(DType t, const Lanes& from, std::size_t at, std::byte* to, std::int64_t stride, std::size_t n);
void fill_run(DType t, double value, Lanes& to, std::size_t at, std::size_t n);

/// ScalarOp::cast. In place where `from` and `to` are the same object.
void cast_lanes(DType from_type, const Lanes& from, DType to_type, Lanes& to, std::size_t n);
std::int64_t lane_integer(DType t, const Lanes& lanes, std::size_t i);

/// Evaluates instructions other than `input` and `index`, whose lanes the caller has filled.
///   Integers: x/0 and x mod 0 are 0, shifts by the width or more give 0 (−1 for negative right shifts).
///   max and min give NaN where an operand is NaN. Comparisons are done in the type of their first operand.
void evaluate_body(const Body& body, std::vector<Lanes>& values, std::size_t n);

/// acc = combine(acc, value), lane by lane, in `type`.
void fold_lanes(Combine combine, DType type, Lanes& acc, const Lanes& value, std::size_t n);
/// Folds the n lanes of `value` into lane 0 of `acc`, in order.
void fold_into_first(Combine combine, DType type, Lanes& acc, const Lanes& value, std::size_t n);
/// The neutral element: 0, 1, lowest, highest.
void fill_identity(Combine combine, DType type, Lanes& acc, std::size_t n);

}  // namespace assay
