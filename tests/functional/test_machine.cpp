#include <doctest/doctest.h>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/isa/verify.h"
#include "hwmodels/functional/machine.h"
#include "tests/isa/small_machine.h"

using namespace assay;
using namespace assay::testing;

namespace {

Tensor counting(const Shape& shape, double first = 0) {
  Tensor t(TensorType{DType::f32, shape});
  for (std::int64_t i = 0; i < t.size(); ++i) t.set(i, first + static_cast<double>(i));
  return t;
}

Grid grid(std::int64_t rows, std::int64_t cols) {
  Grid g;
  g.rows = rows;
  g.cols = cols;
  return g;
}

// y = max(x · w + b, 0), x [8, 16], w [16, 8], in tiles of 4 with everything double-buffered.
constexpr const char* kGemmBuffers = R"(
semaphore x_full = 0
semaphore x_free = 2
semaphore w_full = 0
semaphore w_free = 2
semaphore acc_full = 0
semaphore acc_free = 1
semaphore y_full = 0
semaphore y_free = 1
semaphore bias = 0
buffer x memory 0 at 0 bytes 512 input fp32 [8, 16]
buffer w memory 0 at 512 bytes 512 constant fp32 [16, 8]
buffer b memory 0 at 1024 bytes 32 constant fp32 [8]
buffer y memory 0 at 1056 bytes 256 output fp32 [8, 8]
buffer x_tile memory 1 at 0 bytes 128 tile fp32 []
buffer w_tile memory 1 at 128 bytes 128 tile fp32 []
buffer b_tile memory 1 at 256 bytes 32 tile fp32 []
buffer y_tile memory 1 at 288 bytes 64 tile fp32 []
buffer acc memory 2 at 0 bytes 64 tile fp32 []
bind input "x" = x
bind constant "w" = w
bind constant "b" = b
bind output "y" = y
)";
constexpr const char* kGemm = R"(
copy @dma.load for [c < 8] out b_tile fp32 [c of 8 by 4] in b fp32 [c of 8 by 4] body { v0 = input 0 : fp32 } trail 0
signal @dma.load bias 1
wait @vpu bias 1
loop i < 2 { loop j < 2 {
  wait @mxu acc_free 1
  loop k < 4 {
    wait @dma.load x_free 1
    copy @dma.load for [r < 4, c < 4] out x_tile fp32 ring (8*%i + 4*%j + %k) mod 2 step 64 [r of 4 by 16, c of 4 by 4]
      in x fp32 [r + 4*%i of 8 by 64, c + 4*%k of 16 by 4] body { v0 = input 0 : fp32 } trail 0
    signal @dma.load x_full 1
    wait @dma.load w_free 1
    copy @dma.load for [r < 4, c < 4] out w_tile fp32 ring (8*%i + 4*%j + %k) mod 2 step 64 [r of 4 by 16, c of 4 by 4]
      in w fp32 [r + 4*%k of 16 by 32, c + 4*%j of 8 by 4] body { v0 = input 0 : fp32 } trail 0
    signal @dma.load w_full 1
    wait @mxu x_full 1
    wait @mxu w_full 1
    contract @mxu for [m < 4, n < 4, sum k < 4] out acc fp32 [m of 4 by 16, n of 4 by 4]
      in x_tile fp32 ring (8*%i + 4*%j + %k) mod 2 step 64 [m of 4 by 16, k of 4 by 4]
      in w_tile fp32 ring (8*%i + 4*%j + %k) mod 2 step 64 [k of 4 by 16, n of 4 by 4]
      combine sum fp32 accumulate_unless_zero [%k]
      array weight_stationary rows [k * 4] cols [n * 4] order [m] trail 0
    signal @mxu x_free 1
    signal @mxu w_free 1
  }
  signal @mxu acc_full 1
  wait @vpu acc_full 1
  wait @vpu y_free 1
  vector @vpu for [m < 4, n < 4] out y_tile fp32 [m of 4 by 16, n of 4 by 4]
    in acc fp32 [m of 4 by 16, n of 4 by 4] in b_tile fp32 [n + 4*%j of 8 by 4]
    body { v0 = input 0 : fp32 v1 = input 1 : fp32 v2 = add v0 v1 : fp32 v3 = constant 0 : fp32 v4 = max v2 v3 : fp32 } trail 0
  signal @vpu acc_free 1
  signal @vpu y_full 1
  wait @dma.store y_full 1
  copy @dma.store for [m < 4, n < 4] out y fp32 [m + 4*%i of 8 by 32, n + 4*%j of 8 by 4]
    in y_tile fp32 [m of 4 by 16, n of 4 by 4] body { v0 = input 0 : fp32 } trail 0
  signal @dma.store y_free 1
} }
)";

}  // namespace

