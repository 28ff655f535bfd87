#include <doctest/doctest.h>

#include <iostream>

#include "core/base/error.h"
#include "hwmodels/cost/library.h"
#include "hwmodels/cost/sram.h"
#include "hwmodels/energy.h"
#include "hwmodels/timing.h"
#include "tests/models/generator.h"

using namespace assay;
using namespace assay::testing;

TEST_CASE("the SRAM library stays near CACTI's own points") {
  const SramFit f = sram_fit();
  std::cout << "SRAM fit over " << f.points << " CACTI points: read mean " << f.mean_read_error * 100 << " % max "
            << f.max_read_error * 100 << " %, write mean " << f.mean_write_error * 100 << " % max "
            << f.max_write_error * 100 << " %\n";
  CHECK(f.points == 545);
  CHECK(f.mean_read_error < 0.05);
  CHECK(f.max_read_error < 0.50);
  CHECK(f.mean_write_error < 0.02);
  CHECK(f.max_write_error < 0.35);
}

TEST_CASE("a larger SRAM never costs less per access, nor leaks less, nor is smaller, at any node and width") {
  for (const double node : {5.0, 7.0, 10.0, 14.0, 16.0, 22.0, 28.0, 45.0, 65.0, 90.0, 130.0}) {
    for (const double word : {8.0, 16.0, 64.0, 100.0, 512.0, 1024.0, 4096.0}) {
      SramCost last{};
      for (double bytes = 256; bytes < 3e8; bytes *= 1.3) {
        CAPTURE(node);
        CAPTURE(word);
        CAPTURE(bytes);
        const SramCost c = sram_cost(bytes, word, node);
        CHECK(c.read_pj >= last.read_pj * (1 - 1e-12));
        CHECK(c.write_pj >= last.write_pj * (1 - 1e-12));
        CHECK(c.leakage_mw >= last.leakage_mw * (1 - 1e-12));
        CHECK(c.area_mm2 >= last.area_mm2 * (1 - 1e-12));
        CHECK(c.read_pj > 0);
        last = c;
      }
    }
  }
}

TEST_CASE("a newer node never costs more") {
  for (const double bytes : {2048.0, 65536.0, 4194304.0}) {
    double last = 0;
    for (const double node : {7.0, 10.0, 16.0, 22.0, 32.0, 45.0, 65.0, 90.0}) {
      const SramCost c = sram_cost(bytes, 64, node);
      CHECK(c.read_pj >= last);
      last = c.read_pj;
    }
  }
  CHECK(mac_energy(DType::i8, DType::i32, 7).value < mac_energy(DType::i8, DType::i32, 16).value);
  CHECK(mac_energy(DType::i8, DType::i32, 65).value > mac_energy(DType::i8, DType::i32, 45).value);
}

TEST_CASE("arithmetic is the published table at its nodes") {
  CHECK(mac_energy(DType::i8, DType::i32, 45).value == doctest::Approx(0.2 + 0.1));
  CHECK(mac_energy(DType::i8, DType::i32, 7).value == doctest::Approx(0.07 + 0.03));
  CHECK(mac_energy(DType::f16, DType::f32, 45).value == doctest::Approx(1.1 + 0.9));
  CHECK(mac_energy(DType::bf16, DType::f32, 7).value == doctest::Approx(0.21 + 0.38));
  CHECK(mac_energy(DType::f32, DType::f32, 45).value == doctest::Approx(3.7 + 0.9));
  CHECK(mac_energy(DType::i8, DType::i32, 3).value == mac_energy(DType::i8, DType::i32, 7).value);
  CHECK(dram_energy("DDR4", "dram").value == doctest::Approx(162.4));
  CHECK(dram_energy("HBM2", "dram").value == doctest::Approx(31.2));
  CHECK(register_energy(512, 45).value * 2 == doctest::Approx(mac_energy(DType::i16, DType::i32, 45).value));
}

