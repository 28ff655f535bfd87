#include "reports/sections/axes.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/summary.h"

namespace assay {

std::vector<std::string> axis_values(const SweepResult& sweep, const std::string& axis) {
  std::set<std::string> distinct;
  for (const auto& p : sweep.points) {
    if (!is_feasible(p)) continue;
    if (std::string v = parameter(p, axis); !v.empty()) distinct.insert(std::move(v));
  }
  std::vector<std::string> values(distinct.begin(), distinct.end());
  const auto key = [](const std::string& v) {
    const double n = parameter_number(v);
    return std::pair(std::isnan(n), std::isnan(n) ? 0 : n);
  };
  std::stable_sort(values.begin(), values.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return values;
}

std::vector<std::string> varied_axes(const SweepResult& sweep) {
  std::vector<std::string> out;
  for (const auto& axis : sweep.axes) {
    if (axis_values(sweep, axis).size() > 1) out.push_back(axis);
  }
  return out;
}

}  // namespace assay
