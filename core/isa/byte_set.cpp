#include "core/isa/byte_set.h"

#include <algorithm>
#include <numeric>

#include "core/base/math.h"
#include "core/isa/queues.h"

namespace assay {
namespace {

using Level = ByteSet::Level;

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/// State of one overlap question; positions are level numbers from which inward a set is still to be met.
class Meeting {
 public:
  Meeting(const ByteSet& a, const ByteSet& b, std::int64_t budget) : a_(a), b_(b), budget_(budget) {
    fill(a, extent_a_);
    fill(b, extent_b_);
  }
  bool run() { return meet(a_.base, 0, b_.base, 0); }

 private:
  using Extents = std::array<std::int64_t, ByteSet::kMaxLevels + 1>;
  static void fill(const ByteSet& s, Extents& e) {
    e[s.level_count] = s.run;
    for (std::size_t i = s.level_count; i-- > 0;) e[i] = e[i + 1] + s.levels[i].stride * (s.levels[i].count - 1);
  }

  /// Shifts i in [lo, hi] at which [at + i·stride, + inner) meets [other, + other_extent).
  static std::pair<std::int64_t, std::int64_t> shifts(std::int64_t at, std::int64_t stride, std::int64_t inner,
                                                      std::int64_t other, std::int64_t other_extent) {
    return {floor_div(other - at - inner, stride) + 1, floor_div(other + other_extent - at - 1, stride)};
  }

  bool meet(std::int64_t a, std::size_t i, std::int64_t b, std::size_t j) {
    if (a + extent_a_[i] <= b || b + extent_b_[j] <= a) return false;
    const bool a_left = i < a_.level_count, b_left = j < b_.level_count;
    if ((!a_left && !b_left) || --budget_ < 0) return true;
    if (a_left && b_left && a_.levels[i].stride == b_.levels[j].stride) {
      // Equal strides: only the difference of the two indices matters.
      const Level &la = a_.levels[i], &lb = b_.levels[j];
      auto [lo, hi] = shifts(a, la.stride, extent_a_[i + 1], b, extent_b_[j + 1]);
      lo = std::max(lo, 1 - lb.count);
      hi = std::min(hi, la.count - 1);
      for (std::int64_t k = lo; k <= hi; ++k)
        if (meet(a + k * la.stride, i + 1, b, j + 1)) return true;
      return false;
    }
    if (a_left && (!b_left || extent_a_[i] >= extent_b_[j])) {
      const Level& l = a_.levels[i];
      auto [lo, hi] = shifts(a, l.stride, extent_a_[i + 1], b, extent_b_[j]);
      hi = std::min(hi, l.count - 1);
      for (std::int64_t k = std::max<std::int64_t>(lo, 0); k <= hi; ++k)
        if (meet(a + k * l.stride, i + 1, b, j)) return true;
      return false;
    }
    const Level& l = b_.levels[j];
    auto [lo, hi] = shifts(b, l.stride, extent_b_[j + 1], a, extent_a_[i]);
    hi = std::min(hi, l.count - 1);
    for (std::int64_t k = std::max<std::int64_t>(lo, 0); k <= hi; ++k)
      if (meet(a, i, b + k * l.stride, j + 1)) return true;
    return false;
  }

  const ByteSet &a_, &b_;
  Extents extent_a_{}, extent_b_{};
  std::int64_t budget_;
};

/// Terms of one dimension's coordinate, being collected.
struct Terms {
  std::array<Level, 16> at;
  std::size_t n = 0;
  bool full = false;
  void add(std::int64_t stride, std::int64_t count) {
    if (n == at.size())
      full = true;
    else
      at[n++] = {stride, count};
  }
};

/// Rewrites a sum of terms as one arithmetic progression from 0 (all steps positive); false if it has gaps
/// that one step cannot express: then the progression is the smallest that holds them all.
bool as_progression(Terms& terms, Level& out) {
  std::sort(terms.at.begin(), terms.at.begin() + static_cast<std::ptrdiff_t>(terms.n),
            [](const Level& x, const Level& y) { return x.stride < y.stride; });
  out = {1, 1};
  bool exact = true;
  for (std::size_t i = 0; i < terms.n; ++i) {
    const auto [c, m] = terms.at[i];
    if (out.count == 1) {
      out = {c, m};
    } else if (c % out.stride == 0 && c / out.stride <= out.count) {
      out.count += c / out.stride * (m - 1);
    } else {
      const std::int64_t g = std::gcd(c, out.stride), last = out.stride * (out.count - 1) + c * (m - 1);
      out = {g, last / g + 1};
      exact = false;
    }
  }
  return exact;
}

}  // namespace

std::int64_t ByteSet::extent(std::size_t from_level) const {
  std::int64_t e = run;
  for (std::size_t i = from_level; i < level_count; ++i) e += levels[i].stride * (levels[i].count - 1);
  return e;
}

void ByteSet::for_each_run(const std::function<bool(std::int64_t, std::int64_t)>& f) const {
  std::array<std::int64_t, kMaxLevels> at{};
  std::int64_t position = base;
  while (true) {
    if (!f(position, position + run)) return;
    std::size_t l = level_count;
    while (l > 0) {
      --l;
      position += levels[l].stride;
      if (++at[l] < levels[l].count) break;
      position -= levels[l].stride * levels[l].count;
      at[l] = 0;
      if (l == 0) return;
    }
    if (level_count == 0) return;
  }
}

bool operator==(const ByteSet& a, const ByteSet& b) {
  return a.base == b.base && a.run == b.run && a.level_count == b.level_count &&
         std::equal(a.levels.begin(), a.levels.begin() + static_cast<std::ptrdiff_t>(a.level_count), b.levels.begin());
}

std::size_t hash_of(const ByteSet& s) {
  std::uint64_t h = 0x9e3779b97f4a7c15U;
  const auto mix = [&](std::int64_t v) {
    h = (h ^ static_cast<std::uint64_t>(v)) * 0xff51afd7ed558ccdU;
    h ^= h >> 32;
  };
  mix(s.base);
  mix(s.run);
  for (std::size_t i = 0; i < s.level_count; ++i) {
    mix(s.levels[i].stride);
    mix(s.levels[i].count);
  }
  return h;
}

ByteSet dense_set(std::int64_t base, std::int64_t bytes) {
  ByteSet s;
  s.base = base;
  s.run = bytes;
  return s;
}

bool make_byte_set(std::int64_t base, std::int64_t run, std::span<const Level> terms, ByteSet& out) {
  std::array<Level, 64> sorted;
  if (terms.size() > sorted.size()) return false;
  std::size_t n = 0;
  for (Level t : terms) {
    if (t.count <= 1 || t.stride == 0) continue;
    if (t.stride < 0) {
      base += t.stride * (t.count - 1);
      t.stride = -t.stride;
    }
    sorted[n++] = t;
  }
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(n), [](const Level& x, const Level& y) {
    return x.stride != y.stride ? x.stride < y.stride : x.count > y.count;
  });
  std::array<Level, ByteSet::kMaxLevels> inner;  // innermost first
  std::size_t levels = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto [c, m] = sorted[i];
    if (levels == 0 && c <= run) {
      run += c * (m - 1);
    } else if (levels > 0 && c % inner[levels - 1].stride == 0 &&
               c / inner[levels - 1].stride <= inner[levels - 1].count) {
      inner[levels - 1].count += c / inner[levels - 1].stride * (m - 1);
    } else {
      if (levels == inner.size()) return false;
      inner[levels++] = {c, m};
    }
  }
  out.base = base;
  out.run = run;
  out.level_count = levels;
  for (std::size_t i = 0; i < levels; ++i) out.levels[i] = inner[levels - 1 - i];
  return true;
}

