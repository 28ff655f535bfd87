#pragma once

#include <string_view>

// Files built from reports/web/ and held in the binary.

namespace assay {

std::string_view report_script();  ///< ECharts and the report's own script, with their licences in front
std::string_view report_style();

}  // namespace assay
