#pragma once

#include <cstdint>
#include <vector>

#include "core/spec/machine.h"

// DRAM of Fidelity::detailed: channels of banks with open rows and one data bus each.
//
//   address = ((super-row · channels · row_bytes) …)   consecutive bursts go to consecutive channels,
//   bank    = super-row mod banks, row = super-row / banks: a stream visits the banks in turn, so that a row opens
//             while its neighbour's data are on the bus.
//   row hit:  data as soon as the bus is free.    row miss: precharge (not before tRAS after its activation), tRP,
//   activate, tRCD.    Every tREFI a channel stands still for tRFC and its rows close.
// tCL is a constant of the pipeline: callers add it to the latency of a transfer.
// Not modelled: command bus, bank groups, tFAW, read/write turnaround, reordering.
// Times are in 1/64 ticks, so that single bursts do not round.

namespace assay {

inline constexpr std::int64_t kDramSubticks = 64;

class DramModel {
 public:
  DramModel(const Memory& memory, std::int64_t ticks_per_second);

  /// `bytes` from `address`. Rows may be opened from `early` on, data move from `now` on. Returns the time at which
  /// the last byte has passed the bus. O(rows touched × channels).
  std::int64_t access(std::int64_t early, std::int64_t now, std::int64_t address, std::int64_t bytes, bool write);
  /// Every channel's bus is taken for `duration` from `now` on: operands of compute commands. Returns its end.
  std::int64_t occupy(std::int64_t now, std::int64_t duration);

  std::int64_t activation() const { return t_rp_ + t_rcd_; }  ///< lead time that hides a row miss
  std::int64_t cas() const { return t_cl_; }
  std::int64_t row_hits() const { return hits_; }
  std::int64_t row_misses() const { return misses_; }

 private:
  struct Bank {
    std::int64_t open_row = -1;
    std::int64_t activated = 0, data_end = 0;
  };
  struct Channel {
    std::int64_t bus_free = 0, next_refresh = 0;
    std::vector<Bank> banks;
  };
  std::int64_t channel_access(Channel& c, std::int64_t early, std::int64_t now, std::int64_t super_row,
                              std::int64_t bursts, bool write);
  std::int64_t through_refresh(Channel& c, std::int64_t start, std::int64_t duration);

  std::vector<Channel> channels_;
  std::int64_t bank_count_, row_bytes_, burst_bytes_;
  std::int64_t t_rcd_, t_rp_, t_cl_, t_ras_, t_rfc_, t_refi_;
  double burst_read_, burst_write_;  ///< sub-ticks of one burst on one channel
  std::int64_t hits_ = 0, misses_ = 0;
};

}  // namespace assay
