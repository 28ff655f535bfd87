#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/ir/tensor.h"
#include "workloads/onnx_flat.h"
#include "workloads/onnx_import.h"
#include "workloads/onnx_tensor.h"
#include "workloads/onnx_weights.h"

namespace onnx {
class GraphProto;
class TensorProto;
}  // namespace onnx

namespace assay {

/// The constants of a model under the chosen weight mode: initialisers, Constant nodes, ConstantOfShape with a known
/// shape, and Identity of any of these (a tensor of its own: exporters share equal tensors that way). Values are read
/// or drawn when asked for, so that external data of absent or seeded weights need not exist.
class ModelConstants {
 public:
  ModelConstants(const onnx::GraphProto& graph, const std::vector<FlatNode>& nodes, const ImportOptions& options,
                 const TensorSource& source);

  bool has(const std::string& name) const { return sources_.contains(name); }
  /// Its one output is one of the constants here, so the node itself is not needed.
  bool stands_for_constant(const FlatNode& node) const;
  const TensorType& type(const std::string& name) const;
  /// nullptr: a weight by shape only. Called once per name by the importer.
  std::shared_ptr<const Tensor> value(const std::string& name);

 private:
  struct Source {
    TensorType type;
    const onnx::TensorProto* proto = nullptr;  ///< an initialiser or the value of a Constant
    std::shared_ptr<const Tensor> fill;        ///< ConstantOfShape: its one element
    std::string copy_of;                       ///< Identity
    std::shared_ptr<const Tensor> value;       ///< once read
  };
  void add_node(const FlatNode& node);
  std::shared_ptr<const Tensor> stored(const std::string& name);

  const ImportOptions& options_;
  const TensorSource& source_;
  std::map<std::string, Source> sources_;
  std::map<std::string, WeightUse> uses_;
};

}  // namespace assay
