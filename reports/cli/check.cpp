#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/spec/peak.h"
#include "hwmodels/energy.h"
#include "reports/cli/support.h"

namespace assay {

Machine load(const MachineArgs& a) {
  std::vector<Override> overrides;
  for (const auto& [path, value] : assignments("--set", a.set)) overrides.push_back({path, value});
  return load_machine(a.machine, overrides);
}

int check_command(const CheckArgs& a) {
  const Machine m = load(a.machine);
  if (a.print) {
    print_out(print_machine(m));
    return kOk;
  }
  const Peak peak = peak_of(m);
  const CostTable costs = cost_table(m);
  if (a.json) {
    nlohmann::ordered_json j;
    j["schema_version"] = 1;
    j["machine"] = m.name;
    j["family"] = m.family;
    j["cores"] = m.grid.cores();
    j["area_mm2"] = costs.area_mm2;
    for (const PeakCompute& c : peak.compute)
      j["compute"].push_back({{"unit", c.unit}, {"type", name(c.type)}, {"ops_per_s", c.ops_per_s}});
    for (const PeakLevel& l : peak.levels) {
      j["levels"].push_back({{"memory", l.memory},
                             {"instances", l.instances},
                             {"capacity", l.capacity},
                             {"bytes_per_s", l.bytes_per_s},
                             {"ops_per_byte", l.ops_per_byte}});
    }
    j["on_chip_bytes"] = peak.on_chip_bytes;
    print_out(j.dump(1) + "\n");
    return kOk;
  }
  print_out(fmt::format("{}: ok, {} core(s), {} memories, {} links, {} units, {:.1f} mm2 estimated\n", m.name,
                        m.grid.cores(), m.memories.size(), m.links.size(),
                        m.matrix_units.size() + m.vector_units.size() + m.hosts.size(), costs.area_mm2));
  if (a.peak) print_out(describe_peak(m));
  return kOk;
}

int schema_command() {
  print_out(machine_schema_json() + "\n");
  return kOk;
}

}  // namespace assay
