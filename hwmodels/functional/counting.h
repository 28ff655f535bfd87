#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/isa/program.h"

// What a contraction reads, writes and wastes: the rules that every model must agree on (law 2). Bytes are elements ×
// element size; padding (a `fill`) is not in memory and is never counted.
//
// The command's dimensions by the operands that vary with them (a coefficient other than 0):
//   M in A and out    N in B and out    K in A and B, or in only one of them and not in out    G in A, B and out
//   (a dimension in out alone counts as M). Extents are the evaluated ones; M, N, K, G are products over dimensions.
// Array: R × C is rows × cols (systolic); an intrinsic unit counts as ws with R = k, C = n, whatever the plan says.
// Of a role's dimensions those that the plan lists on an axis are flattened there, the others are walked in time
// (`rest`); a role of which it lists none is flattened as a whole. F(x, s) = ceil(axis / s) · rest: folds of x.
// `count` instances split N's axis as evenly as possible; each has its own R × C and fetches A for itself. Below N is
// one instance's share, |A| and |B| are the in-bounds elements (for B: of the share), and everything is per G:
//
//        A reads        B reads        out writes       out reads
//   ws   |A|·F(N,C)     |B|            M·N·F(K,R)       M·N·(F(K,R) − 1) + M·N if accumulating
//   os   |A|·F(N,C)     |B|·F(M,R)     M·N              M·N if accumulating
//   is   |A|            |B|·F(M,C)     as ws            as ws
//   MACs: M·N·K (padding included: the array multiplies it). Slots: R·C per point streamed through a fold: M for each
//   (N, K) fold in ws, rounded up to an intrinsic unit's m; K for each (M, N) fold in os; N for each (K, M) fold in is.
//   Padded MACs = slots − MACs.
//
// pe_array: instances split the outermost N dimension as evenly as possible. Unrolled factors u(d) = product over
// rows and columns, temporal trips t(d) = ceil(extent / u); temporal loops in the plan's `order`, outermost first,
// dimensions not listed innermost. An operand is fetched when its index tuple changes as the loops run, one read
// feeding every PE that needs it; loops it does not vary with are reuse where they stand inside its innermost own loop
// of more than one trip, otherwise they are `revisits`:
//   A, B reads   |X| · Π t(d) over revisits
//   out writes   |out| · Π t(d) over revisits (of K);   out reads = writes − |out| (+ |out| if accumulating)
//   register files (the first of the unit's pe_memories that may hold inputs for A, weights for B, outputs): per MAC
//   one read of A, of B and of the partial sum, and one write of the partial sum (in the accumulator's type); plus
//   one write per element delivered to a PE, that is |X| · Π over dimensions X does not vary with of the extent
//   (revisits) or min(u(d), extent) (others); for the partial sum: one write per out read.
//   slots = Π t(d) · rows · cols.

namespace assay {

struct ContractCounts {
  std::int64_t a_reads = 0, b_reads = 0, out_reads = 0, out_writes = 0;  ///< elements of core memories
  std::int64_t macs = 0, padded_macs = 0;
  struct RegisterFile {
    MemoryId memory;
    std::int64_t read_bytes = 0, write_bytes = 0;
  };
  std::vector<RegisterFile> register_files;
};

/// In-bounds elements of one g, by row of the packed operand (m of A, n of B).
struct ValidRows {
  std::vector<std::int64_t> a, b;
};

/// What a dimension belongs to.
enum class DimRole : std::uint8_t { m, n, k, g };
std::vector<DimRole> dim_roles(const Command& command);

/// Where each flattened point of a role stands: on the array's axis, and in what is walked in time.
struct RolePoint {
  std::int64_t axis = 0, rest = 0;
};
std::vector<RolePoint> role_points(const Command& command, const std::vector<DimRole>& roles, DimRole role,
                                   std::span<const std::int64_t> extents);

/// One g of a systolic or intrinsic contraction, fold by fold. `points` are by DimRole.
void count_folds(const MatrixUnit& unit, Dataflow dataflow, std::span<const std::vector<RolePoint>> points,
                 const ValidRows& valid, bool accumulate, ContractCounts& counts);

/// A whole contraction on a pe_array, from in-bounds elements by point of the dimension that instances split.
void count_pe_array(const Machine& machine, const MatrixUnit& unit, const Command& command,
                    std::span<const std::int64_t> extents, std::int64_t a_elements, std::int64_t b_elements,
                    bool accumulate, ContractCounts& counts);

}  // namespace assay
