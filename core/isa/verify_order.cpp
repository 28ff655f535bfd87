#include "core/isa/verify_order.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace assay {
namespace {

void join(QueueClock& into, const QueueClock& from) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

}  // namespace

void SemaphoreState::add_signaller(std::uint32_t queue) {
  const auto same = [&](const Signaller& s) { return s.queue == queue; };
  if (std::none_of(signallers_.begin(), signallers_.end(), same)) signallers_.push_back({queue, 0, 0, 0, {}});
}

bool SemaphoreState::claim(std::uint32_t queue) {
  if (waiter_ == kNone) waiter_ = queue;
  return waiter_ == queue;
}

void SemaphoreState::take(std::int64_t n, QueueState& waiter, std::size_t wait_number) {
  count_ -= n;
  ++waiter.stamp;
  std::size_t needed = 0, last_needed = 0;
  for (std::size_t i = 0; i < signallers_.size(); ++i) {
    Signaller& s = signallers_[i];
    const std::int64_t need = s.given - count_;  // count_: tokens left over after this wait
    if (need <= 0) continue;
    ++needed;
    last_needed = i;
    while (!s.emissions.empty() && s.emissions.front().upto < need) s.emissions.pop_front();
    if (s.emissions.empty()) continue;  // joined by an earlier wait
    const Emission& e = s.emissions.front();
    join(waiter.clock, *e.clock);
    waiter.clock[s.queue] = std::max(waiter.clock[s.queue], e.segment);
    if (e.upto == need) s.emissions.pop_front();
    waiter.published.reset();
  }
  if (signallers_.size() < 2) return;
  for (std::size_t i = 0; i < signallers_.size(); ++i) {
    const bool others_needed = needed > 1 || (needed == 1 && last_needed != i);
    if (!others_needed || signallers_[i].queue == waiter_) continue;
    signallers_[i].must_follow = waiter.segment;
    signallers_[i].wait_number = wait_number;
  }
}

std::optional<SemaphoreState::Late> SemaphoreState::give(std::int64_t n, std::uint32_t queue,
                                                         const QueueState& signaller) {
  const auto at =
      std::find_if(signallers_.begin(), signallers_.end(), [&](const Signaller& s) { return s.queue == queue; });
  ASSAY_CHECK(at != signallers_.end(), "queue " + std::to_string(queue));
  count_ += n;
  at->given += n;
  at->emissions.push_back({at->given, signaller.segment, signaller.published});
  const std::uint32_t follow = std::exchange(at->must_follow, 0);
  if (follow == 0 || signaller.clock[waiter_] >= follow) return std::nullopt;
  for (const Signaller& s : signallers_)
    if (s.queue != queue) return Late{at->wait_number, s.queue};
  return std::nullopt;
}

}  // namespace assay
