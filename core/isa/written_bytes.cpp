#include "core/isa/written_bytes.h"

#include <algorithm>
#include <bit>

namespace assay {
namespace {

/// Calls f(word, mask) for the bits [begin, end) of a page. Stops when f returns false.
template <class F>
bool each_word(std::int64_t begin, std::int64_t end, F f) {
  while (begin < end) {
    const std::int64_t bit = begin % 64, n = std::min<std::int64_t>(64 - bit, end - begin);
    const std::uint64_t mask = (n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1) << bit;
    if (!f(static_cast<std::size_t>(begin / 64), mask)) return false;
    begin += n;
  }
  return true;
}

}  // namespace

void WrittenBytes::add(std::int64_t begin, std::int64_t end) {
  while (begin < end) {
    const std::int64_t number = begin / kPage, start = number * kPage;
    const std::int64_t stop = std::min(end, start + kPage);
    Page& page = pages_[number];
    if (stop - begin == kPage) {
      page.count = kPage;
    } else if (page.count < kPage) {
      if (!page.bits) page.bits = std::make_unique<std::array<std::uint64_t, kWords>>();
      each_word(begin - start, stop - start, [&](std::size_t w, std::uint64_t mask) {
        std::uint64_t& word = (*page.bits)[w];
        page.count += std::popcount(mask & ~word);
        word |= mask;
        return true;
      });
    }
    if (page.count == kPage) page.bits.reset();
    begin = stop;
  }
}

bool WrittenBytes::holds(std::int64_t begin, std::int64_t end) const {
  while (begin < end) {
    const std::int64_t number = begin / kPage, start = number * kPage;
    const std::int64_t stop = std::min(end, start + kPage);
    const auto at = pages_.find(number);
    if (at == pages_.end()) return false;
    const Page& page = at->second;
    if (page.count < kPage && !each_word(begin - start, stop - start, [&](std::size_t w, std::uint64_t mask) {
          return ((*page.bits)[w] & mask) == mask;
        }))
      return false;
    begin = stop;
  }
  return true;
}

}  // namespace assay
