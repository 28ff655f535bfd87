#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/isa/program.h"

namespace assay {

/// The contents of every memory that has a buffer: shared ones once, the others once per core. Core memories start
/// as 0xFF (a NaN of every float type), so that a read of what nothing wrote shows.
class Memories {
 public:
  /// Throws InputError if all together exceed `max_bytes`.
  Memories(const Program& program, const Machine& machine, std::int64_t max_bytes);
  std::byte* of(MemoryId memory, std::size_t core) {
    const Store& s = stores_[memory.index()];
    return s.bytes.get() + (s.shared ? 0 : core * s.size);
  }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  struct Store {
    bool shared = true;
    std::size_t size = 0;
    std::unique_ptr<std::byte, Free> bytes;
  };
  std::vector<Store> stores_;
};

}  // namespace assay
