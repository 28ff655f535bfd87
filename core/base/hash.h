#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

/// SHA-256 for content keys (sub-result sharing, manifests). Stable across machines and builds.
class Sha256 {
 public:
  Sha256();
  Sha256& update(std::string_view bytes);
  Sha256& update(std::int64_t v);
  Sha256& update(double v);  ///< by bit pattern
  std::string hex();         ///< finishes; the object must not be used afterwards

 private:
  void block(const unsigned char* p);
  std::uint32_t state_[8];
  std::uint64_t length_ = 0;
  unsigned char buffer_[64];
  std::size_t used_ = 0;
};

std::string sha256_hex(std::string_view bytes);
std::string sha256_file(const std::string& path);  ///< throws InputError if it can't be read

}  // namespace assay
