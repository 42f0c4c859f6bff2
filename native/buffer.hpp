// Vectors for scratch: they begin on a cache line, so that no lane straddles two, and their memory
// is kept for the next pass, because getting fresh pages takes longer than many a small pass.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <new>
#include <vector>

namespace sfumato {

constexpr std::size_t kLineBytes = 64;

// Blocks that were given back, up to a bound. Small ones are left to the system, which keeps them.
class Pool {
 public:
  static Pool& shared() {
    static Pool* pool = new Pool;  // Never destroyed: it may be used until the process ends.
    return *pool;
  }

  void* take(std::size_t bytes) {
    if (bytes >= kLeastBytes) {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto fits = [&](const Block& block) {
        return block.bytes >= bytes && block.bytes / 2 <= bytes;
      };
      const auto found = std::find_if(blocks_.begin(), blocks_.end(), fits);
      if (found != blocks_.end()) {
        void* memory = found->memory;
        kept_ -= found->bytes;
        blocks_.erase(found);
        return memory;
      }
    }
    return ::operator new(bytes, std::align_val_t(kLineBytes));
  }

  // A block may be larger than was asked for; what it really holds is then forgotten, which only
  // makes it fit less often.
  void give(void* memory, std::size_t bytes) {
    if (bytes >= kLeastBytes) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (kept_ + bytes <= kMostKept && blocks_.size() < blocks_.capacity()) {
        blocks_.push_back({memory, bytes});
        kept_ += bytes;
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
  static constexpr std::size_t kLeastBytes = 1 << 16, kMostKept = 1 << 24, kMostBlocks = 64;

  Pool() { blocks_.reserve(kMostBlocks); }

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
