#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace assay {

/// The store can't be used: an input error of the whole sweep, never one of a point.
class StoreError : public InputError {
 public:
  using InputError::InputError;
};

/// Results of a sweep on disk (SQLite): written as they come, so that a killed sweep loses nothing that was finished.
/// Keyed by content: the hash of machine, workloads, options and model version. The same point is never stored twice.
/// One writer at a time: a second one gets a StoreError that names the file. Each result carries its checksum, so that
/// bytes that changed on the disk are told and never ranked.
class Store {
 public:
  /// Opens or creates. `fresh` forgets what is there, also what is damaged or no store. StoreError on: not a database,
  /// damage, another schema version, a folder that can't be written, a store that another process writes (`fresh` too).
  explicit Store(const std::string& path, bool fresh = false);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// StoreError if what was stored is damaged.
  std::optional<std::string> find(const std::string& key) const;
  /// Survives a crash of the program when it returns. StoreError when the disk is full.
  void put(const std::string& key, const std::string& stage, const std::string& json);
  std::int64_t size() const;
  void set_manifest(const std::vector<std::pair<std::string, std::string>>& manifest);
  std::vector<std::pair<std::string, std::string>> manifest() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
