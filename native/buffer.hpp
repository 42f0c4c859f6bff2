// Vectors whose first element begins a cache line, so that no lane straddles two.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace sfumato {

constexpr std::size_t kLineBytes = 64;

template <class T>
struct LineAllocator {
  using value_type = T;

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}

  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(kLineBytes)));
  }
  void deallocate(T* values, std::size_t) {
    ::operator delete(values, std::align_val_t(kLineBytes));
  }
  template <class U>
  bool operator==(const LineAllocator<U>&) const {
    return true;
  }
  template <class U>
  bool operator!=(const LineAllocator<U>&) const {
    return false;
  }
};

template <class T>
using Buffer = std::vector<T, LineAllocator<T>>;

}  // namespace sfumato
