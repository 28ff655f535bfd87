#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/error.h"
#include "core/spec/key_path.h"
#include "core/spec/load.h"

using namespace assay;
namespace fs = std::filesystem;

namespace {

const std::string kSmall = std::string(ASSAY_SOURCE_DIR) + "/tests/spec/bases/small.yaml";

/// A folder of its own that vanishes with the test.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("assay_merge_test_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
};

std::string first_message(const std::string& file, const std::vector<Override>& overrides = {}) {
  try {
    load_machine(file, overrides);
  } catch (const InputError& e) {
    const Diagnostic& d = e.diagnostics().front();
    return d.path + ": " + d.message + (d.suggestion.empty() ? "" : " [" + d.suggestion + "]");
  }
  return "(accepted)";
}

}  // namespace

TEST_CASE("a description that extends another changes what it says and keeps the rest") {
  Folder folder;
  fs::copy_file(kSmall, folder.path / "small.yaml");
  const std::string derived = folder.write(
      "sub/derived.yaml",
      "machine: derived\nextends: ../small.yaml\nparams: {n: 16}\n"
      "memories: {spad: {capacity: 128 KiB}, extra: {kind: scratchpad, capacity: 1 KiB, bandwidth: 1 GB/s}}\n"
      "links: {dma: {near: [spad, extra]}}\n");
  const Machine m = load_machine(derived);
  CHECK(m.name == "derived");
  CHECK(m.family == "small");
  CHECK(m.source_path == derived);
  CHECK(m.matrix_units[0].rows == 16);
  CHECK(m.memory(*m.find_memory("spad")).capacity == 131072);
  CHECK(m.memory(*m.find_memory("spad")).read_bandwidth == 32'000'000'000);
  CHECK(m.find_memory("extra").has_value());
  CHECK(m.links[0].near.size() == 2);
}

TEST_CASE("~ removes a key of the base, so that a unit can take another form") {
  Folder folder;
  fs::copy_file(kSmall, folder.path / "small.yaml");
  const std::string derived = folder.write(
      "d.yaml",
      "machine: d\nextends: small.yaml\nunits: {vec: ~, mxu: {rows: ~, cols: ~, intrinsic: {k: \"${n}\", n: 4}}}\n"
      "links: {dma: {near: [spad, acc]}}\n");
  const Machine m = load_machine(derived);
  CHECK(m.vector_units.empty());
  CHECK(m.matrix_units[0].style == ArrayStyle::intrinsic);
  CHECK(m.matrix_units[0].macs_per_cycle() == 32);
}

TEST_CASE("a value with a new number does not keep the base's source") {
  Folder folder;
  folder.write("base.yaml", "machine: base\nprocess: {node: {value: 28 nm, source: \"a paper\"}}\n");
  fs::copy_file(kSmall, folder.path / "small.yaml");
  const std::string derived = folder.write("d.yaml", "extends: mid.yaml\nprocess: {node: 7 nm}\n");
  folder.write("mid.yaml", "extends: small.yaml\nprocess: {node: {value: 28 nm, source: \"a paper\"}}\n");
  const Machine m = load_machine(derived);
  CHECK(m.process.node_nm == 7);
  CHECK(provenance_of(m, "process.node") == nullptr);
}

TEST_CASE("chains of extends end: cycles and long chains are refused") {
  Folder folder;
  folder.write("a.yaml", "machine: a\nextends: b.yaml\n");
  folder.write("b.yaml", "machine: b\nextends: ./sub/../a.yaml\n");
  CHECK(first_message((folder.path / "a.yaml").string()).find("extend each other in a cycle") != std::string::npos);
  for (int i = 0; i < 20; ++i) {
    folder.write("c" + std::to_string(i) + ".yaml", "machine: c\nextends: c" + std::to_string(i + 1) + ".yaml\n");
  }
  CHECK(first_message((folder.path / "c0.yaml").string()).find("longer than 16 files") != std::string::npos);
}

TEST_CASE("an error in a base is reported in the base's file") {
  Folder folder;
  const std::string base = folder.write("base.yaml", "machine: base\nclocks: {core: 1 parsec}\n");
  const std::string derived = folder.write("d.yaml", "machine: d\nextends: base.yaml\n");
  try {
    load_machine(derived);
    FAIL("accepted");
  } catch (const InputError& e) {
    CHECK(e.diagnostics().front().pos.file == base);
    CHECK(e.diagnostics().front().pos.line == 2);
  }
}

TEST_CASE("overrides set parameters and fields before anything is evaluated") {
  const Machine m =
      load_machine(kSmall, {{"params.n", "32"}, {"memories.spad.capacity", "12 MiB"}, {"units.mxu.issue", "4 cycle"}});
  CHECK(m.matrix_units[0].rows == 32);
  CHECK(m.memory(*m.find_memory("spad")).capacity == 12 << 20);
  CHECK(m.matrix_units[0].issue_cycles == 4);  // a field that the file leaves out
  CHECK(provenance_of(m, "memories.spad.capacity")->source == "set by an override");
  CHECK(provenance_of(m, "units.mxu.rows")->source == "params.n: set by an override");
}

TEST_CASE("overrides may be lists, expressions and whole parts, and may stand inside lists") {
  CHECK(load_machine(kSmall, {{"links.dma.near", "[spad, acc]"}}).links[0].near.size() == 2);
  CHECK(load_machine(kSmall, {{"units.mxu.cols", "${2 * n}"}}).matrix_units[0].cols == 16);
  CHECK(load_machine(kSmall, {{"units.mxu.dtypes.int8", "{accumulator: int32, rate: 0.5}"}})
            .matrix_units[0]
            .types[0]
            .rate == 0.5);
  CHECK(load_machine(kSmall, {{"process.node", "7 nm"}}).process.node_nm == 7);
  const std::string eyeriss = std::string(ASSAY_SOURCE_DIR) + "/configs/machines/eyeriss_like.yaml";
  CHECK(load_machine(
            eyeriss,
            {{"array.pe.size", "[24, \"${cols}\"]"}, {"params.cols", "28"}, {"array.pe.pipeline", "${rows} cycle"}})
            .matrix_units[0]
            .macs_per_cycle() == 24 * 28);
}

TEST_CASE("an override that names nothing is refused with the nearest path") {
  CHECK(first_message(kSmall, {{"params.m", "3"}}) == "params.m: names nothing in the description [params.n]");
  CHECK(first_message(kSmall, {{"memories.spda.capacity", "3 B"}}) ==
        "memories.spda.capacity: names nothing in the description [memories.spad.capacity]");
  CHECK(first_message(kSmall, {{"memories.spad.capcity", "3 B"}}).find("unknown key 'capcity'") != std::string::npos);
  CHECK(first_message(kSmall, {{"memories.spad.capacity.more", "3 B"}}).find("names nothing") != std::string::npos);
  CHECK(first_message(kSmall, {{"", "3"}}).find("names nothing") != std::string::npos);
  CHECK(first_message(kSmall, {{"memories..capacity", "3"}}).find("names nothing") != std::string::npos);
  CHECK(first_message(kSmall, {{"memory.spad.capacity", "3"}}).find("names nothing") != std::string::npos);
  CHECK(first_message(kSmall, {{"extends", "x.yaml"}}).find("names nothing") != std::string::npos);
}

TEST_CASE("a bad override value is reported under the override's name") {
  CHECK(first_message(kSmall, {{"params.n", ""}}).find("expected a value, found nothing") != std::string::npos);
  CHECK(first_message(kSmall, {{"params.n", "~"}}).find("expected a value, found nothing") != std::string::npos);
  CHECK(first_message(kSmall, {{"params.n", "\"abc"}}).find("YAML syntax") != std::string::npos);
  CHECK(first_message(kSmall, {{"params.n", "0"}}).find("units.mxu.rows: expected a value 1 … 65536") == 0);
  CHECK(first_message(kSmall, {{"memories.spad.capacity", "128"}}).find("without a unit") != std::string::npos);
}
