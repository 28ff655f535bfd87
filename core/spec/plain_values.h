#pragma once

#include <optional>
#include <string_view>

#include "core/spec/yaml.h"

// Values of the files that are no machine description (workloads, sweeps): numbers without units, names.

namespace assay {

/// `010`, `-007`, `00.5`: some readers take it for octal, so no file may say it.
bool has_leading_zero(std::string_view number);

/// A finite decimal number, as written and not in quotes; nothing if the node is no such number or has a leading zero.
std::optional<double> plain_number(const YamlNode& node);

/// Names of workloads, phases and sweeps become parts of file names: no `/` or `\`, no control character, no `.` at the
/// start, at most 100 bytes.
bool is_file_name(std::string_view name);
inline constexpr const char* kFileName =
    "a name that can be part of a file's (no '/' or '\\', no '.' at the start, at most 100 bytes)";

}  // namespace assay
