#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "core/base/error.h"
#include "hwmodels/timing/duration.h"

using namespace assay;

TEST_CASE("an isolated output-stationary fold takes 2R + C + T - 1 cycles, as measured on RTL") {
  const char* set = std::getenv("ASSAY_REFERENCE_DIR");
  const std::string dir = set ? set : std::string(ASSAY_SOURCE_DIR) + "/../shared/reference";
  std::ifstream in(dir + "/scalesim/rtl_os_cycles.csv");
  if (!in) {
    std::cout << "skipped: " << dir << "/scalesim/rtl_os_cycles.csv is not there\n";
    return;
  }
  std::string line;
  std::getline(in, line);
  int rows = 0;
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::int64_t r = 0, c = 0, t = 0, cycles = 0;
    char comma = 0;
    fields >> r >> comma >> c >> comma >> t >> comma >> cycles;
    CAPTURE(line);
    CHECK(systolic_cycles(Dataflow::output_stationary, r, c, 1, t, true).latency == cycles);
    CHECK(systolic_cycles(Dataflow::output_stationary, r, c, 1, t, false).latency == cycles);
    ++rows;
  }
  CHECK(rows == 7);
}

TEST_CASE("a weight-stationary fold on 4 x 4 with 4 rows: load 4, stream 4, skew 6") {
  CHECK(systolic_cycles(Dataflow::weight_stationary, 4, 4, 1, 4, true) == Cycles{4, 14});
  // Two folds: the second's weights load while the first streams.
  CHECK(systolic_cycles(Dataflow::weight_stationary, 4, 4, 2, 4, true) == Cycles{8, 18});
  // Without double buffering each fold waits for its own weights.
  CHECK(systolic_cycles(Dataflow::weight_stationary, 4, 4, 2, 4, false) == Cycles{16, 22});
  // Short streams are limited by the weights: 2 rows per fold still need 4 cycles of loading.
  CHECK(systolic_cycles(Dataflow::weight_stationary, 4, 4, 3, 2, true) == Cycles{12, 20});
  CHECK(systolic_cycles(Dataflow::input_stationary, 4, 6, 1, 5, true).latency == 2 * 4 + 6 + 5 - 2);
}

TEST_CASE("a type of half rate streams twice as long") {
  CHECK(systolic_cycles(Dataflow::weight_stationary, 4, 4, 1, 4, true, 0.5).latency == 4 + 8 + 6);
  CHECK(systolic_cycles(Dataflow::weight_stationary, 4, 4, 1, 5, true, 2).latency == 4 + 3 + 6);
  CHECK(intrinsic_cycles(6, 4, 2).latency == 12);
  CHECK(pe_array_cycles(7, 0.5).latency == 14);
}

namespace {

Command gemm_command(std::int64_t m, std::int64_t n, std::int64_t k) {
  Command c;
  c.opcode = Opcode::contract;
  c.iter = {{"m", {m, {}}}, {"n", {n, {}}}, {"k", {k, {}}, true}};
  const auto operand = [](int row, int col) {
    Operand o;
    o.type = DType::i8;
    o.dims.resize(2);
    o.dims[0].iter = {{row, 1}};
    o.dims[1].iter = {{col, 1}};
    return o;
  };
  c.in = {operand(0, 2), operand(2, 1)};
  c.out = operand(0, 1);
  return c;
}

}  // namespace

TEST_CASE("an intrinsic unit issues ceil(M/m) ceil(K/k) ceil(N/n) times, every c cycles") {
  MatrixUnit u;
  u.name = "dpe";
  u.style = ArrayStyle::intrinsic;
  u.m = 4;
  u.k = 8;
  u.n = 4;
  u.every = 2;
  u.issue_cycles = 3;
  u.pipeline_cycles = 5;
  u.types = {{DType::i8, DType::i32, 1.0}};
  const std::int64_t extents[] = {9, 4, 17};
  CHECK(contract_cycles(gemm_command(9, 4, 17), u, extents) == Cycles{3 + 3 * 1 * 3 * 2, 3 + 18 + 5});
  u.count = 2;  // N = 4 in two halves: each still needs one pass
  CHECK(contract_cycles(gemm_command(9, 4, 17), u, extents).occupancy == 3 + 18);
}

TEST_CASE("a PE array takes the product of the temporal trips") {
  MatrixUnit u;
  u.name = "pes";
  u.style = ArrayStyle::pe_array;
  u.rows = 3;
  u.cols = 2;
  u.types = {{DType::i8, DType::i32, 1.0}};
  Command c = gemm_command(7, 4, 5);
  c.array = ArrayPlan{Dataflow::output_stationary, {{0, 3}}, {{1, 2}}, {0, 1, 2}};
  const std::int64_t extents[] = {7, 4, 5};
  CHECK(contract_cycles(c, u, extents).occupancy == 3 * 2 * 5);
  c.array->on_rows = {{0, 4}};
  CHECK_THROWS_WITH_AS(contract_cycles(c, u, extents),
                       "program: an array plan unrolls by 4 on the rows of pes, which has 3", InputError);
}

TEST_CASE("a matrix unit refuses a type that it does not multiply") {
  MatrixUnit u;
  u.name = "mxu";
  u.rows = u.cols = 4;
  const std::int64_t extents[] = {4, 4, 4};
  CHECK_THROWS_WITH_AS(contract_cycles(gemm_command(4, 4, 4), u, extents),
                       "mxu: does not multiply operands of type int8", InputError);
}

TEST_CASE("a vector command takes its batches times the sum of its operations' costs") {
  VectorUnit u;
  u.name = "vpu";
  u.lanes = 4;
  u.ops = {{"arithmetic", 1.0}, {"exp", 0.25}, {"reduce", 0.5}};
  u.types = {{DType::f32, 1.0}, {DType::f16, 2.0}};
  u.issue_cycles = 2;
  u.pipeline_cycles = 3;
  Command c;
  c.opcode = Opcode::vector;
  c.out.type = DType::f32;
  const int x = c.body.input(0, DType::f32);
  const int y = c.body.push(ScalarOp::add, DType::f32, x, x);
  c.body.push(ScalarOp::exp, DType::f32, y);
  CHECK(vector_cycles(c, u, 9).latency == 3 * (1 + 4) + 5);
  c.combine = Combine::sum;
  c.accumulator = DType::f32;
  CHECK(vector_cycles(c, u, 9).latency == 3 * (1 + 4 + 2) + 5);
  for (ScalarInstr& i : c.body.code) i.type = DType::f16;
  c.combine = Combine::none;
  CHECK(vector_cycles(c, u, 8).latency == 5 + 5);  // 2 batches · (0.5 + 2)
  c.body.push(ScalarOp::less, DType::f32, 0, 1);
  CHECK_THROWS_WITH_AS(vector_cycles(c, u, 9), "vpu: does not execute 'less' (class compare)", InputError);
}

TEST_CASE("transfers round up and never overflow") {
  CHECK(transfer_ticks(0, 3, 1000) == 0);
  CHECK(transfer_ticks(10, 3, 1) == 4);
  CHECK(transfer_ticks(std::int64_t{1} << 40, 1'000'000'000'000, 10'000'000'000'000) == (std::int64_t{1} << 40) * 10);
  CHECK_THROWS_AS(transfer_ticks(INT64_MAX, 1, 1'000'000), InputError);
  CHECK(latency_ticks(100e-9, 1'000'000'000) == 100);
  CHECK(latency_ticks(1e-9, 400'000'000) == 1);
}
