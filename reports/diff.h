#pragma once

#include <string>
#include <vector>

#include "explorers/result.h"
#include "reports/document.h"

// What changed between two results, why, and which layers it moved. The documents print as Markdown, HTML or terminal
// text like any other.

namespace assay {

/// Points are matched by design name, what is left by machine and parameters. Sections: summary, input (manifest, points
/// that came or went, parameters), ranking, layers by impact.
Document diff(const SweepResult& before, const SweepResult& after);
/// Two runs, on one machine or on two.
Document diff(const PointResult& before, const PointResult& after);

/// Layers that do the same work before and after. Fusion may have changed, so groups that share a source node (or
/// have the same name) belong together: `{a+b, c}` against `{a, b+c}` is one row.
struct LayerDelta {
  std::vector<std::string> before, after;  ///< names of the groups; empty: only on the other side
  double before_s = 0, after_s = 0;
  double before_pj = 0, after_pj = 0;
  std::string before_binding, after_binding;  ///< of the longest group
  /// `conv1`, `conv1 + bn1 → conv1_bn1`.
  std::string name() const;
};
/// Largest change of time first. O(n log n) in layers and nodes.
std::vector<LayerDelta> match_layers(const std::vector<LayerResult>& before, const std::vector<LayerResult>& after);

}  // namespace assay
