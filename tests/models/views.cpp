#include <doctest/doctest.h>

#include <set>

#include "core/base/error.h"
#include "core/base/random.h"
#include "hwmodels/timing/view.h"

using namespace assay;

namespace {

struct Walked {
  std::int64_t points = 0;
  std::set<std::vector<std::int64_t>> elements;
};

// Every point of the dimensions that the view mentions, one by one.
Walked walk_view(const ConcreteView& v) {
  Walked w;
  std::vector<std::int64_t> at(v.extents.size(), 0);
  const auto next = [&] {
    for (std::size_t d = at.size(); d-- > 0;) {
      if (!mentions(v, static_cast<int>(d))) continue;
      if (++at[d] < v.extents[d]) return true;
      at[d] = 0;
    }
    return false;
  };
  do {
    std::vector<std::int64_t> x;
    bool inside = true;
    for (std::size_t i = 0; i < v.operand->dims.size(); ++i) {
      std::int64_t c = v.offsets[i];
      for (const auto& [d, k] : v.operand->dims[i].iter) c += k * at[d];
      if (v.operand->fill && (c < 0 || c >= v.operand->dims[i].size)) inside = false;
      x.push_back(c);
    }
    if (!inside) continue;
    ++w.points;
    w.elements.insert(x);
  } while (next());
  return w;
}

}  // namespace

TEST_CASE("a padded window counts the points and elements that are in bounds") {
  Operand o;  // x[2p + r - 1], size 8, fill 0
  o.fill = 0;
  o.dims.resize(1);
  o.dims[0].size = 8;
  o.dims[0].stride = 1;
  o.dims[0].iter = {{0, 2}, {1, 1}};
  const std::int64_t extents[] = {4, 3};
  const ConcreteView v{&o, nullptr, extents, {-1}};
  CHECK(points_in_bounds(v) == 11);
  CHECK(distinct_elements(v) == 8);
}

TEST_CASE("view counts equal a walk over every point, for random views") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Operand o;
    const int iter_dims = static_cast<int>(random.between(1, 4));
    std::vector<std::int64_t> extents;
    for (int d = 0; d < iter_dims; ++d) extents.push_back(random.between(1, 5));
    if (random.between(0, 1) == 1) o.fill = 0;
    ConcreteView v{&o, nullptr, extents, {}};
    o.dims.resize(static_cast<std::size_t>(random.between(0, 3)));
    for (ViewDim& d : o.dims) {
      d.size = random.between(1, 9);
      d.stride = random.between(1, 4);
      const std::int64_t terms = random.between(0, 2);
      for (std::int64_t t = 0; t < terms; ++t)
        d.iter.emplace_back(static_cast<int>(random.between(0, iter_dims - 1)), random.between(-3, 3));
      v.offsets.push_back(random.between(-4, 6));
    }
    const Walked w = walk_view(v);
    CHECK(points_in_bounds(v) == w.points);
    CHECK(distinct_elements(v) == static_cast<std::int64_t>(w.elements.size()));
  }
}

TEST_CASE("a run merges the dimensions that lie behind each other in memory") {
  Operand o;
  o.type = DType::i8;
  o.dims.resize(3);
  const std::int64_t strides[] = {64, 8, 1};
  for (int i = 0; i < 3; ++i) {
    o.dims[i].size = 8;
    o.dims[i].stride = strides[i];
    o.dims[i].iter = {{i, 1}};
  }
  std::int64_t extents[] = {2, 4, 8};
  const ConcreteView v{&o, nullptr, extents, {0, 0, 0}};
  CHECK(contiguous_run(v) == 32);
  CHECK(run_pattern(v).runs() == 2);
  CHECK(run_pattern(v).offset_of(1) == 64);
  extents[2] = 5;  // a clipped row ends the run
  CHECK(contiguous_run(v) == 5);
  CHECK(run_pattern(v).runs() == 8);
  CHECK(run_pattern(v).offset_of(5) == 64 + 8);
}

TEST_CASE("a diagonal view beyond the enumeration limit is refused by name") {
  Operand o;
  o.fill = 0;
  o.dims.resize(2);
  for (ViewDim& d : o.dims) {
    d.size = 1 << 20;
    d.iter = {{0, 1}, {1, 1}};
  }
  const std::int64_t extents[] = {1 << 12, 1 << 12};
  const ConcreteView v{&o, nullptr, extents, {0, 0}};
  CHECK_THROWS_WITH_AS(
      points_in_bounds(v),
      "program: a view whose dimensions share an iteration dimension has more than 4194304 points; such "
      "views are counted by enumeration only up to there",
      InputError);
}
