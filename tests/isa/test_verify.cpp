#include <doctest/doctest.h>

#include "core/isa/verify.h"
#include "tests/isa/small_machine.h"

// One program per rule that breaks it, and the same program put right.

using namespace assay;
using namespace assay::testing;

namespace {

constexpr const char* kBuffers = R"(
semaphore full = 0
semaphore free = 2
semaphore done = 0
buffer x memory 0 at 0 bytes 256 input fp32 [8, 8]
buffer y memory 0 at 256 bytes 256 output fp32 [8, 8]
buffer tile memory 1 at 0 bytes 128 tile fp32 []
buffer other memory 1 at 256 bytes 256 tile fp32 []
buffer acc memory 2 at 0 bytes 64 tile fp32 []
bind input "x" = x
bind output "y" = y
)";

/// Copies x to y in row pairs through a ring of two slots.
constexpr const char* kCopies = R"(
loop i < 4 {
  wait @dma.load free 1
  copy @dma.load for [r < 2, c < 8]
    out tile fp32 ring (%i) mod 2 step 64 [r of 2 by 32, c of 8 by 4]
    in x fp32 [r + 2*%i of 8 by 32, c of 8 by 4]
    body { v0 = input 0 : fp32 }
    trail 0
  signal @dma.load full 1
  wait @dma.store full 1
  copy @dma.store for [r < 2, c < 8]
    out y fp32 [r + 2*%i of 8 by 32, c of 8 by 4]
    in tile fp32 ring (%i) mod 2 step 64 [r of 2 by 32, c of 8 by 4]
    body { v0 = input 0 : fp32 }
  signal @dma.store free 1
}
)";

std::string with(std::string text, const std::string& old_part, const std::string& new_part) {
  const auto at = text.find(old_part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old_part.size(), new_part);
}

std::string verdict(const Program& p, const Machine& m = small_machine(), const VerifyOptions& options = {}) {
  std::string s;
  for (const Violation& v : verify_program(p, m, options).violations)
    s += v.rule + " | " + v.where + " | " + v.message + "\n";
  return s;
}
std::string verdict(const std::string& code, const std::string& declarations = kBuffers) {
  return verdict(small_program(declarations, code));
}

void breaks(const std::string& verdict, const std::string& rule, const std::string& part) {
  CAPTURE(verdict);
  CHECK(verdict.find(rule + " | ") != std::string::npos);
  CHECK(verdict.find(part) != std::string::npos);
}

/// Fills `tile` (128 bytes) with something, so that a rule can be looked at alone.
constexpr const char* kFill =
    "copy @dma.load for [c < 32] out tile fp32 [c of 32 by 4] in x fp32 [c of 64 by 4] body { v0 = input 0 : fp32 }\n";

/// `kFill`, then one command on another engine that is ordered after it; y is left alone.
std::string after_fill(const std::string& wait_engine, const std::string& command) {
  return std::string(kFill) + "signal @dma.load full 1\nwait @" + wait_engine + " full 1\n" + command;
}
constexpr const char* kNoOutput = R"(
semaphore full = 0
buffer x memory 0 at 0 bytes 256 input fp32 [8, 8]
buffer tile memory 1 at 0 bytes 128 tile fp32 []
buffer other memory 1 at 256 bytes 256 tile fp32 []
buffer acc memory 2 at 0 bytes 64 tile fp32 []
buffer y memory 0 at 256 bytes 256 output fp32 [8, 8]
)";
constexpr const char* kContract =
    "contract @mxu for [m < 4, n < 4, sum k < 4] out acc fp32 [m of 4 by 16, n of 4 by 4] "
    "in tile fp32 [m of 4 by 16, k of 4 by 4] in tile fp32 at 64 [k of 4 by 16, n of 4 by 4] combine sum fp32 "
    "array weight_stationary rows [k * 4] cols [n * 4] order [m]\n";

}  // namespace

TEST_CASE("a double-buffered copy is right") {
  const Program p = small_program(kBuffers, kCopies);
  const VerifyResult r = verify_program(p, small_machine());
  CHECK(verdict(p) == "");
  CHECK(r.instances == 8);
  CHECK_FALSE(r.sampled);
}

