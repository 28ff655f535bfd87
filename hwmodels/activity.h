#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/isa/program.h"

// What a Program did to a Machine, in counts: the common currency of the functional machine (counted by executing),
// the cycle model (counted as commands issue) and the analytical model (closed form). Law 2 says that the three are
// equal. Energy is a dot product of an Activity with a cost table (law 5).

namespace assay {

/// Payload bytes moved at one memory on behalf of one buffer.
struct AccessCount {
  std::int64_t read_bytes = 0;
  std::int64_t write_bytes = 0;
  friend bool operator==(const AccessCount&, const AccessCount&) = default;
};

/// Counts of one fused group (one entry of Program::trail), all cores together.
struct GroupActivity {
  std::map<std::uint32_t, AccessCount> by_buffer;              ///< BufferId → bytes (the buffer knows its memory)
  std::map<std::uint32_t, AccessCount> by_pe_memory;           ///< MemoryId of a register file → bytes
  std::map<std::uint32_t, std::int64_t> link_bytes;            ///< LinkId (and its `via`) → bytes moved
  std::map<std::uint32_t, std::int64_t> link_bytes_delivered;  ///< with multicast: bytes × receivers
  std::map<std::uint32_t, std::int64_t> macs;                  ///< matrix unit → useful multiply-accumulates
  std::map<std::uint32_t, std::int64_t> padded_macs;  ///< matrix unit → array slots × folds spent on padding
  std::map<std::uint32_t, std::map<std::string, std::int64_t>> lane_ops;  ///< vector unit → op class → operations
  std::int64_t host_bytes = 0;
  std::int64_t commands = 0;  ///< command instances with a non-empty iteration space
  friend bool operator==(const GroupActivity&, const GroupActivity&) = default;
};

struct Activity {
  std::vector<GroupActivity> groups;  ///< parallel to Program::trail
  GroupActivity total() const;
  friend bool operator==(const Activity&, const Activity&) = default;
};

/// Bytes at each memory, summed over buffers (and register files).
std::map<std::uint32_t, AccessCount> by_memory(const GroupActivity& a, const Program& program);

}  // namespace assay
