#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "core/isa/program.h"

// The bytes one operand touches in one command instance, as a nest of strided runs:
//
//   base + Σ level.stride · [0, level.count)  + [0, run)         run: contiguous bytes
//
//   a 3-row tile of 4 bytes in rows of 16:  base ####............####............####    levels {(16, 3)}, run 4

namespace assay {

struct ByteSet {
  struct Level {
    std::int64_t stride = 0, count = 1;
    friend bool operator==(const Level&, const Level&) = default;
  };
  static constexpr std::size_t kMaxLevels = 12;
  std::int64_t base = 0;
  std::int64_t run = 0;
  std::size_t level_count = 0;
  std::array<Level, kMaxLevels> levels{};  ///< outermost (largest stride) first, strides > 0, counts > 1

  std::int64_t begin() const { return base; }
  std::int64_t end() const { return base + extent(0); }
  std::int64_t extent(std::size_t from_level) const;  ///< bytes spanned by the levels from this one inward
  /// Calls f(begin, end) for every run, ascending per level. Stops when f returns false.
  void for_each_run(const std::function<bool(std::int64_t, std::int64_t)>& f) const;
  friend bool operator==(const ByteSet& a, const ByteSet& b);
};
std::size_t hash_of(const ByteSet& s);

/// A run [base, base + bytes).
ByteSet dense_set(std::int64_t base, std::int64_t bytes);
/// The smallest nest for a sum of strided terms of either sign; adjacent and equally spaced runs merge. False if more
/// than kMaxLevels strides remain.
bool make_byte_set(std::int64_t base, std::int64_t run, std::span<const ByteSet::Level> terms, ByteSet& out);

/// Whether the two sets share a byte: exact, except that after `budget` steps it answers true.
bool overlap(const ByteSet& a, const ByteSet& b, std::int64_t budget = 100'000);

/// What an operand touches at one point of the program.
struct OperandAccess {
  ByteSet bytes;
  bool empty = false;          ///< no coordinate is in bounds (all padding)
  bool exact = true;           ///< false: `bytes` may hold more than is touched (gathers, clipped odd strides)
  bool too_irregular = false;  ///< more strides than a ByteSet holds
  int bad_dim = -1;            ///< dimension that leaves its bounds without a fill; then `low`, `high` are its range
  std::int64_t low = 0, high = 0;
};

/// `extents` are the command's evaluated extents, all > 0; `skipped` are further (stride in variables, count) terms
/// that stand for loop iterations left out: for each (variable, count), the operand is taken at the variable's value
/// and the count − 1 next ones. Addresses are relative to the start of the memory. O(dims · terms).
OperandAccess access_of(const Program& program, const Operand& operand, bool is_write,
                        std::span<const std::int64_t> extents, std::span<const std::int64_t> vars,
                        std::span<const std::pair<std::uint32_t, std::int64_t>> skipped = {});

/// Bytes of one element as commands address it (whole bytes; the verifier rejects 4-bit operands).
std::int64_t element_bytes(DType t);

}  // namespace assay
