#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "reports/format.h"
#include "reports/sections/phase_blocks.h"
#include "reports/summary.h"

namespace assay {
namespace {

/// DRAM bandwidth as the model had it: bytes over the time in which the DRAM was busy with them, the best of all
/// layers. 0 where the results do not tell.
double dram_bandwidth(const WorkloadResult& w) {
  double best = 0;
  for (const auto& l : w.layers) {
    const double bytes = static_cast<double>(l.dram_read_bytes) + static_cast<double>(l.dram_write_bytes);
    double busy = 0;
    for (const auto& r : l.resources) {
      if (r.name.starts_with("dram")) busy = std::max(busy, r.value);
    }
    if (busy > 0 && bytes > 0) best = std::max(best, bytes / busy);
  }
  return best;
}

constexpr std::size_t kMaxLanes = 24;

/// By text, but runs of digits by their number.
bool numeric_less(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      const auto run = [&](const std::string& s, std::size_t& k) {
        while (k + 1 < s.size() && s[k] == '0' && digit(s[k + 1])) ++k;
        const std::size_t first = k;
        while (k < s.size() && digit(s[k])) ++k;
        return std::string_view(s).substr(first, k - first);
      };
      const std::string_view x = run(a, i), y = run(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i, ++j;
    }
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;  // `01` and `1` are two lanes
}

double achieved(const LayerResult& l) { return l.seconds > 0 ? 2 * static_cast<double>(l.macs) / l.seconds : 0; }

}  // namespace

Chart waterfall_chart(const WorkloadResult& w) {
  Chart c{.kind = ChartKind::waterfall,
          .title = "Loss waterfall, share of the time",
          .alt = {},
          .x = {},
          .y = {"Share of the time", Unit::ratio}};
  const auto parts = waterfall_parts(w.waterfall, w.seconds);
  std::vector<double> values;
  for (const auto& part : parts) values.push_back(std::max(0.0, part.second));
  const auto shares = rounded_shares(values);
  Series s;
  std::vector<std::string> said;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    c.x.categories.push_back(parts[i].first);
    s.marks.push_back({.x = static_cast<double>(i), .y = shares[i]});
    if (shares[i] > 0) said.push_back(fmt::format("{} {}", parts[i].first, format_quantity(shares[i], Unit::ratio)));
  }
  c.series.push_back(std::move(s));
  c.alt = "Of the time: " + join_and(said) + ".";
  if (!parts.empty() && parts.back().first == "unattributed" && parts.back().second < 0) {
    c.alt += fmt::format(" The parts exceed the time by {}.", format_quantity(-parts.back().second, Unit::seconds));
    c.title += " (parts exceed it)";
  }
  return c;
}

Chart roofline_chart(const PointResult& p, const WorkloadResult& w) {
  Chart c{.kind = ChartKind::roofline,
          .title = "Roofline",
          .alt = {},
          .x = {"Operations per DRAM byte", Unit::ops_per_byte, true},
          .y = {"Operations per second", Unit::ops_per_second, true},
          .size_title = "Share of the time",
          .size_unit = Unit::ratio};
  std::map<std::string, Series> by_binding;
  double least = INFINITY, most = 0;
  for (const auto& l : w.layers) {
    const double rate = achieved(l);
    if (rate <= 0 || !(l.arithmetic_intensity > 0) || !std::isfinite(l.arithmetic_intensity)) continue;
    least = std::min(least, l.arithmetic_intensity), most = std::max(most, l.arithmetic_intensity);
    by_binding[l.binding].marks.push_back(
        {.x = l.arithmetic_intensity, .y = rate, .size = w.seconds > 0 ? l.seconds / w.seconds : 0, .label = l.name});
  }
  if (by_binding.empty()) return c;
  const double peak = p.peak_tops * 1e12, bandwidth = dram_bandwidth(w);
  std::size_t layers = 0;
  for (auto& [name, s] : by_binding) {
    s.name = "bound by " + name;
    layers += s.marks.size();
    c.series.push_back(std::move(s));
  }
  double x0 = least / 2, x1 = most * 2;
  std::string roofs;
  if (peak > 0 && bandwidth > 0) {
    const double ridge = peak / bandwidth;
    x0 = std::min(x0, ridge / 2), x1 = std::max(x1, ridge * 2);
    c.series.push_back({fmt::format("DRAM roof {}", format_quantity(bandwidth, Unit::bytes_per_second)),
                        {{.x = x0, .y = x0 * bandwidth}, {.x = ridge, .y = peak}},
                        true});
    c.series.push_back({fmt::format("compute roof {}", format_quantity(peak, Unit::ops_per_second)),
                        {{.x = ridge, .y = peak}, {.x = x1, .y = peak}},
                        true});
    roofs = fmt::format("The roofs are {} and {}, and meet at {}.", format_quantity(bandwidth, Unit::bytes_per_second),
                        format_quantity(peak, Unit::ops_per_second), format_quantity(ridge, Unit::ops_per_byte));
  } else if (peak > 0) {
    c.series.push_back({fmt::format("compute roof {}", format_quantity(peak, Unit::ops_per_second)),
                        {{.x = x0, .y = peak}, {.x = x1, .y = peak}},
                        true});
    roofs = "The results do not tell the DRAM bandwidth, so that roof is missing.";
  }
  c.alt = fmt::format("{} by operations per DRAM byte ({} to {}) and achieved rate. {}",
                      counted(layers, "layer with MACs", "layers with MACs"),
                      format_quantity(least, Unit::ops_per_byte), format_quantity(most, Unit::ops_per_byte), roofs);
  return c;
}

