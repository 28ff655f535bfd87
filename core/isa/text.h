#pragma once

#include <string>

#include "core/isa/program.h"

namespace assay {

/// The textual form; parse_program(print_program(p)) equals p, field by field.
std::string print_program(const Program& program);
/// Throws InputError with line and column. `name` stands for the file in messages.
Program parse_program(const std::string& text, const std::string& name);

}  // namespace assay
