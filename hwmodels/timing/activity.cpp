#include "hwmodels/activity.h"

namespace assay {
namespace {
template <class Map>
void add_all(Map& into, const Map& from) {
  for (const auto& [key, value] : from) into[key] += value;
}
void add_access(std::map<std::uint32_t, AccessCount>& into, const std::map<std::uint32_t, AccessCount>& from) {
  for (const auto& [key, value] : from) {
    into[key].read_bytes += value.read_bytes;
    into[key].write_bytes += value.write_bytes;
  }
}
}  // namespace

GroupActivity Activity::total() const {
  GroupActivity sum;
  for (const GroupActivity& g : groups) {
    add_access(sum.by_buffer, g.by_buffer);
    add_access(sum.by_pe_memory, g.by_pe_memory);
    add_all(sum.link_bytes, g.link_bytes);
    add_all(sum.link_bytes_delivered, g.link_bytes_delivered);
    add_all(sum.macs, g.macs);
    add_all(sum.padded_macs, g.padded_macs);
    for (const auto& [unit, classes] : g.lane_ops) add_all(sum.lane_ops[unit], classes);
    sum.host_bytes += g.host_bytes;
    sum.commands += g.commands;
  }
  return sum;
}

std::map<std::uint32_t, AccessCount> by_memory(const GroupActivity& a, const Program& program) {
  std::map<std::uint32_t, AccessCount> out = a.by_pe_memory;
  for (const auto& [buffer, access] : a.by_buffer) {
    AccessCount& m = out[program.buffers.at(buffer).memory.value];
    m.read_bytes += access.read_bytes;
    m.write_bytes += access.write_bytes;
  }
  return out;
}

}  // namespace assay
