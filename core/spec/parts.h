#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/spec/fields.h"

// Every part of a description: its table and its rules (what no single field can check). A new part is one file
// part_<name>.cpp and one line here.

namespace assay {

/// Fields that the file set, so that defaults may depend on the part's kind.
using SeenFields = std::set<std::string>;
/// Reports a broken rule at a field (or, with an empty name, at the part).
using Report = std::function<void(const std::string& field, const std::string& message)>;

/// Top of the file: machine, family, description.
const Table<Machine>& header_table();
const Table<Machine>& process_table();

const Table<Memory>& memory_table();
/// Fills defaults that depend on the kind, applies the derating, checks the memory by itself.
void finish_memory(Memory& m, const SeenFields& seen, const Report& report);

const Table<Link>& link_table();
void finish_link(const Link& l, const Report& report);

const Table<MatrixUnit>& matrix_table();
void finish_matrix(MatrixUnit& u, const SeenFields& seen, const Report& report);

const Table<VectorUnit>& vector_table();
/// Operation names and classes that a vector unit may list (besides `any`): the scalar operations of core/isa/body.h
/// (a test compares the two lists) and the classes.
const std::vector<std::string>& vector_op_names();

const Table<HostUnit>& host_table();

/// `array: {<name>: …}`: a matrix unit of style pe_array. Its `units: {mac: …}` has a table of its own.
const Table<MatrixUnit>& array_table();
const Table<MatrixUnit>& mac_table();
void finish_array(MatrixUnit& u, const Report& report);

const Table<Grid>& grid_table();

/// A clock in `clocks: {<name>: <frequency>}` and a peak in `quoted: {<type>: <rate>}`: one value each, no fields.
const FieldSpec& clock_spec();
const FieldSpec& quoted_spec();

/// `source: "…"` may stand in every part and covers the values that name none of their own.
const FieldSpec& source_spec();

/// All parts for schema and documentation, in the order of the document.
struct PartDoc {
  std::string name;   ///< `memory`
  std::string where;  ///< `memories.<name>`
  std::vector<FieldSpec> fields;
  std::vector<std::string> defaults;  ///< as printed; empty where there is none
};
std::vector<PartDoc> all_parts();

}  // namespace assay
