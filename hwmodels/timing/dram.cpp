#include "hwmodels/timing/dram.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/math.h"

namespace assay {

DramModel::DramModel(const Memory& memory, std::int64_t tps) {
  const DramTiming& d = memory.dram;
  const auto positive = [&](std::int64_t v, const char* what) {
    if (v < 1) throw InputError(memory.name, std::string(what) + " of " + std::to_string(v) + ", expected at least 1");
    return v;
  };
  positive(d.channels, "channels");
  bank_count_ = positive(d.banks, "banks");
  burst_bytes_ = positive(d.burst_bytes, "burst bytes");
  row_bytes_ = std::max(positive(d.row_bytes, "row bytes"), burst_bytes_);
  if (memory.read_bandwidth <= 0) throw InputError(memory.name, "a DRAM without read bandwidth");
  const double per_second = static_cast<double>(tps) * static_cast<double>(kDramSubticks);
  const auto ns = [&](double v) {
    return static_cast<std::int64_t>(std::ceil(std::max(0.0, v * 1e-9 * per_second - 1e-6)));
  };
  t_rcd_ = ns(d.t_rcd);
  t_rp_ = ns(d.t_rp);
  t_cl_ = ns(d.t_cl);
  t_ras_ = ns(d.t_ras);
  t_rfc_ = ns(d.t_rfc);
  t_refi_ = ns(d.t_refi);
  if (t_refi_ > 0 && t_refi_ <= t_rfc_)
    throw InputError(memory.name, "tREFI is not longer than tRFC: the DRAM would only refresh");
  const auto burst = [&](std::int64_t rate) {
    return static_cast<double>(burst_bytes_) * d.channels * per_second / static_cast<double>(rate);
  };
  burst_read_ = burst(memory.read_bandwidth);
  burst_write_ = memory.shared_ports || memory.write_bandwidth <= 0 ? burst_read_ : burst(memory.write_bandwidth);
  channels_.resize(static_cast<std::size_t>(d.channels));
  for (Channel& c : channels_) {
    c.next_refresh = t_refi_;
    c.banks.resize(static_cast<std::size_t>(bank_count_));
  }
}

// The end of `duration` of bus time from `start` on; refreshes that fall into it push it back and close the rows.
std::int64_t DramModel::through_refresh(Channel& c, std::int64_t start, std::int64_t duration) {
  if (t_refi_ == 0) return start + duration;
  while (start >= c.next_refresh + t_rfc_) c.next_refresh += t_refi_;  // happened while the channel was idle
  std::int64_t end = start + duration;
  if (start >= c.next_refresh) {  // wait for the one under way
    end += c.next_refresh + t_rfc_ - start;
    c.next_refresh += t_refi_;
  }
  while (end > c.next_refresh) {
    end += t_rfc_;
    c.next_refresh += t_refi_;
    for (Bank& b : c.banks) b.open_row = -1;
  }
  return end;
}

std::int64_t DramModel::channel_access(Channel& c, std::int64_t early, std::int64_t now, std::int64_t super_row,
                                       std::int64_t bursts, bool write) {
  Bank& bank = c.banks[static_cast<std::size_t>(super_row % bank_count_)];
  const std::int64_t row = super_row / bank_count_;
  std::int64_t ready = now;
  if (bank.open_row != row) {
    ++misses_;
    const bool open = bank.open_row >= 0;
    std::int64_t at = std::max(early, bank.data_end);
    if (open) at = std::max(at, bank.activated + t_ras_) + t_rp_;
    bank.activated = at;
    bank.open_row = row;
    ready = std::max(now, at + t_rcd_);
  } else {
    ++hits_;
  }
  const auto duration =
      static_cast<std::int64_t>(std::ceil(static_cast<double>(bursts) * (write ? burst_write_ : burst_read_) - 1e-6));
  const std::int64_t end = through_refresh(c, std::max(c.bus_free, ready), duration);
  c.bus_free = end;
  bank.data_end = end;
  return end;
}

std::int64_t DramModel::access(std::int64_t early, std::int64_t now, std::int64_t address, std::int64_t bytes,
                               bool write) {
  const auto channels = static_cast<std::int64_t>(channels_.size());
  const std::int64_t super_bytes = row_bytes_ * channels;
  std::int64_t end = now;
  while (bytes > 0) {
    const std::int64_t super_row = address / super_bytes;
    const std::int64_t n = std::min(bytes, (super_row + 1) * super_bytes - address);
    const std::int64_t first = address / burst_bytes_, last = (address + n - 1) / burst_bytes_;
    const std::int64_t bursts = last - first + 1;
    for (std::int64_t i = 0; i < std::min(bursts, channels); ++i) {
      Channel& c = channels_[static_cast<std::size_t>((first + i) % channels)];
      end = std::max(end, channel_access(c, early, now, super_row, (bursts - i - 1) / channels + 1, write));
    }
    address += n;
    bytes -= n;
  }
  return end;
}

std::int64_t DramModel::occupy(std::int64_t now, std::int64_t duration) {
  std::int64_t end = now;
  for (Channel& c : channels_) {
    c.bus_free = through_refresh(c, std::max(now, c.bus_free), duration);
    end = std::max(end, c.bus_free);
  }
  return end;
}

}  // namespace assay
