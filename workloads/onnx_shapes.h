#pragma once

#include <string>
#include <vector>

#include "core/ir/tensor.h"
#include "workloads/onnx_import.h"

namespace onnx {
class GraphProto;
}

namespace assay {

struct BoundInput {
  std::string name;
  TensorType type;
};

/// Types of the graph's inputs (initialisers excluded) with every symbol bound. InputError on unbound symbols (all of
/// them, with an example), names in the options that the model does not have, conflicts and absurd sizes.
std::vector<BoundInput> bind_inputs(const onnx::GraphProto& graph, const ImportOptions& options,
                                    const std::string& file);

}  // namespace assay
