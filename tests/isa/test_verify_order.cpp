#include <doctest/doctest.h>

#include "core/isa/verify.h"
#include "tests/isa/small_machine.h"

// Several cores, several signalling queues: what the order of accesses may rest on.

using namespace assay;
using namespace assay::testing;

namespace {

std::string verdict(const std::string& declarations, const std::string& code, const Grid& grid) {
  std::string s;
  const Machine m = small_machine(grid.rows, grid.cols);
  for (const Violation& v : verify_program(small_program(declarations, code, 8, grid), m).violations)
    s += v.rule + " | " + v.where + " | " + v.message + "\n";
  return s;
}
Grid grid(std::int64_t rows, std::int64_t cols) {
  Grid g;
  g.rows = rows;
  g.cols = cols;
  return g;
}
std::string with(std::string text, const std::string& old_part, const std::string& new_part) {
  const auto at = text.find(old_part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old_part.size(), new_part);
}
void breaks(const std::string& verdict, const std::string& rule, const std::string& part) {
  CAPTURE(verdict);
  CHECK(verdict.find(rule + " | ") != std::string::npos);
  CHECK(verdict.find(part) != std::string::npos);
}

/// Each core writes its row of t, then reads the row of the core that is its mirror image.
constexpr const char* kShared = R"(
semaphore arrive = 0
semaphore go = 0
buffer x memory 0 at 0 bytes 64 input fp32 [4, 4]
buffer t memory 0 at 64 bytes 64 intermediate fp32 [4, 4]
buffer tile memory 1 at 0 bytes 32 tile fp32 []
)";
constexpr const char* kExchange = R"(
loop step < 3 {
  copy @dma.load for [c < 4] out tile fp32 [c of 8 by 4] in x fp32 [%row of 4 by 16, c of 4 by 4] body { v0 = input 0 : fp32 }
  signal @dma.load loaded 1
  wait @dma.store loaded 1
  copy @dma.store for [c < 4] out t fp32 [%row of 4 by 16, c of 4 by 4] in tile fp32 [c of 8 by 4] body { v0 = input 0 : fp32 }
  signal @dma.store arrive 1 to_leader (row)
  wait @vpu arrive 4 leader (row)
  signal @vpu go 1 leader (row) to_all (row)
  wait @dma.load go 1
  copy @dma.load for [c < 4] out tile fp32 at 16 [c of 4 by 4] in t fp32 [3 - %row of 4 by 16, c of 4 by 4] body { v0 = input 0 : fp32 }
  signal @dma.load read 1 to_leader (row)
  wait @mxu read 4 leader (row)
  signal @mxu next 1 leader (row) to_all (row)
  wait @dma.store next 1
}
)";

std::string exchange_semaphores() {
  return std::string(kShared) + "semaphore loaded = 0\nsemaphore read = 0\nsemaphore next = 0\n";
}

}  // namespace

TEST_CASE("cores that exchange rows through shared memory behind barriers are right") {
  // x rows move through every core's tile; the store of step s + 1 waits for all reads of step s.
  const std::string code = with(kExchange, "wait @dma.store next 1", "wait @dma.store next 1 signal @dma.store free 1");
  const std::string fixed = with(code, "loop step < 3 {", "loop step < 3 { wait @dma.load free 1");
  CHECK(verdict(exchange_semaphores() + "semaphore free = 1\n", fixed, grid(4, 1)) == "");
}

TEST_CASE("a barrier that is left out is a race between cores") {
  const std::string code = R"(
  copy @dma.load for [c < 4] out tile fp32 [c of 8 by 4] in x fp32 [%row of 4 by 16, c of 4 by 4] body { v0 = input 0 : fp32 }
  signal @dma.load arrive 1
  wait @dma.store arrive 1
  copy @dma.store for [c < 4] out t fp32 [%row of 4 by 16, c of 4 by 4] in tile fp32 [c of 8 by 4] body { v0 = input 0 : fp32 }
  signal @dma.store go 1
  wait @dma.load go 1
  copy @dma.load for [c < 4] out tile fp32 at 16 [c of 4 by 4] in t fp32 [3 - %row of 4 by 16, c of 4 by 4] body { v0 = input 0 : fp32 }
)";
  breaks(verdict(kShared, code, grid(4, 1)), "race", "dma.load of core (");
  CHECK(verdict(kShared, with(code, "3 - %row", "%row"), grid(4, 1)) == "");
  // Two cores of one row write the same bytes.
  breaks(verdict(kShared, code, grid(4, 2)), "race", "writes bytes of 't'");
}

TEST_CASE("tokens of two queues on one semaphore do not order what follows, unless neither can run ahead") {
  const std::string declarations = R"(
semaphore full = 0
semaphore free_a = FREE
semaphore free_b = FREE
buffer x memory 0 at 0 bytes 64 input fp32 [16]
buffer a memory 1 at 0 bytes 32 tile fp32 []
buffer b memory 1 at 32 bytes 32 tile fp32 []
buffer acc memory 2 at 0 bytes 16 tile fp32 []
)";
  // vpu and dma.load both fill an operand of a sum on the mxu's place (here: the store queue reads both).
  const std::string code = R"(
