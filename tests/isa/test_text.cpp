#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/isa/text.h"
#include "tests/isa/small_machine.h"

using namespace assay;

namespace {

constexpr const char* kGemm = R"(program "gemm" machine "small" grid 1 by 1 vars 4
engine dma.load dma_load 0
engine mxu matrix 0
semaphore full = 0
semaphore free = 2
step "fc1"
trail "fc1" kind "Gemm" nodes ["fc/MatMul", "fc/Relu"]
buffer weights memory 0 at 4096 bytes 256 constant fp32 [16, 4] tensor "fc.weight" steps 0 to 1
buffer w_tile memory 1 at 0 bytes 128 tile fp32 []
buffer x_tile memory 1 at 128 bytes 256 tile fp32 []
buffer acc memory 2 at 0 bytes 64 tile fp32 []
bind constant "fc.weight" = weights
code {
  loop k < 4 {
    wait @dma.load free 1
    copy @dma.load for [r < min(4, 16 - 4*%k), c < 4]
      out w_tile fp32 ring (%k) mod 2 step 64 [r of 4 by 16, c of 4 by 4]
      in weights fp32 [r + 4*%k of 16 by 16, c of 4 by 4]
      body {
        v0 = input 0 : fp32
      }
      trail 0  // "fc1"
    signal @dma.load full 1
    wait @mxu full 1
    contract @mxu for [m < 4, n < 4, sum k < 4]
      out acc fp32 [m of 4 by 16, n of 4 by 4]
      in x_tile fp32 [m of 4 by 64, k + 4*%k of 16 by 4] fill -0.5
      in w_tile fp32 ring (%k) mod 2 step 64 [k of 4 by 16, n of 4 by 4]
      combine sum fp32
      accumulate_unless_zero [%k]
      array weight_stationary rows [k * 4] cols [n * 4] order [m]
      trail 0  // "fc1"
    signal @mxu free 1
  }
}
)";

