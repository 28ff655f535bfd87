#include <doctest/doctest.h>

#include "core/isa/queues.h"
#include "tests/isa/small_machine.h"

using namespace assay;
using namespace assay::testing;

TEST_CASE("engines are the links' queues, then matrix, vector and host units") {
  Machine m = small_machine();
  Link one = m.links[0];
  one.name = "narrow";
  one.queues = 1;
  Link bus = m.links[0];
  bus.kind = LinkKind::bus;
  m.links = {bus, m.links[0], one};
  m.hosts.push_back({"cpu", 1e9, "pcie"});
  std::string names;
  const std::vector<Engine> engines = engines_of(m);
  for (const Engine& e : engines) names += e.name + " ";
  CHECK(names == "dma.load dma.store narrow mxu vpu cpu ");
  CHECK(engines[2].kind == EngineKind::dma_load);
  CHECK(engines[2].part == 2);
  CHECK(copy_engine(m, engines, MemoryId(0), MemoryId(1)) == EngineId(0));
  CHECK(copy_engine(m, engines, MemoryId(1), MemoryId(0)) == EngineId(1));
  CHECK_FALSE(copy_engine(m, engines, MemoryId(1), MemoryId(2)).has_value());
  CHECK(can_copy(m, engines[2], MemoryId(1), MemoryId(0)));
}

TEST_CASE("a queue is the nest restricted to its engine's leaves") {
  const Program p = small_program("semaphore s = 0\n", R"(
    loop i < 3 {
      loop j < 2 { wait @mxu s 1 }
      loop never < 0 { wait @mxu s 1 }
      signal @vpu s 2
    })");
  auto queues = queues_of(p);
  CHECK(queues[0].steps.empty());
  CHECK(queues[2].steps.size() == 5);
  CHECK(queues[3].steps.size() == 3);
  CHECK(instance_count(queues) == 9);
  int waits = 0;
  for (QueueCursor c(queues[2], p.var_count, 0, 0); !c.done(); c.advance()) {
    CHECK(c.vars()[2] == waits / 2);
    CHECK(c.vars()[3] == waits % 2);
    ++waits;
  }
  CHECK(waits == 6);
  CHECK(queues[3].steps[1].number == 2);  // the wait in the loop that never runs keeps its number
  for (QueueStep& s : queues[3].steps) {
    s.head = 1;
    s.resume = 2;
  }
  std::vector<std::int64_t> seen;
  for (QueueCursor c(queues[3], p.var_count, 0, 0); !c.done(); c.advance()) seen.push_back(c.vars()[2]);
  CHECK(seen == std::vector<std::int64_t>{0, 2});
}

TEST_CASE("affine sums stay sorted and drop zero coefficients") {
  Affine a = Affine::of(VarId(5), 3, 7) + Affine::of(VarId(2), -1);
  CHECK(a.terms.front().first == VarId(2));
  a.add(VarId(5), -3);
  CHECK(a == Affine::of(VarId(2), -1, 7));
  CHECK(a.scaled(0) == Affine{});
  CHECK(a.scaled(-2) == Affine::of(VarId(2), 2, -14));
}
