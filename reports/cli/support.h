#pragma once

#include <string>

#include "core/compiler/compiler.h"
#include "core/spec/load.h"
#include "explorers/evaluate.h"
#include "reports/cli/commands.h"
#include "workloads/workload.h"

namespace assay {

Machine load(const MachineArgs& a);
WorkloadOptions workload_options(const WorkloadArgs& a);
CompileOptions compile_options(const CompilerArgs& a);
/// Writes to a temporary name beside the target and renames: no half-written file is ever seen.
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
