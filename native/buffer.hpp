// Vectors for scratch: they begin on a cache line, so that no lane straddles two, and their memory
// is kept for the next pass, because getting fresh pages takes longer than many a small pass.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <new>
#include <vector>

namespace sfumato {

constexpr std::size_t kLineBytes = 64;  // A cache line of x86 and of most ARM processors.

// Blocks that were given back, up to a bound, by size classes: powers of two. Only blocks of
// middle size are pooled: malloc reuses small ones itself, and large ones go back to the system.
class Pool {
 public:
  static Pool& shared() {
    static Pool* pool = new Pool;  // Never destroyed: it may be used until the process ends.
    return *pool;
  }

  void* take(std::size_t bytes) {
    const std::size_t size = size_class(bytes);
    if (size == 0) return ::operator new(bytes, std::align_val_t(kLineBytes));
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = std::find_if(blocks_.begin(), blocks_.end(),
                                      [&](const Block& block) { return block.bytes == size; });
      if (found != blocks_.end()) {
        void* memory = found->memory;
        kept_ -= size;
        blocks_.erase(found);
        return memory;
      }
    }
    return ::operator new(size, std::align_val_t(kLineBytes));
  }

  void give(void* memory, std::size_t bytes) {
    const std::size_t size = size_class(bytes);
    if (size > 0) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (kept_ + size <= kMostKept && blocks_.size() < kMostBlocks) {
        blocks_.push_back({memory, size});  // There is room: no allocation that could fail.
        kept_ += size;
        return;
      }
    }
    ::operator delete(memory, std::align_val_t(kLineBytes));
  }

 private:
  struct Block {
    void* memory;
    std::size_t bytes;
  };
  // In bytes, chosen by hand: below kLeast and above kLargest the system does as well. kMostKept,
  // 16 MB, bounds what an idle process holds; kMostBlocks bounds the search for a block.
  static constexpr std::size_t kLeast = 1 << 16, kLargest = 1 << 22;
  static constexpr std::size_t kMostKept = 1 << 24, kMostBlocks = 64;

  Pool() { blocks_.reserve(kMostBlocks); }

  // Zero for sizes that are not kept.
  static std::size_t size_class(std::size_t bytes) {
    if (bytes < kLeast || bytes > kLargest) return 0;
    std::size_t size = kLeast;
    while (size < bytes) size *= 2;
    return size;
  }

  std::mutex mutex_;
  std::vector<Block> blocks_;
  std::size_t kept_ = 0;
};

template <class T>
struct PoolAllocator {
  using value_type = T;

  PoolAllocator() = default;
  template <class U>
  PoolAllocator(const PoolAllocator<U>&) {}

  T* allocate(std::size_t n) { return static_cast<T*>(Pool::shared().take(n * sizeof(T))); }
  void deallocate(T* values, std::size_t n) { Pool::shared().give(values, n * sizeof(T)); }

  template <class U>
  bool operator==(const PoolAllocator<U>&) const {
    return true;
  }
  template <class U>
  bool operator!=(const PoolAllocator<U>&) const {
    return false;
  }
};

template <class T>
using Buffer = std::vector<T, PoolAllocator<T>>;

}  // namespace sfumato
