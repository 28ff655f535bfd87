#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

// A model's nodes as a flat, sorted list: local functions inlined, opsets resolved. Private to the importer.

namespace onnx {
class ModelProto;
class NodeProto;
}  // namespace onnx

namespace assay {

struct FlatNode {
  std::shared_ptr<const onnx::NodeProto> proto;
  std::string op;            ///< registry name; `domain.Name` outside the default domain
  std::string name;          ///< never empty; not necessarily unique
  std::int64_t version = 0;  ///< opset of its domain
};

/// Replaces calls of local functions by their bodies (values of `f` called at node n become `n/value`). InputError on
/// recursion, missing opsets, opsets out of range and more than 250,000 nodes. `model` must outlive the result.
std::vector<FlatNode> flatten(const onnx::ModelProto& model, const std::string& file);

/// Topological order that keeps the file's where it can. `given` are the values known before any node runs. InputError
/// on values that are read but never written, written twice, and on cycles (naming the nodes). O(n log n).
std::vector<FlatNode> sorted(std::vector<FlatNode> nodes, const std::set<std::string>& given, const std::string& file);

}  // namespace assay
