#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// One contraction as a loop nest sees it: an iteration space and an affine projection of it onto each tensor.
//
//   O[n,k,p,q] += I[n,c,p+r,q+s] * W[k,c,r,s]        coefficients: I[n,c,2*p+r,2*q+s]
//
// Nothing here knows what the operation is called: a projection is all that counting and search need. (Timeloop,
// Parashar et al., ISPASS 2019, calls this a problem shape; the notation is the extended einsum of TeAAL and AccelForge.)

namespace assay {

struct EinsumTerm {
  int dim = 0;  ///< index into Einsum::dims
  std::int64_t coefficient = 1;
  friend bool operator==(const EinsumTerm&, const EinsumTerm&) = default;
};

struct EinsumTensor {
  std::string name;
  bool output = false;
  /// One sum of terms per tensor dimension. A constant offset shifts every box alike and counts nothing: not kept.
  std::vector<std::vector<EinsumTerm>> axes;
  std::uint64_t relevant() const;  ///< bit d: the projection depends on dimension d
  friend bool operator==(const EinsumTensor&, const EinsumTensor&) = default;
};

struct EinsumDim {
  std::string name;
  std::int64_t extent = 1;
  friend bool operator==(const EinsumDim&, const EinsumDim&) = default;
};

struct Einsum {
  std::string name;
  std::vector<EinsumDim> dims;                   ///< at most 63
  std::vector<EinsumTensor> tensors;             ///< operands in order of appearance, the output last; one output
  std::int64_t macs() const;                     ///< product of extents; InputError when it exceeds 2^62
  int find_dim(std::string_view name) const;     ///< index or -1
  int find_tensor(std::string_view name) const;  ///< index or -1
  friend bool operator==(const Einsum&, const Einsum&) = default;
};

/// Extents of a tensor's axes for the given extents of the dimensions (bounding box: 1 + Σ |c|·(e − 1)).
std::vector<std::int64_t> box_extents(const EinsumTensor& tensor, const std::vector<std::int64_t>& extents);
/// Elements of that box; InputError when it exceeds 2^62.
std::int64_t box_elements(const EinsumTensor& tensor, const std::vector<std::int64_t>& extents);

/// Parses `O[..] += A[..] * B[..]` (one or more operands; `=` or `+=`) with the extents of every dimension. Errors name
/// the column: a dimension without an extent or an extent without a dimension (nearest name shown), a coefficient that
/// is not a positive integer, an output dimension that no operand has, a tensor named twice, extents below 1.
Einsum parse_einsum(std::string_view text, const std::map<std::string, std::int64_t>& extents, std::string name = {});
std::string print_einsum(const Einsum& e);

}  // namespace assay
