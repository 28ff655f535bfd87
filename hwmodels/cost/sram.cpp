#include "hwmodels/cost/sram.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "core/base/check.h"
#include "hwmodels/cost/library.h"

namespace assay {
namespace {

struct Point {
  int node, word;
  double bytes, read, write, leakage, area;
};
constexpr Point kPoints[] = {
#include "hwmodels/cost/data/cacti_sram_lstp.inc"
};

constexpr int kQuantities = 4;
enum Quantity { kRead, kWrite, kLeakage, kArea };

// Logs of capacities and of the four quantities, for one node and word width.
struct Curve {
  std::vector<double> log_bytes;
  std::array<std::vector<double>, kQuantities> log_value;
};

// Pool adjacent violators: the non-decreasing sequence nearest to the values.
void make_monotone(std::vector<double>& v) {
  std::vector<std::pair<double, int>> pools;
  for (const double x : v) {
    pools.emplace_back(x, 1);
    while (pools.size() > 1 && pools[pools.size() - 2].first > pools.back().first) {
      const auto [value, n] = pools.back();
      pools.pop_back();
      auto& last = pools.back();
      last.first = (last.first * last.second + value * n) / (last.second + n);
      last.second += n;
    }
  }
  std::size_t i = 0;
  for (const auto& [value, n] : pools)
    for (int k = 0; k < n; ++k) v[i++] = value;
}

using Library = std::map<int, std::map<int, Curve>>;  // node → word → curve

const Library& library() {
  static const Library built = [] {
    Library l;
    for (const Point& p : kPoints) {
      Curve& c = l[p.node][p.word];
      c.log_bytes.push_back(std::log(p.bytes));
      const double values[kQuantities] = {p.read, p.write, p.leakage, p.area};
      for (int q = 0; q < kQuantities; ++q) c.log_value[static_cast<std::size_t>(q)].push_back(std::log(values[q]));
    }
    for (auto& [node, words] : l)
      for (auto& [word, c] : words)
        for (auto& values : c.log_value) make_monotone(values);
    return l;
  }();
  return built;
}

// Piecewise linear; outside, the outermost slope within [0, 1].
double along(const std::vector<double>& x, const std::vector<double>& y, double at) {
  ASSAY_CHECK(x.size() > 1, "points " + std::to_string(x.size()));
  std::size_t i = static_cast<std::size_t>(std::upper_bound(x.begin(), x.end(), at) - x.begin());
  i = std::clamp<std::size_t>(i, 1, x.size() - 1);
  double slope = (y[i] - y[i - 1]) / (x[i] - x[i - 1]);
  if (at < x.front() || at > x.back()) slope = std::clamp(slope, 0.0, 1.0);
  const std::size_t from = at > x.back() ? i : i - 1;
  return at < x.front() ? y.front() + slope * (at - x.front()) : y[from] + slope * (at - x[from]);
}

std::array<double, kQuantities> at_word(const Curve& c, double log_bytes) {
  std::array<double, kQuantities> v{};
  for (std::size_t q = 0; q < kQuantities; ++q) v[q] = along(c.log_bytes, c.log_value[q], log_bytes);
  return v;
}

// Interpolates a function of the map's keys (in logs), held outside.
template <class Map, class F>
std::array<double, kQuantities> between(const Map& map, double key, F value) {
  auto above = map.lower_bound(static_cast<int>(std::ceil(key - 1e-9)));
  if (above == map.begin()) return value(above->second);
  if (above == map.end()) return value(std::prev(above)->second);
  const auto below = std::prev(above);
  const double t = (std::log(key) - std::log(below->first)) / (std::log(above->first) - std::log(below->first));
  const auto lo = value(below->second), hi = value(above->second);
  std::array<double, kQuantities> v{};
  for (std::size_t q = 0; q < kQuantities; ++q) v[q] = lo[q] + t * (hi[q] - lo[q]);
  return v;
}

std::array<double, kQuantities> cacti(double bytes, double word, double node) {
  auto v = between(library(), node, [&](const std::map<int, Curve>& words) {
    return between(words, word, [&](const Curve& c) { return at_word(c, std::log(bytes)); });
  });
  for (double& x : v) x = std::exp(x);
  return v;
}

// Energy gain of SRAM from 45 to 7 nm by capacity (ISCA 2021 table 2).
double gain_45_to_7(double bytes) {
  const std::vector<double> x = {std::log(8192.0), std::log(32768.0), std::log(1048576.0)};
  const std::vector<double> y = {std::log(1.3), std::log(2.4), std::log(7.1)};
  return std::exp(along(x, y, std::clamp(std::log(bytes), x.front(), x.back())));
}

}  // namespace

SramCost sram_cost(double bytes, double word, double node) {
  ASSAY_CHECK(bytes > 0 && word > 0 && node > 0, "an SRAM of " + std::to_string(bytes) + " bytes");
  const double wide = std::max(1.0, std::ceil(word / 1024.0));  // several 1024-bit macros side by side
  if (wide > 1) {
    SramCost one = sram_cost(bytes / wide, word / wide, node);
    return {one.read_pj * wide, one.write_pj * wide, one.leakage_mw * wide, one.area_mm2 * wide};
  }
  const double bits = std::max(16.0, word);  // narrower words still open 16 bits' worth of columns
  const auto raw = [&](double b) {
    auto v = cacti(b, bits, std::clamp(node, 22.0, 90.0));
    if (node < 22) {
      const auto v45 = cacti(b, bits, 45);
      const double gain = gain_45_to_7(b);
      const double t = std::clamp((std::log(22.0) - std::log(node)) / (std::log(22.0) - std::log(7.0)), 0.0, 1.0);
      for (const int q : {kRead, kWrite}) {
        double& x = v[static_cast<std::size_t>(q)];
        const double at7 = std::min(x, v45[static_cast<std::size_t>(q)] / gain);
        x = std::exp(std::log(x) + t * (std::log(at7) - std::log(x)));
      }
      v[kArea] *= stillmaker_area(22, node);
    } else if (node > 90) {
      v[kRead] *= stillmaker_energy(90, node);
      v[kWrite] *= stillmaker_energy(90, node);
      v[kArea] *= stillmaker_area(90, node);
    }
    return v;
  };
  auto v = raw(bytes);
  // The gain below 22 nm grows with the capacity and could undo monotonicity: between 1 KiB and 32 MiB the energies
  // are taken at powers of two, each at least its predecessor's, and log-linear between them.
  if (node < 22 && bytes > 1024) {
    constexpr double kLargest = 33554432;
    std::array<double, 2> low{}, high{};
    double at = 512;
    while (at < bytes && at < kLargest) {
      at *= 2;
      const auto g = raw(at);
      low = high;
      high = {std::max(low[0], g[kRead]), std::max(low[1], g[kWrite])};
    }
    const double t = std::log(bytes / (at / 2)) / std::log(2.0);  // within [0, 1] up to the largest
    for (const std::size_t q : {std::size_t{kRead}, std::size_t{kWrite}})
      v[q] = bytes > kLargest ? std::max(v[q], high[q])
                              : std::exp(std::log(low[q]) + t * (std::log(high[q]) - std::log(low[q])));
  }
  return {v[kRead], v[kWrite], v[kLeakage], v[kArea]};
}

SramFit sram_fit() {
  SramFit f;
  for (const Point& p : kPoints) {
    const SramCost c = sram_cost(p.bytes, p.word, p.node);
    const double r = std::abs(c.read_pj / p.read - 1), w = std::abs(c.write_pj / p.write - 1);
    ++f.points;
    f.mean_read_error += r;
    f.mean_write_error += w;
    f.max_read_error = std::max(f.max_read_error, r);
    f.max_write_error = std::max(f.max_write_error, w);
  }
  f.mean_read_error /= f.points;
  f.mean_write_error /= f.points;
  return f;
}

}  // namespace assay
