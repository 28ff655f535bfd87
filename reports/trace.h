#pragma once

#include <string>

#include "explorers/result.h"

namespace assay {

/// The timeline as Chrome trace JSON (chrome://tracing, Perfetto): one process per core (the part of a lane before
/// ` / `), one thread per lane. Events of one thread must nest there, so intervals of a lane that overlap go to
/// further threads of the same name (`mxu #2`). Times in µs. About 70 bytes an interval.
/// InputError on an interval that ends before it starts or whose times are not finite.
std::string chrome_trace(const WorkloadResult& workload);

}  // namespace assay
