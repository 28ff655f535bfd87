#pragma once

#include <map>
#include <string>
#include <vector>

// What docs/micro-cases.md says, read out of the document itself, so that the page and the program cannot drift apart.

namespace assay {

/// One row of a case's table of commands, in the order of the page.
struct DocumentedCommand {
  std::string engine;
  long long starts = 0, free = 0, there = 0;
};

struct MicroCase {
  std::string title, model;
  std::string mapping;  ///< one line a kernel
  std::vector<DocumentedCommand> commands;
  std::map<std::string, long long> counts;  ///< `dram reads` → 128
  std::map<std::string, double> energy;     ///< `dram read` → 2560, in pJ; `total` as well
};

/// One row of the table of edits: the model with one value of the machine replaced.
struct MicroEdit {
  std::string model, path, value;
  long long cycles = 0;
};

struct MicroDocument {
  std::vector<MicroCase> cases;
  std::vector<MicroEdit> edits;
};

/// Throws std::runtime_error with the line where the page does not have the expected form. O(length).
MicroDocument read_micro_document(const std::string& path);

}  // namespace assay
