#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "tests/campaigns/running_assay.h"

namespace assay {

/// A small sweep (8 points, two families, about a second) in a folder that goes away, and what an undisturbed run of
/// it exports.
class SmallSweep {
 public:
  SmallSweep();
  ~SmallSweep();
  SmallSweep(const SmallSweep&) = delete;
  SmallSweep& operator=(const SmallSweep&) = delete;

  const std::string& folder() const { return folder_; }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& content) const;

  /// `assay sweep sweep.yaml -o out -j threads …`.
  static std::vector<std::string> command(const std::string& out, int threads = 1,
                                          const std::vector<std::string>& more = {});
  /// Name → bytes of everything in the output folder but the store.
  std::map<std::string, std::string> exports(const std::string& out) const;
  /// Of an undisturbed run with one thread; made when first asked for.
  const std::map<std::string, std::string>& expected() const;

  /// How many results the store of an output folder holds, as another process would find it after a crash. A copy is
  /// opened, so that the store itself stays as it was left. Nothing: there is no store yet.
  std::optional<std::int64_t> stored(const std::string& out) const;

 private:
  std::string folder_;
  mutable std::map<std::string, std::string> expected_;
};

/// Where two exports differ: file and first byte. Empty: nowhere. (Reports are too long to be printed by a test.)
std::string first_difference(const std::map<std::string, std::string>& got,
                             const std::map<std::string, std::string>& expected);

}  // namespace assay
