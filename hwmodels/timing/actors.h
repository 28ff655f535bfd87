#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "core/isa/queues.h"
#include "hwmodels/timing/accountant.h"

// State of the cycle model: what an engine of a core is doing, and what will happen next.

namespace assay {

struct Event {
  enum class Kind : std::uint8_t { resume, deliver, release };
  std::int64_t time = 0;
  std::uint64_t sequence = 0;
  Kind kind = Kind::resume;
  bool from_dma = false;
  std::uint32_t actor = 0;                // release: core
  std::uint32_t signal = 0, counter = 0;  // deliver: index into Flow::signals, counter at the receiver
  std::int64_t excess = 0;                // deliver: how much longer than alone the sender's last copy took
  friend bool operator>(const Event& a, const Event& b) {
    return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
  }
};

struct Transfer {
  bool active = false;
  std::uint32_t model = 0, instance = 0;
  std::int64_t begin = 0, piece = 0, pieces = 0;
  std::int64_t run = 0, run_offset = 0, address = 0;  // of the side with a detailed DRAM
};

struct Actor {
  Actor(QueueCursor c, std::size_t core_number, std::size_t engine_number)
      : cursor(std::move(c)),
        core(static_cast<std::uint32_t>(core_number)),
        engine(static_cast<std::uint32_t>(engine_number)) {}
  QueueCursor cursor;
  std::uint32_t core, engine;
  std::int64_t done = 0;  // all results so far are there
  std::int64_t excess = 0;
  Owner cause = Owner::sync;
  std::int64_t cause_excess = 0;
  std::size_t last_group = 0;
  Transfer transfer;
  std::int64_t waiting_for = -1;  // counter; -1 none, -2 woken
  bool finished = false;
};

struct TimedSemaphore {
  std::int64_t count = 0;
  std::deque<std::pair<std::uint32_t, std::int64_t>> waiting;  // (actor, tokens)
};

/// Events in order of (time, sequence).
class EventHeap {
 public:
  void push(Event e) {
    e.sequence = ++sequence_;
    heap_.push_back(e);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  Event pop() {
    const Event e = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
    return e;
  }
  bool empty() const { return heap_.empty(); }

 private:
  std::vector<Event> heap_;
  std::uint64_t sequence_ = 0;
};

}  // namespace assay
