#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "hwmodels/timing.h"
#include "hwmodels/timing/instance.h"

// Who the time of one core belongs to. At every moment the highest of these owns the time:
//
//   a matrix command runs > a vector command > a host command > the compute engines wait (for memory or for others)
//
//   mxu   ████████        ██████████
//   vpu         ▒▒▒▒▒▒        ▒▒▒▒
//   owner mmmmmmmmvvv.....mmmmmmmmmm      . waiting: the cause is what the next compute command waited for
//
// Commands are reported in any order of issue; a late report takes time back from lower owners, as far as the log of
// recent segments reaches. The parts always add up to the frontier (the end of the last compute command).

namespace assay {

enum class Owner : std::uint8_t { sync, memory, host, vector, matrix };  // rising priority

struct Account {
  std::int64_t span = 0;
  LossBreakdown loss;
  Account& operator+=(const Account& o);
  Account scaled_difference(const Account& earlier, std::int64_t times) const;  ///< (this − earlier) · times
};

class Accountant {
 public:
  explicit Accountant(std::size_t groups) : accounts_(groups) {}

  /// A compute command of `group` runs over [start, end). If the compute engines waited before it, `cause` says what
  /// for, and `contention` how much of that is due to sharing.
  void run(Owner owner, std::size_t group, std::int64_t start, std::int64_t end, const Instance& instance, Owner cause,
           std::int64_t contention);
  /// Nothing but transfers of `group` until `end`.
  void tail(std::size_t group, std::int64_t end, Owner cause);

  std::int64_t frontier() const { return frontier_; }
  const Account& account(std::size_t group) const { return accounts_[group]; }
  Account& account(std::size_t group) { return accounts_[group]; }
  /// Moves frontier and log by `delta`: the caller adds the accounts of the iterations in between.
  void shift(std::int64_t delta);

 private:
  struct Segment {
    std::int64_t begin, end;
    Owner owner;
    std::size_t group;
  };
  void give(Owner owner, std::size_t group, std::int64_t ticks);
  void log(Segment s);
  std::int64_t take_back(Owner owner, std::size_t group, std::int64_t start, std::int64_t end);

  std::vector<Account> accounts_;
  std::deque<Segment> log_;
  std::int64_t frontier_ = 0;
};

}  // namespace assay
