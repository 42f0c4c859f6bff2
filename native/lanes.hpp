// One small vector type, for GCC and Clang on any processor: as wide as a register of the level
// that is being compiled. A tile is as many rows as fit into two vectors.
#pragma once

#include <cmath>
#include <cstddef>
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

  // The same vectors anywhere in memory, among numbers of any type: memcpy, but in one instruction.
  typedef T Stored __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
  typedef Index StoredIndex
      __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));

  static Vector load(const T* from) { return *reinterpret_cast<const Stored*>(from); }
  static IndexVector load_bits(const T* from) {
    return *reinterpret_cast<const StoredIndex*>(from);
  }
  static void store(Vector vector, T* to) { *reinterpret_cast<Stored*>(to) = vector; }
  static void store(IndexVector vector, Index* to) { *reinterpret_cast<StoredIndex*>(to) = vector; }

  // sums[i] += vector[i] for all lanes.
  static void add_to(double* sums, Vector vector) {
    if constexpr (sizeof(T) == sizeof(double)) {
      store(load(sums) + vector, sums);
    } else {
      using Half = Lanes<double>;
      typedef T Few __attribute__((vector_size(kVectorBytes / 2)));
      Few low, high;
      std::memcpy(&low, &vector, sizeof low);
      std::memcpy(&high, reinterpret_cast<const char*>(&vector) + sizeof low, sizeof high);
      const auto wide_low = __builtin_convertvector(low, typename Half::Vector);
      const auto wide_high = __builtin_convertvector(high, typename Half::Vector);
      Half::store(Half::load(sums) + wide_low, sums);
      Half::store(Half::load(sums + Half::width) + wide_high, sums + Half::width);
    }
  }

  static bool all(IndexVector mask) {
    bool every = true;
    for (int i = 0; i < width; ++i) every &= mask[i] != 0;
    return every;
  }

  static Vector min(Vector a, Vector b) { return a < b ? a : b; }
  static Vector max(Vector a, Vector b) { return a > b ? a : b; }

  static Vector sqrt(Vector vector) {
    for (int i = 0; i < width; ++i) vector[i] = std::sqrt(vector[i]);
    return vector;
  }

  // Lanes of a and b, by number; those of b follow those of a.
  template <Index... Numbers>
  static Vector pick(Vector a, Vector b) {
#if __has_builtin(__builtin_shufflevector)
    return __builtin_shufflevector(a, b, Numbers...);
#else  // GCC 11
    return __builtin_shuffle(a, b, IndexVector{Numbers...});
#endif
  }

  static T sum(Vector v) {
    if constexpr (width == 8) v += pick<4, 5, 6, 7, 0, 1, 2, 3>(v, v);
    if constexpr (width == 8) v += pick<2, 3, 0, 1, 6, 7, 4, 5>(v, v);
    if constexpr (width == 4) v += pick<2, 3, 0, 1>(v, v);
    return v[0] + v[1];
  }

  // a0 b0 a1 b1 ..., from the lower and from the upper halves.
  static Vector zip_low(Vector a, Vector b) {
    if constexpr (width == 2) return pick<0, 2>(a, b);
    if constexpr (width == 4) return pick<0, 4, 1, 5>(a, b);
    if constexpr (width == 8) return pick<0, 8, 1, 9, 2, 10, 3, 11>(a, b);
  }
  static Vector zip_high(Vector a, Vector b) {
    if constexpr (width == 2) return pick<1, 3>(a, b);
    if constexpr (width == 4) return pick<2, 6, 3, 7>(a, b);
    if constexpr (width == 8) return pick<4, 12, 5, 13, 6, 14, 7, 15>(a, b);
  }

  // A square of width x width numbers, the i-th row of which is row(i): zipping the first half of
  // the rows with the second, once per binary digit of the width, turns rows into columns.
  template <class Row>
  static void transpose(Row&& row, T* to, std::ptrdiff_t to_stride) {
    Vector rows[width];
    for (int i = 0; i < width; ++i) rows[i] = row(i);
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

// Calls body(k, size) for groups of at most `Largest` of n; sizes are known to the compiler.
template <int Largest, class Body>
inline void for_each_group(std::ptrdiff_t n, Body&& body) {
  std::ptrdiff_t k = 0;
  for (; k + Largest <= n; k += Largest) body(k, std::integral_constant<int, Largest>());
  if constexpr (Largest > 1) {
    for_each_group<Largest - 1>(n - k,
                                [&](std::ptrdiff_t rest, auto size) { body(k + rest, size); });
  }
}

// Sum of n numbers in double, in eight partial sums so that it runs in lanes.
template <class T>
double lane_sum(const T* values, int n) {
  constexpr int lanes = 8;
  double partial[lanes] = {}, total = 0;
  int i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (int l = 0; l < lanes; ++l) partial[l] += double(values[i + l]);
  }
  for (; i < n; ++i) total += double(values[i]);
  for (int l = 0; l < lanes; ++l) total += partial[l];
  return total;
}

template <class T>
constexpr int kTileRows = 2 * Lanes<T>::width;

}  // namespace sfumato
