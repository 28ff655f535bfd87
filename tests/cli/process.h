#pragma once

#include <string>
#include <vector>

namespace assay {

struct Finished {
  int code = -1;   ///< exit code; -1: killed by a signal (a crash, or the time limit)
  int signal = 0;  ///< that signal
  std::string out, err;
};

struct ProcessOptions {
  std::string folder;       ///< working folder
  bool powerless = false;   ///< as a user who may not read and write everything (root may)
  std::string stdout_file;  ///< instead of a pipe
  bool no_streams = false;  ///< standard input, output and error are closed
  bool no_reader = false;   ///< nobody reads what goes to standard output
};

/// Runs the built `assay`: at most 60 s and 6 GiB of addresses, so that a hang and a flood of memory fail the test.
Finished run_assay(const std::vector<std::string>& args, const ProcessOptions& options);

/// Can a powerless user run the program where it lies? (Folders above it may be closed to others.)
bool powerless_can_run();

}  // namespace assay