TEST_CASE("an unknown DRAM type is an error that names the type") {
  CHECK_THROWS_WITH_AS(
      dram_energy("LPDDR6", "hbm"),
      "memories.hbm.type: the component library has no energy for DRAM type 'LPDDR6'; state cost.read and "
      "cost.write, or use one of DDR3, DDR4, DDR5, LPDDR, LPDDR4, LPDDR4X, LPDDR5, LPDDR5X, GDDR5, GDDR6, "
      "HBM, HBM2, HBM2E, HBM3, HBM3E\n    did you mean 'LPDDR'?",
      InputError);
}

TEST_CASE("energy is the sum of its terms, and each is a count times a price") {
  const Machine machine = small_machine();
  const Program p = gemm_program(machine, {.m = 4, .n = 4, .k = 4});
  const TimingResult t = analyse(p, machine);
  const CostTable costs = cost_table(machine);
  const EnergyResult e = energy_of(machine, costs, p, t.activity, t.seconds(), {t.seconds()});
  double sum = 0;
  for (const EnergyTerm& x : e.terms) {
    CHECK(x.count > 0);
    sum += x.count * x.pj_each;
  }
  CHECK(e.total_pj == doctest::Approx(sum));
  CHECK(e.average_w == doctest::Approx(e.total_pj * 1e-12 / 24e-9));
  CHECK(e.peak_w >= e.average_w);
  const auto term = [&](const std::string& part, const std::string& action) {
    for (const EnergyTerm& x : e.terms)
      if (x.part == part && x.action == action) return x;
    return EnergyTerm{};
  };
  CHECK(term("dram", "read").count == 32);
  CHECK(term("dram", "read").pj() == doctest::Approx(32 * 162.4));
  CHECK(term("mxu", "mac").count == 64);
  CHECK(term("mxu", "mac").pj_each == doctest::Approx(0.3));
  CHECK(term("vpu", "arithmetic").count == 16);
  CHECK(term("dma", "move").count == 96);
  CHECK(term("ls", "leakage").pj() > 0);
}

TEST_CASE("figures in the file win over the library, and say so") {
  Machine machine = small_machine();
  machine.matrix_units[0].cost.op_pj = 2.5;
  machine.memories[1].cost.read_pj_per_byte = 7;
  machine.memories[1].cost.area_mm2 = 3;
  machine.vector_units[0].cost.op_pj = 10;
  machine.links[0].cost.read_pj_per_byte = 1;
  machine.static_power_w = 2;
  const CostTable costs = cost_table(machine);
  const auto part = [&](const std::string& name) {
    for (const PartCost& x : costs.parts)
      if (x.part == name) return x;
    return PartCost{};
  };
  CHECK(part("ls").read_pj_per_byte == 7);
  CHECK(part("ls").source.rfind("file (read, area); else CACTI", 0) == 0);
  CHECK(part("dma").read_pj_per_byte == 1);
  const Program p = gemm_program(machine, {.m = 4, .n = 4, .k = 4});
  const TimingResult t = analyse(p, machine);
  const EnergyResult e = energy_of(machine, costs, p, t.activity, t.seconds(), {t.seconds()});
  double macs = 0, lanes = 0, fixed = 0;
  for (const EnergyTerm& x : e.terms) {
    if (x.action == "mac") macs += x.pj();
    if (x.part == "vpu") lanes += x.pj();
    if (x.action == "static") fixed += x.pj();
  }
  CHECK(macs == doctest::Approx(64 * 2.5));
  CHECK(lanes == doctest::Approx(16 * 10));
  CHECK(fixed == doctest::Approx(2e12 * 24e-9));
}

TEST_CASE("area counts every instance, and leaves the DRAM devices out") {
  Machine machine = small_machine(2, 3);
  for (Memory& m : machine.memories) m.cost.area_mm2 = 1;
  machine.matrix_units[0].cost.area_mm2 = 10;
  machine.vector_units[0].cost.area_mm2 = 100;
  CHECK(cost_table(machine).area_mm2 == doctest::Approx(6 * (1 + 1 + 10 + 100)));
  machine.process.node_nm = 0;
  CHECK(cost_table(machine).notes.front() == "the process node is not stated: figures are for 45 nm");
  machine.process.node_nm = 5;
  CHECK(cost_table(machine).notes.front() == "no published scaling below 7 nm: 7 nm figures stand for 5 nm");
}
