#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/isa/program.h"

namespace assay {

/// One reason why a program is rejected.
struct Violation {
  std::string rule;     ///< `bounds`, `uninitialised`, `race`, `overlap`, `deadlock`, `capability`, `structure`
  std::string where;    ///< group and command, with its number in written order
  std::string message;  ///< with both numbers
};

struct VerifyOptions {
  /// Instances (commands, waits, signals; all cores) that are walked at most. Above it, cores that do not interact
  /// are represented by the grid's corners, then loops are cut to their first and last iterations (ring depth + 2 at
  /// each end, leaving out a multiple of every ring's depth: the semaphores' state is periodic). The result says so.
  std::int64_t max_instances = 2'000'000;
  std::size_t max_violations = 20;
};

struct VerifyResult {
  std::vector<Violation> violations;
  std::int64_t instances = 0;  ///< command instances walked
  bool too_large = false;      ///< nothing was walked: over the budget even with loops cut (a violation says so)
  bool sampled = false;        ///< loops were cut
  bool ok() const { return violations.empty(); }
};

/// The part that needs no walk: well-formedness, capabilities, buffers inside their memories. O(statements).
VerifyResult verify_form(const Program& program, const Machine& machine);

/// Proves of a program on a machine: every access inside its buffer and memory; no read of bytes that nothing wrote;
/// no two unordered accesses of the same bytes of which one writes (happens-before over queue order and
/// semaphores); no deadlock and semaphores back at their initial value at the end; only engines, operations, types
/// and copies that the machine has; copies, contractions and bodies well formed.
VerifyResult verify_program(const Program& program, const Machine& machine, const VerifyOptions& options = {});

}  // namespace assay
