#pragma once

#include <string>

#include "core/loopnest/hierarchy.h"
#include "core/spec/yaml.h"

// A hierarchy as text, outermost level first:
//
//   name: three_level
//   compute: {mesh: [16, 16], mac_energy: 0.2}           # pJ
//   levels:
//     - {name: DRAM, word_bits: 16, read_energy: 128, write_energy: 128, read_rate: 8, write_rate: 8}
//     - name: GLB
//       capacity: 128 KiB                                # or words, as a plain number
//       network: {multicast: true, reduction: true, neighbour_links: false, energy_per_word: 0.1}
//     - {name: RF, mesh: [16, 16], capacity: 256, holds: [input, weight, output]}
//
// mesh: instances in the whole machine, [x, y]; rates in words per cycle of one instance. What is left out is as in
// HierarchyLevel.

namespace assay {

/// InputError with file:line:column on what is no hierarchy, unknown keys, wrong values, and the rules of check().
Hierarchy read_hierarchy(const YamlNode& node, const std::string& path = "hierarchy");

/// Block YAML, every line after `indent` spaces; what equals the default is left out. read_hierarchy gives `h` again.
/// The name must be a plain name or empty.
std::string print_hierarchy(const Hierarchy& h, int indent = 0);

}  // namespace assay