TEST_CASE("a double-buffered tiled product gives the same for every interleaving") {
  const Program p = small_program(kGemmBuffers, kGemm);
  const Machine m = small_machine();
  const VerifyResult verdict = verify_program(p, m);
  REQUIRE(verdict.ok());
  const Tensor x = counting({8, 16}, -40), w = counting({16, 8}, -60), b = counting({8}, 100);
  std::vector<double> expected;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      double sum = b.get(j);
      for (int k = 0; k < 16; ++k) sum += x.get(i * 16 + k) * w.get(k * 8 + j);
      expected.push_back(std::max(sum, 0.0));
    }
  Activity first;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    FunctionalMachine f(p, m, {.interleave_seed = seed});
    f.set("x", x);
    f.set("w", w);
    f.set("b", b);
    f.run();
    REQUIRE(f.get("y").to_doubles() == expected);
    if (seed == 0) first = f.activity();
    REQUIRE(f.activity() == first);
    if (seed == 0) {
      f.run();  // semaphores are back at their start: a second run is the same
      CHECK(f.get("y").to_doubles() == expected);
    }
  }
  // Per (i, j): 4 tiles of x and of w; the bias once.
  const GroupActivity& g = first.groups.at(0);
  CHECK(g.by_buffer.at(0) == AccessCount{4 * 4 * 64, 0});
  CHECK(g.by_buffer.at(1) == AccessCount{4 * 4 * 64, 0});
  CHECK(g.by_buffer.at(2) == AccessCount{32, 0});
  CHECK(g.by_buffer.at(3) == AccessCount{0, 256});
  CHECK(g.by_buffer.at(4) == AccessCount{16 * 64, 16 * 64});            // x_tile: written and read once per step
  CHECK(g.by_buffer.at(8) == AccessCount{4 * (3 * 64 + 64), 16 * 64});  // acc: 3 of 4 steps add, the vpu reads
  CHECK(g.by_buffer.at(6) == AccessCount{4 * 16, 32});                  // the bias: 4 distinct elements per command
  CHECK(g.macs.at(0) == 8 * 8 * 16);
  CHECK(g.padded_macs.at(0) == 0);
  CHECK(g.lane_ops.at(0) == std::map<std::string, std::int64_t>{{"arithmetic", 2 * 64}});
  CHECK(g.link_bytes.at(0) == 2 * 1024 + 32 + 256);
  CHECK(g.link_bytes_delivered.at(0) == g.link_bytes.at(0));
  CHECK(g.commands == 1 + 32 + 16 + 4 + 4);
}

TEST_CASE("a multicast copy on a 2 x 2 grid reads once and writes every core of the column") {
  const std::string declarations = R"(
semaphore full = 0
buffer x memory 0 at 0 bytes 32 input fp32 [8]
buffer y memory 0 at 64 bytes 64 output fp32 [2, 2, 4]
buffer tile memory 1 at 0 bytes 16 tile fp32 []
bind input "x" = x
bind output "y" = y
)";
  const std::string code = R"(
copy @dma.load for [c < 4] multicast (row) out tile fp32 [c of 4 by 4] in x fp32 [c + 4*%col of 8 by 4]
  body { v0 = input 0 : fp32 } trail 0
signal @dma.load full 1 leader (row) to_all (row)
wait @dma.store full 1
copy @dma.store for [c < 4] out y fp32 [%row of 2 by 32, %col of 2 by 16, c of 4 by 4] in tile fp32 [c of 4 by 4]
  body { v0 = input 0 : fp32 } trail 0
)";
  const Machine m = small_machine(2, 2);
  const Program p = small_program(declarations, code, 2, grid(2, 2));
  REQUIRE(verify_program(p, m).ok());
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    FunctionalMachine f(p, m, {.interleave_seed = seed});
    f.set("x", counting({8}));
    f.run();
    CHECK(f.get("y").to_doubles() == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7});
    const GroupActivity& g = f.activity().groups.at(0);
    CHECK(g.by_buffer.at(0).read_bytes == 32);
    CHECK(g.by_buffer.at(2) == AccessCount{64, 64});
    CHECK(g.link_bytes.at(0) == 32 + 64);
    CHECK(g.link_bytes_delivered.at(0) == 64 + 64);
    CHECK(g.commands == 2 + 4);
  }
}

