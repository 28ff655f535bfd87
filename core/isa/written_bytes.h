#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace assay {

/// A growing set of byte addresses of one memory, as pages of a bitmap; a full page costs no bitmap.
/// Memory: 1/8 of the touched pages that are partly written.
class WrittenBytes {
 public:
  void add(std::int64_t begin, std::int64_t end);  ///< half-open, >= 0
  bool holds(std::int64_t begin, std::int64_t end) const;

 private:
  static constexpr std::int64_t kPage = 1 << 13;
  static constexpr std::size_t kWords = kPage / 64;
  struct Page {
    std::int64_t count = 0;  ///< bytes in the set; kPage: full, no bitmap
    std::unique_ptr<std::array<std::uint64_t, kWords>> bits;
  };
  std::unordered_map<std::int64_t, Page> pages_;  // looked up by number, never iterated
};

}  // namespace assay
