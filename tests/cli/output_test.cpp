#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/cli/bad_input.h"
#include "tests/cli/process.h"
#include "tests/workloads/onnx_models.h"
#include "tests/workloads/says.h"

// What is right in an unusual form, and where output can't go.

namespace assay {
namespace {

ProcessOptions in(const ScratchFolder& folder, const std::string& stdout_file = {}) {
  return {.folder = folder.path(), .powerless = false, .stdout_file = stdout_file};
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("line ends of another system and a byte-order mark change nothing") {
  const ScratchFolder folder;
  std::string crlf;
  for (const char c : machine_with()) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  folder.write("lf.yaml", machine_with());
  folder.write("crlf.yaml", crlf);
  folder.write("bom.yaml", "\xef\xbb\xbf" + machine_with());
  const Finished lf = run_assay({"check", "--print", "lf.yaml"}, in(folder));
  CHECK(lf.code == 0);
  CHECK(!lf.out.empty());
  CHECK(run_assay({"check", "--print", "crlf.yaml"}, in(folder)).out == lf.out);
  CHECK(run_assay({"check", "--print", "bom.yaml"}, in(folder)).out == lf.out);
}

TEST_CASE("a sweep in JSON gives the result of the same sweep in YAML") {
  const ScratchFolder folder;
  folder.write("m.yaml", machine_with());
  folder.write("w.yaml", "workload: w\nonnx: x.onnx\n");
  folder.write("x.onnx", good_model());
  folder.write("s.yaml", sweep_with());
  folder.write("s.json", R"({"sweep": "s", "workloads": ["w.yaml"], "machines": ["m.yaml"], "check": "none"})");
  const Finished yaml = run_assay({"sweep", "s.yaml", "-q", "-o", "a"}, in(folder));
  const Finished json = run_assay({"sweep", "s.json", "-q", "-o", "b"}, in(folder));
  CAPTURE(json.err);
  CHECK(json.code == 0);
  CHECK(json.out == yaml.out);
  CHECK(read(folder.path() + "/a/points.csv") == read(folder.path() + "/b/points.csv"));
}

TEST_CASE("output that can't be written is an error") {
  if (!std::filesystem::exists("/dev/full")) return;
  const ScratchFolder folder;
  folder.write("m.yaml", machine_with());
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"check", "m.yaml"}, {"check", "--json", "m.yaml"}, {"schema"}, {"list", "passes"}}) {
    const Finished f = run_assay(args, in(folder, "/dev/full"));
    CHECK(f.code == 2);
    CHECK_SAYS(f.err, "stdout: can't be written");
  }
}

TEST_CASE("programs of several workloads go to a file each") {
  const ScratchFolder folder;
  folder.write("m.yaml", machine_with());
  folder.write("x.onnx", good_model());
  folder.write("y.onnx", good_model());
  folder.write("suite.yaml", "suite: [{workload: x.onnx}, {workload: y.onnx}]\n");
  const Finished f = run_assay({"compile", "-m", "m.yaml", "-w", "suite.yaml", "-o", "p.txt"}, in(folder));
  CHECK(f.code == 0);
  CHECK(f.out == "");
  for (const char* name : {"p-x.txt", "p-y.txt"}) CHECK(read(folder.path() + "/" + name).starts_with("program "));
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/p.txt"));
  CHECK(run_assay({"compile", "-m", "m.yaml", "-w", "x.onnx", "-o", "p.txt"}, in(folder)).code == 0);
  CHECK(read(folder.path() + "/p.txt").starts_with("program "));
}

TEST_CASE("a message goes to stderr and data to stdout") {
  const ScratchFolder folder;
  folder.write("m.yaml", machine_with());
  folder.write("x.onnx", good_model());
  const Finished f = run_assay({"run", "-m", "m.yaml", "-w", "x.onnx", "--json", "-o", "out"}, in(folder));
  CHECK(f.code == 0);
  CHECK(f.out.starts_with("{"));
  CHECK_SAYS(f.err, "report: out/report.html");
}

}  // namespace
}  // namespace assay