TEST_CASE("a gather copies the rows that its index operand names") {
  const std::string declarations = R"(
buffer table memory 0 at 0 bytes 96 constant fp32 [6, 4]
buffer ids memory 0 at 96 bytes 24 input int64 [3]
buffer tile memory 1 at 0 bytes 48 tile fp32 []
bind input "ids" = ids
bind constant "table" = table
bind output "tile" = tile
)";
  const std::string code = R"(
copy @dma.load for [i < 3, c < 4] out tile fp32 [i of 3 by 16, c of 4 by 4]
  in table fp32 [index(1) of 6 by 16, c of 4 by 4] in ids int64 [i of 3 by 8] body { v0 = input 0 : fp32 } trail 0
)";
  Program p = small_program(declarations, code);
  p.buffers[2].shape = {3, 4};
  const Machine m = small_machine();
  REQUIRE(verify_program(p, m).ok());
  FunctionalMachine f(p, m);
  const std::int64_t rows[] = {5, 0, 2};
  f.set("table", counting({6, 4}));
  f.set("ids", Tensor::of<std::int64_t>(DType::i64, {3}, rows));
  f.run();
  CHECK(f.get("tile").to_doubles() == std::vector<double>{20, 21, 22, 23, 0, 1, 2, 3, 8, 9, 10, 11});
  CHECK(f.activity().groups[0].by_buffer.at(0).read_bytes == 48);
  CHECK(f.activity().groups[0].by_buffer.at(1).read_bytes == 24);
  const std::int64_t wrong[] = {5, 6, 2};
  f.set("ids", Tensor::of<std::int64_t>(DType::i64, {3}, wrong));
  CHECK_THROWS_WITH_AS(f.run(), doctest::Contains("index 6 leads to coordinate 6 of 6"), InputError);
}

TEST_CASE("random copies with padding, strides and conversion move every element where it belongs") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    std::int64_t e[3];
    for (std::int64_t& x : e) x = random.between(1, 5);
    const std::int64_t rows = random.between(1, 8), cols = random.between(1, 8), offset = random.between(-2, 2);
    const std::int64_t s0 = random.between(1, 2), s1 = random.between(-1, 1);
    const bool narrow = random.between(0, 1) == 0, clipped = random.between(0, 1) == 0;
    const std::string out_type = narrow ? "int8" : "fp32";
    const std::int64_t size = narrow ? 1 : 4;
    const std::string code = "copy @dma.load for [i < " + std::to_string(e[0]) + ", j < " +
                             (clipped ? "min(" + std::to_string(e[1]) + ", 3)" : std::to_string(e[1])) + ", k < " +
                             std::to_string(e[2]) + "] out t " + out_type + " [k of 5 by " + std::to_string(25 * size) +
                             ", i of 5 by " + std::to_string(5 * size) + ", j of 5 by " + std::to_string(size) +
                             "] in x fp32 [" + std::to_string(s0) + "*i + k " + (offset < 0 ? "- " : "+ ") +
                             std::to_string(std::abs(offset)) + " of " + std::to_string(rows) + " by " +
                             std::to_string(4 * cols) + ", " + std::to_string(s1) + "*j of " + std::to_string(cols) +
                             " by 4] fill -7 body { v0 = input 0 : fp32 } trail 0\n";
    Program p = small_program("buffer x memory 0 at 0 bytes " + std::to_string(4 * rows * cols) + " input fp32 [" +
                                  std::to_string(rows) + ", " + std::to_string(cols) +
                                  "]\nbuffer t memory 1 at 0 bytes 500 "
                                  "input " +
                                  out_type + " [5, 5, 5]\nbind input \"x\" = x\nbind input \"t\" = t\n",
                              code);
    const Machine m = small_machine();
    FunctionalMachine f(p, m);
    const Tensor x = counting({rows, cols}, -20);
    f.set("x", x);
    f.set("t", Tensor(TensorType{narrow ? DType::i8 : DType::f32, {5, 5, 5}}));
    f.run();
    const Tensor t = f.get("t");
    std::int64_t inside = 0, points = 0;
    for (std::int64_t i = 0; i < e[0]; ++i)
      for (std::int64_t j = 0; j < (clipped ? std::min<std::int64_t>(e[1], 3) : e[1]); ++j)
        for (std::int64_t k = 0; k < e[2]; ++k) {
          const std::int64_t r = s0 * i + k + offset, c = s1 * j;
          const bool in = r >= 0 && r < rows && c >= 0 && c < cols;
          REQUIRE(t.get(k * 25 + i * 5 + j) == (in ? x.get(r * cols + c) : -7));
          inside += in;
          ++points;
        }
    REQUIRE(f.activity().groups[0].by_buffer.at(0).read_bytes == 4 * inside);
    REQUIRE(f.activity().groups[0].by_buffer.at(1).write_bytes == size * points);
    REQUIRE(f.activity().groups[0].link_bytes.at(0) == 4 * inside);
  }
}

