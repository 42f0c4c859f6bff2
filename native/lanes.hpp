// One small vector type, for GCC and Clang on any processor: as wide as a register of the level
// that is being compiled. Rows are handled in tiles of two vectors.
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

  // a0 b0 a1 b1 ..., from the lower and from the upper halves.
  static Vector zip_low(Vector a, Vector b) {
    if constexpr (width == 2) return __builtin_shufflevector(a, b, 0, 2);
    if constexpr (width == 4) return __builtin_shufflevector(a, b, 0, 4, 1, 5);
    if constexpr (width == 8) return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  }
  static Vector zip_high(Vector a, Vector b) {
    if constexpr (width == 2) return __builtin_shufflevector(a, b, 1, 3);
    if constexpr (width == 4) return __builtin_shufflevector(a, b, 2, 6, 3, 7);
    if constexpr (width == 8) return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  }

  // A square of width x width numbers: zipping the first half of the rows with the second, once per
  // binary digit of the width, turns rows into columns.
  static void transpose(const T* from, std::ptrdiff_t from_stride, T* to,
                        std::ptrdiff_t to_stride) {
    Vector rows[width];
    for (int i = 0; i < width; ++i) rows[i] = load(from + i * from_stride);
    for (int digit = 1; digit < width; digit *= 2) {
      Vector zipped[width];
      for (int i = 0; i < width / 2; ++i) {
        zipped[2 * i] = zip_low(rows[i], rows[i + width / 2]);
        zipped[2 * i + 1] = zip_high(rows[i], rows[i + width / 2]);
      }
      for (int i = 0; i < width; ++i) rows[i] = zipped[i];
    }
    for (int i = 0; i < width; ++i) store(rows[i], to + i * to_stride);
  }
};

template <class T>
constexpr int kTileRows = 2 * Lanes<T>::width;

}  // namespace sfumato
