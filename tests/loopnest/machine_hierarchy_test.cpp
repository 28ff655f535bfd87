#include "core/loopnest/machine_hierarchy.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/spec/load.h"

using namespace assay;

namespace {

Machine machine(const std::string& name) {
  return load_machine(std::string(ASSAY_SOURCE_DIR "/configs/machines/") + name + ".yaml");
}

std::vector<std::string> names(const Hierarchy& h) {
  std::vector<std::string> out;
  for (auto l = h.levels.rbegin(); l != h.levels.rend(); ++l) out.push_back(l->name);
  return out;
}

const HierarchyLevel& level(const Hierarchy& h, const std::string& name) {
  return *std::find_if(h.levels.begin(), h.levels.end(), [&](const HierarchyLevel& l) { return l.name == name; });
}

}  // namespace

TEST_CASE("the levels of an array of processing elements, outermost first") {
  const Hierarchy h =
      machine_levels(machine("eyeriss_like"), {{"mac", {.op_pj = 2}}, {"w", {.read_pj_per_byte = 3}}}).hierarchy;
  CHECK(names(h) == std::vector<std::string>{"dram", "glb", "glbw", "w", "i", "o"});
  CHECK(h.compute == MeshExtent{14, 12});
  CHECK(level(h, "w").mesh == MeshExtent{14, 12});
  CHECK(level(h, "w").capacity == 224);  // 448 B of 16 bit
  CHECK(level(h, "i").capacity == 12);
  CHECK_FALSE(level(h, "i").may_hold_weight);
  CHECK(level(h, "i").may_hold_input);
  CHECK_FALSE(level(h, "dram").capacity.has_value());
  CHECK(level(h, "dram").shared_rate * 16 ==
        doctest::Approx(64 * 60.0 / 200.0));               // 64 bit per cycle of 60 MHz, by 200 MHz
  CHECK(level(h, "glb").block_words == 4);                 // 64 bit
  CHECK(level(h, "w").read_energy == doctest::Approx(6));  // 3 pJ/B × 2 B
  CHECK(level(h, "glbw").network.multicast);
}

TEST_CASE("the levels of a grid of cores") {
  const MachineLevels m = machine_levels(machine("mtia_2i_like"), {});
  CHECK(names(m.hierarchy).front() == "dram");
  CHECK(m.hierarchy.levels[0].mesh == MeshExtent{8, 8});
  CHECK(std::any_of(m.notes.begin(), m.notes.end(),
                    [](const std::string& n) { return n.find("a cache) is no level") != std::string::npos; }));
  CHECK(level(m.hierarchy, "lls").network.multicast);
}

TEST_CASE("every shipped machine has a hierarchy that passes its rules") {
  for (const char* name :
       {"eyeriss_like", "gemmini_like", "mtia_2i_like", "neuroncore_v2_like", "nvdla_like", "tpu_v1_like"}) {
    CAPTURE(name);
    const Machine m = machine(name);
    const Hierarchy h = machine_levels(m, {}).hierarchy;
    CHECK_NOTHROW(check(h));
    CHECK(h.compute.count() == m.grid.cores() * m.matrix_units[0].count * m.matrix_units[0].macs_per_cycle());
  }
}

TEST_CASE("a unit that is not there, and MACs that are no whole number per cycle, are refused") {
  Machine m = machine("nvdla_like");
  CHECK_THROWS_WITH_AS(machine_levels(m, {}, m.matrix_units[0].name + "x"),
                       doctest::Contains("there is no matrix unit"), InputError);
  CHECK_THROWS_WITH_AS(machine_levels(m, {}, m.matrix_units[0].name + "x"), doctest::Contains("did you mean"),
                       InputError);
  m.matrix_units[0].style = ArrayStyle::intrinsic;
  m.matrix_units[0].m = m.matrix_units[0].k = m.matrix_units[0].n = 3;
  m.matrix_units[0].every = 2;
  CHECK_THROWS_WITH_AS(machine_levels(m, {}), doctest::Contains("no whole number of MACs per cycle"), InputError);
  m.matrix_units.clear();
  CHECK_THROWS_WITH_AS(machine_levels(m, {}), doctest::Contains("the machine has no matrix unit"), InputError);
}
