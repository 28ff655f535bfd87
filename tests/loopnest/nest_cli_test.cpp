#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/process.h"

using namespace assay;
namespace fs = std::filesystem;

namespace {

const std::string kNests = ASSAY_SOURCE_DIR "/configs/nests/";
const std::string kMachines = ASSAY_SOURCE_DIR "/configs/machines/";

Finished run(const std::vector<std::string>& args) {
  ProcessOptions o;
  o.folder = fs::temp_directory_path().string();
  return run_assay(args, o);
}

/// A file for one test; gone afterwards.
struct NestFile {
  fs::path path = fs::temp_directory_path() / "assay_nest_cli_test.yaml";
  explicit NestFile(const std::string& text) { std::ofstream(path) << text; }
  ~NestFile() { fs::remove(path); }
  NestFile(const NestFile&) = delete;
  NestFile& operator=(const NestFile&) = delete;
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a given mapping is printed with its counts, cycles and energy") {
  const Finished f = run({"map", "--mapping", kNests + "multicast.yaml"});
  CHECK(f.code == 0);
  CHECK(f.err.empty());
  CHECK(contains(f.out, "O[k,p] += I[c,p+r] * W[k,c,r]   k=4 p=16 c=2 r=3\nconvention assay\n"));
  CHECK(contains(f.out, "spatial p by 4 over x below GLB  (4 x)"));
  CHECK(contains(f.out, "GLB    I               1    36    144     36        0                    0\n"));
  CHECK(contains(f.out, "96 cycles, bound by compute; 384 MACs, utilisation 100.0 %"));
  CHECK(contains(f.out, "network below GLB  W"));
  CHECK(run({"map", "--mapping", kNests + "multicast.yaml"}).out == f.out);
}

TEST_CASE("a mapping's JSON has a version, and its energy is the sum of its terms") {
  const Finished f = run({"map", "--mapping", kNests + "multicast.yaml", "--json", "--convention", "timeloop"});
  REQUIRE(f.code == 0);
  const auto j = nlohmann::json::parse(f.out);
  CHECK(j.at("schema_version") == 1);
  CHECK(j.at("convention") == "timeloop");
  CHECK(j.at("valid") == true);
  CHECK(j.at("macs") == 384);
  double sum = 0;
  for (const auto& t : j.at("energy_terms")) sum += t.at("pj").get<double>();
  CHECK(sum == doctest::Approx(j.at("energy_pj").get<double>()));
  const auto& glb = j.at("levels").at(1);
  CHECK(glb.at("level") == "GLB");
  CHECK(glb.at("tensors").at(1).at("total").at("reads") == 24);
  const auto& signature = glb.at("tensors").at(1).at("network").at(0);  // weights go to all four
  CHECK(signature.at("multicast") == 4);
  CHECK(signature.at("accesses") == 24);
}

TEST_CASE("a mapping that does not fit says which limit, by how much, and exits with 3") {
  const NestFile file(
      "hierarchy:\n  compute: {mesh: [2, 1]}\n  levels: [{name: DRAM}, {name: BUF, capacity: 10, mesh: [2, 1]}]\n"
      "levels:\n  - {level: DRAM, spatial: {x: {m: 4}}}\n  - {level: BUF, temporal: {k: rest, m: 2}}\n");
  const std::vector<std::string> einsum = {"--einsum", "Z[m] += A[m,k]", "--extents", "m=8,k=8"};
  std::vector<std::string> all = {"map", "--mapping", file.path.string()};
  all.insert(all.end(), einsum.begin(), einsum.end());
  Finished f = run(all);
  CHECK(f.code == 3);
  CHECK(f.out.empty());
  CHECK(contains(f.err,
                 "infeasible: the mapping does not fit:\n    below DRAM: 4 instances of BUF along x, 2 there (2 "
                 "too many)\n    BUF: tiles of 18 words, 10 allowed (8 too many)"));
  all.push_back("--json");
  f = run(all);
  CHECK(f.code == 3);
  const auto j = nlohmann::json::parse(f.out);
  CHECK(j.at("schema_version") == 1);
  CHECK(j.at("valid") == false);
  CHECK(j.at("limits").size() == 2);
}

TEST_CASE("a mapping on a described machine has its memories and energies, and says what is left out") {
  const NestFile file(
      "levels:\n  - {level: dram, temporal: {k: 4}}\n  - {level: glb, temporal: {k: 4, n: 16}}\n  - {level: glbw}\n"
      "  - {level: w}\n  - {level: i}\n  - {level: o, temporal: {m: 8}}\n");
  const Finished f = run({"map", "--mapping", file.path.string(), "--machine", kMachines + "eyeriss_like.yaml",
                          "--einsum", "Z[m,n] += A[m,k] * B[k,n]", "--extents", "m=8,n=16,k=16", "--json"});
  REQUIRE_MESSAGE(f.code == 0, f.err);
  CHECK(contains(f.err, "note: rates of links are no limits here"));
  const auto j = nlohmann::json::parse(f.out);
  CHECK(j.at("hierarchy") == "eyeriss_like");
  CHECK(j.at("levels").size() == 6);
  CHECK(j.at("levels").at(0).at("limit") == "shared");
  for (const auto& t : j.at("energy_terms")) CHECK(t.at("pj").get<double>() > 0);
}

TEST_CASE("wrong uses of --mapping are refused with what is missing") {
  const std::string gemm = kNests + "gemm.yaml";
  const NestFile bare("levels:\n  - {level: DRAM}\n");
  const auto refused = [](const std::vector<std::string>& args, const std::string& why) {
    const Finished f = run(args);
    CAPTURE(f.err);
    CHECK(f.code == 2);
    CHECK(f.out.empty());
    CHECK(contains(f.err, why));
  };
  refused({"map"}, "--machine: is required unless --mapping has a hierarchy");
  refused({"map", "--machine", kMachines + "tpu_v1_like.yaml"}, "--workload: is required: the layers to map");
  refused({"map", "--einsum", "Z[m] += A[m]"}, "--einsum: says what --mapping maps, which is not given");
  refused({"map", "--mapping", gemm, "--workload", "x.yaml"}, "it takes no --layer and no option of a workload");
  refused({"map", "--mapping", gemm, "--param", "a=1"}, "no option of a workload");
  refused({"map", "--mapping", gemm, "--convention", "timelop"},
          "--convention: expected one of assay, timeloop, accelforge, found 'timelop'");
  refused({"map", "--mapping", gemm, "--convention", "timelop"}, "did you mean 'timeloop'?");
  refused({"map", "--mapping", gemm, "--machine", kMachines + "tpu_v1_like.yaml"}, "has a hierarchy of its own");
  refused({"map", "--mapping", bare.path.string()}, "states no einsum: add one there, or give --einsum");
  refused({"map", "--mapping", bare.path.string(), "--einsum", "Z[m] += A[m]", "--extents", "m=3"},
          "states no hierarchy: add one there, or give --machine");
  refused({"map", "--mapping", gemm, "--extents", "k=x"}, "--extents: expected name=number");
  refused({"map", "--mapping", gemm, "--extents", "kk=3"}, "extent of 'kk', which is no dimension here");
  refused({"map", "--mapping", "absent.yaml"}, "absent.yaml");
}

TEST_CASE("trip counts of a thousand million cost nothing") {
  const NestFile file(
      "hierarchy:\n  compute: {mesh: [16, 16]}\n  levels: [{name: DRAM}, {name: BUF, capacity: 1000}, {name: RF, mesh: "
      "[16, 16]}]\n"
      "levels:\n  - {level: DRAM, temporal: {m: rest, n: rest}}\n  - {level: BUF, spatial: {x: {m: 16}, y: {n: 16}}}\n"
      "  - {level: RF, temporal: {k: 3}}\n");
  const Finished f = run({"map", "--mapping", file.path.string(), "--einsum", "Z[m,n] += A[m,k] * B[k,n]", "--extents",
                          "m=999999937,n=999999937,k=3", "--json"});
  REQUIRE_MESSAGE(f.code == 0, f.err);
  const auto j = nlohmann::json::parse(f.out);
  CHECK(j.at("macs") == 999999937LL * 999999937LL * 3);
  CHECK(j.at("levels").at(0).at("tensors").at(2).at("total").at("updates") == 999999937LL * 999999937LL);
}
