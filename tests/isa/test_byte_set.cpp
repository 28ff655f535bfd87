#include <doctest/doctest.h>

#include <set>

#include "core/base/random.h"
#include "core/isa/byte_set.h"
#include "core/isa/written_bytes.h"
#include "tests/isa/small_machine.h"

using namespace assay;

namespace {

std::set<std::int64_t> bytes_of(const ByteSet& s) {
  std::set<std::int64_t> r;
  s.for_each_run([&](std::int64_t b, std::int64_t e) {
    for (; b < e; ++b) r.insert(b);
    return true;
  });
  return r;
}

}  // namespace

TEST_CASE("adjacent and equally spaced runs merge") {
  ByteSet s;
  const ByteSet::Level rows_of_4[] = {{16, 3}, {1, 4}};
  REQUIRE(make_byte_set(100, 1, rows_of_4, s));
  CHECK(s.run == 4);
  CHECK(s.level_count == 1);
  CHECK(s.end() == 136);
  const ByteSet::Level dense[] = {{-16, 3}, {4, 4}};
  REQUIRE(make_byte_set(132, 4, dense, s));
  CHECK(s.level_count == 0);
  CHECK(s.begin() == 100);
  CHECK(s.run == 48);
}

TEST_CASE("byte sets hold exactly the sums of their terms, and overlap is exact") {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto make = [&](ByteSet& s, std::set<std::int64_t>& expected) {
      std::vector<ByteSet::Level> terms;
      const std::int64_t base = random.between(0, 40), run = random.between(1, 4);
      for (std::int64_t i = random.between(0, 3); i > 0; --i)
        terms.push_back({random.between(-12, 25), random.between(1, 4)});
      std::set<std::int64_t> at = {base};
      for (const auto& t : terms) {
        std::set<std::int64_t> next;
        for (const std::int64_t a : at)
          for (std::int64_t i = 0; i < t.count; ++i) next.insert(a + t.stride * i);
        at = next;
      }
      for (const std::int64_t a : at)
        for (std::int64_t i = 0; i < run; ++i) expected.insert(a + i);
      REQUIRE(make_byte_set(base, run, terms, s));
    };
    ByteSet a, b;
    std::set<std::int64_t> in_a, in_b;
    make(a, in_a);
    make(b, in_b);
    REQUIRE(bytes_of(a) == in_a);
    REQUIRE(a.begin() == *in_a.begin());
    REQUIRE(a.end() == *in_a.rbegin() + 1);
    bool common = false;
    for (const std::int64_t x : in_a) common = common || in_b.contains(x);
    REQUIRE(overlap(a, b) == common);
    REQUIRE(overlap(b, a) == common);
  }
}

TEST_CASE("overlap answers yes when it runs out of budget") {
  ByteSet a, b;
  const ByteSet::Level odd[] = {{2, 1000}}, other[] = {{6, 300}};
  REQUIRE(make_byte_set(0, 1, odd, a));
  REQUIRE(make_byte_set(1, 1, other, b));
  CHECK_FALSE(overlap(a, b));
  CHECK(overlap(a, b, 5));
}

TEST_CASE("an operand's bytes are those of its in-bounds coordinates") {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Program p;
    Buffer buffer;
    buffer.address = 500;
    p.buffers.push_back(buffer);
    Operand o;
    o.buffer = BufferId(0);
    o.type = DType::i16;
    o.fill = 0;
    std::vector<std::int64_t> extents;
    for (int i = 0; i < 3; ++i) extents.push_back(random.between(1, 4));
    for (std::int64_t d = random.between(1, 2); d > 0; --d) {
      ViewDim dim{random.between(1, 9), d == 1 ? 2 : 20, {}, {}, std::nullopt};
      dim.offset.constant = random.between(-3, 3);
      for (int i = 0; i < 3; ++i)
        if (random.between(0, 1) == 0) dim.iter.emplace_back(i, random.between(-2, 3));
      o.dims.push_back(dim);
    }
    // Dimensions of one operand that share an iteration dimension are a diagonal: the set then holds more.
    bool diagonal = o.dims.size() == 2;
    if (diagonal) {
      diagonal = false;
      for (const auto& x : o.dims[0].iter)
        for (const auto& y : o.dims[1].iter) diagonal = diagonal || x.first == y.first;
    }
    std::set<std::int64_t> expected;
    for (std::int64_t i = 0; i < extents[0]; ++i)
      for (std::int64_t j = 0; j < extents[1]; ++j)
        for (std::int64_t k = 0; k < extents[2]; ++k) {
          const std::int64_t at[3] = {i, j, k};
          std::int64_t address = 500;
          bool in = true;
          for (const ViewDim& dim : o.dims) {
            std::int64_t c = dim.offset.constant;
            for (const auto& [n, f] : dim.iter) c += f * at[n];
            in = in && c >= 0 && c < dim.size;
            address += c * dim.stride;
          }
          if (in) expected.insert({address, address + 1});
        }
    const std::int64_t vars[2] = {0, 0};
    const OperandAccess a = access_of(p, o, false, extents, vars);
    if (diagonal) continue;
    REQUIRE(a.bad_dim == -1);
    if (a.exact) {
      REQUIRE((a.empty ? std::set<std::int64_t>{} : bytes_of(a.bytes)) == expected);
    } else if (!a.empty) {
      const auto all = bytes_of(a.bytes);
      for (const std::int64_t x : expected) REQUIRE(all.contains(x));
    } else {
      REQUIRE(expected.empty());
    }
  }
}

TEST_CASE("written bytes are remembered across pages") {
  WrittenBytes w;
  w.add(10, 20);
  w.add(65'530, 300'000);
  CHECK(w.holds(10, 20));
  CHECK_FALSE(w.holds(9, 20));
  CHECK_FALSE(w.holds(10, 21));
  CHECK(w.holds(65'530, 300'000));
  CHECK_FALSE(w.holds(65'530, 300'001));
  CHECK_FALSE(w.holds(1'000'000, 1'000'001));
  w.add(20, 65'530);
  CHECK(w.holds(10, 300'000));
}
