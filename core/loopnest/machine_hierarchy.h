#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/loopnest/hierarchy.h"
#include "core/spec/machine.h"

// A machine description as a hierarchy of levels. The description is a graph of memories, a hierarchy is a chain: the
// memories of the chip come first, then those of a core, then the registers of an array's elements, in the order of the
// description. Memories that stand side by side (weights here, outputs there) become levels one below the other, each
// open to its own roles; a mapping bypasses the others.
//
//   eyeriss_like        dram × 1   glb × 1   glbw × 1   w × 12·14   i × 12·14   o × 12·14   MAC × 12·14

namespace assay {

/// Energies of one part, as the models to the right of this folder know them. Unset parts cost nothing.
struct PartEnergies {
  double read_pj_per_byte = 0, write_pj_per_byte = 0, op_pj = 0;
};

struct MachineLevels {
  Hierarchy hierarchy;
  std::vector<std::string> notes;  ///< what of the machine has no place in it
};

/// `unit`: the matrix unit whose MACs stand innermost; empty: the first. Words are as wide as its first operand type, in
/// an accumulator as wide as its own. Capacities in whole words of one instance; rates in words per cycle of the first
/// clock; energies by name of the part, `energies[unit].op_pj` for one MAC. InputError: no such unit (nearest name), no
/// matrix unit, an intrinsic whose m × k is no whole number of MACs per cycle.
MachineLevels machine_levels(const Machine& m, const std::map<std::string, PartEnergies>& energies,
                             const std::string& unit = {});

}  // namespace assay