Chart energy_chart(const WorkloadResult& w) {
  Chart c{.kind = ChartKind::bar, .title = "Energy by part", .alt = {}, .x = {}, .y = {"Energy", Unit::joules}};
  std::vector<NamedValue> parts = w.energy_by_part;
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.value > b.value; });
  Series s{"energy", {}};
  std::vector<std::string> said;
  double sum = 0;
  for (const auto& part : parts) sum += part.value;
  for (const auto& part : parts) {
    c.x.categories.push_back(part.name);
    s.marks.push_back({.x = static_cast<double>(s.marks.size()), .y = part.value * 1e-12});
    if (said.size() < 4 && sum > 0)
      said.push_back(fmt::format("{} {}", part.name, format_quantity(part.value / sum, Unit::ratio)));
  }
  c.series.push_back(std::move(s));
  c.alt = fmt::format("{} in {}: {}{}", format_quantity(sum * 1e-12, Unit::joules), counted(parts.size(), "part"),
                      join_and(said), parts.size() > said.size() ? ", …" : ".");
  return c;
}

Chart resource_chart(const WorkloadResult& w) {
  Chart c{.kind = ChartKind::heatmap,
          .title = "How busy each resource is during each layer",
          .alt = {},
          .size_title = "Busy",
          .size_unit = Unit::ratio};
  std::map<std::string, std::size_t> rows;
  for (const auto& l : w.layers) {
    for (const auto& r : l.resources) rows.emplace(r.name, 0);
  }
  if (rows.empty()) return c;
  for (auto& [name, row] : rows) {
    row = c.y.categories.size();
    c.y.categories.push_back(name);
  }
  Series s;
  std::map<std::string, std::size_t> bound;
  for (std::size_t i = 0; i < w.layers.size(); ++i) {
    const LayerResult& l = w.layers[i];
    c.x.categories.push_back(l.name);
    ++bound[l.binding];
    for (const auto& r : l.resources) {
      if (l.seconds <= 0 || r.value <= 0) continue;
      // Work of a layer may overlap its neighbours' (prefetch), so more than its own span is possible.
      s.marks.push_back({.x = static_cast<double>(i),
                         .y = static_cast<double>(rows[r.name]),
                         .size = std::min(1.0, r.value / l.seconds)});
    }
  }
  c.series.push_back(std::move(s));
  std::vector<std::string> said;
  for (const auto& [name, n] : bound)
    said.push_back(fmt::format("{} {} {}", name.empty() ? "an unknown resource" : name, "limits", counted(n, "layer")));
  c.alt = join_and(said) + ".";
  return c;
}

Chart timeline_chart(const WorkloadResult& w, std::size_t max_spans) {
  Chart c{.kind = ChartKind::timeline,
          .title = "Timeline of " + phase_name(w),
          .alt = {},
          .x = {"Time", Unit::seconds},
          .wide = true};
  // The first lanes by number (core 2 before core 10) stand for the rest: cores that do the same look the same.
  std::set<std::string, decltype(&numeric_less)> names(&numeric_less);
  for (const auto& span : w.timeline) names.insert(span.lane);
  std::map<std::string, std::size_t> lanes;
  for (const auto& name : names) {
    if (lanes.size() == kMaxLanes) break;
    lanes.emplace(name, c.y.categories.size());
    c.y.categories.push_back(name);
  }
  std::vector<const TimelineSpan*> spans;
  for (const auto& span : w.timeline) {
    if (lanes.contains(span.lane)) spans.push_back(&span);
  }
  std::stable_sort(spans.begin(), spans.end(), [](auto* a, auto* b) { return a->start < b->start; });
  const std::size_t all_spans = spans.size();
  if (spans.size() > max_spans) spans.resize(max_spans);
  Series s;
  double end = 0;
  for (auto* span : spans) {
    s.marks.push_back(
        {.x = span->start, .y = static_cast<double>(lanes[span->lane]), .x2 = span->end, .label = span->name});
    end = std::max(end, span->end);
  }
  c.alt = fmt::format("{} on {} until {}.", counted(spans.size(), "interval"), counted(lanes.size(), "lane"),
                      format_quantity(end, Unit::seconds));
  if (names.size() > lanes.size())
    c.alt += fmt::format(" {} are left out.", counted(names.size() - lanes.size(), "further lane"));
  if (all_spans > spans.size())
    c.alt += fmt::format(" {} are left out.", counted(all_spans - spans.size(), "later interval"));
  if (names.size() > lanes.size() || all_spans > spans.size()) c.alt += " The trace export has them all.";
  c.series.push_back(std::move(s));
  return c;
}

Chart memory_chart(const MemoryUse& m) {
  Chart c{.kind = ChartKind::memory_map,
          .title = "Buffers in " + m.memory,
          .alt = {},
          .x = {"Step", Unit::count},
          .y = {"Address", Unit::capacity},
          .limit = static_cast<double>(m.capacity)};
  std::map<std::string, Series> kinds;
  for (const auto& b : m.blocks) {
    kinds[b.kind].marks.push_back({.x = static_cast<double>(b.first),
                                   .y = static_cast<double>(b.address),
                                   .x2 = static_cast<double>(b.last),
                                   .y2 = static_cast<double>(b.address) + static_cast<double>(b.bytes),
                                   .label = b.name});
  }
  for (auto& [name, s] : kinds) {
    s.name = name.empty() ? "other" : name;
    c.series.push_back(std::move(s));
  }
  c.alt = fmt::format("{} in {}; at the peak {} of {} are in use.", counted(m.blocks.size(), "buffer"), m.memory,
                      format_quantity(static_cast<double>(m.peak), Unit::capacity),
                      format_quantity(static_cast<double>(m.capacity), Unit::capacity));
  return c;
}

}  // namespace assay
