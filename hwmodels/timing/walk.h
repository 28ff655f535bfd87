#pragma once

#include <cstdint>
#include <vector>

#include "hwmodels/timing/accountant.h"
#include "hwmodels/timing/flow.h"

// Max-plus walk: the nest in written order, once per class of cores, keeping when every engine is free and when every
// semaphore token was (or will be) there. Each command starts at max(engine free, tokens taken) and lasts its fixed
// duration, so the written order gives the same times as any other legal order, provided that each semaphore's tokens
// come from one engine or are all taken together (a barrier).
//
// Loops are skipped exactly: when the whole state that the loop touches equals that of a few iterations ago, shifted
// by the same Δ everywhere, and the next iterations run the same instances, then every further period adds Δ.

namespace assay {

struct WalkToken {
  std::int64_t time = 0;
  std::int64_t count = 0;
  Owner cause = Owner::memory;  ///< what a compute command waited for, if this token came last
};

class TokenQueue {
 public:
  void push(WalkToken t);
  /// Takes `count` tokens in order; false if there are not so many (the queue is then unchanged).
  bool take(std::int64_t count, WalkToken& latest);
  std::size_t size() const { return tokens_.size() - head_; }
  const WalkToken& operator[](std::size_t i) const { return tokens_[head_ + i]; }
  WalkToken& operator[](std::size_t i) { return tokens_[head_ + i]; }

 private:
  std::vector<WalkToken> tokens_;
  std::size_t head_ = 0;
};

struct WalkEngine {
  std::int64_t free = 0;      ///< the next command may start
  std::int64_t done = 0;      ///< all results so far are there
  Owner cause = Owner::sync;  ///< of the last wait that delayed it
  std::size_t last_group = 0;
};

/// One core class's state.
struct WalkCore {
  std::vector<std::int64_t> vars;
  std::vector<WalkEngine> engines;
  std::vector<TokenQueue> counters;                     ///< of semaphores
  std::int64_t compute_until = 0, exclusive_until = 0;  ///< copies that stop the compute units, and the reverse
  Accountant accountant;
  std::vector<std::int64_t> group_start, group_end;  ///< start INT64_MAX: never ran
};

struct WalkResult {
  std::vector<WalkCore> cores;  ///< parallel to CoreClasses::classes
  std::int64_t total = 0;
  std::size_t critical = 0;  ///< class that finishes last
  std::int64_t skipped_iterations = 0;
  std::int64_t steps = 0;  ///< statements walked
};
/// InputError when a wait finds too few tokens (the program would deadlock in written order); Infeasible beyond
/// 4·10^8 statements walked.
struct WalkOptions {
  bool skip = true;  ///< false: walk every iteration (for tests: the result is the same)
};
WalkResult walk_program(Flow& flow, const CoreClasses& classes, const WalkOptions& options = {});

}  // namespace assay
