#include "hwmodels/functional/memories.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/base/error.h"

namespace assay {

void Memories::Free::operator()(std::byte* p) const { std::free(p); }

Memories::Memories(const Program& program, const Machine& machine, std::int64_t max_bytes)
    : stores_(machine.memories.size()) {
  for (const Buffer& b : program.buffers) {
    Store& s = stores_[b.memory.index()];
    s.shared = machine.memory(b.memory).scope == Scope::chip;
    s.size = std::max(s.size, static_cast<std::size_t>(b.address + b.bytes));
  }
  const auto cores = static_cast<std::size_t>(program.grid.cores());
  double total = 0;
  for (const Store& s : stores_) total += static_cast<double>(s.size) * static_cast<double>(s.shared ? 1 : cores);
  if (total > static_cast<double>(max_bytes))
    throw InputError(
        "program", fmt::format("its memories take {:.4g} bytes, the functional machine is given {}", total, max_bytes));
  for (Store& s : stores_) {
    const std::size_t bytes = std::max<std::size_t>(s.size * (s.shared ? 1 : cores), 1);
    // Shared memories come as zero pages that the system commits when they are touched.
    s.bytes.reset(static_cast<std::byte*>(std::calloc(bytes, 1)));
    if (!s.bytes) throw std::bad_alloc();
    if (!s.shared) std::memset(s.bytes.get(), 0xFF, bytes);
  }
}

}  // namespace assay
