#pragma once

#include <cstddef>

namespace assay {

/// Counts what `new` hands out. While a limit is set, memory beyond it is refused with bad_alloc, and remembered even
/// where the code under test catches that. Under a sanitizer nothing is counted (it has its own limit).
void set_memory_limit(std::size_t bytes);  ///< above what is live now
void clear_memory_limit();
bool memory_limit_was_hit();  ///< since set_memory_limit

}  // namespace assay
