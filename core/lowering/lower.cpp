#include "core/lowering/lower.h"

#include "core/base/math.h"
#include "core/lowering/kernel_lowering.h"

namespace assay {

std::vector<TileBuffer> tile_buffers(const Kernel& k, std::size_t index, const Mapping& m) {
  std::vector<TileBuffer> tiles;
  if (k.host_node) return tiles;
  const TileShape shape(k, m);
  for (const Placement& p : m.placements) {
    if (p.resident || !p.memory.valid()) continue;
    const KernelTensor& t = k.tensors[static_cast<std::size_t>(p.tensor)];
    const std::int64_t bytes = byte_size(t.type.dtype, tensor_box(k, shape, p.tensor, p.depth).elements());
    tiles.push_back({index, p.tensor, p.memory, bytes, p.buffers, t.kind == KernelTensorKind::input});
  }
  return tiles;
}

Program lower(const LoweringInput& input) {
  Program program;
  program.name = input.graph->name;
  program.machine = input.machine->name;
  program.grid = input.machine->grid;
  program.engines = input.environment->engines;
  program.buffers = input.buffers;
  std::vector<LoweredKernel> kernels;
  for (std::size_t i = 0; i < input.kernels.size(); ++i) {
    const Kernel& k = input.kernels[i];
    program.trail.push_back({k.name, k.sources, k.layer_kind});
    program.steps.push_back(k.name);
    kernels.push_back(lower_kernel(input, i, program));
  }
  synchronise(kernels, *input.machine, program);
  for (LoweredKernel& k : kernels) {
    program.body.insert(program.body.end(), std::make_move_iterator(k.body.begin()),
                        std::make_move_iterator(k.body.end()));
  }
  return program;
}

}  // namespace assay
