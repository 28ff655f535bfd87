#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/ops/op.h"

namespace assay {

/// What a pass may know besides the graph, and where it leaves remarks.
struct PassContext {
  std::vector<std::string> remarks;  ///< `not folded: …`: shown by explain
  void remark(const std::string& pass, const std::string& node, const std::string& text);
};

/// graph → graph. `run` returns how many rewrites it made.
struct Pass {
  std::string name;          ///< kebab-case, used by --disable-pass and --dump-after
  std::string summary;       ///< one sentence
  std::string before_after;  ///< `BatchNormalization(Conv(x)) -> Conv'(x)`
  double tolerance = 0;      ///< relative change of float outputs that the pass may cause (0: bit-exact)
  std::function<std::size_t(Graph&, PassContext&)> run;
};

struct PassOptions {
  std::vector<std::string> disabled = {};
  std::string dump_after = {};  ///< pass name or `all`
  std::string dump_dir = ".";   ///< made when it is not there
  std::string stop_after = {};
  bool check_values = false;  ///< execute before and after every pass on seeded inputs and compare
  std::uint64_t seed = 1;
};

struct PassRecord {
  std::string name = {};
  std::size_t rewrites = 0;
  double seconds = 0;  ///< wall time: for people, never in an export
  std::size_t nodes_after = 0;
};

/// Runs the pipeline in order, verifying after each pass. Throws InternalError naming the pass when verification or
/// the value check fails; InputError when an option names no pass.
std::vector<PassRecord> run_passes(Graph& g, const std::vector<Pass>& pipeline, const PassOptions& options,
                                   PassContext& context);

/// The standard pipeline, in order, one line each with the reason for its place.
std::vector<Pass> standard_pipeline();

}  // namespace assay
