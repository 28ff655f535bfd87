#pragma once

#include "core/spec/machine.h"

namespace assay {

double node_of(const Machine& machine);     ///< 45 where the file does not state it
DType widest_type(const VectorUnit& unit);  ///< what a lane is built for

}  // namespace assay