std::string error_of(const std::string& text) {
  try {
    parse_program(text, "bad.asm");
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

std::string with(std::string text, const std::string& old_part, const std::string& new_part) {
  const auto at = text.find(old_part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old_part.size(), new_part);
}

class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed) : random_(seed) {}
  Program make() {
    Program p;
    p.name = name();
    p.machine = name();
    p.grid.rows = random_.between(1, 8);
    p.grid.cols = random_.between(1, 8);
    for (int i = 0; i < 4; ++i)
      p.engines.push_back({name(), static_cast<EngineKind>(random_.between(0, 4)), static_cast<std::uint32_t>(i)});
    for (int i = 0; i < 5; ++i) p.semaphores.push_back({name(), random_.between(0, 9), random_.between(1, 3)});
    for (int i = 0; i < 6; ++i) p.buffers.push_back(buffer());
    for (int i = 0; i < 3; ++i) p.steps.push_back(name());
    for (int i = 0; i < 3; ++i) p.trail.push_back({name(), {name(), name()}, name()});
    p.inputs[name()] = BufferId(0);
    p.outputs[name()] = BufferId(1);
    p.constants[name()] = BufferId(static_cast<std::size_t>(random_.between(0, 7)));
    p.body = block(0);
    p.var_count = next_;
    return p;
  }

 private:
  std::string name() {
    static const char* const kNames[] = {"x",        "w_tile",     "dma.load",  "a/b:0", "",  "sum",
                                         "quote\"d", "two\nlines", "none",      "row",   "k", "col",
                                         "index",    "v0",         "f\xc3\xa9", "at",    "\\"};
    return kNames[random_.between(0, static_cast<std::int64_t>(std::size(kNames)) - 1)];
  }
  std::int64_t number() {
    switch (random_.between(0, 9)) {
      case 0:
        return std::numeric_limits<std::int64_t>::min();
      case 1:
        return std::numeric_limits<std::int64_t>::max();
      default:
        return random_.between(-5, 300);
    }
  }
  double real() {
    static const double kReals[] = {0.0,
                                    -0.0,
                                    1.0,
                                    -2.5,
                                    1e-30,
                                    std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity(),
                                    0.1,
                                    6.02e23,
                                    5e-324};
    return kReals[random_.between(0, 9)];
  }
  DType type() { return static_cast<DType>(random_.between(0, static_cast<int>(DType::boolean))); }
  Buffer buffer() {
    Buffer b;
    b.name = name();
    if (random_.between(0, 9) != 0) b.memory = MemoryId(static_cast<std::size_t>(random_.between(0, 3)));
    b.address = number();
    b.bytes = number();
    b.kind = static_cast<BufferKind>(random_.between(0, 5));
    b.type = type();
    for (std::int64_t i = random_.between(0, 3); i > 0; --i) b.shape.push_back(number());
    b.tensor = name();
    b.first_step = number();
    b.last_step = number();
    return b;
  }
  Affine affine() {
    Affine a;
    a.constant = number();
    for (std::int64_t i = random_.between(0, 3); i > 0; --i) {
      const std::int64_t c = number();
      if (c != 0) a.terms.emplace_back(VarId(static_cast<std::size_t>(random_.between(0, next_ + 1))), c);
    }
    // Terms are sorted by variable, each once.
    Affine sorted;
    sorted.constant = a.constant;
    for (const auto& [v, c] : a.terms)
      if (std::none_of(sorted.terms.begin(), sorted.terms.end(), [v = v](auto& t) { return t.first == v; }))
        sorted.add(v, c);
    return sorted;
  }
  Operand operand(int dims) {
    Operand o;
    o.buffer = BufferId(static_cast<std::size_t>(random_.between(0, 5)));
    o.type = type();
    o.byte_offset = number();
    if (random_.between(0, 1) == 0) o.ring = Ring{affine(), number(), number()};
    for (std::int64_t i = random_.between(0, 3); i > 0; --i) {
      ViewDim d{number(), number(), affine(), {}, std::nullopt};
      if (dims > 0)
        for (std::int64_t j = random_.between(0, 2); j > 0; --j)
          d.iter.emplace_back(static_cast<int>(random_.between(0, dims - 1)), number());
      if (random_.between(0, 3) == 0) d.index_operand = static_cast<int>(random_.between(0, 3));
      o.dims.push_back(d);
    }
    if (random_.between(0, 2) == 0) o.fill = real();
    return o;
  }
  Axes axes() { return {random_.between(0, 1) == 0, random_.between(0, 1) == 0}; }
  Command command() {
    Command c;
    c.opcode = static_cast<Opcode>(random_.between(0, 2));
    c.engine = EngineId(static_cast<std::size_t>(random_.between(0, 3)));
    const auto dims = static_cast<int>(random_.between(0, 4));
    for (int i = 0; i < dims; ++i) {
      IterDim d{name(), {number(), std::nullopt}, random_.between(0, 1) == 0, {}};
      if (random_.between(0, 1) == 0) d.extent.available = affine();
      if (random_.between(0, 2) == 0) d.origin = affine();
      c.iter.push_back(d);
    }
    c.out = operand(dims);
    for (std::int64_t i = random_.between(0, 3); i > 0; --i) c.in.push_back(operand(dims));
    for (std::int64_t i = random_.between(0, 4); i > 0; --i)
      c.body.code.push_back({static_cast<ScalarOp>(random_.between(0, static_cast<int>(ScalarOp::cast))), type(),
                             static_cast<int>(random_.between(-1, 5)), static_cast<int>(random_.between(-1, 5)),
                             static_cast<int>(random_.between(-1, 5)), real()});
    c.combine = static_cast<Combine>(random_.between(0, 4));
    c.accumulator = type();
    for (std::int64_t i = random_.between(0, 2); i > 0; --i) c.accumulate_unless_zero.push_back(affine());
    c.zero[0] = real();
    c.zero[1] = real();
    if (dims > 0 && random_.between(0, 1) == 0) {
      ArrayPlan plan;
      plan.dataflow = static_cast<Dataflow>(random_.between(0, 3));
      plan.on_rows = {{static_cast<int>(random_.between(0, dims - 1)), number()}};
      plan.order = {static_cast<int>(random_.between(0, dims - 1)), 0};
      c.array = plan;
    }
    c.multicast = axes();
    c.trail = random_.between(-1, 4);
    return c;
  }
  std::vector<Stmt> block(int depth) {
    std::vector<Stmt> stmts;
    for (std::int64_t i = random_.between(1, 4); i > 0; --i) {
      const EngineId e(static_cast<std::size_t>(random_.between(0, 3)));
      const SemaphoreId s(static_cast<std::size_t>(random_.between(0, 6)));
      switch (random_.between(0, 4)) {
        case 0:
          if (depth < 4) {
            Loop l;
            l.var = VarId(static_cast<std::size_t>(next_++));
            if (random_.between(0, 3) == 0) l.var = VarId(static_cast<std::size_t>(next_++));
            l.name = name();
            l.trip = number();
            l.body = block(depth + 1);
            stmts.push_back({std::move(l)});
          }
          break;
        case 1:
          stmts.push_back({command()});
          break;
        case 2:
          stmts.push_back({HostCommand{e, name(), "{\"axis\": 1}", {BufferId(0), BufferId()}, {BufferId(1)}, 2}});
          break;
        case 3:
          stmts.push_back({Wait{e, s, number(), axes(), affine()}});
          break;
        default:
          stmts.push_back({Signal{e, s, number(), axes(), axes(), axes(), affine()}});
          break;
      }
    }
    return stmts;
  }
  Random random_;
  std::int64_t next_ = kFirstLoopVar;
};

}  // namespace

