#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>

#include "core/base/error.h"
#include "core/compiler/compiler.h"
#include "core/ir/graph_text.h"
#include "core/isa/verify.h"
#include "core/mapping/kernel.h"
#include "core/spec/load.h"
#include "tests/support/machines.h"

// What joins a kernel, and what must not.

using namespace assay;

namespace {

KernelGraph kernels(const std::string& text) { return make_kernels(parse_graph(text, "test"), {}, false); }

}  // namespace

TEST_CASE("an elementwise consumer joins its producer") {
  const KernelGraph kg = kernels(R"(graph g
input %x : fp32[8, 5]
node a : %t : fp32[8, 5] = Exp 13(%x)
node b : %y : fp32[8, 5] = Neg 13(%t)
output %y
)");
  REQUIRE(kg.kernels.size() == 1);
  CHECK(kg.kernels[0].sources.size() == 2);
  CHECK(kg.remarks.empty());
}

TEST_CASE("a consumer that keeps the first part of the result is a kernel of its own") {
  // Its points are the same as the producer's, only fewer: fused, the producer's extents would write past its end.
  const KernelGraph kg = kernels(R"(graph g
input %x : fp32[8, 5]
constant %starts : int64[1] = [0]
constant %ends : int64[1] = [2]
node a : %t : fp32[8, 5] = Exp 13(%x)
node b : %y : fp32[2, 5] = Slice 13(%t, %starts, %ends)
output %y
)");
  REQUIRE(kg.kernels.size() == 2);
  REQUIRE(kg.remarks.size() == 1);
  CHECK(kg.remarks[0] == "not fused: 'b' into 'a': it keeps only a part of the result");
}

TEST_CASE("grouped convolutions of any shape compile to proven programs, however small the tiles") {
  for (const char* text : {test_machines::kSystolic, test_machines::kGrid}) {
    const Machine machine = parse_machine(text, "m.yaml");
    for (const auto [groups, filters, channels] :
         {std::array<int, 3>{2, 64, 2}, {2, 256, 16}, {4, 12, 3}, {3, 99, 1}, {8, 8, 1}, {64, 1, 1}, {16, 2, 1}}) {
      CAPTURE(groups);
      CAPTURE(filters);
      const std::string graph = fmt::format(R"(graph g
input %x : fp32[1, {}, 9, 9]
input %w : fp32[{}, {}, 3, 3]
node conv : %y : fp32[1, {}, 7, 7] = Conv 11(%x, %w) {{group = {}}}
output %y
)",
                                            groups * channels, groups * filters, channels, groups * filters, groups);
      MappingCache cache;
      const CompiledModel c = compile(parse_graph(graph, "test"), machine, {}, cache);
      const VerifyResult v = verify_program(c.program, machine);
      CHECK(v.ok());
      for (const Violation& x : v.violations) FAIL_CHECK(x.rule << ": " << x.where << ": " << x.message);
    }
  }
}
