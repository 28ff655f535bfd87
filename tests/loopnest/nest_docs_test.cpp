#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/error.h"
#include "core/loopnest/counting.h"
#include "core/loopnest/nest_file.h"

using namespace assay;
namespace fs = std::filesystem;

namespace {

bool& switch_named(CountingConvention& c, const std::string& name) {
  if (name == "every_iteration") return c.every_iteration;
  if (name == "neighbour_links") return c.neighbour_links;
  if (name == "first_read_elision") return c.first_read_elision;
  if (name == "reduce_in_place") return c.reduce_in_place;
  throw std::runtime_error("no switch " + name);
}

/// `assay`, `timeloop + every_iteration`, `assay - neighbour_links`.
CountingConvention convention_of(const std::string& text) {
  std::istringstream in(text);
  std::string name, sign, what;
  in >> name >> sign >> what;
  for (CountingConvention c : {assay_convention(), timeloop_convention(), accelforge_convention()}) {
    if (c.name != name) continue;
    if (!sign.empty()) switch_named(c, what) = sign == "+";
    return c;
  }
  throw std::runtime_error("no convention " + name);
}

double counted(const std::string& document, const std::string& count, const std::string& convention) {
  const NestDocument d = NestDocument::parse(document, "docs/loopnest.md");
  const Einsum e = *d.einsum();
  const Hierarchy h = *d.hierarchy();
  const NestCost cost = count_accesses(d.nest(e, h), e, h, convention_of(convention));
  if (count == "cycles") return cost.cycles;
  std::istringstream in(count);
  std::string level, tensor, what;
  in >> level >> tensor >> what;
  for (std::size_t i = 0; i < h.levels.size(); ++i) {
    if (h.levels[i].name != level) continue;
    const AccessTotals& t = cost.levels[i].tensors.at(static_cast<std::size_t>(e.find_tensor(tensor))).total;
    for (const auto& [name, v] :
         {std::pair{"reads", t.reads}, std::pair{"fills", t.fills}, std::pair{"updates", t.updates},
          std::pair{"temporal_reductions", t.temporal_reductions}, std::pair{"link_transfers", t.link_transfers}}) {
      if (what == name) return static_cast<double>(v);
    }
  }
  throw std::runtime_error("no count " + count);
}

/// Cells of `| a | b | c |`; empty if the line is no such row.
std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out;
  if (!line.starts_with("| ")) return out;
  for (std::size_t from = 1, end = 0; (end = line.find('|', from)) != std::string::npos; from = end + 1)
    out.push_back(line.substr(from + 1, end - from - 2));
  return out;
}

}  // namespace

TEST_CASE("every number of a worked example in docs/loopnest.md is what is counted") {
  std::ifstream in(ASSAY_SOURCE_DIR "/docs/loopnest.md");
  REQUIRE(in.good());
  std::string document;
  bool inside = false;
  int examples = 0, numbers = 0;
  for (std::string line; std::getline(in, line);) {
    if (line == "```yaml") {
      inside = true;
      document.clear();
      ++examples;
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      document += line + "\n";
    } else if (const auto row = cells(line); row.size() == 3 && !document.empty() && row[0] != "count") {
      CAPTURE(line);
      CHECK(counted(document, row[0], row[1]) == std::stod(row[2]));
      ++numbers;
    }
  }
  CHECK(examples >= 9);
  CHECK(numbers >= 30);
}

TEST_CASE("every example in configs/nests fits its machine and is counted under every convention") {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(ASSAY_SOURCE_DIR "/configs/nests")) {
    CAPTURE(entry.path().string());
    const NestDocument d = NestDocument::load(entry.path().string());
    const Einsum e = d.einsum().value();
    const Hierarchy h = d.hierarchy().value();
    const LoopNest nest = d.nest(e, h);
    CHECK(exceeded_limits(nest, e, h).empty());
    for (const CountingConvention& c : {assay_convention(), timeloop_convention(), accelforge_convention()}) {
      const NestCost cost = count_accesses(nest, e, h, c);
      CHECK(cost.macs == e.macs());
      CHECK(cost.cycles * static_cast<double>(h.compute.count()) >= static_cast<double>(cost.macs));
      CHECK(cost.energy > cost.mac_energy);
    }
    ++files;
  }
  CHECK(files >= 4);
}

TEST_CASE("the examples count what their comments say") {
  const auto count = [](const std::string& file, const std::string& what, const std::string& convention) {
    std::ifstream in(ASSAY_SOURCE_DIR "/configs/nests/" + file + ".yaml");
    std::stringstream text;
    text << in.rdbuf();
    return counted(text.str(), what, convention);
  };
  CHECK(count("gemm", "GLB A fills", "assay") == 256);     // every row once
  CHECK(count("gemm", "GLB B fills", "assay") == 8 * 64);  // eight blocks of 16 x 4
  CHECK(count("gemm", "RF Z temporal_reductions", "assay") == 16 * 16 * 15);
  CHECK(count("conv_window", "BUF W fills", "assay") == 72);
  CHECK(count("conv_window", "BUF I fills", "assay") == 3 * (32 + 16 + 16));
  CHECK(count("multicast", "GLB W reads", "assay") == 24);      // four elements take each weight together
  CHECK(count("multicast", "GLB I reads", "assay") == 8 * 18);  // 18 different words in each of eight steps
  CHECK(count("multicast", "GLB I reads", "timeloop") == 8 * 4 * 6);
  CHECK(count("imperfect", "PE Z updates", "assay") == 480);   // as many as MACs
  CHECK(count("imperfect", "PE B fills", "assay") == 4 * 48);  // also the element with a single row takes every column
}
