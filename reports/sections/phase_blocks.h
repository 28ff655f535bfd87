#pragma once

#include <vector>

#include "explorers/result.h"
#include "reports/document.h"
#include "reports/section.h"

// One workload phase on one design, block by block: the parts of the drill-down.

namespace assay {

Table layer_table(const WorkloadResult& w);
/// What doubling each resource that limits a layer would save, the largest first, in words.
List largest_gains(const WorkloadResult& w);
Chart waterfall_chart(const WorkloadResult& w);
Table waterfall_table(const WorkloadResult& w);
Chart roofline_chart(const PointResult& p, const WorkloadResult& w);
Chart energy_chart(const WorkloadResult& w);
/// Busy share of every resource in every layer: where each layer's limit is, and how near the second one.
Chart resource_chart(const WorkloadResult& w);
Chart timeline_chart(const WorkloadResult& w, std::size_t max_spans);
Chart memory_chart(const MemoryUse& m);

/// All of the above with check results, free and host operations, notes and the graph.
void add_phase(std::vector<Block>& out, const PointResult& p, const WorkloadResult& w, const SectionContext& context);

}  // namespace assay
