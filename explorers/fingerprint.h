#pragma once

namespace assay {

/// Hash of the sources that a result depends on (core, workloads, hwmodels, explorers), made when they are compiled:
/// results of another build's models are never taken for this one's.
const char* source_fingerprint();

}  // namespace assay
