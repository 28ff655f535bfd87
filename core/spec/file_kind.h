#pragma once

#include "core/spec/yaml.h"

namespace assay {

/// What a YAML file of ours describes.
enum class FileKind : unsigned char { machine, workload, suite, sweep };

/// Told by the keys of its root: `sweep` (or `workloads` and `machines`), `suite`, `workload`, `machine` (or `memories`
/// and `clocks`). Nothing if the root is no map or has none of them.
std::optional<FileKind> kind_of(const YamlNode& root);

/// InputError when a file is recognised as another kind than the one expected: one message instead of one for each of
/// its keys. `or_else`: a second kind that is right as well.
void expect_kind(const YamlNode& root, FileKind expected, std::optional<FileKind> or_else = std::nullopt);

}  // namespace assay
