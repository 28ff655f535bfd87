#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/spec/yaml.h"

// Values of the files of this folder (hierarchies, nests) out of a YAML tree. Problems are collected, so that one
// reading reports them all.

namespace assay {

class FileFields {
 public:
  void problem(const SourcePos& pos, std::string path, std::string message, std::string suggestion = {});
  void throw_if_any() const;  ///< InputError with everything found, in the order found
  bool any() const { return !problems_.empty(); }

  /// Unknown keys of a map, and whether it is one.
  bool map(const YamlNode& node, const std::string& path, const std::vector<std::string>& known);
  bool sequence(const YamlNode& node, const std::string& path, const std::string& of);
  std::optional<std::string> name(const YamlNode& node,
                                  const std::string& path);  ///< a letter or '_', then those or digits
  std::optional<std::int64_t> whole(const YamlNode& node, const std::string& path, std::int64_t low);
  std::optional<double> real(const YamlNode& node, const std::string& path);  ///< >= 0
  std::optional<bool> flag(const YamlNode& node, const std::string& path);
  /// Index of a name in `all`; the nearest one is suggested.
  std::optional<int> one_of(const YamlNode& node, const std::string& path, const std::vector<std::string>& all,
                            const std::string& what);
  /// A list of those (or one alone), each once.
  std::optional<std::vector<int>> list_of(const YamlNode& node, const std::string& path,
                                          const std::vector<std::string>& all, const std::string& what);

 private:
  std::vector<Diagnostic> problems_;
};

}  // namespace assay
