#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/loopnest/wide.h"

// Axis-aligned boxes of integer points, half open, as short vectors: what tiles and their differences are.

namespace assay {

struct Span1 {
  std::int64_t lo = 0, hi = 0;
  std::int64_t size() const { return hi > lo ? hi - lo : 0; }
  friend bool operator==(const Span1&, const Span1&) = default;
  friend auto operator<=>(const Span1&, const Span1&) = default;
};
using Box = std::vector<Span1>;

inline Int128 box_size(const Box& b) {
  Int128 n = 1;
  for (const Span1& s : b) n *= s.size();
  return n;
}

inline bool boxes_meet(const Box& a, const Box& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].hi <= b[i].lo || b[i].hi <= a[i].lo) return false;
  }
  return true;
}

/// a without b, as disjoint boxes: axis by axis the part below b, then the part above it.
inline std::vector<Box> box_difference(const Box& a, const Box& b) {
  if (!boxes_meet(a, b)) return {a};
  std::vector<Box> out;
  Box middle = a;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (middle[i].lo < b[i].lo) {
      out.push_back(middle);
      out.back()[i].hi = b[i].lo;
      middle[i].lo = b[i].lo;
    }
    if (b[i].hi < middle[i].hi) {
      out.push_back(middle);
      out.back()[i].lo = b[i].hi;
      middle[i].hi = b[i].hi;
    }
  }
  return out;
}

}  // namespace assay
