#pragma once

#include "hwmodels/functional/bind.h"
#include "hwmodels/functional/counting.h"

namespace assay {

/// Executes contractions: A and B are packed once per command (padding filled in, zero points subtracted), multiplied
/// by a matrix kernel, and added to or stored in the output.
///   8-bit integers: exact in int32; other integers: exact, wrapped to the accumulator; fp16, bf16 and fp32: products
///   and sums in fp32, rounded to the accumulator at the end; fp64: in fp64.
class ContractRunner {
 public:
  /// Counts are added to `counts`.
  void run(const Machine& machine, const MatrixUnit& unit, const Command& command,
           std::span<const std::int64_t> extents, const BoundOperand& a, const BoundOperand& b, const BoundOperand& out,
           bool accumulate, ContractCounts& counts);

 private:
  /// Offsets of one role's iteration points in an operand, and the coordinates that must be looked at.
  struct Table {
    std::vector<std::int64_t> offset;
    std::vector<std::vector<std::int64_t>> coordinate;  ///< by checked dimension
  };
  struct Roles {
    std::vector<std::size_t> dims[4];  ///< by DimRole
    std::int64_t size[4] = {1, 1, 1, 1};
  };
  Table table(const BoundOperand& o, const Roles& roles, DimRole role, std::span<const std::int64_t> extents) const;
  template <class T, class Acc>
  void multiply(const MatrixUnit& unit, const Command& command, std::span<const std::int64_t> extents,
                const Roles& roles, const BoundOperand& a, const BoundOperand& b, const BoundOperand& out,
                bool accumulate, ContractCounts& counts);
  template <class T>
  void pack(const BoundOperand& o, const Table& rows, const Table& cols, const Table& group, std::size_t g, double zero,
            std::int64_t row_begin, std::int64_t row_end, T* to, std::vector<std::int64_t>& valid);
  template <class Acc>
  void store(const Command& command, const BoundOperand& out, const Acc* block, const Table& m, const Table& n,
             std::int64_t base, std::int64_t m_begin, std::int64_t m_end, bool accumulate);

  std::vector<std::byte> a_, b_, c_;        ///< packed operands, kept between commands
  std::int64_t a_valid_ = 0, b_valid_ = 0;  ///< in-bounds elements of the whole command
};

}  // namespace assay