bool overlap(const ByteSet& a, const ByteSet& b, std::int64_t budget) { return Meeting(a, b, budget).run(); }

std::int64_t element_bytes(DType t) { return byte_size(t, 1); }

OperandAccess access_of(const Program& program, const Operand& operand, bool is_write,
                        std::span<const std::int64_t> extents, std::span<const std::int64_t> vars,
                        std::span<const std::pair<std::uint32_t, std::int64_t>> skipped) {
  OperandAccess r;
  const auto coefficient = [](const Affine& a, std::uint32_t var) {
    for (const auto& [v, c] : a.terms)
      if (v.value == var) return c;
    return std::int64_t{0};
  };
  std::int64_t base = program.buffer(operand.buffer).address + operand.byte_offset;
  std::array<Level, 64> terms;
  std::size_t n = 0;
  const auto push = [&](std::int64_t stride, std::int64_t count) {
    if (count <= 1 || stride == 0) return;
    if (n == terms.size())
      r.too_irregular = true;
    else
      terms[n++] = {stride, count};
  };
  if (operand.ring) {
    const Ring& ring = *operand.ring;
    std::int64_t slots = 1;  // skipped iterations go round the ring
    for (const auto& [var, count] : skipped)
      if (coefficient(ring.sequence, var) != 0) slots = ring.depth;
    base += slots > 1 ? 0 : floor_mod(evaluate(ring.sequence, vars), ring.depth) * ring.stride;
    push(ring.stride, slots);
  }
  for (std::size_t d = 0; d < operand.dims.size(); ++d) {
    const ViewDim& dim = operand.dims[d];
    if (dim.index_operand) {
      r.exact = false;
      push(dim.stride, dim.size);
      r.empty = r.empty || dim.size <= 0;
      continue;
    }
    Terms coordinate;
    std::int64_t start = evaluate(dim.offset, vars), span = 0;
    const auto add = [&](std::int64_t c, std::int64_t count) {
      if (c == 0 || count <= 1) return;
      if (c < 0) start += c * (count - 1);
      coordinate.add(c < 0 ? -c : c, count);
      span += (c < 0 ? -c : c) * (count - 1);
    };
    for (const auto& [i, c] : dim.iter) add(c, extents[static_cast<std::size_t>(i)]);
    for (const auto& [var, count] : skipped) add(coefficient(dim.offset, var), count);
    if (coordinate.full) r.too_irregular = true;
    if (start >= 0 && start + span < dim.size) {
      base += start * dim.stride;
      for (std::size_t i = 0; i < coordinate.n; ++i) push(coordinate.at[i].stride * dim.stride, coordinate.at[i].count);
      continue;
    }
    if ((!operand.fill || is_write) && r.bad_dim < 0) {
      r.bad_dim = static_cast<int>(d);
      r.low = start;
      r.high = start + span;
    }
    Level progression;
    r.exact = as_progression(coordinate, progression) && r.exact;
    const std::int64_t first = start >= 0 ? 0 : ceil_div(-start, progression.stride);
    const std::int64_t last = std::min(progression.count - 1, floor_div(dim.size - 1 - start, progression.stride));
    if (first > last) {
      r.empty = true;
      continue;
    }
    base += (start + first * progression.stride) * dim.stride;
    push(progression.stride * dim.stride, last - first + 1);
  }
  if (r.too_irregular || r.empty) return r;
  const std::span<const Level> used(terms.data(), n);
  r.too_irregular = !make_byte_set(base, element_bytes(operand.type), used, r.bytes);
  return r;
}

}  // namespace assay
