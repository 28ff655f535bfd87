#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
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
  for (const std::vector<std::string>& args : {std::vector<std::string>{"check", "m.yaml"},
                                               {"check", "--json", "m.yaml"},
                                               {"schema"},
                                               {"list", "passes"},
                                               {"--help"},
                                               {"sweep", "--help"},
                                               {"--version"}}) {
    const Finished f = run_assay(args, in(folder, "/dev/full"));
    CHECK(f.code == 2);
    CHECK_SAYS(f.err, "stdout: can't be written");
  }
}

TEST_CASE("a device or a pipe is written into, a link leads to what is replaced") {
  const ScratchFolder folder;
  folder.write("m.yaml", machine_with());
  folder.write("x.onnx", good_model());
  const auto compile_to = [&](const std::string& out) {
    return run_assay({"compile", "-m", "m.yaml", "-w", "x.onnx", "-o", out}, in(folder));
  };
  REQUIRE(compile_to("p.txt").code == 0);
  const std::string program = read(folder.path() + "/p.txt");
  REQUIRE(program.starts_with("program "));

  const std::string pipe = folder.path() + "/pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  CHECK(compile_to("pipe").code == 0);
  std::string got(1 << 16, '\0');
  got.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(reader, got.data(), got.size()))));
  close(reader);
  CHECK(got == program);
  CHECK(std::filesystem::is_fifo(pipe));

  folder.write("old.txt", "old");
  std::filesystem::create_symlink("old.txt", folder.path() + "/link");
  CHECK(compile_to("link").code == 0);
  CHECK(std::filesystem::is_symlink(folder.path() + "/link"));
  CHECK(read(folder.path() + "/old.txt") == program);
  for (const auto& e : std::filesystem::directory_iterator(folder.path())) CHECK(e.path().extension() != ".part");
}

TEST_CASE("a program and its summary go to a file and to stdout") {
  const ScratchFolder folder;
  folder.write("m.yaml", machine_with());
  folder.write("x.onnx", good_model());
  const Finished f = run_assay({"compile", "-m", "m.yaml", "-w", "x.onnx", "--json", "-o", "p.txt"}, in(folder));
  CHECK(f.code == 0);
  CHECK(f.out.starts_with("{"));
  CHECK(read(folder.path() + "/p.txt").starts_with("program "));
}

TEST_CASE("graphs are dumped into a folder that is made for them") {
  const ScratchFolder folder;
  folder.write("m.yaml", machine_with());
  folder.write("x.onnx", good_model());
  const Finished f = run_assay(
      {"compile", "-m", "m.yaml", "-w", "x.onnx", "-o", "p.txt", "--dump-after", "dead-code", "--dump-dir", "a/b"},
      in(folder));
  CAPTURE(f.err);
  CHECK(f.code == 0);
  CHECK(read(folder.path() + "/a/b/02-dead-code.txt").starts_with("graph "));
}

TEST_CASE("when nobody reads, the program ends quietly as others do") {
  const ScratchFolder folder;
  ProcessOptions unread = in(folder);
  unread.no_reader = true;
  for (const std::vector<std::string>& args : {std::vector<std::string>{"list", "operations"}, {"schema"}}) {
    const Finished f = run_assay(args, unread);
    CHECK(f.signal == SIGPIPE);
    CHECK(f.err == "");
  }
}

TEST_CASE("with all streams closed, what belongs to them never gets into a file") {
  const ScratchFolder folder;
  folder.write("m.yaml", machine_with());
  folder.write("w.yaml", "workload: w\nonnx: x.onnx\n");
  folder.write("x.onnx", good_model());
  folder.write("s.yaml", sweep_with());
  ProcessOptions closed = in(folder);
  closed.no_streams = true;
  CHECK(run_assay({"list", "passes"}, closed).code == 2);  // nothing could be said
  run_assay({"sweep", "s.yaml", "-o", "a"}, closed);
  REQUIRE(run_assay({"sweep", "s.yaml", "-o", "b"}, in(folder)).code == 0);
  for (const char* name : {"report.html", "report.md", "points.csv", "layers.csv", "result.json"})
    CHECK(read(folder.path() + "/a/" + name) == read(folder.path() + "/b/" + name));
  const Finished again = run_assay({"sweep", "s.yaml", "-o", "a"}, in(folder));
  CAPTURE(again.err);
  CHECK(again.code == 0);
  CHECK_SAYS(again.err, "points: 1/1, 1 from the store");
}

TEST_CASE("what is too long is refused before it is read") {
  const ScratchFolder folder;
  folder.write("m.yaml", machine_with());
  // Files with holes: as long as they say, and without bytes on the disk.
  const auto long_file = [&](const char* name) {
    std::filesystem::resize_file(folder.write(name, ""), std::uintmax_t{1} << 40);
  };
  for (const char* name : {"x.onnx", "x.yaml", "x.json"}) long_file(name);
  const auto says = [&](const std::vector<std::string>& args, const std::string& message) {
    const Finished f = run_assay(args, in(folder));
    CHECK(f.code == 2);
    CHECK_SAYS(f.err, message);
  };
  says({"run", "-m", "m.yaml", "-w", "x.onnx"}, "x.onnx: 1099511627776 bytes long; at most 2147483647 are read");
  says({"check", "x.yaml"}, "x.yaml: 1099511627776 bytes long; a description may have");
  says({"report", "x.json"}, "x.json: 1099511627776 bytes long; a result may have 1073741824");
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
