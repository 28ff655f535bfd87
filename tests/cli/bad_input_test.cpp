#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>
#include <sstream>

#include "tests/cli/bad_input.h"
#include "tests/cli/process.h"
#include "tests/workloads/onnx_models.h"
#include "tests/workloads/says.h"

// Every kind of bad input at the command line: one clear message on stderr, its exit code, nothing on stdout, nothing
// written. The readers' own tests have each message; this holds the program to them from outside.

namespace assay {
namespace {

namespace fs = std::filesystem;

std::set<std::string> listing(const std::string& folder) {
  std::set<std::string> out;
  for (const auto& e : fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied))
    out.insert(fs::relative(e.path(), folder).string());
  return out;
}

/// Lines that are no continuation (those are indented): each starts a message.
int messages(const std::string& err) {
  std::istringstream in(err);
  int n = 0;
  for (std::string line; std::getline(in, line);) n += !line.empty() && line[0] != ' ';
  return n;
}

void check(const BadInput& row) {
  CAPTURE(row.name);
  const ScratchFolder scratch;
  const std::string folder = scratch.path() + "/t";
  fs::create_directory(folder);
  chmod(scratch.path().c_str(), 0755);
  for (const auto& [name, content] : row.files) {
    if (name.ends_with('/'))
      fs::create_directories(folder + "/" + name);
    else
      scratch.write("t/" + name, content);
  }
  if (!row.closed.empty()) chmod((folder + "/" + row.closed).c_str(), row.closed.ends_with('/') ? 0555 : 0);
  const auto before = listing(folder);
  const Finished f = run_assay(row.args, {.folder = folder, .powerless = row.powerless, .stdout_file = {}});
  CAPTURE(f.err);
  CHECK(f.code == row.code);
  CHECK(f.out == "");
  CHECK(messages(f.err) == row.messages);
  for (const std::string& s : row.says) CHECK_SAYS(f.err, s);
  auto after = listing(folder);
  for (const std::string& s : row.leaves) after.erase(s);
  CHECK(after == before);
}

void check_all(const std::vector<BadInput>& rows) {
  static const bool powerless = powerless_can_run();
  for (const BadInput& row : rows) {
    if (row.powerless && !powerless) {
      std::cout << "skipped: " << row.name << ": the program lies in a folder that other users may not enter\n";
      continue;
    }
    check(row);
  }
}

}  // namespace

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  if (from.empty()) return text;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("the files that the rows below spoil are right") {
  const ScratchFolder scratch;
  const std::string folder = scratch.path();
  scratch.write("m.yaml", machine_with());
  scratch.write("w.yaml", "workload: w\nonnx: x.onnx\n");
  scratch.write("x.onnx", good_model());
  scratch.write("s.yaml", sweep_with());
  const ProcessOptions here{.folder = folder, .powerless = false, .stdout_file = {}};
  CHECK(run_assay({"check", "m.yaml"}, here).code == 0);
  CHECK(run_assay({"run", "-m", "m.yaml", "-w", "w.yaml", "--check", "full"}, here).code == 0);
  const Finished f = run_assay({"sweep", "s.yaml", "-o", "out"}, here);
  CAPTURE(f.err);
  CHECK(f.code == 0);
  CHECK(fs::exists(folder + "/out/report.html"));
}

TEST_CASE("a bad machine description is refused") { check_all(bad_machines()); }
TEST_CASE("a bad model or workload is refused") { check_all(bad_models()); }
TEST_CASE("a bad sweep is refused before anything is written") { check_all(bad_sweeps()); }

TEST_CASE("bad options, and options that contradict each other, are refused") { check_all(bad_options()); }

}  // namespace assay
