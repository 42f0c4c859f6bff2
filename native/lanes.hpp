// One small vector type, for GCC and Clang on any processor: as wide as a register of the level
// that is being compiled.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace sfumato {

#if defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T>
struct Lanes {
  static constexpr int width = kVectorBytes / sizeof(T);
  using Index = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  typedef Index IndexVector __attribute__((vector_size(kVectorBytes)));

  static Vector load(const T* from) {
    Vector vector;
    std::memcpy(&vector, from, sizeof vector);
    return vector;
  }
  template <class V, class U>
  static void store(const V& vector, U* to) {
    static_assert(sizeof(U) == sizeof(T));
    std::memcpy(to, &vector, sizeof vector);
  }
};

}  // namespace sfumato
