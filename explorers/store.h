#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace assay {

/// Results of a sweep on disk (SQLite): written as they come, so that a killed sweep loses nothing that was finished.
/// Keyed by content: the hash of machine, workloads, options and model version. The same point is never stored twice.
/// One writer at a time: a second one gets an InputError that names the file.
class Store {
 public:
  /// Opens or creates. InputError on: not a database, another schema version, a folder that can't be written, a store
  /// that another process writes.
  explicit Store(const std::string& path);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  std::optional<std::string> find(const std::string& key) const;
  /// Durable when it returns. InputError when the disk is full.
  void put(const std::string& key, const std::string& stage, const std::string& json);
  std::int64_t size() const;
  void set_manifest(const std::vector<std::pair<std::string, std::string>>& manifest);
  std::vector<std::pair<std::string, std::string>> manifest() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
