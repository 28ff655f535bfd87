#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/isa/queues.h"

// Happens-before over queues and semaphores, as the walk of the verifier builds it.
//
// A queue's life is cut into segments by its signals: segment s ends with the queue's s-th signal. A queue's clock
// holds, for every other queue, the last segment that is over for certain. So an access in segment s of queue q is
// before everything that a queue with clock[q] >= s does.
//
// A wait is after the signals whose tokens it cannot have done without. One signalling queue: the signal at which
// the count reaches what has been taken so far. Several: from each queue, what it gave so far less the tokens now
// left over. That argument assumes that no queue's next signal could have come earlier than the wait; this is
// checked when that signal comes (it must be after the wait), else the order is undetermined and the program is
// rejected. By induction over the first event of an execution that would break the computed order, no execution
// does. A semaphore has one waiting queue per core: with two, which of them takes a token would be undetermined.

namespace assay {

using QueueClock = std::vector<std::uint32_t>;  ///< by queue number

struct QueueState {
  QueueCursor cursor;
  std::uint32_t core = 0;
  std::uint32_t segment = 1;
  std::uint64_t stamp = 0;  ///< grows with every wait and signal
  QueueClock clock;
  std::shared_ptr<const QueueClock> published;  ///< clock as of the last wait; signals share it
};

class SemaphoreState {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Late {  ///< a signal that should have been after a wait
    std::size_t wait_number = 0;
    std::uint32_t other_queue = 0;
  };

  void reset(std::int64_t initial) { count_ = initial; }
  void add_signaller(std::uint32_t queue);
  std::int64_t count() const { return count_; }
  std::uint32_t waiter() const { return waiter_; }
  bool blocked = false;  ///< the waiter stands at a wait on this semaphore

  /// False if another queue waits here already.
  bool claim(std::uint32_t queue);
  /// Takes `n` tokens (there are enough) and joins the clocks of the signals they need.
  void take(std::int64_t n, QueueState& waiter, std::size_t wait_number);
  /// Adds `n` tokens of `queue`, whose current segment ends here.
  std::optional<Late> give(std::int64_t n, std::uint32_t queue, const QueueState& signaller);

 private:
  struct Emission {
    std::int64_t upto = 0;  ///< tokens of this queue so far, this signal included
    std::uint32_t segment = 0;
    std::shared_ptr<const QueueClock> clock;
  };
  /// First in, first out. An empty one owns no memory: barriers over a grid have cores² signallers per semaphore.
  class Emissions {
   public:
    bool empty() const { return items_.empty(); }
    const Emission& front() const { return items_[head_]; }
    void push_back(Emission e) { items_.push_back(std::move(e)); }
    void pop_front() {
      if (++head_ < items_.size()) return;
      items_ = {};
      head_ = 0;
    }

   private:
    std::vector<Emission> items_;
    std::size_t head_ = 0;
  };
  struct Signaller {
    std::uint32_t queue = 0;
    std::int64_t given = 0;
    std::uint32_t must_follow = 0;  ///< segment of the waiter after which the next signal comes; 0: none
    std::size_t wait_number = 0;
    Emissions emissions;
  };
  std::int64_t count_ = 0;
  std::uint32_t waiter_ = kNone;
  std::vector<Signaller> signallers_;
};

}  // namespace assay
