#include "core/loopnest/nest_file.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "core/base/error.h"
#include "core/loopnest/hierarchy_file.h"
#include "tests/loopnest/random_nest.h"

using namespace assay;

namespace {

const char* const kGemm = R"(einsum: "Z[m,n] += A[m,k] * B[k,n]"
extents: {m: 50, n: 32, k: 24}
hierarchy:
  name: small
  compute: {mesh: [4, 2], mac_energy: 0.5}
  levels:
    - {name: DRAM, read_energy: 100, write_energy: 100}
    - {name: GLB, capacity: 4 KiB, holds: [input, output], network: {neighbour_links: true, energy_per_word: 0.1}}
    - {name: RF, capacity: 64, mesh: [4, 2]}
)";

LoopNest load(const std::string& mapping, const std::string& head = kGemm) {
  const NestDocument d = NestDocument::parse(head + mapping, "t.yaml");
  return d.nest(*d.einsum(), *d.hierarchy());
}

std::string error_of(const std::string& text) {
  try {
    const NestDocument d = NestDocument::parse(text, "t.yaml");
    const auto e = d.einsum();
    const auto h = d.hierarchy();
    if (e && h) (void)d.nest(*e, *h);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

void check_error(const std::string& text, const std::string& expected) {
  const std::string found = error_of(text);
  CAPTURE(text);
  CHECK_MESSAGE(found.find(expected) != std::string::npos, found);
}

double some(Random& r) { return r.uniform() < 0.3 ? 0 : std::ldexp(r.uniform(), static_cast<int>(r.between(-20, 20))); }

/// Whatever a hierarchy may say, outermost level without a capacity and open to all roles.
void decorate(Hierarchy& h, Random& r) {
  h.name = r.uniform() < 0.5 ? "machine_1" : "";
  h.mac_energy = some(r);
  for (std::size_t i = 0; i < h.levels.size(); ++i) {
    HierarchyLevel& l = h.levels[i];
    l.word_bits = r.between(1, 64);
    l.block_words = r.between(1, 8);
    l.read_energy = some(r);
    l.write_energy = some(r);
    l.reserved = 1 + some(r);
    l.network.energy_per_word = some(r);
    if (i + 1 == h.levels.size()) continue;
    if (r.uniform() < 0.7) l.capacity = r.between(0, 1 << 30);
  }
}

}  // namespace

TEST_CASE("a nest that is printed is read as the same nest") {
  constexpr std::uint64_t kSeed = 20240611;
  MESSAGE("seed " << kSeed);
  Random r(kSeed);
  int documents = 0;
  for (int i = 0; i < 2000; ++i) {
    RandomNest n = random_nest(r);
    decorate(n.machine, r);
    const std::string text = print_nest(n.nest, n.einsum, n.machine);
    CAPTURE(text);
    REQUIRE(NestDocument::parse(text, "t.yaml").nest(n.einsum, n.machine) == n.nest);
    const std::string machine = print_hierarchy(n.machine);
    REQUIRE_MESSAGE(read_hierarchy(parse_yaml(machine, "t.yaml")) == n.machine, machine);
    try {  // not every random einsum can be written: a dimension may be in no operand
      (void)parse_einsum(print_einsum(n.einsum),
                         NestDocument::parse(print_nest_document(n.nest, n.einsum, n.machine), "t.yaml").extents());
    } catch (const InputError&) {
      continue;
    }
    ++documents;
    const std::string whole = print_nest_document(n.nest, n.einsum, n.machine);
    const NestDocument d = NestDocument::parse(whole, "t.yaml");
    const Einsum e = *d.einsum();
    REQUIRE(*d.hierarchy() == n.machine);
    const LoopNest read = d.nest(e, *d.hierarchy());  // e lists dimensions as they appear
    const std::string again = print_nest_document(read, e, n.machine);
    REQUIRE(NestDocument::parse(again, "t.yaml").nest(e, n.machine) == read);
    REQUIRE(print_nest(read, e, n.machine) == text);
  }
  CHECK(documents > 300);
}

TEST_CASE("the level form and the node form of a mapping are the same nest") {
  const LoopNest by_level = load(R"(
levels:
  - level: DRAM
    temporal: {m: 3, k: rest}
  - level: GLB
    temporal: {n: 8, m: {tile: 5}}
    order: [m, n]
    spatial: {y: {k: 2}, x: {n: 4}}
    unicast: A
  - level: RF
    keep: [A, Z]
    temporal: {m: 5, k: 3}
)");
  // k = 24: 2 at GLB and 3 at RF leave 4 at DRAM, of 6 each. m = 50: three iterations at DRAM of at least 17, in tiles of
  // 5: 4 of them, so 20, 20 and 10.
  CHECK(by_level == load(R"(
nest:
  - {store: DRAM, tensors: [A, B, Z]}
  - {for: m, tile: 20}
  - {for: k, tile: 6}
  - {store: GLB, tensors: [A, Z]}
  - {for: m, tile: 5}
  - {for: n, tile: 4}
  - {spatial: k, tile: 3, over: y, below: GLB}
  - {spatial: n, tile: 1, over: x, below: GLB}
  - {store: RF, tensors: [A, Z]}
  - {for: m, tile: 1}
  - {for: k, tile: 1}
networks:
  - {below: GLB, unicast: [A], unlinked: []}
)"));
}

TEST_CASE("a mapping by levels keeps what the level may hold, unless it says otherwise") {
  const LoopNest all = load("levels:\n  - {level: DRAM}\n  - {level: GLB}\n  - {level: RF, bypass: Z}\n");
  CHECK(std::get<StorageNode>(all.nodes[0]).tensors == std::vector<int>{0, 1, 2});
  CHECK(std::get<StorageNode>(all.nodes[1]).tensors == std::vector<int>{0, 2});  // GLB holds no weights
  CHECK(std::get<StorageNode>(all.nodes[2]).tensors == std::vector<int>{0, 1});
}

TEST_CASE("imperfect factors are those whose iterations cover the extent, the last one shorter") {
  const LoopNest nest = load("levels:\n  - {level: DRAM, temporal: {m: 3}}\n  - {level: GLB, temporal: {m: 17}}\n");
  CHECK(std::get<LoopNode>(nest.nodes[1]).tile == 17);  // 17 + 17 + 16
  check_error(
      std::string(kGemm) + "levels:\n  - {level: DRAM, temporal: {m: 4}}\n  - {level: GLB, temporal: {m: 17}}\n",
      "t.yaml:11:30: levels[0].temporal.m: factor 4 of 'm', but 3 iterations of 17 cover the 50 outside");
}

TEST_CASE("extents can be replaced, and an einsum may stand elsewhere") {
  const NestDocument d = NestDocument::parse(std::string(kGemm) + "nest: []\n", "t.yaml");
  CHECK(d.einsum({{"m", 7}})->dims[0].extent == 7);
  CHECK(d.einsum()->dims[0].extent == 50);
  CHECK(d.has_mapping());
  CHECK_FALSE(NestDocument::parse("extents: {m: 3}\n", "t.yaml").has_mapping());
  CHECK_FALSE(NestDocument::parse("extents: {m: 3}\n", "t.yaml").einsum().has_value());
  CHECK_FALSE(NestDocument::parse("extents: {m: 3}\n", "t.yaml").hierarchy().has_value());
}

TEST_CASE("a capacity is in words, or a size in whole words") {
  const NestDocument d = NestDocument::parse(kGemm, "t.yaml");
  CHECK(d.hierarchy()->levels[1].capacity == 2048);  // 4 KiB of 16 bit
  CHECK(d.hierarchy()->levels[0].capacity == 64);
}

TEST_CASE("extents on the command line") {
  CHECK(parse_extents("n=1,k=64") == std::map<std::string, std::int64_t>{{"n", 1}, {"k", 64}});
  for (const char* wrong :
       {"", "n", "n=", "=3", "n=0", "n=-1", "n=1.5", "n=01", "n=1,,k=2", "n=1,", "n=99999999999999999999"}) {
    CAPTURE(wrong);
    CHECK_THROWS_WITH_AS(parse_extents(wrong), doctest::Contains("--extents: expected name=number >= 1"), InputError);
  }
  CHECK_THROWS_WITH_AS(parse_extents("n=1,n=2"), doctest::Contains("'n' stands twice"), InputError);
}

TEST_CASE("mistakes in a nest are reported where they stand, with the nearest name") {
  const std::string g = kGemm;  // ten lines; the mapping begins on line 10
  check_error(g + "nests: []\n", "t.yaml:10:1: nests: unknown key");
  check_error(g + "nests: []\n", "did you mean 'nest'?");
  check_error(g + "nest: []\nlevels: []\n",
              "t.yaml:11:9: levels: a mapping stands as 'nest' or as 'levels', not as both");
  check_error(g + "levels: []\nnetworks: []\n", "t.yaml:11:11: networks: belongs to 'nest'");
  check_error(g, "there is no mapping: missing key 'nest' or 'levels'");
  check_error(g + "nest: 3\n", "t.yaml:10:7: nest: expected a list of loops and storage nodes, found '3'");
  check_error(g + "nest:\n  - {stor: DRAM}\n",
              "t.yaml:11:5: nest[0]: expected {store: …}, {for: …} or {spatial: …}, found "
              "a map that begins with 'stor'");
  check_error(g + "nest:\n  - {stor: DRAM}\n", "did you mean 'store'?");
  check_error(g + "nest:\n  - {store: DRAMM, tensors: []}\n",
              "t.yaml:11:13: nest[0].store: expected a level (DRAM, GLB, RF), found 'DRAMM'");
  check_error(g + "nest:\n  - {store: DRAMM, tensors: []}\n", "did you mean 'DRAM'?");
  check_error(g + "nest:\n  - {store: DRAM}\n", "t.yaml:11:5: nest[0]: missing key 'tensors'");
  check_error(g + "nest:\n  - {store: DRAM, tensors: [A, A]}\n", "nest[0].tensors[1]: 'A' stands twice");
  check_error(g + "nest:\n  - {store: DRAM, tensors: [a]}\n", "expected a tensor (A, B, Z), found 'a'");
  check_error(g + "nest:\n  - {store: DRAM, tensors: {a: 1}}\n", "expected a list of a tensor, found a map");
  check_error(g + "nest:\n  - {for: mm, tile: 2}\n", "nest[0].for: expected a dimension (m, n, k), found 'mm'");
  check_error(g + "nest:\n  - {for: m, tile: 0}\n", "nest[0].tile: expected a whole number >= 1, found '0'");
  check_error(g + "nest:\n  - {for: m, tiles: 2}\n", "did you mean 'tile'?");
  check_error(g + "nest:\n  - {spatial: m, tile: 2, over: z, below: GLB}\n", "expected a mesh axis (x, y), found 'z'");
  check_error(g + "nest:\n  - {spatial: m, tile: 2, over: x}\n", "nest[0]: missing key 'below'");
  check_error(g + "nest:\n  - {store: DRAM, tensors: [A, B, Z]}\n  - {for: m, tile: 51}\n",
              "t.yaml:12:5: nest: node 2 (`for m by 51`): a tile of 51 in an extent of 50: expected 1 … 50");
  check_error(g + "nest:\n  - {store: DRAM, tensors: [A, B]}\n", "t.yaml:11:5: nest: 'Z' is not held at DRAM");
  check_error(g + "nest:\n  - {store: DRAM, tensors: [A, B, Z]}\n  - {store: GLB, tensors: [B]}\n",
              "t.yaml:12:5: nest: node 2 (`GLB holds B`): the level may not hold 'B'");
  check_error(g + "nest: []\nnetworks:\n  - {unicast: [A]}\n", "networks[0]: missing key 'below'");
  check_error(g + "nest: []\nnetworks: 1\n", "networks: expected a list of networks, found '1'");
}

TEST_CASE("mistakes in the level form are reported where they stand") {
  const std::string g = std::string(kGemm) + "levels:\n";
  check_error(g + "  - {temporal: {m: 2}}\n", "t.yaml:11:5: levels[0]: missing key 'level'");
  check_error(g + "  - {level: GLB}\n  - {level: GLB}\n", "t.yaml:12:13: levels[1].level: GLB stands twice");
  check_error(g + "  - {level: GLB}\n  - {level: DRAM}\n",
              "levels[1].level: DRAM stands inside GLB: levels are written outermost first");
  check_error(g + "  - {level: DRAM, keep: A, bypass: B}\n",
              "levels[0].bypass: say 'keep' or 'bypass': what is not in one is in the other");
  check_error(g + "  - {level: DRAM, order: [m]}\n", "levels[0].order: there are no temporal loops to order");
  check_error(g + "  - {level: DRAM, temporal: {m: 2, k: 3}, order: [m]}\n",
              "'k' has a factor but no place in the order");
  check_error(g + "  - {level: DRAM, temporal: {m: 2}, order: [n]}\n",
              "expected a dimension with a factor here (m), found 'n'");
  check_error(g + "  - {level: DRAM, temporal: [m]}\n",
              "levels[0].temporal: expected factors such as {m: 4, k: 2}, outermost first, found a list");
  check_error(g + "  - {level: DRAM, temporal: {q: 2}}\n",
              "levels[0].temporal.q: expected a dimension (m, n, k), found 'q'");
  check_error(g + "  - {level: DRAM, temporal: {m: res}}\n", "expected a factor, 'rest' or {tile: 16}, found 'res'");
  check_error(g + "  - {level: DRAM, temporal: {m: {tile: 60}}}\n", "a tile of 60 in an extent of 50");
  check_error(g + "  - {level: DRAM, temporal: {m: {til: 60}}}\n", "did you mean 'tile'?");
  check_error(g + "  - {level: DRAM, temporal: {m: rest}}\n  - {level: GLB, temporal: {m: rest}}\n",
              "t.yaml:12:29: levels[1].temporal.m: 'm' has two loops that take what is left");
  check_error(g + "  - {level: GLB, spatial: {z: {m: 2}}}\n", "levels[0].spatial.z: unknown key");
  check_error(g + "  - {level: DRAM, temporal: {m: rest}}\n  - {level: GLB, temporal: {m: {tile: 5}}}\n",
              "levels[1].temporal.m: 'm' has two loops that take what is left");
  check_error(g + "  - {level: DRAM, temporal: {m: 7}}\n",
              "factor 7 of 'm', but 50 iterations of 1 cover the 50 outside");
}

TEST_CASE("mistakes in a hierarchy are reported where they stand") {
  const auto wrong = [](const std::string& text, const std::string& expected) {
    check_error("hierarchy:\n" + text, expected);
  };
  wrong("  3\n", "hierarchy: expected a map, found '3'");
  wrong("  name: x\n", "hierarchy: missing key 'levels'");
  wrong("  name: a b\n  levels: []\n", "hierarchy.name: expected a name");
  wrong("  levels: []\n", "there is no level");
  wrong("  levels: 3\n", "hierarchy.levels: expected a list of levels, outermost first, found '3'");
  wrong("  levels:\n    - {capacity: 3}\n", "t.yaml:3:7: hierarchy.levels[0]: missing key 'name'");
  wrong("  levels:\n    - {name: D, capacty: 3}\n", "t.yaml:3:17: hierarchy.levels[0].capacty: unknown key");
  wrong("  levels:\n    - {name: D, capacty: 3}\n", "did you mean 'capacity'?");
  wrong("  levels:\n    - {name: D, capacity: 3 pJ}\n", "expected words or a size such as 128 KiB, found '3 pJ'");
  wrong("  levels:\n    - {name: D, capacity: 3 KB2}\n", "hierarchy.levels[0].capacity");
  wrong("  levels:\n    - {name: D, capacity: -1}\n", "expected a whole number >= 0, found '-1'");
  wrong("  levels:\n    - {name: D, capacity: 8}\n", "t.yaml:3:14: D: the outermost level has a capacity of 8 words");
  wrong("  levels:\n    - {name: D, mesh: 3}\n", "hierarchy.levels[0].mesh: expected [x, y], found '3'");
  wrong("  levels:\n    - {name: D, mesh: [2, 1]}\n", "2 instances along x do not divide the 1 of compute");
  wrong("  levels:\n    - {name: D, read_energy: -1}\n",
        "hierarchy.levels[0].read_energy: expected a number >= 0, found '-1'");
  wrong("  levels:\n    - {name: D, holds: [inputs]}\n", "expected a role (input, weight, output), found 'inputs'");
  wrong("  levels:\n    - {name: D, holds: [inputs]}\n", "did you mean 'input'?");
  wrong("  levels:\n    - {name: D, adds_in_place: 1}\n", "expected true or false, found '1'");
  wrong("  levels:\n    - {name: D, network: {multi: true}}\n", "hierarchy.levels[0].network.multi: unknown key");
  wrong("  levels:\n    - {name: D}\n    - {name: D}\n", "D: two levels have this name");
  wrong("  compute: {mac: 1}\n  levels:\n    - {name: D}\n", "hierarchy.compute.mac: unknown key");
  check_error("einsum: [1]\n", "t.yaml:1:9: einsum: expected text such as");
  check_error("einsum: \"Z[m] += A[m]\"\nextents: {m: 0}\n", "extents.m: expected a whole number >= 1, found '0'");
  check_error("einsum: \"Z[m] += A[m]\"\nextents: 3\n", "extents: expected a map such as {m: 64}, found '3'");
  check_error("einsum: \"Z[m] += A[m\"\nextents: {m: 3}\n", "t.yaml:1:9: einsum: column 12");
  check_error("einsum: \"Z[m] += A[m]\"\nextents: {mm: 3}\n", "dimension 'm' has no extent");
}
