#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "explorers/evaluate.h"
#include "explorers/sweep_spec.h"

namespace assay {

struct SweepProgress {
  std::string stage;  ///< `points`, `details`, `full checks`
  std::int64_t done = 0, total = 0;
  std::int64_t reused = 0;  ///< taken from the store
  std::int64_t failed = 0;
  std::string last;  ///< design that was finished last
};

struct SweepOptions {
  std::string store_path;  ///< empty: results are not kept
  bool fresh = false;      ///< forget what the store holds
  int threads = 0;         ///< 0: one per core
  CompileOptions compile;
  std::function<void(const SweepProgress&)> progress;  ///< called from worker threads, one at a time
  /// Called once, when all inputs are found right and before anything is written: the place to make folders.
  std::function<void()> ready;
  std::atomic<bool>* stop = nullptr;  ///< set by a signal handler: finish what runs, keep it, return early
};

/// Runs a sweep. Points already in the store (same content key) are taken from it. The result depends on the inputs
/// only: not on threads, interruptions or order. Throws InputError for wrong input files before anything runs or is
/// written, and when every point fails on its input; Infeasible when none is feasible (both with the reasons). `stopped` in the manifest says when a stop was asked for.
SweepResult run_sweep(const SweepSpec& spec, const SweepOptions& options);

}  // namespace assay
