#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "core/isa/byte_set.h"
#include "core/isa/verify_order.h"
#include "core/isa/written_bytes.h"

namespace assay {

/// Where an access stands in the program, for messages.
struct AccessSite {
  const Stmt* leaf = nullptr;
  std::size_t number = 0;
  std::uint32_t queue = 0;
};

/// Remembers, per buffer of every core, which bytes were read and written last and by whom, and reports pairs of
/// unordered accesses of which one writes. One record per distinct byte set; records that are before everything
/// still to come are dropped.
class AccessHistory {
 public:
  using OnRace = std::function<void(const AccessSite& now, bool now_writes, const AccessSite& before, bool before_wrote,
                                    BufferId buffer, BufferId other)>;
  AccessHistory(const Program& program, const Machine& machine, std::vector<QueueState>& queues, OnRace on_race);

  /// `core` is the core whose memory is meant (ignored for shared memories). Returns whether all bytes that are read
  /// have been written (true for writes; a write adds its bytes if `exact`).
  bool access(std::uint32_t core, BufferId buffer, const ByteSet& bytes, bool write, bool exact,
              const AccessSite& site);
  /// Marks bytes as written without an access (iterations left out of a shortened walk).
  void mark_written(std::uint32_t core, BufferId buffer, const ByteSet& bytes);
  bool written(std::uint32_t core, BufferId buffer, std::int64_t begin, std::int64_t end) const;

 private:
  struct Touch {
    AccessSite site;
    std::uint32_t segment = 0;
  };
  struct Record {
    ByteSet bytes;
    std::int64_t begin = 0, end = 0;
    bool has_write = false, read_checked = false;
    Touch write;
    std::vector<Touch> reads;          ///< the last one of each queue
    std::uint64_t stamp = UINT64_MAX;  ///< of the last access, to skip repetitions
    std::uint32_t stamp_queue = 0;
    bool stamp_write = false;
  };
  struct SetHash {
    std::size_t operator()(const ByteSet& s) const noexcept { return hash_of(s); }
  };
  /// Records of one buffer (of one core), found by byte set and by the stretch of addresses they span.
  struct BufferState {
    static constexpr std::int64_t kBuckets = 256, kSpan = 16;
    std::vector<Record> records;
    std::unordered_map<ByteSet, std::size_t, SetHash> index;  // looked up, never iterated
    std::vector<std::vector<std::uint32_t>> buckets;          ///< record numbers by address / bucket size
    std::vector<std::uint32_t> wide;                          ///< records that span more than kSpan buckets
    std::size_t prune_at = 64;
    std::int64_t origin = 0, bucket_bytes = 1;

    std::int64_t bucket(std::int64_t address) const;
    void file(std::uint32_t number);  ///< into the buckets
    template <class F>
    void each_near(std::int64_t begin, std::int64_t end, F f) const;
  };

  std::size_t slot(std::uint32_t core, BufferId buffer) const;
  bool unordered(std::uint32_t queue, const Touch& before) const;
  void compare(const Record& r, const ByteSet& bytes, bool write, const AccessSite& site, BufferId buffer,
               BufferId other);
  void prune(BufferState& state);
  WrittenBytes& written_of(std::uint32_t core, BufferId buffer);

  const Program& program_;
  const Machine& machine_;
  std::vector<QueueState>& queues_;
  OnRace on_race_;
  std::vector<std::vector<BufferId>> sharing_;  ///< per buffer: buffers on common addresses, itself included
  std::vector<bool> may_race_, starts_written_;
  std::vector<BufferState> states_;
  /// Buffers that are the same bytes at the same time (views) are one; others on the same addresses are not: what
  /// another buffer left there is no value of this one.
  std::vector<std::uint32_t> same_bytes_;                                    ///< by buffer: its first view
  std::map<std::pair<std::uint32_t, std::uint32_t>, WrittenBytes> written_;  ///< (first view, core)
  QueueClock oldest_;  ///< min over unfinished queues of their clocks
  std::uint64_t accesses_ = 0, oldest_at_ = 0;
};

}  // namespace assay
