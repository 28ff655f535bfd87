#include "core/spec/peak.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

double clock_hz(const Machine& m, int clock) {
  return static_cast<double>(m.clocks[static_cast<std::size_t>(clock)].hz);
}

/// Array elements that hold a register file of their own.
std::int64_t elements(const Machine& m, std::size_t memory) {
  for (const MatrixUnit& u : m.matrix_units) {
    if (std::find(u.pe_memories.begin(), u.pe_memories.end(), MemoryId(memory)) != u.pe_memories.end()) {
      return u.rows * u.cols * u.count;
    }
  }
  return 1;
}

std::string size_text(double bytes) {
  for (const auto& [unit, name] : {std::pair{0x1p30, "GiB"}, std::pair{0x1p20, "MiB"}, std::pair{0x1p10, "KiB"}}) {
    if (bytes >= unit) return fmt::format("{:.4g} {}", bytes / unit, name);
  }
  return fmt::format("{:.0f} B", bytes);
}

std::string tops(double ops) { return fmt::format("{:.4g}", ops / 1e12); }

}  // namespace

Peak peak_of(const Machine& m) {
  Peak peak;
  const auto cores = static_cast<double>(m.grid.cores());
  for (const MatrixUnit& u : m.matrix_units) {
    for (const MatrixType& t : u.types) {
      const double macs = static_cast<double>(u.macs_per_cycle()) * u.count * cores * t.rate;
      peak.compute.push_back({u.name, t.operand, true, macs, 2 * macs * clock_hz(m, u.clock)});
    }
  }
  for (const VectorUnit& u : m.vector_units) {
    for (const auto& [type, rate] : u.types) {
      const double lanes = static_cast<double>(u.lanes) * u.count * cores * rate;
      peak.compute.push_back({u.name, type, false, lanes, lanes * clock_hz(m, u.clock)});
    }
  }
  double fastest = 0;
  for (const bool matrix : {true, false}) {
    if (fastest > 0) break;
    for (const PeakCompute& c : peak.compute) {
      if (c.matrix == matrix) fastest = std::max(fastest, c.ops_per_s);
    }
  }
  for (std::size_t i = 0; i < m.memories.size(); ++i) {
    const Memory& mem = m.memories[i];
    PeakLevel level{.memory = mem.name, .scope = mem.scope};
    level.instances = (mem.scope == Scope::chip ? 1 : m.grid.cores()) * elements(m, i);
    level.capacity = mem.capacity * level.instances;
    level.bytes_per_s = static_cast<double>(mem.read_bandwidth) * static_cast<double>(level.instances);
    level.bytes_per_cycle = static_cast<double>(mem.read_bandwidth) / clock_hz(m, mem.clock);
    if (level.bytes_per_s > 0) level.ops_per_byte = fastest / level.bytes_per_s;
    if (mem.kind != MemoryKind::dram) peak.on_chip_bytes += level.capacity;
    peak.levels.push_back(level);
  }
  for (const QuotedPeak& q : m.quoted) {
    PeakQuote quote{q.operand, q.ops_per_s, 0};
    for (const PeakCompute& c : peak.compute) {
      if (c.matrix && c.type == q.operand) quote.implied += c.ops_per_s;
    }
    peak.quotes.push_back(quote);
  }
  return peak;
}

std::string describe_peak(const Machine& m) {
  const Peak peak = peak_of(m);
  std::string out = fmt::format("{}: {} core{}, {} on chip\n", m.name, m.grid.cores(), m.grid.cores() == 1 ? "" : "s",
                                size_text(static_cast<double>(peak.on_chip_bytes)));
  out += fmt::format("\n{:<12} {:<8} {:>14} {:>10}\n", "unit", "type", "per cycle", "TOPS");
  for (const PeakCompute& c : peak.compute) {
    out += fmt::format("{:<12} {:<8} {:>9.6g} {:<4} {:>10}\n", c.unit, name(c.type), c.per_cycle,
                       c.matrix ? "MAC" : "op", tops(c.ops_per_s));
  }
  out += fmt::format("\n{:<12} {:>9} {:>12} {:>12} {:>10} {:>10}\n", "memory", "instances", "total", "B/cycle each",
                     "GB/s all", "OP/B");
  for (const PeakLevel& l : peak.levels) {
    const bool limited = l.bytes_per_s > 0;
    out += fmt::format("{:<12} {:>9} {:>12} {:>12} {:>10} {:>10}\n", l.memory, l.instances,
                       size_text(static_cast<double>(l.capacity)),
                       limited ? fmt::format("{:.4g}", l.bytes_per_cycle) : "-",
                       limited ? fmt::format("{:.4g}", l.bytes_per_s / 1e9) : "-",
                       limited ? fmt::format("{:.4g}", l.ops_per_byte) : "-");
  }
  if (!peak.quotes.empty()) out += fmt::format("\n{:<12} {:>12} {:>12} {:>8}\n", "quoted", "TOPS", "implied", "ratio");
  for (const PeakQuote& q : peak.quotes) {
    out += fmt::format("{:<12} {:>12} {:>12} {:>8.3f}\n", name(q.type), tops(q.quoted), tops(q.implied),
                       q.implied / q.quoted);
  }
  return out;
}

}  // namespace assay
