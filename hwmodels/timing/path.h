#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/isa/program.h"
#include "hwmodels/timing.h"

// What a copy passes through, and what each station lets through per second.
//
//   dram.read ── noc (via: port, aggregate) ── dma port ── ls.write
//
// Time of a transfer of b bytes in r requests: occupancy max(b / slowest station, r · L / outstanding), and L later
// the last byte is there (L: the round trip of one request). Consecutive copies of one engine pipeline: the next
// one's requests leave while the last one's answers are still under way.

namespace assay {

enum class StationKind : std::uint8_t { memory_read, memory_write, port_load, port_store, port, carrier, aggregate };

struct Station {
  StationKind kind = StationKind::memory_read;
  std::uint32_t part = 0;  ///< index into Machine::memories or Machine::links
  std::int64_t rate = 0;   ///< bytes per second of one instance
  bool chip = false;       ///< one instance for all cores
  bool shared = true;      ///< false: Fidelity::ideal (every user gets the full rate)
};

struct CopyPath {
  std::vector<Station> stations;
  std::int64_t latency = 0;      ///< ticks: both ways through the links, and the memories
  std::int64_t max_request = 0;  ///< bytes; 0: requests are not limited
  std::int64_t outstanding = 0;  ///< 0: not limited
  bool far_is_source = true;     ///< whose contiguous runs the requests follow
  bool overlap_compute = true;
};

/// The path of a copy on an engine between two memories. Average hops for mesh (rows/2 + cols/2), torus (half of
/// that), ring (cores/4) and tree (log2 cores): where a memory is attached is not described. InputError where a
/// station has no bandwidth.
CopyPath path_of(const Machine& machine, const Engine& engine, MemoryId from, MemoryId to, TickBase base,
                 bool all_ideal);

/// Hops of an average transfer through a link, at least 1 (see path_of).
double average_hops(const Link& link, const Grid& grid);

/// Name for resource tables: the memory's or link's.
std::string station_name(const Machine& machine, const Station& s);

}  // namespace assay
