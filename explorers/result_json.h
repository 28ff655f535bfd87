#pragma once

#include <string>
#include <string_view>

#include "explorers/result.h"

// The JSON form of results: what the store keeps, `--json` prints and reports read again. Every field is written,
// in a fixed order of keys, so that equal results give equal bytes. Numbers that JSON lacks (infinity, not a number)
// are written as the strings "inf", "-inf" and "nan"; bytes that are not UTF-8 become U+FFFD.

namespace assay {

/// Raised when a field changes its meaning or goes away; a reader refuses any other number. New fields do not raise
/// it: a key that the reader does not know is skipped, one that is missing is an error.
inline constexpr int kResultSchemaVersion = 1;

/// `indent` < 0: one line.
std::string to_json(const PointResult& point, int indent = -1);
std::string to_json(const SweepResult& sweep, int indent = -1);

/// Throw InputError, with the path of the offending value (`points[3].workloads[0].seconds`), on text that is not
/// JSON, another schema_version, a missing or mistyped value, or an index outside of the points.
PointResult point_from_json(std::string_view text);
SweepResult sweep_from_json(std::string_view text);

}  // namespace assay
