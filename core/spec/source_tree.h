#pragma once

#include <string>
#include <vector>

#include "core/spec/load.h"
#include "core/spec/yaml.h"

namespace assay {

/// A description as one tree: `extends` merged, overrides applied, nothing evaluated yet. Every node still knows the
/// file and line it came from.
struct SourceTree {
  YamlNode root;
  std::string root_machine;  ///< `machine` of the outermost base: the default family
};

/// Follows `extends` (relative to the file that says so; cycles and chains over 16 files are refused). Maps merge key
/// by key; a number, a text, a list or a `{value: …}` replaces what the base says; `key: ~` removes it.
SourceTree merge_extends(YamlNode root, const std::string& file);

/// Applies one override. InputError for a path that names nothing, with the nearest existing path.
void apply_override(YamlNode& root, const Override& o);

}  // namespace assay
