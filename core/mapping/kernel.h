#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/ops/nest.h"

// From operations to kernels: what is tiled, mapped and lowered as one unit.
//
//   Conv ─> Mul ─> Add ─> Relu          one kernel: a contraction nest and one fused elementwise nest
//   Softmax                             one kernel: four nests that share the row dimensions
//   Reshape                             no kernel: its output is a view of its input's bytes
//   NonMaxSuppression                   one host kernel
//
// A kernel's nests run one after another on one tile of the *shared* dimensions; a nest's other dimensions always run
// over their whole extent inside the tile, except the reduction dimensions of the contraction, which may be tiled too.

namespace assay {

enum class KernelTensorKind : std::uint8_t { input, output, internal };

struct KernelTensor {
  std::string name;
  TensorType type;
  KernelTensorKind kind = KernelTensorKind::internal;
  TensorId graph_tensor;  ///< as the model sees it (a view keeps its own shape); invalid for internal
  bool constant = false;
};

struct KernelAccess {
  int tensor = 0;               ///< index into Kernel::tensors
  std::vector<AccessDim> dims;  ///< over the nest's dimensions
  std::optional<double> fill;
};

struct KernelNest {
  std::vector<NestDim> dims;
  std::vector<int> shared;  ///< nest dimension → index into Kernel::dims, or -1 (whole extent in the tile)
  std::vector<KernelAccess> ins;
  KernelAccess out;
  Body body;
  Combine combine = Combine::none;
  DType accumulator = DType::f32;
  bool contraction = false;
  double zero[2] = {0, 0};
};

/// A nest that looks elements up by an index operand: executed by a DMA engine, straight from the table's home.
bool is_gather(const KernelNest& nest);

/// A dimension that may be tiled. Reduction dimensions belong to the contraction alone.
struct KernelDim {
  std::string name;
  std::int64_t extent = 1;
  bool reduction = false;
};

struct Kernel {
  std::string name;                  ///< unique; the main node's name
  std::string layer_kind;            ///< operation of the main node
  std::vector<std::string> sources;  ///< nodes of the source model
  std::vector<NodeId> nodes;         ///< nodes of the graph
  std::vector<KernelDim> dims;
  std::vector<KernelTensor> tensors;
  std::vector<KernelNest> nests;    ///< the contraction, if any, comes first
  std::optional<NodeId> host_node;  ///< set: executed by the host, no nests
  bool has_contraction() const { return !nests.empty() && nests.front().contraction; }
  std::int64_t macs() const;  ///< of the contraction; 0 without one
};

/// A tensor that is another one's bytes under a different shape (outputs of view operations). Roots map to themselves.
struct KernelGraph {
  std::vector<Kernel> kernels;                                 ///< in execution order
  std::vector<TensorId> root;                                  ///< by TensorId index: the tensor that owns the bytes
  std::vector<std::pair<std::string, std::int64_t>> free_ops;  ///< view operations: name, count
  std::vector<std::string> remarks;                            ///< fusions refused, with the reason
};

struct KernelOptions {
  bool fuse_epilogues = true;  ///< elementwise consumers join their producer's kernel
};

/// Groups the nodes of a graph into kernels. O(nodes + edges). Throws InputError listing every operation that has no
/// loop-nest form when `host_allowed` is false.
KernelGraph make_kernels(const Graph& g, const KernelOptions& options, bool host_allowed);

}  // namespace assay
