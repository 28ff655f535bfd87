#include <doctest/doctest.h>

#include "core/base/error.h"
#include "hwmodels/timing/dram.h"
#include "tests/models/generator.h"

using namespace assay;
using namespace assay::testing;

namespace {
// One channel, 1 tick = 1 ns: 16 B/ns, bursts of 64 B take 4 ns.
Memory one_channel() {
  Memory m = small_machine().memories[0];
  m.model = Fidelity::detailed;
  m.dram = {.channels = 1, .banks = 4, .row_bytes = 1024, .burst_bytes = 64};
  m.dram.t_refi = 0;
  return m;
}
constexpr std::int64_t kNs = kDramSubticks;
}  // namespace

TEST_CASE("a closed row costs its activation, an open one only its bursts") {
  DramModel d(one_channel(), 1'000'000'000);
  CHECK(d.access(0, 0, 0, 64, false) == (15 + 4) * kNs);
  CHECK(d.access(19 * kNs, 19 * kNs, 64, 128, false) == (19 + 8) * kNs);
  CHECK(d.row_hits() == 1);
  CHECK(d.row_misses() == 1);
}

TEST_CASE("another row of the bank waits for tRAS, precharges and activates") {
  DramModel d(one_channel(), 1'000'000'000);
  d.access(0, 0, 0, 64, false);  // activated at 0, data until 19
  // Row 1 of bank 0 is 4 rows on: precharge at 35 (tRAS), activate at 50, data 65..69.
  CHECK(d.access(20 * kNs, 20 * kNs, 4 * 1024, 64, false) == 69 * kNs);
}

TEST_CASE("a stream over consecutive rows opens each in another bank while the last one sends") {
  DramModel d(one_channel(), 1'000'000'000);
  CHECK(d.access(0, 0, 0, 4 * 1024, false) == (15 + 4 * 64) * kNs);
}

TEST_CASE("a short access pays for its whole burst") {
  DramModel d(one_channel(), 1'000'000'000);
  d.access(0, 0, 0, 64, false);
  CHECK(d.access(0, 19 * kNs, 64, 1, false) == 23 * kNs);
  CHECK(d.access(0, 23 * kNs, 191, 2, false) == 31 * kNs);  // it straddles two bursts
}

TEST_CASE("refresh stops the bus for tRFC at every tREFI and closes the rows") {
  Memory m = one_channel();
  m.dram.t_refi = 1000;
  m.dram.t_rfc = 100;
  DramModel d(m, 1'000'000'000);
  CHECK(d.access(980 * kNs, 980 * kNs, 0, 64, false) == (980 + 15 + 4) * kNs);  // ends at 999
  CHECK(d.access(0, 999 * kNs, 64, 64, false) == (999 + 4 + 100) * kNs);        // runs into the refresh
  CHECK(d.access(0, 1103 * kNs, 128, 64, false) == (1103 + 15 + 4) * kNs);      // the row is closed
}

TEST_CASE("a DRAM that would only refresh is refused") {
  Memory m = one_channel();
  m.dram.t_refi = 100;
  m.dram.t_rfc = 260;
  CHECK_THROWS_WITH_AS(DramModel(m, 1'000'000'000), "dram: tREFI is not longer than tRFC: the DRAM would only refresh",
                       InputError);
}
