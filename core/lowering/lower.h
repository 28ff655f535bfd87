#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/mapping/environment.h"
#include "core/mapping/kernel.h"
#include "core/mapping/mapping.h"

// Mapped kernels → Program.
//
//   per kernel: the mapping's loops, and at each depth
//     load the operands whose storage node stands there     (wait free, copy, signal full)
//     … the loops inside …
//     contract, then the epilogue where the result's node stands, then the store
//   between kernels: a semaphore wherever two engines touch the same bytes and one writes

namespace assay {

/// Bytes that a kernel needs while it runs: one storage node of its mapping.
struct TileBuffer {
  std::size_t kernel = 0;
  int tensor = 0;  ///< of the kernel
  MemoryId memory;
  std::int64_t slot_bytes = 0;  ///< one of `buffers` slots, aligned
  std::int64_t buffers = 1;
  bool filled_by_dma = false;  ///< may be filled before its kernel starts (prefetch)
};
std::vector<TileBuffer> tile_buffers(const Kernel& k, std::size_t index, const Mapping& m);

struct LoweringInput {
  const Graph* graph = nullptr;
  const Machine* machine = nullptr;
  const MapEnvironment* environment = nullptr;
  std::vector<Kernel> kernels;
  std::vector<Mapping> mappings;                         ///< parallel; of host kernels: empty
  std::map<TensorId, BufferId> home;                     ///< root tensors → buffer in `buffers`
  std::vector<TensorId> root;                            ///< by TensorId index
  std::vector<Buffer> buffers;                           ///< homes and tiles, addresses set
  std::map<std::pair<std::size_t, int>, BufferId> tile;  ///< (kernel, tensor) → buffer
  std::map<TensorId, BufferId> view;                     ///< operands of host kernels, in the shape that the node sees
  std::function<std::string(const Node&)> host_attributes;  ///< JSON text of a host node's attributes

  BufferId view_home(TensorId t) const { return view.at(t); }
};

/// O(kernels² · engines) for the synchronisation between kernels in the worst case; linear in practice.
Program lower(const LoweringInput& input);

}  // namespace assay