TEST_CASE("race: a slot is overwritten while it may still be read") {
  const std::string unordered = with(with(kCopies, "wait @dma.load free 1", ""), "signal @dma.store free 1", "");
  breaks(verdict(unordered), "race", "dma.store reads bytes of 'tile' that dma.load writes");
  breaks(verdict(unordered), "race", "group 'g', copy #0");
  const std::string one_slot_too_few = with(kBuffers, "free = 2", "free = 3");
  breaks(verdict(kCopies, one_slot_too_few), "race", "no semaphore orders the two");
}

TEST_CASE("race: a signal before the command that it stands for") {
  const std::string early =
      with(with(kCopies, "signal @dma.load full 1", ""), "copy @dma.load", "signal @dma.load full 1 copy @dma.load");
  breaks(verdict(early), "race", "dma.store reads bytes of 'tile'");
}

TEST_CASE("strided tiles that only interleave do not race") {
  const auto columns = [](const char* from) {
    return std::string(kFill) +
           "signal @dma.load full 1 wait @vpu full 1\n"
           "copy @dma.load for [r < 4, c < 2] out tile fp32 [r of 4 by 32, c of 8 by 4] in x fp32 [r of 8 by 32, c of "
           "8 "
           "by 4] body { v0 = input 0 : fp32 }\n"
           "vector @vpu for [r < 4, c < 2] out acc fp32 [r of 4 by 8, c of 2 by 4] in tile fp32 [r of 4 by 32, c + " +
           std::string(from) + " of 8 by 4] body { v0 = input 0 : fp32 }\n";
  };
  CHECK(verdict(columns("2"), kNoOutput) == "");
  breaks(verdict(columns("1"), kNoOutput), "race", "vpu reads bytes of 'tile'");
}

TEST_CASE("buffers that share addresses are ordered like one") {
  const std::string shared = with(kNoOutput, "other memory 1 at 256", "other memory 1 at 64");
  const std::string code = std::string(kFill) +
                           "vector @vpu for [c < 4] out other fp32 [c of 4 by 4] body "
                           "{ v0 = constant 1 : fp32 }\n";
  CHECK(verdict(code, kNoOutput) == "");
  breaks(verdict(code, shared), "race", "as part of 'tile'");
}

TEST_CASE("overlap: two buffers share bytes while both are live") {
  const std::string live = std::string("step \"a\" step \"b\" step \"c\"\n") +
                           with(with(with(kNoOutput, "tile memory 1 at 0 bytes 128 tile fp32 []",
                                          "tile memory 1 at 0 bytes 128 tile fp32 [] steps 0 to 2"),
                                     "other memory 1 at 256 bytes 256 tile fp32 []",
                                     "other memory 1 at 64 bytes 256 tile fp32 [] steps 1 to 3"),
                                "semaphore full = 0", "");
  breaks(verdict("", live), "overlap", "share bytes of 'sp' while both are live");
  CHECK(verdict("", with(live, "steps 1 to 3", "steps 2 to 3")) == "");
  CHECK(verdict("", with(with(live, "[] steps 0", "[] tensor \"t\" steps 0"), "[] steps 1",
                         "[] tensor \"t\" steps 1")) == "");
}

TEST_CASE("uninitialised: bytes are read that nothing wrote") {
  breaks(verdict(with(kCopies, "out tile fp32 ring (%i) mod 2", "out tile fp32 ring (0) mod 2")), "uninitialised",
         "input 0: bytes 64 to 128 of buffer 'tile'");
  breaks(verdict(with(kCopies, "for [r < 2, c < 8]", "for [r < 2, c < 7]")), "uninitialised",
         "nothing wrote all of them");
  const std::string accumulate = after_fill("mxu", with(kContract, "array", "accumulate_unless_zero [1] array"));
  breaks(verdict(accumulate, kNoOutput), "uninitialised", "the output: bytes 0 to 64 of buffer 'acc'");
  CHECK(verdict(after_fill("mxu", kContract), kNoOutput) == "");
}

