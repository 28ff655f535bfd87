#pragma once

#include <string>
#include <vector>

#include "hwmodels/timing/flow.h"

namespace assay {

/// What both timing models approximate or leave out for this program on this machine (law 8). Only what applies.
void add_notes(std::vector<std::string>& notes, const Flow& flow);

}  // namespace assay
