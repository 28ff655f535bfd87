#include <doctest/doctest.h>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "tests/loopnest/reference_case.h"

using namespace assay;
namespace fs = std::filesystem;

namespace {

/// Files of a folder that hold cases, in order of name.
std::vector<std::string> case_files(const fs::path& folder) {
  static const std::set<std::string> others = {"accelforge_runs.json", "exhaustive_optima.json", "mapper_runs.json"};
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if ((name.ends_with(".json") || name.ends_with(".jsonl")) && !others.contains(name))
      out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

void check_folder(const fs::path& folder, std::size_t at_least) {
  std::size_t cases = 0;
  for (const std::string& file : case_files(folder)) {
    for (const ReferenceCase& c : load_reference_cases(file)) {
      ++cases;
      for (const std::string& difference : reference_differences(c)) FAIL_CHECK(difference);
    }
  }
  CHECK(cases >= at_least);
}

}  // namespace

TEST_CASE("every case of the reference folder is counted as recorded") {
  const char* env = std::getenv("ASSAY_REFERENCE_DIR");
  const fs::path folder = fs::path(env != nullptr ? env : ASSAY_SOURCE_DIR "/../shared/reference") / "timeloop";
  if (!fs::exists(folder)) {
    MESSAGE("skipped: no " << folder.string() << " (set ASSAY_REFERENCE_DIR)");
    return;
  }
  check_folder(folder, 300);
}