TEST_CASE("reductions fold in written order, whether lanes lie along them or across") {
  for (const auto& [rows, cols] : {std::pair{3, 2000}, std::pair{700, 5}, std::pair{1, 1}, std::pair{1, 1500}}) {
    const std::string n = std::to_string(rows), k = std::to_string(cols);
    const std::string declarations = "buffer x memory 1 at 0 bytes 40000 input fp32 [" + n + ", " + k +
                                     "]\nbuffer y memory 2 at 0 bytes 2800 input fp32 [" + n +
                                     "]\nbind input \"x\" = x\n"
                                     "bind input \"y\" = y\n";
    const auto code = [&](const std::string& combine, const std::string& visit) {
      return "vector @vpu for [i < " + n + ", sum j < " + k + "] out y fp32 [i of " + n + " by 4] in x fp32 [i of " +
             n + " by " + std::to_string(4 * cols) + ", j of " + k + " by 4] combine " + combine +
             " fp32 accumulate_unless_zero [" + visit +
             "] body { v0 = input 0 : fp32 v1 = mul v0 v0 : fp32 } trail 0\n";
    };
    Random random(5);
    Tensor x(TensorType{DType::f32, {rows, cols}});
    for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, random.normal());
    Tensor before = counting({rows}, 3);
    const Machine m = small_machine();
    for (const bool add : {false, true}) {
      const Program sum = small_program(declarations, code("sum", add ? "1" : "0"));
      const Program max = small_program(declarations, code("max", add ? "1" : "0"));
      FunctionalMachine f(sum, m), g(max, m);
      for (FunctionalMachine* machine : {&f, &g}) {
        machine->set("x", x);
        machine->set("y", before);
        machine->run();
      }
      for (std::int64_t i = 0; i < rows; ++i) {
        float s = add ? static_cast<float>(before.get(i)) : 0.0F,
              top = add ? static_cast<float>(before.get(i)) : -1e30F;
        for (std::int64_t j = 0; j < cols; ++j) {
          const auto v = static_cast<float>(x.get(i * cols + j));
          s += v * v;
          top = std::max(top, v * v);
        }
        REQUIRE(f.get("y").get(i) == static_cast<double>(s));
        REQUIRE(g.get("y").get(i) == static_cast<double>(top));
      }
      const GroupActivity& a = f.activity().groups[0];
      CHECK(a.by_buffer.at(1) == AccessCount{add ? 4 * rows : 0, 4 * rows});
      CHECK(a.by_buffer.at(0).read_bytes == 4 * rows * cols);
      CHECK(a.lane_ops.at(0) ==
            std::map<std::string, std::int64_t>{{"arithmetic", rows * cols}, {"reduce", rows * cols}});
    }
  }
}

