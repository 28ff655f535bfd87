#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/isa/program.h"

// A command's operands at one point of the program: plain addresses, linear in the iteration dimensions.

namespace assay {

inline constexpr std::size_t kMaxIter = 16;
using Steps = std::array<std::int64_t, kMaxIter>;  ///< by iteration dimension

/// A view dimension whose coordinate must be looked at: it may leave the bounds, or an index is added to it.
struct CheckedDim {
  std::int64_t start = 0, size = 0, stride = 0;
  Steps step{};
  int index_operand = -1;
};

/// Element of an iteration point i: memory + base + Σ step·i (+ index·stride). In bounds where every checked
/// coordinate start + Σ step·i (+ index) is in [0, size).
struct BoundOperand {
  std::byte* memory = nullptr;
  std::int64_t base = 0;
  DType type = DType::f32;
  bool has_fill = false;
  double fill = 0;
  Steps step{};
  std::vector<CheckedDim> checked;
  bool indexed = false;
  std::int64_t lowest = 0, highest = 0;  ///< addresses of in-bounds elements lie in [lowest, highest)
};

/// Throws InputError where an element would lie outside the operand's buffer, or a coordinate outside its bounds
/// without a fill (`what` names the operand; for an output no fill counts). O(dims · terms).
void bind_operand(const Program& program, const Operand& operand, bool is_output, std::byte* memory,
                  std::span<const std::int64_t> extents, std::span<const std::int64_t> vars, const std::string& what,
                  BoundOperand& out);

/// Distinct in-bounds elements an operand touches: distinct tuples of coordinates. An indexed coordinate depends on
/// data: it counts as in bounds, and as distinct for each element of the index operand. O(dims) where no two
/// dimensions share an iteration dimension, else by visiting the points.
std::int64_t distinct_elements(const Command& command, const Operand& operand, std::span<const std::int64_t> extents,
                               std::span<const std::int64_t> vars);

}  // namespace assay
