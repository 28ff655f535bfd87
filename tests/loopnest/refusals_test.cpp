#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>

#include "core/base/error.h"
#include "core/loopnest/counting.h"
#include "core/loopnest/nest_file.h"

using namespace assay;

// What the counters do not count is refused by name, and in good time.

namespace {

NestCost cost_of(const std::string& document, const CountingConvention& c = assay_convention()) {
  const NestDocument d = NestDocument::parse(document, "t.yaml");
  const Einsum e = *d.einsum();
  const Hierarchy h = *d.hierarchy();
  return count_accesses(d.nest(e, h), e, h, c);
}

std::string refusal(const std::string& document, const CountingConvention& c = assay_convention()) {
  try {
    (void)cost_of(document, c);
  } catch (const InputError& e) {
    return e.what();
  }
  return "counted";
}

const char* const kSmall = R"(einsum: "Z[m] += A[m,k]"
extents: {m: 4, k: 4}
hierarchy: {levels: [{name: DRAM}, {name: BUF}]}
levels: [{level: DRAM, temporal: {k: 4, m: rest}}, {level: BUF}]
)";

}  // namespace

TEST_CASE("switches that no counter has together are refused by name") {
  const auto without = [](bool CountingConvention::*s) {
    CountingConvention c = assay_convention();
    c.*s = !(c.*s);
    return refusal(kSmall, c);
  };
  CHECK(refusal(kSmall) == "counted");
  CHECK(refusal(kSmall, accelforge_convention()) == "counted");
  for (bool CountingConvention::*s :
       {&CountingConvention::every_iteration, &CountingConvention::halo_everywhere, &CountingConvention::packed_mesh,
        &CountingConvention::true_imperfect_spatial, &CountingConvention::shared_overlaps}) {
    const std::string message = without(s);
    CHECK_MESSAGE(message.find("convention: assay: true_imperfect_spatial is counted with") == 0, message);
  }
  for (bool CountingConvention::*s :
       {&CountingConvention::neighbour_links, &CountingConvention::drain_reads, &CountingConvention::first_read_elision,
        &CountingConvention::reduce_in_place, &CountingConvention::one_fetch})
    CHECK(without(s) == "counted");
}

TEST_CASE("windows over too many elements along one axis are refused with tensor and level") {
  const std::string message = refusal(R"(einsum: "O[p] += I[p+r] * W[r]"
extents: {p: 1000003, r: 1000}
hierarchy: {compute: {mesh: [1048576, 1024]}, levels: [{name: GLB}, {name: PE, mesh: [1048576, 1024]}]}
levels:
  - {level: GLB, spatial: {x: {p: rest}, y: {r: 1000}}}
  - {level: PE}
)");
  CHECK_MESSAGE(message.find("more than 100,000,000 steps to count. Its spatial loops (several over one axis") !=
                    std::string::npos,
                message);
  CHECK_MESSAGE(message.find("I") != std::string::npos, message);
}

TEST_CASE("a count beyond 2^63 is refused") {
  CountingConvention c = assay_convention();
  c.first_read_elision = false;  // every visit reads the old sum (2^62), and every sum is drained (2^62)
  const std::string big = R"(einsum: "Z[m] += A[m,k]"
extents: {m: 2147483648, k: 2147483648}
hierarchy: {levels: [{name: DRAM}, {name: BUF}]}
levels: [{level: DRAM, temporal: {k: rest, m: rest}}, {level: BUF}]
)";
  CHECK(refusal(big, c) == "counts: a count exceeds 2^63");
  // The first visit of each of 2^31 sums finds nothing to read.
  CHECK(cost_of(big).levels[0].tensors[1].total.reads == std::numeric_limits<std::int64_t>::max() - 2147483647);
}

TEST_CASE("too many kinds of clipped instances are refused") {
  std::string operand, extents, x;
  for (int d = 0; d < 14; ++d) {
    const char name = static_cast<char>('a' + d);
    operand += fmt::format("{}{}", d > 0 ? "," : "", name);
    extents += fmt::format("{}{}: 3", d > 0 ? ", " : "", name);
    x += fmt::format("{}{}: {{tile: 2}}", d > 0 ? ", " : "", name);
  }
  const std::string message = refusal(fmt::format(
      "einsum: \"Z[{0}] += A[{0}]\"\nextents: {{{1}}}\nhierarchy: {{compute: {{mesh: [16384, 1]}}, levels: [{{name: "
      "DRAM}}, {{name: BUF, mesh: [16384, 1]}}, {{name: RF, mesh: [16384, 1]}}]}}\nlevels: [{{level: DRAM, spatial: "
      "{{x: {{{2}}}}}}}, {{level: BUF}}, {{level: RF}}]\n",
      operand, extents, x));
  CHECK_MESSAGE(message.find("different instances of") != std::string::npos, message);
  CHECK_MESSAGE(message.find("too many spatial loops outside it are clipped") != std::string::npos, message);
}