TEST_CASE("uninitialised: what another buffer left on the same bytes is no value") {
  // `tile` is full; `again` stands on its bytes later, and only its first half is written.
  const std::string later = with(
      with(kNoOutput, "tile memory 1 at 0 bytes 128 tile fp32 []",
           "tile memory 1 at 0 bytes 128 tile fp32 [] steps 0 to 1"),
      "buffer other memory 1", "buffer again memory 1 at 0 bytes 128 tile fp32 [] steps 1 to 2\nbuffer other memory 1");
  const std::string half = with(kFill, "out tile fp32 [c of 32", "out again fp32 [c of 32");
  const std::string read =
      "signal @dma.load full 1\nwait @vpu full 1\n"
      "vector @vpu for [c < 16] out acc fp32 [c of 16 by 4] in again fp32 [c of 32 by 4] body { v0 = input 0 : fp32 "
      "}\n";
  const auto short_by = [&](const char* n) { return with(half, "c < 32", "c < " + std::string(n)); };
  CHECK(verdict(kFill + short_by("16") + read, later) == "");
  breaks(verdict(kFill + short_by("15") + read, later), "uninitialised", "bytes 0 to 64 of buffer 'again'");
}

TEST_CASE("uninitialised: an output is not written to its end") {
  breaks(verdict(with(kCopies, "loop i < 4", "loop i < 3")), "uninitialised",
         "output 'y': nothing writes all 256 bytes of buffer 'y'");
}

TEST_CASE("bounds: coordinates, buffers and memories") {
  breaks(verdict(with(kCopies, "in x fp32 [r + 2*%i", "in x fp32 [r + 3*%i")), "bounds",
         "input 0 ('x'): coordinates 9 to 10 of dimension 0 leave its 8 elements");
  CHECK(verdict(with(kCopies, "for [r < 2, c < 8]\n    out tile", "for [r < min(2, 8 - 2*%i), c < 8]\n    out tile")) ==
        "");
  breaks(verdict(with(kCopies, "ring (%i) mod 2 step 64", "ring (%i) mod 2 step 96")), "bounds",
         "the output: bytes 96 to 160 of buffer 'tile', which has 128");
  breaks(verdict("", with(kBuffers, "acc memory 2 at 0 bytes 64", "acc memory 2 at 16384 bytes 64")), "bounds",
         "buffer 'acc' takes bytes 16384 to 16448 of 'acc', which has 16384");
  breaks(verdict(kCopies, with(kBuffers, "x memory 0 at 0 bytes 256", "x memory 0 at 0 bytes 252")), "bounds",
         "its elements need 256");
  // Not walked: which of 16 TiB are written would be kept in 2 TiB.
  breaks(verdict(kCopies, with(kBuffers, "x memory 0 at 0 bytes 256", "x memory 0 at 0 bytes 17592186044416")),
         "bounds", "buffer 'x' takes bytes 0 to 17592186044416 of 'dram', which has 1048576");
}

TEST_CASE("padding is read only where a fill is given, and never written") {
  const std::string padded =
      "copy @dma.load for [c < 34] out other fp32 [c of 64 by 4] in x fp32 [c - 1 of 32 by 4] fill 0 "
      "body { v0 = input 0 : fp32 }\n";
  CHECK(verdict(padded, kNoOutput) == "");
  breaks(verdict(with(padded, "fill 0", ""), kNoOutput), "bounds", "coordinates -1 to 32 of dimension 0");
  breaks(verdict(with(padded, "[c of 64 by 4]", "[c - 1 of 64 by 4] fill 0"), kNoOutput), "bounds",
         "the output ('other'): coordinates -1 to 32");
}

TEST_CASE("deadlock: the queues that stand still are named with what they wait for") {
  const std::string stuck = with(kCopies, "signal @dma.load full 1", "");
  breaks(verdict(stuck), "deadlock", "dma.load waits at #0 for 1 of 'free', which holds 0");
  breaks(verdict(stuck), "deadlock", "dma.store waits at #2 for 1 of 'full', which holds 0");
}