TEST_CASE("a window that overlaps itself is read once per element") {
  // Pooling by 3 with stride 2 over 9: elements 0 … 8 once, though 12 window positions look at them.
  const Program p =
      small_program(R"(
buffer x memory 1 at 0 bytes 36 input fp32 [9]
buffer y memory 2 at 0 bytes 16 input fp32 [4]
bind input "x" = x
bind input "y" = y
)",
                    "vector @vpu for [p < 4, sum r < 3] out y fp32 [p of 4 by 4] in x fp32 [2*p + r of 9 by 4] "
                    "combine max fp32 body { v0 = input 0 : fp32 } trail 0\n");
  const Machine m = small_machine();
  FunctionalMachine f(p, m);
  f.set("x", counting({9}));
  f.run();
  CHECK(f.get("y").to_doubles() == std::vector<double>{2, 4, 6, 8});
  CHECK(f.activity().groups[0].by_buffer.at(0).read_bytes == 36);
}

TEST_CASE("an index in a body is the global coordinate") {
  const Program p = small_program(
      "buffer y memory 2 at 0 bytes 48 input fp32 [3, 4]\nbind input \"y\" = y\n",
      "loop t < 3 { vector @vpu for [r < 1 from %t, c < 4 from 10*%t] out y fp32 [r + %t of 3 by 16, c of 4 "
      "by 4] body { v0 = index 0 : int32 v1 = index 1 : fp32 v2 = cast v0 : fp32 v3 = constant 100 : fp32 "
      "v4 = mul v2 v3 : fp32 v5 = add v4 v1 : fp32 } trail 0 }\n");
  const Machine m = small_machine();
  FunctionalMachine f(p, m);
  f.run();
  CHECK(f.get("y").to_doubles() == std::vector<double>{0, 1, 2, 3, 110, 111, 112, 113, 220, 221, 222, 223});
}

TEST_CASE("a deadlock prints the queues that stand still") {
  std::string code = kGemm;
  code.replace(code.find("signal @mxu w_free 1"), 20, "");
  const Program p = small_program(kGemmBuffers, code);
  const Machine m = small_machine();
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{3}}) {
    FunctionalMachine f(p, m, {.interleave_seed = seed});
    std::string message;
    try {
      f.run();
    } catch (const InputError& e) {
      message = e.what();
    }
    CAPTURE(message);
    CHECK(message.find("deadlock: no queue can go on") != std::string::npos);
    CHECK(message.find("dma.load of core (0, 0) at #7: waits for 1 of 'w_free', which holds 0") != std::string::npos);
    CHECK(message.find("mxu of core (0, 0) at #11: waits for 1 of 'w_full', which holds 0") != std::string::npos);
  }
}

TEST_CASE("malformed programs, wrong tensors and exhausted budgets are refused") {
  const Machine m = small_machine();
  const Program p = small_program(kGemmBuffers, kGemm);
  const auto error = [](auto f) {
    try {
      f();
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  const auto has = [](const std::string& text, const std::string& part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has(error([&] {
        FunctionalMachine f(p, m);
        f.set("xx", Tensor());
      }),
      "the program has no input or constant of this name");
  has(error([&] {
        FunctionalMachine f(p, m);
        f.set("y", Tensor());
      }),
      "the program has no input or constant of this name");
  has(error([&] {
        FunctionalMachine f(p, m);
        f.get("z");
      }),
      "the program has no tensor of this name");
  has(error([&] {
        FunctionalMachine f(p, m);
        f.set("x", counting({4}));
      }),
      "expected fp32[8, 16], found fp32[4]");
  has(error([&] {
        FunctionalMachine f(p, m, {.max_instances = 10});
        f.run();
      }),
      "more than 10 commands, waits and signals");
  has(error([&] { FunctionalMachine f(p, m, {.max_bytes = 100}); }), "the functional machine is given 100");
  const Program bad = small_program("semaphore s = 0\n", "wait @#9 s 1\n");
  has(error([&] { FunctionalMachine f(bad, m); }), "structure: no such engine");
  Program outside = small_program(kGemmBuffers, kGemm);
  std::get<Command>(outside.body[0].node).in[0].dims[0].offset.constant = 1;
  has(error([&] {
        FunctionalMachine f(outside, m);
        f.run();
      }),
      "input 0: coordinates 1 to 8 of dimension 0 leave the 8 elements of 'b'");
  outside = small_program(kGemmBuffers, kGemm);
  std::get<Command>(outside.body[0].node).out.byte_offset = 4;
  has(error([&] {
        FunctionalMachine f(outside, m);
        f.run();
      }),
      "the output: bytes 4 to 36 of buffer 'b_tile', which has 32");
}
