#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/error.h"
#include "core/spec/key_path.h"
#include "core/spec/load.h"
#include "core/spec/part_docs.h"
#include "core/spec/parts.h"
#include "core/spec/peak.h"

using namespace assay;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> machine_files() {
  std::vector<std::string> out;
  for (const auto& e : fs::directory_iterator(fs::path(ASSAY_SOURCE_DIR) / "configs/machines")) {
    if (e.path().extension() == ".yaml") out.push_back(e.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

Machine machine(const std::string& name, const std::vector<Override>& overrides = {}) {
  return load_machine(std::string(ASSAY_SOURCE_DIR) + "/configs/machines/" + name + ".yaml", overrides);
}

std::string read(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

double tops(const Machine& m, DType type) {
  double sum = 0;
  for (const PeakCompute& c : peak_of(m).compute) {
    if (c.matrix && c.type == type) sum += c.ops_per_s / 1e12;
  }
  return sum;
}

bool same(const Provenance& a, const Provenance& b) {
  return a.source == b.source && a.low == b.low && a.high == b.high;
}

}  // namespace

TEST_CASE("every machine in configs prints to a description that loads as the same machine") {
  CHECK(machine_files().size() >= 6);
  for (const std::string& file : machine_files()) {
    CAPTURE(file);
    const Machine m = load_machine(file);
    const std::string text = print_machine(m);
    CAPTURE(text);
    const Machine again = parse_machine(text, "printed.yaml");
    CHECK(print_machine(again) == text);
    CHECK(again.provenance.size() == m.provenance.size());
    for (const auto& [path, p] : m.provenance) {
      CAPTURE(path);
      REQUIRE(again.provenance.contains(path));
      CHECK(same(again.provenance.at(path), p));
    }
    // Beside the text, the numbers that rounding could hurt.
    REQUIRE(again.memories.size() == m.memories.size());
    for (std::size_t i = 0; i < m.memories.size(); ++i) {
      CHECK(again.memories[i].name == m.memories[i].name);
      CHECK(again.memories[i].scope == m.memories[i].scope);
      CHECK(again.memories[i].capacity == m.memories[i].capacity);
      CHECK(again.memories[i].read_bandwidth == m.memories[i].read_bandwidth);
      CHECK(again.memories[i].write_bandwidth == m.memories[i].write_bandwidth);
      CHECK(again.memories[i].latency_s == m.memories[i].latency_s);
      CHECK(again.memories[i].derate == m.memories[i].derate);
      CHECK(again.memories[i].dram.t_refi == m.memories[i].dram.t_refi);
    }
    REQUIRE(again.links.size() == m.links.size());
    for (std::size_t i = 0; i < m.links.size(); ++i) {
      CHECK(again.links[i].far == m.links[i].far);
      CHECK(again.links[i].near == m.links[i].near);
      CHECK(again.links[i].via == m.links[i].via);
      CHECK(again.links[i].scope == m.links[i].scope);
      CHECK(again.links[i].bandwidth == m.links[i].bandwidth);
    }
  }
}

TEST_CASE("every machine in configs names its family, its sources and what is assumed") {
  for (const std::string& file : machine_files()) {
    CAPTURE(file);
    const Machine m = load_machine(file);
    CHECK(m.family == m.name);
    CHECK_FALSE(m.description.empty());
    CHECK_FALSE(m.quoted.empty());
    for (const Memory& mem : m.memories) {
      for (const char* field : {"capacity", "bandwidth", "read_bandwidth"}) {
        if (mem.kind == MemoryKind::register_file && field != std::string("capacity")) continue;
        if (field == std::string(mem.read_bandwidth == mem.write_bandwidth ? "read_bandwidth" : "bandwidth")) continue;
        CAPTURE(mem.name);
        CAPTURE(field);
        const Provenance* p = provenance_of(m, key_path(m, mem) + "." + field);
        REQUIRE(p != nullptr);
        CHECK_FALSE(p->source.empty());
      }
    }
    for (const auto& [path, p] : m.provenance) {
      CAPTURE(path);
      CHECK_FALSE(p.source.empty());
      if (p.low) CHECK(*p.low < *p.high);
    }
  }
}

TEST_CASE("peaks are what a reader works out by hand") {
  // 256 x 256 MACs x 2 x 700 MHz; the paper rounds to 92 and 23.
  CHECK(tops(machine("tpu_v1_like"), DType::i8) == doctest::Approx(91.750));
  CHECK(tops(machine("tpu_v1_like"), DType::i16) == doctest::Approx(22.938).epsilon(1e-4));
  // 16 x 16 x 2 x 1 GHz
  CHECK(tops(machine("gemmini_like"), DType::i8) == doctest::Approx(0.512));
  // 12 x 14 x 200 MHz = 33.6 GMAC/s
  CHECK(tops(machine("eyeriss_like"), DType::i16) / 2 == doctest::Approx(0.0336));
  // 64 x 32 x 2 x 1 GHz
  CHECK(tops(machine("nvdla_like"), DType::i8) == doctest::Approx(4.096));
  CHECK(peak_of(machine("nvdla_like")).compute[0].per_cycle == 2048);
  // 64 cores x 2 tiles x 32^3 MACs in 32 cycles x 2 x 1.35 GHz
  CHECK(tops(machine("mtia_2i_like"), DType::i8) == doctest::Approx(353.894).epsilon(1e-5));
  CHECK(tops(machine("mtia_2i_like"), DType::f16) == doctest::Approx(176.947).epsilon(1e-5));
  // 128 × 128 at 2.8 GHz: 91.75 dense BF16 TFLOPS published, a quarter of it in FP32.
  CHECK(tops(machine("neuroncore_v2_like"), DType::bf16) == doctest::Approx(91.750).epsilon(1e-4));
  CHECK(tops(machine("neuroncore_v2_like"), DType::f32) == doctest::Approx(22.938).epsilon(1e-4));
  for (const std::string& file : machine_files()) {
    for (const PeakQuote& q : peak_of(load_machine(file)).quotes) {
      CAPTURE(file);
      CHECK(q.implied == doctest::Approx(q.quoted).epsilon(0.01));
    }
  }
}

TEST_CASE("levels of the MTIA-like chip: totals, bytes per cycle and ridge by hand") {
  const Machine m = machine("mtia_2i_like");
  const Peak p = peak_of(m);
  const auto level = [&p](const std::string& name) {
    return *std::find_if(p.levels.begin(), p.levels.end(), [&](const PeakLevel& l) { return l.memory == name; });
  };
  CHECK(level("ls").instances == 64);
  CHECK(level("ls").capacity == 64 * 384 * 1024);
  CHECK(level("ls").bytes_per_s == 64e12);
  CHECK(level("ls").bytes_per_cycle == doctest::Approx(1000.0 / 1.35));
  CHECK(level("lls").ops_per_byte == doctest::Approx(353.894e12 / 2700e9).epsilon(1e-4));
  CHECK(p.on_chip_bytes == (256LL << 20) + 64 * (384 + 32) * 1024);
  const std::string text = describe_peak(m);
  CHECK(text.find("mtia_2i_like: 64 cores, 282 MiB on chip") != std::string::npos);
  CHECK(text.find("353.9") != std::string::npos);
}

TEST_CASE("the MTIA-like SRAM is split between scratch and cache by one parameter") {
  const Machine m = machine("mtia_2i_like", {{"params.lls", "128 MiB"}});
  CHECK(m.memory(*m.find_memory("lls")).capacity == 128 << 20);
  CHECK(m.memory(*m.find_memory("llc")).capacity == 128 << 20);
}

TEST_CASE("machines scale by their parameters") {
  CHECK(machine("tpu_v1_like", {{"params.rows", "128"}, {"params.cols", "128"}}).matrix_units[0].macs_per_cycle() ==
        16384);
  CHECK(machine("gemmini_like", {{"params.rows", "32"}, {"params.cols", "32"}, {"params.spad", "512 KiB"}})
            .matrix_units[0]
            .macs_per_cycle() == 1024);
  CHECK(machine("eyeriss_like", {{"params.rows", "24"}, {"params.glb", "200 KiB"}}).matrix_units[0].macs_per_cycle() ==
        336);
  CHECK(
      machine("nvdla_like", {{"params.atomic_c", "32"}, {"params.cbuf", "256 KiB"}}).matrix_units[0].macs_per_cycle() ==
      1024);
  CHECK(machine("mtia_2i_like", {{"params.gx", "4"}}).grid.cores() == 32);
}

TEST_CASE("scopes: DRAM is chip scope, the rest of a single core is core scope, register files belong to elements") {
  const Machine e = machine("eyeriss_like");
  CHECK(e.memory(e.dram()).scope == Scope::chip);
  CHECK(e.memory(*e.find_memory("glb")).scope == Scope::core);
  CHECK(e.memory(*e.find_memory("w")).scope == Scope::pe);
  CHECK(e.matrix_units[0].style == ArrayStyle::pe_array);
  CHECK(e.matrix_units[0].dataflow == Dataflow::free);
  CHECK(e.matrix_units[0].pe_memories.size() == 3);
  CHECK_FALSE(e.links[0].overlap_compute);
  CHECK(e.memory(e.dram()).read_bandwidth == 480'000'000);
  const Machine m = machine("mtia_2i_like");
  CHECK(m.memory(*m.find_memory("lls")).scope == Scope::chip);
  CHECK(m.memory(*m.find_memory("ls")).scope == Scope::core);
  CHECK(m.links[0].scope == Scope::chip);
  CHECK(m.links.back().scope == Scope::core);
  CHECK(key_path(m, m.memory(*m.find_memory("ls"))) == "grid.pe.memories.ls");
  CHECK(key_path(e, e.memory(*e.find_memory("w"))) == "array.pe.memories.w");
}

TEST_CASE("a machine's small questions") {
  const Machine m = machine("tpu_v1_like");
  CHECK(m.memory(*m.find_memory("wfifo")).may_hold(Role::weight));
  CHECK_FALSE(m.memory(*m.find_memory("wfifo")).may_hold(Role::input));
  CHECK(m.memory(m.dram()).may_hold(Role::output));
  CHECK_FALSE(m.find_memory("nothing").has_value());
  REQUIRE(m.matrix_units[0].type_for(DType::i8) != nullptr);
  CHECK(m.matrix_units[0].type_for(DType::i8)->accumulator == DType::i32);
  CHECK(m.matrix_units[0].type_for(DType::f32) == nullptr);
}

TEST_CASE("the JSON Schema is made of the same tables: it mentions every field") {
  const auto schema = nlohmann::json::parse(machine_schema_json());
  CHECK(schema["$schema"] == "https://json-schema.org/draft/2020-12/schema");
  for (const PartDoc& part : all_parts()) {
    if (part.name == "clock" || part.name == "quoted") {
      CHECK(schema["$defs"].contains(part.name));
      continue;
    }
    const auto& properties = part.name == "machine" ? schema["properties"] : schema["$defs"][part.name]["properties"];
    for (const FieldSpec& f : part.fields) {
      CAPTURE(part.name);
      CAPTURE(f.name);
      const std::size_t dot = f.name.find('.');
      const auto& at = dot == std::string::npos ? properties : properties[f.name.substr(0, dot)]["properties"];
      REQUIRE(at.contains(dot == std::string::npos ? f.name : f.name.substr(dot + 1)));
      CHECK_FALSE(f.doc.empty());
    }
  }
  for (const char* key :
       {"extends", "params", "process", "clocks", "quoted", "memories", "links", "units", "grid", "array"}) {
    CHECK(schema["properties"].contains(key));
  }
}

TEST_CASE("the field tables in docs/machine-format.md are current (ASSAY_UPDATE_DOCS=1 rewrites them)") {
  const std::string path = std::string(ASSAY_SOURCE_DIR) + "/docs/machine-format.md";
  const std::string text = read(path);
  REQUIRE_FALSE(text.empty());
  const std::string fresh = refresh_field_tables(text);
  if (std::getenv("ASSAY_UPDATE_DOCS") != nullptr) {
    std::ofstream(path) << fresh;
    return;
  }
  CHECK(fresh == text);
  for (const PartDoc& part : all_parts()) {
    CAPTURE(part.name);
    CHECK(text.find("<!-- fields: " + part.name + " -->") != std::string::npos);
  }
}

TEST_CASE("documents with broken markers are refused") {
  CHECK_THROWS_AS(refresh_field_tables("<!-- fields: memory -->\n"), InputError);
  CHECK_THROWS_AS(refresh_field_tables("<!-- fields: nothing -->\n<!-- end -->\n"), InputError);
}
