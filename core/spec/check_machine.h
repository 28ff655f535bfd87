#pragma once

#include <functional>
#include <string>

#include "core/spec/machine.h"

namespace assay {

/// Rules that hold for a machine as a whole; `report` gets the key path of the part and what is wrong. O(parts²).
///  - a matrix or vector unit; exactly one DRAM; nothing larger than 2^60 in total
///  - every memory can be filled from DRAM over dma links, in one or several hops; an accumulator may instead be
///    emptied by a vector unit
///  - the core has a place for inputs, for weights, for outputs, and for the partial sums of each matrix unit:
///    accumulators if it has any, else scratchpads that hold outputs
///  - units read and write memories of their core; links, caches and hosts end in parts of the right kind
void check_machine(const Machine& m, const std::function<void(const std::string&, const std::string&)>& report);

}  // namespace assay
