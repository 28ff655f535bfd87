#include <doctest/doctest.h>

#include "core/base/error.h"
#include "core/ir/graph_text.h"
#include "core/mapping/mapping.h"

// Every rule of a mapping has its message.

using namespace assay;

namespace {

Kernel product() {
  return make_kernels(parse_graph(R"(graph g
input %a : fp32[12, 8]
input %b : fp32[8, 6]
node mm : %y : fp32[12, 6] = MatMul 13(%a, %b)
output %y
)",
                                  "test"),
                      {}, false)
      .kernels.front();
}

int dim(const Kernel& k, const std::string& name) {
  for (std::size_t i = 0; i < k.dims.size(); ++i) {
    if (k.dims[i].name == name) return static_cast<int>(i);
  }
  FAIL("no dimension " << name);
  return -1;
}

Mapping plain(const Kernel& k) {
  Mapping m;
  for (std::size_t t = 0; t < k.tensors.size(); ++t) {
    Placement p;
    p.tensor = static_cast<int>(t);
    p.memory = MemoryId(1);
    m.placements.push_back(p);
  }
  return m;
}

std::string refusal(const Kernel& k, const Mapping& m, const Grid& grid = {}) {
  try {
    check_mapping(k, m, grid);
    return "";
  } catch (const InputError& e) {
    return e.what();
  }
}

bool says(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("loops: each tile divides the range outside it, except the ragged outermost one") {
  const Kernel k = product();
  const int m = dim(k, "m");
  Mapping x = plain(k);
  x.loops = {{m, 5}};
  CHECK(refusal(k, x) == "");
  x.loops = {{m, 6}, {m, 3}};
  CHECK(refusal(k, x) == "");
  x.loops = {{m, 6}, {m, 4}};
  CHECK(says(refusal(k, x), "loop over m: a tile of 4 does not divide the range of 6 outside it"));
  x.loops = {{m, 3}, {m, 6}};
  CHECK(says(refusal(k, x), "a tile of 6 does not divide the range of 3"));
  x.loops = {{m, 0}};
  CHECK(says(refusal(k, x), "a tile of 0"));
  x.loops = {{9, 1}};
  CHECK(says(refusal(k, x), "loop over dimension 9: no such dimension"));
}

TEST_CASE("splits over cores: axes once, shares that cover, no reduction") {
  const Kernel k = product();
  const int m = dim(k, "m"), n = dim(k, "n"), r = dim(k, "k");
  const Grid grid{2, 3, "pe"};
  Mapping x = plain(k);
  x.spatial = {{m, {true, false}, 6}, {n, {false, true}, 2}};
  CHECK(refusal(k, x, grid) == "");
  x.spatial[1].axes = {true, false};
  CHECK(says(refusal(k, x, grid), "spatial split of n: another split uses the same grid axis"));
  x.spatial = {{m, {true, false}, 5}};
  CHECK(says(refusal(k, x, grid), "shares of 5 on 2 cores do not cover 12"));
  x.spatial = {{r, {true, false}, 4}};
  CHECK(says(refusal(k, x, grid), "a reduction is not split over cores"));
  x.spatial = {{m, {}, 12}};
  CHECK(says(refusal(k, x, grid), "it names no grid axis"));
  x.spatial = {{m, {true, false}, 6}, {m, {false, true}, 4}};
  CHECK(says(refusal(k, x, grid), "the dimension is split twice"));
  x.spatial = {{7, {true, false}, 6}};
  CHECK(says(refusal(k, x, grid), "no such dimension"));
  x.spatial = {{m, {true, false}, 6}};
  x.loops = {{m, 4}};
  CHECK(says(refusal(k, x, grid), "a tile of 4 does not divide the range of 6"));
}

TEST_CASE("placements: depths, buffers, partial sums") {
  const Kernel k = product();
  Mapping x = plain(k);
  x.loops = {{dim(k, "k"), 4}};
  CHECK(refusal(k, x) == "");
  x.placements[0].depth = 2;
  CHECK(says(refusal(k, x), "placement of a: depth 2 of 1 loops"));
  x.placements[0].depth = 0;
  x.placements[0].buffers = 2;
  CHECK(says(refusal(k, x), "2 buffers with 0 loops outside"));
  x.placements[0].buffers = 1;
  for (std::size_t t = 0; t < k.tensors.size(); ++t) {
    if (k.tensors[t].kind == KernelTensorKind::output) x.placements[t].depth = 1;
  }
  CHECK(says(refusal(k, x), "partial sums would leave their memory inside the reduction"));
  x.placements[1].tensor = 0;
  CHECK(says(refusal(k, x), "it is in place 0 of the list"));
  x.placements.pop_back();
  CHECK(says(refusal(k, x), "2 for 3 tensors"));
}

TEST_CASE("tiles that are written have no holes, and windows are tiled along one dimension") {
  const Kernel k = make_kernels(parse_graph(R"(graph g
input %x : fp32[1, 4, 9, 9]
input %w : fp32[8, 2, 3, 3]
node conv : %y : fp32[1, 8, 7, 7] = Conv 11(%x, %w) {group = 2}
output %y
)",
                                            "test"),
                                {}, false)
                       .kernels.front();
  Mapping x = plain(k);
  x.loops = {{dim(k, "k"), 2}};
  for (Placement& p : x.placements) p.depth = 1;
  CHECK(says(refusal(k, x), "its tile has holes: runs of 2 elements every 4"));
  x.loops = {{dim(k, "g"), 1}};
  CHECK(refusal(k, x) == "");
  x.loops = {{dim(k, "g"), 1}, {dim(k, "k"), 2}};
  CHECK(says(refusal(k, x), "they share a coordinate of"));
}
