#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/math.h"
#include "core/isa/program.h"

// A Program seen as what each engine executes: the nest restricted to the engine's leaves, flattened to steps.
//
//   loop k < 4 { wait @dma …; copy @dma …; contract @mxu … }
//   queue of dma:  begin k  wait  copy  end k         queue of mxu:  begin k  contract  end k

namespace assay {

std::int64_t evaluate(const Affine& a, std::span<const std::int64_t> vars);
std::int64_t evaluate(const Extent& e, std::span<const std::int64_t> vars);

struct QueueStep {
  enum class Kind : std::uint8_t { begin, end, leaf };
  Kind kind = Kind::leaf;
  /// begin, end: the loop. After iteration `head - 1` follows iteration `resume`; both are `trip` when no iteration
  /// is left out.
  std::uint32_t var = 0;
  std::size_t partner = 0;  ///< begin ↔ end
  std::int64_t trip = 0, head = 0, resume = 0;
  const Stmt* leaf = nullptr;
  std::size_t number = 0;  ///< leaf: its number in the program's written order, from 0
};

struct Queue {
  EngineId engine;
  std::vector<QueueStep> steps;
};

/// One queue per engine, in the order of Program::engines. Loops of trip 0 and loops without a leaf of the engine
/// are left out. Engine and variable ids must be in range (structure rules of the verifier). O(statements × depth).
std::vector<Queue> queues_of(const Program& program);

/// Leaf instances that one core's queues execute, saturating at INT64_MAX. Counts shortened loops as shortened.
std::int64_t instance_count(const std::vector<Queue>& queues);

/// Where one core stands in one queue. `vars` holds the values of the core's coordinates and the open loops.
class QueueCursor {
 public:
  QueueCursor(const Queue& queue, std::size_t var_count, std::int64_t core_row, std::int64_t core_col);
  bool done() const { return at_ >= queue_->steps.size(); }
  const QueueStep& leaf() const { return queue_->steps[at_]; }  ///< only if not done
  void advance();                                               ///< to the next leaf
  std::span<const std::int64_t> vars() const { return vars_; }
  const Queue& queue() const { return *queue_; }

 private:
  void settle();  ///< runs loop steps until a leaf or the end
  const Queue* queue_;
  std::size_t at_ = 0;
  std::vector<std::int64_t> vars_;
};

/// The counters of one core, numbered: those of semaphore 0, of semaphore 1, …
class SemaphoreCounters {
 public:
  /// Semaphores must have at least one slot (structure rule of the verifier).
  explicit SemaphoreCounters(const Program& program);
  std::size_t count() const { return owner_.size(); }
  std::size_t first(SemaphoreId s) const { return first_[s.index()]; }
  const Semaphore& owner(std::size_t counter) const { return program_->semaphores[owner_[counter]]; }
  std::string name(std::size_t counter) const;  ///< `w.free`, or `w.free[1]` of several
  template <class WaitOrSignal>
  std::size_t at(const WaitOrSignal& s, std::span<const std::int64_t> vars) const {
    const std::size_t first = first_[s.semaphore.index()];
    const std::int64_t slots = program_->semaphores[s.semaphore.index()].slots;
    return slots == 1 ? first : first + static_cast<std::size_t>(floor_mod(evaluate(s.slot, vars), slots));
  }

 private:
  const Program* program_;
  std::vector<std::size_t> first_;    ///< by semaphore
  std::vector<std::uint32_t> owner_;  ///< by counter
};

EngineId engine_of(const Stmt& leaf);  ///< of a command, host command, wait or signal

}  // namespace assay
