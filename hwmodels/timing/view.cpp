#include "hwmodels/timing/view.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>

#include "core/base/error.h"
#include "core/base/math.h"

namespace assay {
namespace {

constexpr std::int64_t kEnumerationLimit = std::int64_t{1} << 22;

// One coordinate of the element address: off + Σ coefficient·iteration, in bounds for 0 <= coordinate < size.
struct Coordinate {
  std::int64_t offset = 0;
  std::int64_t size = std::numeric_limits<std::int64_t>::max();
  bool bounded = false;
  std::vector<std::pair<int, std::int64_t>> terms;
};

struct Component {
  std::vector<Coordinate> coordinates;
  std::vector<int> dims;  // iteration dimensions, sorted
};

// (dimension, coefficient) of a view dimension, each dimension once and none with coefficient 0.
std::vector<std::pair<int, std::int64_t>> terms_of(const ViewDim& d) {
  std::vector<std::pair<int, std::int64_t>> terms;
  for (const auto& [dim, coefficient] : d.iter) {
    const auto at =
        std::find_if(terms.begin(), terms.end(), [&, wanted = dim](const auto& t) { return t.first == wanted; });
    if (at == terms.end())
      terms.emplace_back(dim, coefficient);
    else
      at->second += coefficient;
  }
  std::erase_if(terms, [](const auto& t) { return t.second == 0; });
  return terms;
}

void add_coordinates(std::vector<Coordinate>& out, const Operand& operand, std::span<const std::int64_t> offsets,
                     bool bounded) {
  for (std::size_t i = 0; i < operand.dims.size(); ++i) {
    const ViewDim& d = operand.dims[i];
    Coordinate c;
    if (!offsets.empty()) c.offset = offsets[i];
    c.bounded = bounded && !d.index_operand;
    if (c.bounded) c.size = d.size;
    c.terms = terms_of(d);
    out.push_back(std::move(c));
  }
}

// Coordinates that share an iteration dimension belong together; the counts of different components multiply.
std::vector<Component> components(const ConcreteView& view) {
  std::vector<Coordinate> all;
  add_coordinates(all, *view.operand, view.offsets, view.operand->fill.has_value());
  if (view.index) add_coordinates(all, *view.index, {}, false);
  std::vector<Component> out;
  for (Coordinate& c : all) {
    Component merged;
    for (const auto& [dim, coefficient] : c.terms) merged.dims.push_back(dim);
    merged.coordinates.push_back(std::move(c));
    std::vector<Component> kept;
    for (Component& other : out) {
      const bool shares = std::any_of(other.dims.begin(), other.dims.end(), [&](int d) {
        return std::find(merged.dims.begin(), merged.dims.end(), d) != merged.dims.end();
      });
      if (!shares) {
        kept.push_back(std::move(other));
        continue;
      }
      merged.dims.insert(merged.dims.end(), other.dims.begin(), other.dims.end());
      for (Coordinate& o : other.coordinates) merged.coordinates.push_back(std::move(o));
    }
    std::sort(merged.dims.begin(), merged.dims.end());
    merged.dims.erase(std::unique(merged.dims.begin(), merged.dims.end()), merged.dims.end());
    kept.push_back(std::move(merged));
    out = std::move(kept);
  }
  return out;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -ceil_div(-a, b); }

// Number of i in [0, n) with 0 <= base + step·i < size.
std::int64_t count_1d(std::int64_t base, std::int64_t step, std::int64_t n, std::int64_t size) {
  if (step < 0) {  // mirrored: i -> n - 1 - i
    base += step * (n - 1);
    step = -step;
  }
  const std::int64_t first = base >= 0 ? 0 : ceil_div(-base, step);
  const std::int64_t last = base >= size ? -1 : std::min(n - 1, floor_div(size - 1 - base, step));
  return std::max<std::int64_t>(0, last - first + 1);
}

std::int64_t count_nd(std::int64_t base, std::span<const std::pair<int, std::int64_t>> terms,
                      std::span<const std::int64_t> extents, std::int64_t size) {
  if (terms.empty()) return base >= 0 && base < size ? 1 : 0;
  const std::int64_t n = extents[terms[0].first];
  if (terms.size() == 1) return count_1d(base, terms[0].second, n, size);
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += count_nd(base + terms[0].second * i, terms.subspan(1), extents, size);
  return total;
}

std::int64_t extent_product(const std::vector<int>& dims, std::span<const std::int64_t> extents) {
  std::int64_t product = 1;
  for (const int d : dims) product = checked_mul(product, extents[d]);
  return product;
}

// Visits every point of a component with its coordinates; only for components that no closed form covers.
template <class F>
void enumerate(const Component& c, std::span<const std::int64_t> extents, F visit) {
  if (extent_product(c.dims, extents) > kEnumerationLimit)
    throw InputError("program",
                     "a view whose dimensions share an iteration dimension has more than 4194304 points; "
                     "such views are counted by enumeration only up to there");
  std::vector<std::int64_t> at(c.dims.size(), 0), coordinates(c.coordinates.size());
  while (true) {
    bool inside = true;
    for (std::size_t i = 0; i < c.coordinates.size(); ++i) {
      std::int64_t x = c.coordinates[i].offset;
      for (const auto& [dim, coefficient] : c.coordinates[i].terms)
        x += coefficient * at[std::lower_bound(c.dims.begin(), c.dims.end(), dim) - c.dims.begin()];
      if (c.coordinates[i].bounded && (x < 0 || x >= c.coordinates[i].size)) inside = false;
      coordinates[i] = x;
    }
    if (inside) visit(coordinates);
    std::size_t d = c.dims.size();
    while (d > 0 && ++at[d - 1] == extents[c.dims[d - 1]]) at[--d] = 0;
    if (d == 0) return;
  }
}

// Distinct values in bounds of one coordinate with several terms (2p + r): an arithmetic progression where the
// larger steps never leave a gap, else enumerated.
std::int64_t distinct_1d(const Component& c, std::span<const std::int64_t> extents) {
  const Coordinate& x = c.coordinates[0];
  std::int64_t low = x.offset;
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // (|coefficient|, extent)
  for (const auto& [dim, coefficient] : x.terms) {
    if (extents[dim] <= 1) continue;
    if (coefficient < 0) low += coefficient * (extents[dim] - 1);
    steps.emplace_back(std::abs(coefficient), extents[dim]);
  }
  if (steps.empty()) return !x.bounded || (low >= 0 && low < x.size) ? 1 : 0;
  std::sort(steps.begin(), steps.end());
  const std::int64_t grain = steps[0].first;
  std::int64_t count = steps[0].second;  // values low, low + grain, …: a progression so far
  bool progression = true;
  for (std::size_t i = 1; i < steps.size() && progression; ++i) {
    progression = steps[i].first % grain == 0 && steps[i].first / grain <= count;
    count += steps[i].first / grain * (steps[i].second - 1);
  }
  if (progression) return x.bounded ? count_1d(low, grain, count, x.size) : count;
  std::vector<std::int64_t> values;
  enumerate(c, extents, [&](const std::vector<std::int64_t>& v) { values.push_back(v[0]); });
  std::sort(values.begin(), values.end());
  return std::unique(values.begin(), values.end()) - values.begin();
}

bool any_empty(const ConcreteView& view) {
  return std::any_of(view.extents.begin(), view.extents.end(), [](std::int64_t e) { return e <= 0; });
}

}  // namespace

std::int64_t points_in_bounds(const ConcreteView& view) {
  if (any_empty(view)) return 0;
  std::int64_t total = 1;
  for (const Component& c : components(view)) {
    const bool bounded =
        std::any_of(c.coordinates.begin(), c.coordinates.end(), [](const Coordinate& x) { return x.bounded; });
    std::int64_t points = 0;
    if (!bounded) {
      points = extent_product(c.dims, view.extents);
    } else if (c.coordinates.size() == 1) {
      auto terms = c.coordinates[0].terms;  // the largest extent last: it is the closed form
      std::sort(terms.begin(), terms.end(),
                [&](const auto& a, const auto& b) { return view.extents[a.first] < view.extents[b.first]; });
      points = count_nd(c.coordinates[0].offset, terms, view.extents, c.coordinates[0].size);
    } else {
      enumerate(c, view.extents, [&](const std::vector<std::int64_t>&) { ++points; });
    }
    total = checked_mul(total, points);
  }
  return total;
}

std::int64_t distinct_elements(const ConcreteView& view) {
  if (any_empty(view)) return 0;
  std::int64_t total = 1;
  for (const Component& c : components(view)) {
    std::int64_t distinct = 0;
    if (c.coordinates.size() == 1) {
      distinct = distinct_1d(c, view.extents);
    } else {
      std::vector<std::vector<std::int64_t>> values;
      enumerate(c, view.extents, [&](const std::vector<std::int64_t>& v) { values.push_back(v); });
      std::sort(values.begin(), values.end());
      distinct = std::unique(values.begin(), values.end()) - values.begin();
    }
    total = checked_mul(total, distinct);
  }
  return total;
}

bool mentions(const Operand& operand, int dim) {
  for (const ViewDim& d : operand.dims) {
    std::int64_t sum = 0;
    for (const auto& [iter, coefficient] : d.iter)
      if (iter == dim) sum += coefficient;
    if (sum != 0) return true;
  }
  return false;
}

bool mentions(const ConcreteView& view, int dim) {
  return mentions(*view.operand, dim) || (view.index && mentions(*view.index, dim));
}

std::int64_t contiguous_run(const ConcreteView& view) { return run_pattern(view).run_bytes; }

RunPattern run_pattern(const ConcreteView& view) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // (byte stride, extent in bounds)
  const int dims = static_cast<int>(view.extents.size());
  for (int d = 0; d < dims; ++d) {
    std::int64_t stride = 0, extent = view.extents[d];
    for (std::size_t i = 0; i < view.operand->dims.size(); ++i) {
      const ViewDim& v = view.operand->dims[i];
      for (const auto& [iter, coefficient] : v.iter) {
        if (iter != d) continue;
        stride += coefficient * v.stride;
        if (view.operand->fill && v.iter.size() == 1 && !v.index_operand && coefficient != 0)
          extent = std::min(extent, count_1d(view.offsets[i], coefficient, view.extents[d], v.size));
      }
      // A gathered coordinate jumps anywhere: rows of the table are never neighbours.
      if (v.index_operand && view.index && mentions(*view.index, d)) stride = std::numeric_limits<int>::max();
    }
    if (extent > 1 && stride != 0) steps.emplace_back(std::abs(stride), extent);
  }
  std::sort(steps.begin(), steps.end());
  RunPattern p;
  p.run_bytes = byte_size(view.operand->type, 1);
  std::size_t merged = 0;
  for (; merged < steps.size() && steps[merged].first == p.run_bytes; ++merged)
    p.run_bytes = checked_mul(p.run_bytes, steps[merged].second);
  p.levels.assign(steps.rbegin(), steps.rend() - static_cast<std::ptrdiff_t>(merged));
  return p;
}

std::int64_t RunPattern::runs() const {
  std::int64_t n = 1;
  for (const auto& [stride, count] : levels) n = checked_mul(n, count);
  return n;
}

std::int64_t RunPattern::offset_of(std::int64_t run) const {
  std::int64_t at = 0;
  for (std::size_t i = levels.size(); i-- > 0;) {
    at += run % levels[i].second * levels[i].first;
    run /= levels[i].second;
  }
  return at;
}

}  // namespace assay
