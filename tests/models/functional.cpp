#include <doctest/doctest.h>

#include <fmt/format.h>

#include "core/isa/verify.h"
#include "hwmodels/functional/machine.h"
#include "hwmodels/timing.h"
#include "tests/models/generator.h"

// Law 2: the functional machine, which counts by executing, the cycle model, which counts what it issues, and the
// closed form agree on every program.

using namespace assay;
using namespace assay::testing;

namespace {

std::string differences(const Program& p, const GroupActivity& f, const GroupActivity& c) {
  std::string out;
  for (std::uint32_t b = 0; b < p.buffers.size(); ++b) {
    const auto at = [&](const GroupActivity& g) {
      const auto found = g.by_buffer.find(b);
      return found == g.by_buffer.end() ? AccessCount{} : found->second;
    };
    if (at(f) != at(c))
      out += fmt::format("{}: executed r {} w {}, closed form r {} w {}\n", p.buffers[b].name, at(f).read_bytes,
                         at(f).write_bytes, at(c).read_bytes, at(c).write_bytes);
  }
  return out;
}

}  // namespace

TEST_CASE("what the functional machine counts by executing is the closed form, for random programs") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Random random(seed, "functional");
    const Machine machine = random_machine(random);
    const GemmSpec s = random_gemm(random, machine);
    CAPTURE(describe(s));
    const Program p = gemm_program(machine, s);
    const VerifyResult verified = verify_program(p, machine);
    for (const Violation& v : verified.violations) FAIL_CHECK(v.rule << " " << v.where << " " << v.message);
    FunctionalMachine f(p, machine);
    for (const auto& [name, id] : p.inputs) {
      const Buffer& b = p.buffer(id);
      Tensor t({b.type, b.shape});
      for (std::int64_t i = 0; i < t.size(); ++i) t.set(i, static_cast<double>(random.between(-8, 8)));
      f.set(name, t);
    }
    f.run();
    const Activity closed = analyse(p, machine).activity;
    REQUIRE(closed.groups.size() == f.activity().groups.size());
    for (std::size_t g = 0; g < closed.groups.size(); ++g) {
      CAPTURE(differences(p, f.activity().groups[g], closed.groups[g]));
      CHECK(f.activity().groups[g] == closed.groups[g]);
    }
  }
}
