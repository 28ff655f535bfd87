#pragma once

#include <string>
#include <vector>

#include "hwmodels/activity.h"

namespace assay {

/// Energy and area of the parts of a machine: from the file where it overrides, else from the built-in component
/// library (hwmodels/library.h). Every figure says where it comes from.
struct PartCost {
  std::string part;  ///< `dram`, `ls`, `dpe`, `noc`, …
  std::int64_t instances = 1;
  double read_pj_per_byte = 0, write_pj_per_byte = 0;
  double op_pj = 0;       ///< per MAC or lane operation (of the class `arithmetic`)
  double leakage_mw = 0;  ///< one instance
  double area_mm2 = 0;    ///< one instance
  std::string source;     ///< component, fit and scaling used, or `file`
};
struct CostTable {
  std::vector<PartCost> parts;
  double area_mm2 = 0;             ///< whole chip, DRAM devices not included
  std::vector<std::string> notes;  ///< what is not covered (I/O pads, control cores, …)
};
CostTable cost_table(const Machine& machine);

/// One printable term: count × energy per action (law 5: the total is the sum of the terms).
struct EnergyTerm {
  std::string part;
  std::string action;       ///< `read`, `write`, `mac`, `exp`, `move`, `leakage`, `static`
  std::int64_t group = -1;  ///< index into Program::trail; -1: whole program (leakage)
  double count = 0;
  double pj_each = 0;
  double pj() const { return count * pj_each; }
};
struct EnergyResult {
  std::vector<EnergyTerm> terms;
  double total_pj = 0;
  double average_w = 0;  ///< total over `seconds`
  double peak_w = 0;     ///< highest average power of any group
};
EnergyResult energy_of(const Machine& machine, const CostTable& costs, const Program& program, const Activity& activity,
                       double seconds, const std::vector<double>& group_seconds);

}  // namespace assay
