#pragma once

#include <string>

#include "explorers/result.h"

// Flat exports for spreadsheets and scripts (RFC 4180, \n line ends, one heading line, base SI units, numbers with as
// many digits as they have). Unknown numbers are empty fields.

namespace assay {

/// One line per design point: rank, identity, parameters (`param:<axis>`), status and the figures of the suite.
std::string points_csv(const SweepResult& sweep);
/// One line per design, phase and layer.
std::string layers_csv(const SweepResult& sweep);

}  // namespace assay