TEST_CASE("deadlock: semaphores end as they began") {
  breaks(verdict(with(kCopies, "signal @dma.store free 1", "signal @dma.store free 2")), "deadlock",
         "semaphore 'free' starts at 2 and ends at 6");
}

TEST_CASE("capability: engines, links, types and operations that the machine lacks") {
  const auto refused = [](const std::string& code, const std::string& part) {
    breaks(verdict(code, kNoOutput), "capability", part);
  };
  refused(with(kFill, "copy @dma.load", "copy @vpu"), "engine 'vpu' is a vector engine: it does not execute a copy");
  refused(with(kFill, "copy @dma.load", "copy @dma.store"), "engine 'dma.store' has no link from 'dram' to 'sp'");
  refused(after_fill("mxu", with(kContract, "out acc", "out other")), "unit 'mxu' does not write 'sp'");
  refused(after_fill("mxu", with(kContract, "in tile fp32 [", "in x fp32 [")),
          "unit 'mxu' does not read 'dram' (input 0)");
  refused(after_fill("mxu", with(kContract, "weight_stationary", "output_stationary")),
          "unit 'mxu' is weight_stationary, the command output_stationary");
  refused(after_fill("mxu", with(with(kContract, "in tile fp32", "in tile int8"), "in tile fp32", "in tile int8")),
          "unit 'mxu' does not multiply int8 by int8");
  refused(after_fill("mxu", with(kContract, "sum fp32", "sum fp16")),
          "accumulates fp32 in fp32, the command in fp16 to fp32");
  refused(after_fill("mxu", with(kContract, "out acc fp32", "out acc int32")),
          "accumulator 'acc' holds fp32, the output is int32");
  Machine poor = small_machine();
  poor.vector_units[0].ops = {{"arithmetic", 1.0}};
  const Program exp = small_program(kNoOutput, after_fill("vpu",
                                                          "vector @vpu for [sum c < 4] out other fp32 [] in tile fp32 "
                                                          "[c of 4 by 4] combine max fp32 body { v0 = input 0 : fp32 "
                                                          "v1 = exp v0 : fp32 v2 = add v1 v0 : fp32 }"));
  CHECK(verdict(exp) == "");
  breaks(verdict(exp, poor), "capability", "unit 'vpu' does not execute 'exp'");
  breaks(verdict(exp, poor), "capability", "unit 'vpu' does not reduce ('max')");
  poor.vector_units[0].types = {{DType::i32, 1.0}};
  breaks(verdict(exp, poor), "capability", "unit 'vpu' has no fp32");
  Machine no_multicast = small_machine();
  no_multicast.links[0].multicast = false;
  const Program multicast = small_program(kNoOutput, with(kFill, "[c < 32]", "[c < 32] multicast (row)"));
  CHECK(verdict(multicast) == "");
  breaks(verdict(multicast, no_multicast), "capability", "link 'dma' does not multicast");
  refused(
      "copy @dma.store for [c < 4] multicast (row) out y fp32 [c of 4 by 4] in tile fp32 [c of 4 by 4] body { v0 = "
      "input 0 : fp32 }",
      "a multicast writes a memory of every core, 'dram' is shared");
}

TEST_CASE("capability: host commands, index operands and spatial arrays") {
  Machine m = small_machine();
  m.hosts.push_back({"cpu", 1e9, "pcie"});
  const std::string with_cpu = std::string("engine cpu host 0\n") + kNoOutput;
  const auto of = [&](const std::string& code) { return verdict(small_program(with_cpu, code), m); };
  CHECK(of("host @cpu \"Relu\" attributes \"{}\" out [y] in [x, none]") == "");
  breaks(of("host @mxu \"Relu\" attributes \"{}\" out [y] in [x]"), "capability", "does not execute 'Relu'");
  breaks(of("host @cpu \"Relu\" attributes \"{}\" out [tile] in [x]"), "capability", "the host does not reach 'sp'");
  breaks(of("host @cpu \"Relu\" attributes \"{}\" out [x] in [y]"), "uninitialised", "buffer 'y' is read");
  breaks(of("copy @dma.load for [c < 4] out tile fp32 [c of 4 by 4] in x fp32 [index(1) of 8 by 4] in acc int32 [c of "
            "4 by 4] "
            "body { v0 = input 0 : fp32 }"),
         "capability", "engine 'dma.load' does not reach 'acc' for its index operand");
  m.matrix_units[0].style = ArrayStyle::pe_array;
  m.matrix_units[0].dataflow = Dataflow::free;
  const std::string plan = after_fill("mxu", with(kContract, "rows [k * 4]", "rows [k * 4, m * 2]"));
  breaks(verdict(small_program(kNoOutput, plan), m), "capability", "has 4 by 4 elements, the plan unrolls 8 by 4");
}

