#pragma once

#include <string>

#include "workloads/onnx_import.h"

namespace assay {

/// The bytes of an ONNX model that says what `path` says under `options` (seed, shapes, bindings), but with every
/// constant written out as an initialiser: seeded weights for another runtime to run. Nodes and names are the file's,
/// untouched by any pass of ours. InputError as import_onnx. Local functions are not supported.
std::string seeded_model(const std::string& path, const ImportOptions& options);

}  // namespace assay
