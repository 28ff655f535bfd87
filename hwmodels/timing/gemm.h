#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/isa/program.h"

// A contraction's iteration dimensions, sorted by the operands that mention them.
//
//            in A (in0)   in B (in1)   out
//   M           x                       x      (also a dimension of the output alone)
//   N                        x          x
//   K       reduction dimensions
//   G           x            x          x

namespace assay {

enum class GemmRole : std::uint8_t { m, n, k, g };

/// Role of every iteration dimension of a contract command. InputError if it has not two inputs.
std::vector<GemmRole> gemm_roles(const Command& c);

/// The sizes of one contraction instance on an array. `m_axis` is the part of M that the plan flattens on an array
/// axis, `m_rest` the part that is walked in time (1 where the plan lists all of M, or none of it); m = axis · rest.
struct GemmShape {
  std::int64_t m = 1, n = 1, k = 1, g = 1;
  std::int64_t m_axis = 1, m_rest = 1;
  std::int64_t n_axis = 1, n_rest = 1;
  std::int64_t k_axis = 1, k_rest = 1;
  std::int64_t macs() const;  ///< checked product
};
GemmShape gemm_shape(const Command& c, const std::vector<GemmRole>& roles, std::span<const std::int64_t> extents);

/// N split as evenly as possible over a unit's instances: `instances` of them get `n` columns each.
struct Share {
  std::int64_t n = 0, instances = 0;
};
std::vector<Share> shares_of(std::int64_t n, std::int64_t instances);  ///< largest share first, empty ones left out

/// Dataflow that the command runs with: the plan's, else the unit's (`free` without a plan is an InputError).
Dataflow dataflow_of(const Command& c, const MatrixUnit& unit);

/// Folds of one instance that has `share.n` of the N axis: how often a stationary tile is replaced.
///   ws  ceil(K/R) · ceil(N/C) · G      os  ceil(M/R) · ceil(N/C) · G      is  ceil(K/R) · ceil(M/C) · G
/// times the `rest` factors of the two flattened dimensions. Intrinsic units: as ws with R = k, C = n.
struct Folds {
  std::int64_t rows = 1, cols = 1;  ///< ceil(axis / size) · rest
  std::int64_t stream = 1;          ///< T: points streamed per fold
  std::int64_t array_rows = 1, array_cols = 1;
  std::int64_t groups = 1;
  std::int64_t total() const;  ///< checked rows · cols · groups
};
Folds folds_of(const GemmShape& shape, const MatrixUnit& unit, Dataflow dataflow, std::int64_t share_n);

/// pe_array: spatial factors and temporal trips per iteration dimension, and the temporal order (outermost first;
/// dimensions that the plan does not order are innermost, in iteration order).
struct PeNest {
  std::vector<std::int64_t> spatial, trips;  ///< trips = ceil(extent / spatial)
  std::vector<int> order;
  std::int64_t steps() const;  ///< checked product of the trips
};
/// InputError when the factors exceed the array.
PeNest pe_nest(const Command& c, const MatrixUnit& unit, std::span<const std::int64_t> extents);

/// The extents of the instances of a pe_array unit with `count` > 1: the outermost N dimension is split.
struct SplitExtents {
  std::vector<std::int64_t> extents;
  std::int64_t instances = 1;
};
std::vector<SplitExtents> split_extents(const std::vector<GemmRole>& roles, const MatrixUnit& unit,
                                        std::span<const std::int64_t> extents);

}  // namespace assay
