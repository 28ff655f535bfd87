#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/compiler/compiler.h"
#include "core/spec/load.h"
#include "explorers/evaluate.h"
#include "reports/cli/commands.h"
#include "workloads/workload.h"

namespace assay {

Machine load(const MachineArgs& a);
WorkloadOptions workload_options(const WorkloadArgs& a);
CompileOptions compile_options(const CompilerArgs& a);
/// InputError with what is expected, and the nearest of it, unless `value` is one of `known`.
void expect_one_of(const std::string& option, const std::string& value, const std::vector<std::string>& known);
/// `name=value` options of one kind: InputError where one is not of this form or a name is given twice.
std::vector<std::pair<std::string, std::string>> assignments(const std::string& option,
                                                             const std::vector<std::string>& given);
/// Writes to a temporary name beside the target and renames: no half-written file is ever seen. A device or a pipe is
/// written into, a link is followed.
void write_file(const std::string& path, const std::string& content);
/// InputError if a folder could not be made or written into: said before the work that would be lost.
void check_folder(const std::string& path);
/// The same of a file: its folder is there and open, and it is no folder itself.
void check_target(const std::string& path);
/// Makes a folder, and those above it; InputError when that fails.
void make_folder(const std::string& path);
void print_out(const std::string& text);  ///< to stdout, with an error when it can't be written
/// One or more machines' results as a sweep: what reports are made from.
SweepResult as_sweep(std::vector<PointResult> points, const std::string& name);
/// report.html, report.md, result.json, points.csv, layers.csv in a folder.
void write_report(const SweepResult& sweep, const std::string& folder);

}  // namespace assay