loop i < 4 {
  wait @dma.load free_a 1
  copy @dma.load for [c < 4] out a fp32 ring (%i) mod 2 step 16 [c of 4 by 4] in x fp32 [c of 16 by 4] body { v0 = input 0 : fp32 }
  signal @dma.load full 1
  wait @vpu free_b 1
  vector @vpu for [c < 4] out b fp32 ring (%i) mod 2 step 16 [c of 4 by 4] body { v0 = constant 2 : fp32 }
  signal @vpu full 1
  wait @mxu full 2
  contract @mxu for [m < 4, sum k < 4] out acc fp32 [m of 4 by 4] in a fp32 ring (%i) mod 2 step 16 [k of 4 by 4]
    in b fp32 ring (%i) mod 2 step 16 [k of 4 by 4] combine sum fp32 array weight_stationary rows [k * 4] cols [] order [m]
  signal @mxu free_a 1
  signal @mxu free_b 1
}
)";
  const auto with_slots = [&](const char* n) { return with(with(declarations, "FREE", n), "FREE", n); };
  CHECK(verdict(with_slots("1"), code, grid(1, 1)) == "");
  breaks(verdict(with_slots("2"), code, grid(1, 1)), "race", "'full' has several signalling queues");
}

TEST_CASE(
    "a multicast ring needs a counter per slot: one for all slots can't tell which slot every receiver released") {
  const std::string declarations = R"(
semaphore full = 0
semaphore free = 2 slots 2
buffer x memory 0 at 0 bytes 64 input fp32 [16]
buffer tile memory 1 at 0 bytes 32 tile fp32 []
buffer acc memory 2 at 0 bytes 16 tile fp32 []
)";
  const std::string code = R"(
loop i < 6 {
  wait @dma.load free slot (%i) 2 leader (row)
  copy @dma.load for [c < 4] multicast (row) out tile fp32 ring (%i) mod 2 step 16 [c of 4 by 4] in x fp32 [c of 16 by 4] body { v0 = input 0 : fp32 }
  signal @dma.load full 1 leader (row) to_all (row)
  wait @vpu full 1
  vector @vpu for [c < 4] out acc fp32 [c of 4 by 4] in tile fp32 ring (%i) mod 2 step 16 [c of 4 by 4] body { v0 = input 0 : fp32 }
  signal @vpu free slot (%i) 1 to_leader (row)
}
)";
  CHECK(verdict(declarations, code, grid(2, 1)) == "");
  CHECK(verdict(declarations, code, grid(2, 2)) == "");
  std::string one = with(code, "free slot (%i) 2", "free 2");
  one = with(one, "free slot (%i) 1", "free 1");
  breaks(verdict(with(declarations, "free = 2 slots 2", "free = 4"), one, grid(2, 1)), "race", "");
  breaks(verdict(declarations, with(code, "free slot (%i) 1", "free slot (%i + 1) 1"), grid(2, 1)), "race", "");
  breaks(verdict(declarations, with(code, "free slot (%i) 2", "free slot (0) 2"), grid(2, 1)), "deadlock",
         "of 'free[0]', which holds 0");
}

TEST_CASE("a multicast writes the memory of every core along its axes") {
  const std::string declarations = R"(
semaphore full = 0
semaphore own = 0
buffer x memory 0 at 0 bytes 64 input fp32 [16]
buffer tile memory 1 at 0 bytes 16 tile fp32 []
buffer acc memory 2 at 0 bytes 16 tile fp32 []
)";
  const std::string code = R"(
copy @dma.load for [c < 4] multicast (row) out tile fp32 [c of 4 by 4] in x fp32 [c + 4*%col of 16 by 4] body { v0 = input 0 : fp32 }
signal @dma.load full 1 leader (row) to_all (row)
wait @vpu full 1
vector @vpu for [c < 4] out acc fp32 [c of 4 by 4] in tile fp32 [c of 4 by 4] body { v0 = input 0 : fp32 }
)";
  CHECK(verdict(declarations, code, grid(2, 2)) == "");
  breaks(verdict(declarations, with(code, "multicast (row)", ""), grid(2, 2)), "race", "");
  const std::string local_only = with(code, " leader (row) to_all (row)", "");
  breaks(verdict(declarations, local_only, grid(2, 2)), "race",
         "vpu of core (1, 0) reads bytes of 'tile' that dma.load of core (0, 0)");
}

TEST_CASE("a grid larger than the machine or absurdly large is refused") {
  breaks(verdict(kShared, "", grid(0, 1)), "structure", "the program's grid is 0 by 1");
  const Machine m = small_machine(100, 100);
  const VerifyResult r = verify_program(small_program("", "", 8, grid(100, 100)), m);
  REQUIRE(r.violations.size() == 1);
  CHECK(r.violations[0].message == "10000 cores: programs are verified for at most 1024");
  const VerifyResult larger = verify_program(small_program("", "", 8, grid(2, 2)), small_machine());
  CHECK(larger.violations.at(0).message == "the program's grid is 2 by 2, the machine has 1 by 1 cores");
}
