#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/runner.h"
#include "workloads/onnx_import.h"

// Every door through which a user's file or text comes in. `scratch` is a folder of the target's own, for readers that
// take a path.

namespace assay {

FuzzTarget machine_target(const std::string& scratch);     ///< description; printed and read again, its peak computed
FuzzTarget sweep_target(const std::string& scratch);       ///< sweep file; its points decoded
FuzzTarget workload_target(const std::string& scratch);    ///< workload file; small models and twins built
FuzzTarget onnx_target(const std::string& scratch);        ///< ONNX bytes; the standard pipeline run on the graph
FuzzTarget program_target(const std::string& scratch);     ///< assembly text; printed and read again, verified
FuzzTarget graph_target(const std::string& scratch);       ///< graph text; printed and read again, types inferred
FuzzTarget expression_target(const std::string& scratch);  ///< one scalar of a description
FuzzTarget result_target(const std::string& scratch);      ///< result.json; its reports and exports written

/// Text of a file under the source tree.
std::string source_text(const std::string& path);
/// Texts of a folder's files under the source tree that end in `ending`, in the order of their names.
std::vector<std::string> source_texts(const std::string& folder, const std::string& ending);
/// Writes a file into a folder; returns its path.
std::string put_file(const std::string& folder, const std::string& name, const std::string& content);

/// Models of a few nodes that use what the importer knows: convolutions, shapes, slices, quantisation, functions, …
std::vector<std::string> onnx_seeds();
/// To import what is made from them: binds the one symbolic dimension where it is there.
ImportOptions import_options(const std::string& bytes);

}  // namespace assay