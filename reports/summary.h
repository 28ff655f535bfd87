#pragma once

#include <string>
#include <utility>
#include <vector>

#include "explorers/result.h"
#include "reports/document.h"

// What several sections say about a point, said in one place.

namespace assay {

bool is_ok(const PointResult& point);
/// Ok and within all constraints.
bool is_feasible(const PointResult& point);
/// `resnet50`, or `llama / decode` where the phase has a name.
std::string phase_name(const WorkloadResult& workload);
/// The workload's share of the suite's time, in seconds: weight · repeat · seconds.
double weighted_seconds(const WorkloadResult& workload);

/// `dram`, or `dram (resnet50), mxu (bert)` where workloads differ; longest first.
std::string binding_summary(const PointResult& point);
/// `twin, cycle model`: functional check and model of the time, each kind among the workloads once.
Cell check_summary(const PointResult& point);
std::string check_summary(const WorkloadResult& workload);
std::string mapper_summary(const PointResult& point);
/// The stage of the compiler without which the suite would be slowest: `residency (+38 %)`; `none` where no stage
/// brings 1 %; empty where it was not measured.
std::string dependence_summary(const PointResult& point);
/// NaN where a number is unknown (< 0 in the results).
double known(double value);

/// How many rows of the ranking must be fully checked before a recommendation: the first ten, and those that are
/// tied with the last of them.
std::size_t rows_that_matter(const SweepResult& sweep);
/// Whether a ranked point's cycle model was run; functional check; and so on: the reasons why not.
std::vector<std::string> missing_checks(const PointResult& point);

/// Points shown in full, best first: the top of the ranking with ties, then the frontier, then, if nothing is
/// ranked, the first points that have workloads.
std::vector<std::size_t> detailed_points(const SweepResult& sweep, std::size_t best);
/// Anchor of a point's panel.
std::string panel_id(const PointResult& point);

/// Causes of lost time, in drawing order, with what their sum lacks of `seconds` (or exceeds it by) as a last part,
/// so that they always add up to `seconds`.
std::vector<std::pair<std::string, double>> waterfall_parts(const Waterfall& waterfall, double seconds);

/// The value of an axis at a point, or "".
std::string parameter(const PointResult& point, const std::string& axis);
/// The number at the front of a value with the rest as unit (`12 MiB` → 12·2^20), or NaN.
double parameter_number(const std::string& value);

/// The score the ranking is by.
double objective_value(const PointResult& point, const std::string& objective);
Unit objective_unit(const std::string& objective);

}  // namespace assay
