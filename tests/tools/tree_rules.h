#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// The rules of the source tree that no compiler checks. Each function takes a file's path relative to the
// repository root and its text, and returns one line per violation: `path:line: what is wrong`.

namespace assay {

/// The one-way road: a folder includes only itself and folders before it in this list; `workloads` and
/// `hwmodels` ignore each other; nobody includes `tests`, which may include everything.
const std::vector<std::string>& folders_in_order();
std::vector<std::string> include_violations(const std::string& path, std::string_view text);

/// Headers that take seconds to compile (Boost, CLI11, Eigen, …) appear in .cpp files only; Boost.Graph in
/// core/ir only; sources stay below 600 lines.
std::vector<std::string> weight_violations(const std::string& path, std::string_view text);

/// No unfinished-work marks, no path of somebody's machine, no download address in a lock file.
std::vector<std::string> wording_violations(const std::string& path, std::string_view text);

/// Text files of the checkout, sorted, relative to `root`: what git tracks or would track where git knows,
/// otherwise everything outside build folders.
std::vector<std::string> project_files(const std::filesystem::path& root);

}  // namespace assay
