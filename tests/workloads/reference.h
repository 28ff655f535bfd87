#pragma once

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>

namespace assay {

/// A folder of reference data that lies beside the checkout, or nothing (with a message) where it does not.
inline std::optional<std::filesystem::path> reference(const std::string& folder) {
  const char* dir = std::getenv("ASSAY_REFERENCE_DIR");
  const std::filesystem::path root = dir != nullptr ? dir : std::string(ASSAY_SOURCE_DIR) + "/../shared/reference";
  if (std::filesystem::exists(root / folder)) return root / folder;
  std::cout << "skipped: no reference data at " << (root / folder).string() << '\n';
  return std::nullopt;
}

inline std::string repository(const std::string& path) { return std::string(ASSAY_SOURCE_DIR) + "/" + path; }

}  // namespace assay
