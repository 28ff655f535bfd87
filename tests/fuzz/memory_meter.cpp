#include "tests/fuzz/memory_meter.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

namespace assay {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
std::atomic<std::size_t> live{0};
std::atomic<std::size_t> limit{kNoLimit};
std::atomic<bool> hit{false};

}  // namespace

void set_memory_limit(std::size_t bytes) {
  hit = false;
  limit = live + bytes;
}
void clear_memory_limit() { limit = kNoLimit; }
bool memory_limit_was_hit() { return hit; }

}  // namespace assay

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

void* metered(std::size_t size, std::size_t alignment) {
  const std::size_t now = assay::live.load(std::memory_order_relaxed), most = assay::limit;
  if (most != assay::kNoLimit && (size > most || now > most - size)) {
    assay::hit = true;
    return nullptr;
  }
  void* p = nullptr;
  if (alignment <= alignof(std::max_align_t))
    p = std::malloc(size);
  else if (posix_memalign(&p, alignment, size) != 0)
    p = nullptr;
  if (p != nullptr) assay::live.fetch_add(malloc_usable_size(p), std::memory_order_relaxed);
  return p;
}

void* metered_or_throw(std::size_t size, std::size_t alignment) {
  void* p = metered(size, alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

void give_back(void* p) {
  if (p != nullptr) assay::live.fetch_sub(malloc_usable_size(p), std::memory_order_relaxed);
  std::free(p);
}

}  // namespace

// The array and nothrow forms of the library call these.
void* operator new(std::size_t size) { return metered_or_throw(size, 0); }
void* operator new(std::size_t size, std::align_val_t a) { return metered_or_throw(size, static_cast<std::size_t>(a)); }
void operator delete(void* p) noexcept { give_back(p); }
void operator delete(void* p, std::size_t) noexcept { give_back(p); }
void operator delete(void* p, std::align_val_t) noexcept { give_back(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { give_back(p); }

#endif
