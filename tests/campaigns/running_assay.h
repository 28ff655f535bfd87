#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace assay {

/// How the world of a run is made harder.
struct Hardship {
  std::int64_t file_bytes = 0;  ///< no file may grow beyond (RLIMIT_FSIZE); 0: as they like
  std::string small_disk = {};  ///< folder that becomes a file system of `disk_bytes`, seen by the run only
  std::int64_t disk_bytes = 0;
  std::string standard_out = {};  ///< path; empty: a file of the run's
  bool no_streams = false;        ///< standard output and error are closed
};

struct EndedRun {
  int code = -1;   ///< exit code; -1: ended by a signal
  int signal = 0;  ///< that signal
  double seconds = 0;
  std::string out, err;
};

/// The built `assay` as a process of its own that can be signalled while it runs. What it says goes to files, so that
/// nobody has to read while it runs. Killed after 120 s; killed and reaped when this goes out of scope.
class RunningAssay {
 public:
  RunningAssay(const std::string& folder, const std::vector<std::string>& args, const Hardship& hardship = {});
  ~RunningAssay();
  RunningAssay(const RunningAssay&) = delete;
  RunningAssay& operator=(const RunningAssay&) = delete;

  bool running();  ///< has it not ended by itself yet?
  void send(int signal);
  std::string said() const;                       ///< stderr so far
  bool wait_until_said(const std::string& text);  ///< false: it ended before, or 60 s passed
  EndedRun wait();                                ///< until it ends; at most 120 s
  /// Could the hardship not be arranged? (Exit code 125: no namespaces or mounts for us here.)
  static bool impossible(const EndedRun& ended) { return ended.code == 125; }

 private:
  std::string text_of(const std::string& path) const;
  std::string out_path_, err_path_;
  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false;
  double start_ = 0, end_ = 0;
};

/// Runs to the end.
EndedRun run_to_end(const std::string& folder, const std::vector<std::string>& args, const Hardship& hardship = {});

}  // namespace assay