TEST_CASE("a program in canonical text prints as it was read") {
  const Program p = parse_program(kGemm, "gemm.asm");
  CHECK(print_program(p) == kGemm);
  CHECK(parse_program(print_program(p), "again.asm") == p);
}

TEST_CASE("random programs survive print and parse field by field") {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    const Program p = RandomProgram(seed).make();
    const std::string text = print_program(p);
    Program q;
    REQUIRE_NOTHROW(q = parse_program(text, "random.asm"));
    REQUIRE(print_program(q) == text);
    REQUIRE(p == q);
  }
}

TEST_CASE("a NaN constant survives") {
  Program p = parse_program(kGemm, "gemm.asm");
  auto& copy = std::get<Command>(std::get<Loop>(p.body[0].node).body[1].node);
  copy.in[0].fill = std::numeric_limits<double>::quiet_NaN();
  const Program q = parse_program(print_program(p), "nan.asm");
  CHECK(std::isnan(*std::get<Command>(std::get<Loop>(q.body[0].node).body[1].node).in[0].fill));
}

TEST_CASE("errors say where, what, and the nearest name") {
  const auto says = [](const std::string& text, const std::string& part) {
    const std::string e = error_of(text);
    CAPTURE(e);
    CHECK(e.find(part) != std::string::npos);
  };
  says(with(kGemm, "@dma.load free", "@dma.lod free"), "bad.asm:15:11: unknown engine 'dma.lod'");
  says(with(kGemm, "@dma.load free", "@dma.lod free"), "did you mean 'dma.load'");
  says(with(kGemm, "wait @mxu full", "wait @mxu ful"), "unknown semaphore 'ful'");
  says(with(kGemm, "in weights", "in weight"), "did you mean 'weights'");
  says(with(kGemm, "4*%k of", "4*%k, of"), "expected 'of'");
  says(with(kGemm, "r + 4*%k of", "r + 4*%kk of"), "unknown loop variable 'kk'");
  says(with(kGemm, "[r of 4 by 16", "[q of 4 by 16"), "unknown iteration dimension 'q'");
  says(with(kGemm, "16 - 4*%k", "16 - q"), "expected a loop variable ('%name') or an integer, found 'q'");
  says(with(kGemm, "contract @mxu", "contrakt @mxu"), "unknown statement 'contrakt'");
  says(with(kGemm, "contract @mxu", "contrakt @mxu"), "did you mean 'contract'");
  says(with(kGemm, "semaphore full", "semafore full"), "unknown declaration 'semafore'");
  says(with(kGemm, "step \"fc1\"", "step fc1"), "expected a quoted string, found 'fc1'");
  says(with(kGemm, "step \"fc1\"", "= \"fc1\""), "expected a declaration or 'code', found '='");
  says(with(kGemm, "matrix 0", "matrx 0"), "unknown engine kind 'matrx'");
  says(with(kGemm, "constant fp32", "konstant fp32"), "unknown buffer kind 'konstant'");
  says(with(kGemm, "constant fp32", "constant fp23"), "unknown type 'fp23'");
  says(with(kGemm, "bind constant", "bind konst"), "unknown binding 'konst'");
  says(with(kGemm, "bind constant", "bind constant \"fc.weight\" = acc bind constant"), "\"fc.weight\" is bound twice");
  says(with(kGemm, "= input 0", "= inptu 0"), "unknown scalar operation 'inptu'");
  says(with(kGemm, "v0 = input", "v1 = input"), "expected 'v0' or '}', found 'v1'");
  says(with(kGemm, "v0 = input 0", "v0 = neg 3"), "expected a value such as 'v0', found '3'");
  says(with(kGemm, "combine sum", "combine sun"), "unknown combine 'sun'");
  says(with(kGemm, "weight_stationary", "weight_station"), "unknown dataflow 'weight_station'");
  says(with(kGemm, "loop k < 4", "loop k < four"), "expected an integer, found 'four'");
  says(with(kGemm, "loop k < 4", "loop k < 4.5"), "expected an integer, found '4.5'");
  says(with(kGemm, "loop k < 4", "loop k < 9223372036854775808"), "does not fit 64 bits");
  says(with(kGemm, "16 - 4*%k", "9223372036854775807 + 1"), "the constant does not fit 64 bits");
  says(with(kGemm, "vars 4", "vars -4"), "expected a number from 0 to");
  says(with(kGemm, "fill -0.5", "fill -x"), "expected a number, found 'x'");
  says(with(kGemm, "fill -0.5", "fill 1e"), "expected a number, found '1e'");
  says(with(kGemm, "loop k", "loop ["), "expected a name, found '['");
  says(with(kGemm, "free 1", "free 1 leader (rows)"), "unknown grid axis 'rows'");
  says(with(kGemm, "in weights", "in ["), "expected the name of a buffer, found '['");
  says(with(kGemm, "engine mxu", "engine dma.load"), "several engines are named 'dma.load'");
  says(with(kGemm, "v0 = input 0", "v0 = input 3000000000"), "3000000000 does not fit 32 bits");
  says(with(kGemm, "step \"fc1\"", "step \"fc1"), "string without a closing quote");
  says(with(kGemm, "step \"fc1\"", R"(step "fc\1")"), "unknown escape");
  says(with(kGemm, "step \"fc1\"", "step ?"), "unexpected character '?'");
  says(with(kGemm, "step \"fc1\"", "step \x01"), "unexpected byte 1");
  says(std::string(kGemm) + "}", "expected the end of the program, found '}'");
  says(std::string(kGemm).substr(0, std::string(kGemm).find("signal @dma")), "the end of the file");
  says("", "expected 'program', found the end of the file");
  std::string deep = "program \"d\" machine \"m\" grid 1 by 1 vars 2 code {";
  for (int i = 0; i < 200; ++i) deep += "loop a < 1 {";
  says(deep, "loops are nested deeper than 100");
}

TEST_CASE("damaged text gives an error or a program, never a crash") {
  const std::string text = kGemm;
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string bad = text;
    for (int k = 0; k < 3; ++k) {
      const auto at = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(bad.size()) - 1));
      switch (random.between(0, 2)) {
        case 0:
          bad.erase(at, static_cast<std::size_t>(random.between(1, 9)));
          break;
        case 1:
          bad[at] = static_cast<char>(random.between(1, 255));
          break;
        default:
          bad.insert(at, bad.substr(static_cast<std::size_t>(random.between(0, 600)), 12));
          break;
      }
    }
    try {
      const Program p = parse_program(bad, "damaged.asm");
      CHECK(parse_program(print_program(p), "again.asm") == p);
    } catch (const InputError&) {
    }
  }
}
