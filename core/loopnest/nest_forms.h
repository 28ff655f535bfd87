#pragma once

#include <vector>

#include "core/loopnest/loop_nest.h"
#include "core/spec/yaml.h"

// The two forms of a mapping in a file (nest_file.h) → LoopNest, with the place of every node for the rules that are
// checked on the whole.

namespace assay {

struct PlacedNest {
  LoopNest nest;
  std::vector<SourcePos> positions;  ///< by node
};

/// `nest:` and, if there is one, `networks:`. InputError with every problem found.
PlacedNest read_node_form(const YamlNode& nodes, const YamlNode* networks, const Einsum& e, const Hierarchy& h);

/// `levels:`; levels that are left out hold nothing and have no loops. InputError: the same; further a factor that does
/// not cover what is outside, or covers it with fewer iterations than it says.
PlacedNest read_level_form(const YamlNode& levels, const Einsum& e, const Hierarchy& h);

}  // namespace assay