TEST_CASE("structure: each malformation has its message") {
  const auto refused = [](const std::string& code, const std::string& part,
                          const std::string& declarations = kNoOutput) {
    breaks(verdict(code, declarations), "structure", part);
  };
  refused("", "stands in a memory that the machine does not have", with(kNoOutput, "other memory 1", "other memory 7"));
  refused("", "semaphore 'full' starts at -1", with(kNoOutput, "full = 0", "full = -1"));
  refused("", "engine 'z' is matrix 3, the machine has 1", std::string("engine z matrix 3\n") + kNoOutput);
  refused("", "tensor 't' is bound to a buffer that does not exist",
          std::string(kNoOutput) + "bind input \"t\" = #99\n");
  refused("wait @#9 full 1", "no such engine");
  refused("wait @mxu #9 1", "no such semaphore");
  refused("wait @mxu full 0", "a count of 0");
  refused("", "semaphore 'full' starts at 0 and has 0 slots", with(kNoOutput, "full = 0", "full = 0 slots 0"));
  refused("wait @mxu full slot (%row) 1", "the slot of a semaphore depends on the core");
  refused("wait @mxu full slot (%7) 1", "the slot of a semaphore uses variable %7");
  refused("wait @mxu full 1 wait @vpu full 1 signal @dma.load full 2", "both wait for 'full'");
  refused("loop i %1 < 3 { wait @mxu full 1 }", "its variable %1 is not its own");
  refused("loop i < -3 { wait @mxu full 1 }", "its trip -3 is absurd");
  refused(with(kFill, "[c of 32 by 4]", "[c + %5 of 32 by 4]"),
          "an offset uses variable %5, which no enclosing loop defines");
  refused(with(kFill, "[c of 32 by 4]", "[$3 of 32 by 4]"), "the output: no iteration dimension 3");
  refused(with(kFill, "[c of 32 by 4]", "[c of 32 by 4611686018427387904]"), "addresses are absurd");
  refused(with(kFill, "[c of 32 by 4]", "[c + 4611686018427387904 of 32 by 4]"), "an offset reaches 4.61e+18: absurd");
  refused(with(kFill, "c < 32", "c < -1"), "iteration 'c' has extent -1");
  refused(with(kFill, "c < 32", "c < 4611686018427387904"), "the iteration space is absurd");
  refused(with(kFill, "out tile fp32", "out tile int4"), "int4 elements are not addressable in bytes");
  refused(with(kFill, "out tile fp32", "out tile fp32 ring (0) mod 0 step 4"), "ring of depth 0");
  refused(with(kFill, "out tile", "out #77"), "the output: no such buffer");
  refused(with(kFill, "[c of 64 by 4]", "[index(1) of 64 by 4]"), "index operand 1 is not an integer input");
  refused(with(kFill, "v0 = input 0 : fp32", "v0 = input 0 : fp32 v1 = neg v0 : fp32"), "a copy's body is 'input 0'");
  refused(with(kFill, "body { v0 = input 0 : fp32 }", ""), "the body is empty");
  refused(with(kFill, "v0 = input 0 : fp32", "v0 = input 3 : fp32"), "reads input 3, the command has 1");
  refused(with(kFill, "v0 = input 0 : fp32", "v0 = input 0 : int8"), "takes input 0 as int8, it is fp32");
  refused(with(kFill, "v0 = input 0 : fp32", "v0 = index 4 : fp32"), "no iteration dimension 4");
  refused(with(kFill, "v0 = input 0 : fp32", "v0 = neg v0 : fp32"), "v0 uses v0, which is not computed before it");
  refused(with(kFill, "v0 = input 0 : fp32", "v0 = constant 1 : uint4"), "uint4 is not computable");
  refused(with(kFill, "[c < 32]", "[sum c < 32]"), "the output varies with the reduction dimension 'c'");
  refused(with(kFill, "body", "accumulate_unless_zero [1] body"), "accumulate_unless_zero without a reduction");
  refused(with(kContract, "combine sum", "combine max"), "combine is max and there is a reduction dimension");
  refused(with(kContract, "array weight", "array free rows [] cols [] order [] trail 0 //"), "dataflow free");
  refused(with(kContract, "array weight_stationary rows [k * 4] cols [n * 4] order [m]", ""),
          "a contraction without an array plan");
  refused(kContract + std::string("trail 8"), "trail 8 of 1");
  refused(std::string(
              "vector @vpu for [c < 2] multicast (row) out other fp32 [c of 2 by 4] body { v0 = constant 1 : fp32 }"),
          "only copies multicast");
  // Said before anything is made for each: 2^32 variables would be 32 GiB.
  Program many = small_program(kNoOutput, "");
  many.var_count = UINT32_MAX;
  breaks(verdict(many), "structure", "more than 2^20 loop variables");
}

