#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "reports/document.h"

// Draws DOT text by running Graphviz as a child process.

namespace assay {

struct GraphvizOptions {
  std::string program = "dot";  ///< looked up in $PATH
  int timeout_ms = 10000;
  std::size_t max_edges = 2000;  ///< larger graphs take dot minutes and nobody reads them
  std::size_t max_output = 16u << 20;
};

struct GraphvizResult {
  std::string svg;    ///< sanitised (reports/svg.h); empty if it could not be drawn
  std::string error;  ///< why not: no such program, time limit, dot's own message, …
};

/// `dot -Tsvg` on the text: no shell, no network, memory limited to 2 GiB, killed at the time limit. Never throws on
/// bad DOT or a missing program: the report is right without the picture.
GraphvizResult run_graphviz(const std::string& dot, const GraphvizOptions& options = {});

/// Draws each distinct text once.
class GraphDrawer {
 public:
  explicit GraphDrawer(GraphvizOptions options) : options_(std::move(options)) {}
  Svg draw(std::string title, const std::string& dot);

 private:
  GraphvizOptions options_;
  std::map<std::string, GraphvizResult> drawn_;
};

}  // namespace assay
