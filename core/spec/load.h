#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/spec/machine.h"

namespace assay {

/// Replaces the value at a key path before expressions are evaluated: `{"params.rows", "64"}`,
/// `{"memories.ub.capacity", "12 MiB"}`. Sweeps and `--set` use it. A path that names nothing is an InputError with
/// the nearest existing path.
struct Override {
  std::string path;
  std::string value;
};

/// Message of an override whose path names nothing, whatever its value.
inline constexpr const char* kNamesNothing = "names nothing in the description";

/// Reads a description (YAML; `extends` resolved relative to the file), applies the overrides, evaluates
/// expressions, checks every rule of the field tables and the machine as a whole (a compute unit, a path from DRAM,
/// no zero bandwidth, …). Throws InputError with every problem found, each with file:line:column.
Machine load_machine(const std::string& path, const std::vector<Override>& overrides = {});
/// The same from text; `name` stands for the file in messages.
Machine parse_machine(const std::string& text, const std::string& name, const std::vector<Override>& overrides = {});

/// JSON Schema (draft 2020-12) of a description, from the same field tables as the loader.
std::string machine_schema_json();

/// Canonical YAML of a loaded machine: every field, resolved, in table order. Loading it gives the same Machine.
std::string print_machine(const Machine& m);

}  // namespace assay
