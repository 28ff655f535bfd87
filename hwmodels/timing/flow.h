#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/isa/queues.h"
#include "hwmodels/timing.h"
#include "hwmodels/timing/instance.h"

// A program prepared for both timing models: its nest flattened in written order, one CommandModel per command, and
// for each loop what it touches and where its iterations begin to differ.

namespace assay {

/// A predicate inside a loop whose affine mentions the loop's variable.
struct LoopPredicate {
  const Predicate* predicate = nullptr;
  std::int64_t coefficient = 0;
  std::int64_t low = 0, high = 0;  ///< what the loops inside add
};

struct FlowLoop {
  std::uint32_t var = 0;
  std::int64_t trip = 0;
  std::vector<std::uint32_t> engines, counters, groups;  ///< touched inside, sorted
  std::int64_t phase = 1;  ///< iterations after which every semaphore slot that this loop moves on comes back
  bool computes = false;   ///< holds a matrix, vector or host command
  bool exclusive = false;  ///< holds a copy that stops the compute units
  std::vector<LoopPredicate> predicates;
};

struct FlowNode {
  enum class Kind : std::uint8_t { loop, command, wait, signal } kind = Kind::loop;
  std::uint32_t index = 0;  ///< into loops, models, waits, signals
  std::uint32_t end = 0;    ///< first node after this one's body (pre-order)
};

/// Open loop around a command, outermost first.
struct OpenLoop {
  std::uint32_t var = 0;
  std::int64_t trip = 0;
};

struct Flow {
  const Program* program = nullptr;
  const Machine* machine = nullptr;
  TickBase base;
  ModelOptions options;
  std::vector<FlowNode> nodes;
  std::vector<FlowLoop> loops;
  std::deque<CommandModel> models;
  std::vector<std::vector<OpenLoop>> model_loops;  ///< parallel to models
  std::vector<const Wait*> waits;
  std::vector<const Signal*> signals;
  std::optional<SemaphoreCounters> counters;  ///< always set by make_flow
  std::vector<std::uint32_t> leaf_node;       ///< written-order number of a leaf → node; UINT32_MAX: never runs
  bool remote = false;                        ///< cores interact (leaders, multicast, signals to others, host)

  /// First iteration after `v` of a loop that may differ from iteration v, given the outer loops' values in `vars`
  /// (this loop's and the inner ones' variables are 0 there).
  std::int64_t regime_end(const FlowLoop& loop, std::span<const std::int64_t> vars, std::int64_t v) const;
};

/// InputError where the program's structure or the machine does not allow it to be timed.
Flow make_flow(const Program& program, const Machine& machine, const ModelOptions& options);

/// The cores that do exactly the same: in the analytical model one of them stands for all.
struct CoreClass {
  std::int64_t row = 0, col = 0;  ///< of its first member
  std::int64_t cores = 0;
};
struct CoreClasses {
  std::vector<CoreClass> classes;  ///< in order of their first member
  /// group_members[axes][receiver][sender]: how many cores of class `sender` share a core of class `receiver`'s group
  /// along `axes` (1 row, 2 col, 3 both); empty where no statement uses these axes.
  std::vector<std::vector<std::int64_t>> group_members[4];
};
inline int axes_index(Axes a) { return (a.row ? 1 : 0) + (a.col ? 2 : 0); }
/// Partition refinement from equal clipping, padding and leadership to equal neighbours. O(cores · commands).
CoreClasses core_classes(const Flow& flow);
/// Every core a class of its own (for tests: the result is the same).
CoreClasses one_class_per_core(const Flow& flow);

/// Calls f(instance index, times) for every distinct instance that a core executes of a command, without walking the
/// loops that do not matter to it. InputError("size") beyond 5·10^7 distinct steps.
void for_each_instance(Flow& flow, std::size_t model, std::int64_t row, std::int64_t col,
                       const std::function<void(std::uint32_t, std::int64_t)>& f);

}  // namespace assay
