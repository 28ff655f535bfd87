#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "tests/fuzz/mutator.h"

namespace assay {

/// One reader of user input. `read` returns, or throws InputError or Infeasible; anything else is a failure: another
/// exception, a crash, a result that breaks the reader's own promise (InternalError), too much time or memory.
struct FuzzTarget {
  std::string name;
  InputForm form = InputForm::text;
  std::vector<std::string> seeds;  ///< right inputs: `read` must accept each
  std::function<void(const std::string&)> read;
  /// Another way to break an input, with knowledge of its format; used for every second one. May be empty.
  std::function<std::string(const std::string&, Random&)> mutate = {};
  std::vector<std::string> material = {};  ///< further inputs to break; they may be wrong themselves
};

struct FuzzOptions {
  std::int64_t iterations = 1000;
  std::uint64_t seed = 1;
  std::string corpus;           ///< folder of inputs that once failed: replayed first, then mutated like seeds
  std::string artefacts = ".";  ///< where failing inputs go
  std::size_t memory = std::size_t{512} << 20;
  int cpu_seconds = 5;  ///< per input; ten times as much under a sanitizer
};

struct FuzzSummary {
  std::int64_t accepted = 0, refused = 0;
  std::vector<std::string> failures;  ///< what happened, which iteration, and where the input lies
};

/// Deterministic in (target, iterations, seed, corpus). A crash, a hang and a sanitizer's report end the process with
/// a failure after the input was written; other failures are collected, of each kind the first.
FuzzSummary fuzz(const FuzzTarget& target, const FuzzOptions& options);

/// One input with the same guards; what went wrong, or nothing.
std::string replay(const FuzzTarget& target, const std::string& input, const FuzzOptions& options);

}  // namespace assay
