#include "hwmodels/timing/accountant.h"

#include <algorithm>

namespace assay {
namespace {
constexpr std::size_t kLogLength = 32;

template <class F>
void for_parts(LossBreakdown& a, const LossBreakdown& b, F f) {
  f(a.ideal_compute, b.ideal_compute);
  f(a.padding, b.padding);
  f(a.fill_drain, b.fill_drain);
  f(a.vector, b.vector);
  f(a.exposed_memory, b.exposed_memory);
  f(a.contention, b.contention);
  f(a.sync, b.sync);
  f(a.launch, b.launch);
}
}  // namespace

std::int64_t LossBreakdown::total() const {
  return ideal_compute + padding + fill_drain + vector + exposed_memory + contention + sync + launch;
}

Account& Account::operator+=(const Account& o) {
  span += o.span;
  for_parts(loss, o.loss, [](std::int64_t& a, std::int64_t b) { a += b; });
  return *this;
}

Account Account::scaled_difference(const Account& earlier, std::int64_t times) const {
  Account d = *this;
  d.span = (span - earlier.span) * times;
  for_parts(d.loss, earlier.loss, [&](std::int64_t& a, std::int64_t b) { a = (a - b) * times; });
  return d;
}

void Accountant::give(Owner owner, std::size_t group, std::int64_t ticks) {
  Account& a = accounts_[group];
  a.span += ticks;
  switch (owner) {
    case Owner::sync:
      a.loss.sync += ticks;
      break;
    case Owner::memory:
      a.loss.exposed_memory += ticks;
      break;
    case Owner::host:
      a.loss.launch += ticks;
      break;
    case Owner::vector:
      a.loss.vector += ticks;
      break;
    case Owner::matrix:
      a.loss.fill_drain += ticks;
      break;  // `run` moves the useful part to where it belongs
  }
}

void Accountant::log(Segment s) {
  if (s.begin == s.end) return;
  if (!log_.empty() && log_.back().owner == s.owner && log_.back().group == s.group && log_.back().end == s.begin) {
    log_.back().end = s.end;
    return;
  }
  log_.push_back(s);
  if (log_.size() > kLogLength) log_.pop_front();
}

// Takes [start, end) back from segments of lower owners; returns how much.
std::int64_t Accountant::take_back(Owner owner, std::size_t group, std::int64_t start, std::int64_t end) {
  std::int64_t taken = 0;
  for (std::size_t i = log_.size(); i-- > 0 && log_[i].end > start;) {
    const Segment s = log_[i];
    const std::int64_t from = std::max(start, s.begin), to = std::min(end, s.end);
    if (from >= to || s.owner >= owner) continue;
    give(s.owner, s.group, from - to);
    taken += to - from;
    std::vector<Segment> pieces;
    if (s.begin < from) pieces.push_back({s.begin, from, s.owner, s.group});
    pieces.push_back({from, to, owner, group});
    if (to < s.end) pieces.push_back({to, s.end, s.owner, s.group});
    log_.erase(log_.begin() + static_cast<std::ptrdiff_t>(i));
    log_.insert(log_.begin() + static_cast<std::ptrdiff_t>(i), pieces.begin(), pieces.end());
  }
  while (log_.size() > kLogLength) log_.pop_front();
  return taken;
}

void Accountant::run(Owner owner, std::size_t group, std::int64_t start, std::int64_t end, const Instance& instance,
                     Owner cause, std::int64_t contention) {
  if (start > frontier_) {
    const std::int64_t gap = start - frontier_;
    give(cause, group, gap);
    if (cause == Owner::memory) {
      const std::int64_t shared = std::min(gap, contention);
      accounts_[group].loss.exposed_memory -= shared;
      accounts_[group].loss.contention += shared;
    }
    // A gap whose cause is partly contention is not taken back: it would have to say from which part.
    if (cause != Owner::memory || contention == 0) log({frontier_, start, cause, group});
    frontier_ = start;
  }
  std::int64_t mine = take_back(owner, group, start, std::min(end, frontier_));
  if (end > frontier_) {
    mine += end - frontier_;
    log({frontier_, end, owner, group});
    frontier_ = end;
  }
  give(owner, group, mine);
  // Vector time stays whole: a matrix command may take it back later. Matrix time is divided, in this order.
  if (owner != Owner::matrix) return;
  LossBreakdown& loss = accounts_[group].loss;
  const auto move = [&](std::int64_t part, std::int64_t& to) {
    const std::int64_t n = std::min(mine, part);
    mine -= n;
    loss.fill_drain -= n;
    to += n;
  };
  move(instance.ideal, loss.ideal_compute);
  move(instance.padding, loss.padding);
  move(instance.stall, loss.exposed_memory);
}

void Accountant::tail(std::size_t group, std::int64_t end, Owner cause) {
  if (end <= frontier_) return;
  give(cause, group, end - frontier_);
  frontier_ = end;
}

void Accountant::shift(std::int64_t delta) {
  frontier_ += delta;
  for (Segment& s : log_) {
    s.begin += delta;
    s.end += delta;
  }
}

}  // namespace assay