TEST_CASE("long loops are cut to their ends, and what is cut counts as written") {
  const std::string declarations = R"(
semaphore full = 0
semaphore free = 3
buffer x memory 0 at 0 bytes 400000 input int8 [400000]
buffer y memory 0 at 400000 bytes 400000 output int8 [400000]
buffer tile memory 1 at 0 bytes 12 tile int8 []
bind output "y" = y
)";
  const std::string code = R"(
loop i < 1000 { loop j < 100 {
  wait @dma.load free 1
  copy @dma.load for [c < 4] out tile int8 ring (100*%i + %j) mod 3 step 4 [c of 4 by 1]
    in x int8 [c + 400*%i + 4*%j of 400000 by 1] body { v0 = input 0 : int8 }
  signal @dma.load full 1
  wait @dma.store full 1
  copy @dma.store for [c < 4] out y int8 [c + 400*%i + 4*%j of 400000 by 1]
    in tile int8 ring (100*%i + %j) mod 3 step 4 [c of 4 by 1] body { v0 = input 0 : int8 }
  signal @dma.store free 1
} }
)";
  const Machine m = small_machine();
  const auto result = [&](const std::string& text, std::int64_t limit) {
    return verify_program(small_program(declarations, text), m, {.max_instances = limit});
  };
  const VerifyResult whole = result(code, 2'000'000), cut = result(code, 10'000);
  CHECK(whole.ok());
  CHECK_FALSE(whole.sampled);
  CHECK(whole.instances == 200'000);
  CHECK(cut.ok());
  CHECK(cut.sampled);
  CHECK(cut.instances < 1'000);
  // y read back in one piece: the iterations left out count as written.
  const std::string read_back = code + R"(
  signal @dma.store full 1
  wait @dma.load full 1
  copy @dma.load for [c < 12] out tile int8 [c of 12 by 1] in y int8 [c + 399988 of 400000 by 1] body { v0 = input 0 : int8 }
)";
  breaks(verdict(small_program(declarations, read_back)), "structure", "both wait for 'full'");
  const std::string own = with(read_back, "signal @dma.store full 1\n  wait @dma.load full 1",
                               "signal @dma.store free 1\n  wait @dma.load free 4\n  signal @dma.load free 3");
  CHECK(verdict(small_program(declarations, own), m, {.max_instances = 10'000}) == "");
  CHECK(result(with(code, "in x int8 [c + 400*%i", "in x int8 [c + 401*%i"), 10'000).violations.at(0).rule == "bounds");
  CHECK(verdict(small_program(declarations, code), m, {.max_instances = 5})
            .find("instances are left even with loops cut") != std::string::npos);
}
