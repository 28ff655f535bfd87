#pragma once

#include <vector>

#include "core/ir/tensor.h"
#include "core/isa/program.h"
#include "hwmodels/functional/memories.h"

namespace assay {

/// A tensor as it lies in a buffer (dense, the buffer's type and shape).
Tensor read_tensor(const Buffer& buffer, const std::byte* memory);
void write_tensor(const Buffer& buffer, std::byte* memory, const Tensor& value);

/// Executes an operation of core/ops with its reference semantics on the tensors in shared memories. Throws
/// InputError for an unknown operation, malformed attributes, or results that do not fit their buffers. Returns the
/// bytes read and written by buffer.
struct HostTraffic {
  BufferId buffer;
  std::int64_t read_bytes = 0, write_bytes = 0;
};
std::vector<HostTraffic> run_host(const Program& program, const HostCommand& command, Memories& memories);

}  // namespace assay
