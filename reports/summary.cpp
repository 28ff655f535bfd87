#include "reports/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "reports/format.h"

namespace assay {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Distinct texts in the order of first appearance.
void add_once(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

std::string join(const std::vector<std::string>& items, const char* separator) {
  return fmt::format("{}", fmt::join(items, separator));
}

/// 0 none, 1 static, 2 twin, 3 full.
int level_rank(const std::string& level) {
  return level == "full" ? 3 : level == "twin" ? 2 : level == "static" ? 1 : 0;
}

bool failed(const WorkloadResult& w) { return level_rank(w.check.level) >= 2 && !w.check.passed; }

}  // namespace

bool is_ok(const PointResult& point) { return point.status == "ok"; }
bool is_feasible(const PointResult& point) { return is_ok(point) && point.constraint_violations.empty(); }

std::string phase_name(const WorkloadResult& w) {
  return w.phase.empty() || w.phase == w.workload ? w.workload : w.workload + " / " + w.phase;
}

double weighted_seconds(const WorkloadResult& w) { return w.weight * static_cast<double>(w.repeat) * w.seconds; }

double known(double value) { return value < 0 ? kUnknown : value; }

std::string binding_summary(const PointResult& point) {
  std::vector<const WorkloadResult*> order;
  for (const auto& w : point.workloads) order.push_back(&w);
  std::stable_sort(order.begin(), order.end(),
                   [](auto* a, auto* b) { return weighted_seconds(*a) > weighted_seconds(*b); });
  std::vector<std::string> resources;
  for (auto* w : order) add_once(resources, w->binding);
  if (resources.empty()) return "unknown";
  if (resources.size() == 1) return resources[0].empty() ? "unknown" : resources[0];
  std::vector<std::string> parts;
  for (const auto& resource : resources) {
    std::vector<std::string> names;
    for (auto* w : order) {
      if (w->binding == resource) add_once(names, phase_name(*w));
    }
    parts.push_back(fmt::format("{} ({})", resource.empty() ? "unknown" : resource, join(names, ", ")));
  }
  return join(parts, ", ");
}

std::string check_summary(const WorkloadResult& w) {
  std::string text;
  const bool functional = level_rank(w.check.level) >= 2;
  if (functional && !w.check.passed) {
    text = w.check.level == "full" ? "FAILED in full" : "FAILED on the twin";
  } else if (functional) {
    text = w.check.level == "full" ? "in full" : "twin";
  } else if (w.check.static_ok) {
    text = "static only";
  } else {
    text = "not checked";
  }
  return text + (w.cycle_seconds >= 0 ? ", cycle model" : ", analytical");
}

Cell check_summary(const PointResult& point) {
  if (point.workloads.empty()) return {"not checked", Tone::warn};
  const bool any_failed =
      std::any_of(point.workloads.begin(), point.workloads.end(), failed) || point.status == "mismatch";
  std::vector<std::string> texts;
  for (const auto& w : point.workloads) add_once(texts, check_summary(w));
  std::sort(texts.begin(), texts.end());
  return {join(texts, "; "), any_failed ? Tone::bad : point.fully_checked ? Tone::good : Tone::warn};
}

std::string mapper_summary(const PointResult& point) {
  std::vector<std::string> tiers;
  for (const auto& w : point.workloads) {
    if (!w.mapper_tier.empty()) add_once(tiers, w.mapper_tier);
  }
  return tiers.empty() ? "unknown" : join(tiers, "; ");
}

std::string dependence_summary(const PointResult& point) {
  std::map<std::string, double> lost;  // seconds of the suite, by stage
  double total = 0;
  for (const auto& w : point.workloads) {
    total += weighted_seconds(w);
    for (const NamedValue& a : w.ablation) lost[a.name] += a.value * weighted_seconds(w);
  }
  if (lost.empty() || !(total > 0)) return "";
  const auto worst =
      std::max_element(lost.begin(), lost.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const double share = worst->second / total;
  return share < 0.01 ? "none" : fmt::format("{} (+{})", worst->first, format_quantity(share, Unit::ratio));
}

std::size_t rows_that_matter(const SweepResult& sweep) {
  std::size_t n = std::min<std::size_t>(10, sweep.ranking.size());
  while (n > 0 && n < sweep.ranking.size() && sweep.ranking[n - 1].tied_with_next) ++n;
  return n;
}

std::vector<std::string> missing_checks(const PointResult& point) {
  std::vector<std::string> reasons;
  if (point.workloads.empty()) reasons.push_back("no workload was run");
  for (const auto& w : point.workloads) {
    if (w.cycle_seconds < 0) add_once(reasons, "the cycle model was not run");
    if (failed(w)) {
      add_once(reasons, "the functional check failed");
    } else if (level_rank(w.check.level) < 2) {
      add_once(reasons, "no functional check was run");
    }
    if (!w.check.static_ok && level_rank(w.check.level) >= 1) add_once(reasons, "the static verifier did not pass");
  }
  if (reasons.empty() && !point.fully_checked) reasons.push_back("it is not marked as fully checked");
  if (point.fully_checked) reasons.clear();
  return reasons;
}

std::vector<std::size_t> detailed_points(const SweepResult& sweep, std::size_t best) {
  std::vector<std::size_t> out;
  std::set<std::size_t> seen;
  const auto add = [&](std::size_t p) {
    if (p < sweep.points.size() && seen.insert(p).second) out.push_back(p);
  };
  std::size_t n = std::min(best, sweep.ranking.size());
  while (n > 0 && n < sweep.ranking.size() && n < 2 * best && sweep.ranking[n - 1].tied_with_next) ++n;
  for (std::size_t i = 0; i < n; ++i) add(sweep.ranking[i].point);
  for (std::size_t p : sweep.frontier) add(p);
  for (std::size_t p = 0; p < sweep.points.size() && out.empty(); ++p) {
    if (!sweep.points[p].workloads.empty()) add(p);
  }
  return out;
}

std::string panel_id(const PointResult& point) { return fmt::format("design-{}", point.index); }

std::vector<std::pair<std::string, double>> waterfall_parts(const Waterfall& w, double seconds) {
  std::vector<std::pair<std::string, double>> parts{{"useful work at peak", w.ideal_compute},
                                                    {"padding", w.padding},
                                                    {"fill and drain", w.fill_drain},
                                                    {"vector work", w.vector},
                                                    {"waiting for memory", w.exposed_memory},
                                                    {"contention", w.contention},
                                                    {"synchronisation", w.sync},
                                                    {"launch", w.launch}};
  double sum = 0;
  for (const auto& part : parts) sum += part.second;
  // The models promise equality; what is lost in summing doubles is not worth a row.
  if (std::abs(seconds - sum) > 1e-6 * std::abs(seconds)) parts.push_back({"unattributed", seconds - sum});
  return parts;
}

std::string parameter(const PointResult& point, const std::string& axis) {
  for (const auto& [name, value] : point.parameters) {
    if (name == axis) return value;
  }
  return {};
}

double parameter_number(const std::string& value) {
  double number = 0;
  const char* end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc{}) return kUnknown;
  std::string unit(rest, end);
  unit.erase(0, unit.find_first_not_of(' '));
  static const std::map<std::string, double> kPrefixes{{"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40},
                                                       {"k", 1e3},     {"M", 1e6},     {"G", 1e9},     {"T", 1e12},
                                                       {"m", 1e-3},    {"u", 1e-6},    {"n", 1e-9},    {"p", 1e-12}};
  for (std::size_t length : {2u, 1u}) {
    if (unit.size() <= length) continue;  // a prefix stands before a unit
    if (const auto it = kPrefixes.find(unit.substr(0, length)); it != kPrefixes.end()) {
      if (length == 1 && (unit == "mm2" || unit == "mm²")) break;
      return number * it->second;
    }
  }
  return number;
}

double objective_value(const PointResult& point, const std::string& objective) {
  return objective == "energy" ? point.energy_pj * 1e-12 : objective == "edp" ? point.edp : point.latency_s;
}

Unit objective_unit(const std::string& objective) {
  return objective == "energy" ? Unit::joules : objective == "edp" ? Unit::joule_seconds : Unit::seconds;
}

}  // namespace assay
