#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/spec/load.h"

using namespace assay;
namespace fs = std::filesystem;

namespace {

/// `# key: value` in the first lines of a file.
std::string header(const fs::path& file, const std::string& key) {
  std::ifstream in(file);
  std::string line;
  const std::string start = "# " + key + ": ";
  while (std::getline(in, line) && line.starts_with("#")) {
    if (line.starts_with(start)) return line.substr(start.size());
    if (line == "# " + key + ":") return "";
  }
  FAIL("no header '" << key << "' in " << file.string());
  return {};
}

std::vector<fs::path> files() {
  std::vector<fs::path> out;
  for (const auto& e : fs::directory_iterator(fs::path(ASSAY_SOURCE_DIR) / "tests/spec/rejects"))
    out.push_back(e.path());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("each file in rejects/ gets its message, at a place in the file and with the key's path") {
  CHECK(files().size() > 150);
  for (const fs::path& file : files()) {
    CAPTURE(file.filename().string());
    const std::string path = header(file, "path"), expect = header(file, "expect");
    bool rejected = false;
    try {
      load_machine(file.string());
    } catch (const InputError& e) {
      rejected = true;
      CAPTURE(e.what());
      const auto& ds = e.diagnostics();
      const auto match = std::find_if(ds.begin(), ds.end(), [&](const Diagnostic& d) {
        return d.path == path && d.message.find(expect) != std::string::npos;
      });
      CHECK(match != ds.end());
      for (const Diagnostic& d : ds) {
        CHECK(d.pos.file == file.string());
        CHECK(d.pos.line > 0);
        CHECK(d.pos.column > 0);
      }
    }
    CHECK(rejected);
  }
}

TEST_CASE("one load reports every error it can find, with the nearest name") {
  const std::string text =
      "machine: m\nclocks: {core: 1 GHz}\nmemories:\n"
      "  dram: {kind: dram, capcity: 1 GiB, bandwidth: 16 GB}\n"
      "  spad: {kind: scratchpad, capacity: 64, bandwidth: 1 GB/s}\n"
      "units:\n  vec: {kind: vector, lanes: 8, ops: [ad], dtypes: fp32}\n";
  try {
    parse_machine(text, "m.yaml");
    FAIL("accepted");
  } catch (const InputError& e) {
    const auto& ds = e.diagnostics();
    REQUIRE(ds.size() == 4);  // not that 'capacity' is missing as well
    CHECK(ds[0].path == "memories.dram.capcity");
    CHECK(ds[0].suggestion == "capacity");
    CHECK(ds[0].pos.line == 4);
    CHECK(ds[0].pos.column == 22);
    CHECK(ds[1].path == "memories.dram.bandwidth");
    CHECK(ds[2].path == "memories.spad.capacity");
    CHECK(ds[3].path == "units.vec.ops");
    CHECK(ds[3].suggestion == "add");
  }
}

TEST_CASE("an error in a parameter is reported once, not at every value that uses it") {
  const std::string text =
      "machine: m\nparams: {n: 010, k: \"${n}\"}\nclocks: {core: 1 GHz}\nmemories:\n"
      "  dram: {kind: dram, capacity: \"${n} GiB\", bandwidth: \"${n * k} GB/s\"}\n"
      "  spad: {kind: scratchpad, capacity: \"${k} KiB\", bandwidth: 1 GB/s}\n"
      "units:\n  vec: {kind: vector, lanes: \"${n}\", ops: any, dtypes: fp32}\n";
  try {
    parse_machine(text, "m.yaml");
    FAIL("accepted");
  } catch (const InputError& e) {
    REQUIRE(e.diagnostics().size() == 1);
    CHECK(e.diagnostics()[0].path == "params.n");
  }
}

TEST_CASE("hundreds of errors are cut short, and counted") {
  std::string text = "machine: m\nclocks: {core: 1 GHz}\nmemories:\n";
  for (int i = 0; i < 200; ++i) text += "  m" + std::to_string(i) + ": {kind: cahce}\n";
  try {
    parse_machine(text, "m.yaml");
    FAIL("accepted");
  } catch (const InputError& e) {
    CHECK(e.diagnostics().size() == 51);
    CHECK(e.diagnostics().back().message.find("more errors are not shown") != std::string::npos);
  }
}
