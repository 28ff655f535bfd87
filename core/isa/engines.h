#pragma once

#include <vector>

#include "core/isa/program.h"

namespace assay {

/// The engines of one core: for every dma link a load queue (far → near) and, with two queues, a store queue
/// (near → far); one per matrix unit, vector unit and host. Order: links, matrix, vector, host.
/// Names: `<link>.load`, `<link>.store` (or `<link>` with one queue, kind dma_load), the unit's name otherwise.
std::vector<Engine> engines_of(const Machine& machine);

/// Whether a copy from one memory to the other may run on this engine: its link joins them in its direction.
bool can_copy(const Machine& machine, const Engine& engine, MemoryId from, MemoryId to);

/// The engine that can copy from one memory to another, or nothing. O(engines).
std::optional<EngineId> copy_engine(const Machine& machine, const std::vector<Engine>& engines, MemoryId from,
                                    MemoryId to);

}  // namespace assay
