#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/ir/graph.h"
#include "workloads/weights.h"

// ONNX file → Graph. One sweep in topological order infers types, folds what follows from constants and shapes
// (exports carry chains of Shape, Gather, Concat, Reshape) and builds the graph.
//
//   model.onnx ── parse, limits ── inline local functions ── sort ── roles of weights ── sweep ──> Graph
//
// Value names are kept. Node::version is the opset of the node's domain; operations of other domains are called
// `domain.Name`. ConstantOfShape (also through Identity) that stands for a weight becomes a weight of its own.

namespace assay {

struct ImportOptions {
  std::map<std::string, std::int64_t> bind;  ///< symbolic dimension → extent: `batch=1`
  std::map<std::string, Shape> shapes;       ///< input → whole shape, also over fixed dimensions
  WeightMode weights = WeightMode::as_in_file;
  std::uint64_t seed = 1;                                 ///< for WeightMode::seeded
  std::int64_t max_file_bytes = std::int64_t{2} << 30;    ///< protobuf's own limit
  std::int64_t max_weight_bytes = std::int64_t{4} << 30;  ///< of all values together, external data included
};

/// Opsets of the default domain that are understood.
inline constexpr std::int64_t kOldestOpset = 7;  ///< broadcasting was another before
inline constexpr std::int64_t kNewestOpset = 24;

/// Throws InputError naming the file: unreadable, truncated or no ONNX; opset out of range; unbound symbols (all of
/// them); unsupported operations (all of them: name, count, first node, reason); values that are missing, written
/// twice or form a cycle; wrong types; sizes below 0 or over 2^40 elements; shapes that depend on data; external data
/// that is missing, too short or outside the model's folder. O(file + nodes · log nodes + folded elements).
Graph import_onnx(const std::string& path, const ImportOptions& options = {});

/// Files beside the model that its initialisers lie in, sorted: they belong to the model's identity as much as the
/// model file. Those that do not exist are left out (importing says so where they are needed).
std::vector<std::string> external_files(const std::string& path);

/// The same from memory. `name` stands for the file in messages, `folder` is where external data lies.
Graph import_onnx_bytes(std::string_view bytes, const std::string& name, const std::string& folder,
                        const ImportOptions& options = {});

}  // namespace assay
