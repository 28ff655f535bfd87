#pragma once

#include <functional>
#include <string>
#include <vector>

#include "explorers/result.h"
#include "reports/document.h"
#include "reports/graphviz.h"

// A section of the report: results → paragraphs, tables, charts. One file in reports/sections/, one line in its
// CMakeLists.txt; the order there is the order in the report.

namespace assay {

struct ReportOptions {
  std::size_t detailed = 10;             ///< so many of the best are shown in full, besides the frontier and ties
  std::size_t max_search_rows = 200000;  ///< layers in the search table, of all designs together
  std::size_t max_spans = 3000;          ///< of one timeline
  bool draw_graphs = true;
  GraphvizOptions graphviz = {};
};

struct SectionContext {
  const SweepResult& sweep;
  const ReportOptions& options;
  GraphDrawer& graphs;
};

struct SectionSpec {
  std::string id;  ///< anchor
  std::string title;
  /// No blocks: the section has nothing to say about these results and is left out.
  std::function<std::vector<Block>(const SectionContext&)> build;
};

class SectionRegistry {
 public:
  void add(SectionSpec spec) { specs_.push_back(std::move(spec)); }
  const std::vector<SectionSpec>& all() const { return specs_; }

 private:
  std::vector<SectionSpec> specs_;
};

void register_all(SectionRegistry& registry);

/// The whole report of a sweep; a single run is a sweep of one point.
Document build_report(const SweepResult& sweep, const ReportOptions& options = {});

}  // namespace assay
