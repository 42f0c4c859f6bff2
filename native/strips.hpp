// Work cut into strips by the shape of the data, never by the number of threads.
//
// Each strip is summed by one thread, and strips are added in their order: the same bits for any
// number of threads. The order is part of the contract.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "openmp.hpp"

namespace sfumato {

// Called by the calling thread between blocks; true ends the pass early.
using Interrupted = bool (*)();

// Size of a block of rows, all chosen by hand. kBlockBytes keeps the rows near the second-level
// cache, and kBlockEntries (rows x nearest centers) what is known of them near the first. Entries
// do not reduce a block below kNarrowBlock rows, or kWideBlock rows from kWideFeatures features on:
// there distances take most of the time, and blocks of 256 rows halved the horizontal sums of
// Accumulator's dot products.
constexpr ptrdiff_t kBlockBytes = 1 << 20, kBlockEntries = 2048;
constexpr ptrdiff_t kLeastBlock = 32, kLargestBlock = 256;
constexpr ptrdiff_t kWideFeatures = 256, kNarrowBlock = 64, kWideBlock = 256;
constexpr ptrdiff_t kRowMultiple = 32;  // Rows of two tiles of the widest level, 16 floats each.

inline int block_rows(ptrdiff_t n_features, size_t scalar_bytes, int ranks) {
  const ptrdiff_t row_bytes =
      static_cast<ptrdiff_t>(scalar_bytes) * std::max<ptrdiff_t>(1, n_features);
  const ptrdiff_t fitting = kBlockBytes / row_bytes / kRowMultiple * kRowMultiple;
  const ptrdiff_t least = n_features < kWideFeatures ? kNarrowBlock : kWideBlock;
  const ptrdiff_t few = kBlockEntries / std::max(1, ranks) / kRowMultiple * kRowMultiple;
  return static_cast<int>(
      std::clamp(std::min(fitting, std::max(least, few)), kLeastBlock, kLargestBlock));
}

struct Strips {
  ptrdiff_t n_rows;
  ptrdiff_t rows_per_strip;
  int count;

  ptrdiff_t begin(int strip) const { return strip * rows_per_strip; }
  ptrdiff_t end(int strip) const { return std::min(n_rows, begin(strip) + rows_per_strip); }
};

// Bounds of the number of strips, chosen by hand; another value gives other bits. A strip has sums
// of its own, n_clusters x n_features of them. The sums of all strips stay under a twelfth of the
// numbers that the rows store (kStoredPerSum); up to kFewStrips are made while each has
// kLeastStripRows rows and all sums stay under a million (kCheapSums). kMostStrips bounds the
// threads that have work.
constexpr ptrdiff_t kMostStrips = 64, kStoredPerSum = 12;
constexpr ptrdiff_t kFewStrips = 4, kLeastStripRows = 64, kCheapSums = 1 << 20;

inline Strips cut(ptrdiff_t n_rows, ptrdiff_t n_clusters, ptrdiff_t n_features, ptrdiff_t stored) {
  const ptrdiff_t sums = std::max<ptrdiff_t>(1, n_clusters * n_features);
  const ptrdiff_t cheap = std::min({kFewStrips, n_rows / kLeastStripRows, kCheapSums / sums});
  const ptrdiff_t wanted =
      std::clamp<ptrdiff_t>(std::max(stored / (kStoredPerSum * sums), cheap), 1, kMostStrips);
  ptrdiff_t rows = (n_rows + wanted - 1) / wanted;
  rows = std::max<ptrdiff_t>(1, (rows + kRowMultiple - 1) / kRowMultiple * kRowMultiple);
  return {n_rows, rows, static_cast<int>((n_rows + rows - 1) / rows)};
}

template <class Rows>
Strips cut(const Rows& rows, int n_clusters) {
  return cut(rows.n_rows, n_clusters, rows.n_features, rows.stored());
}

// For passes that sum nothing.
template <class Rows>
Strips cut_freely(const Rows& rows) {
  return cut(rows.n_rows, 1, 1, rows.stored());
}

// True in a process that was made by fork(): OpenMP's threads stay behind in the parent, and its
// runtime would wait for them forever. Passes then use one thread, and give the same bits.
inline std::atomic<bool> forked{false};

// Least work of a thread, in differences between a row's and a center's feature: some 0.1
// milliseconds. Waking a thread takes longer than smaller passes do. Results do not depend on it.
constexpr ptrdiff_t kThreadWork = 1 << 21;

inline int useful_threads(int n_threads, const Strips& strips, ptrdiff_t work_per_row) {
  if (forked) return 1;
  const ptrdiff_t worthwhile = strips.n_rows * work_per_row / kThreadWork + 1;
  const ptrdiff_t useful = std::min<ptrdiff_t>({n_threads, strips.count, worthwhile});
  return static_cast<int>(std::max<ptrdiff_t>(1, useful));
}

// Calls body(strip, thread, stopped) for every strip; false if interrupted. The body ends when
// stopped(), which it calls between blocks, is true, and must not throw.
template <class Body>
bool for_each_strip(const Strips& strips, int n_threads, Interrupted interrupted, Body&& body) {
  std::atomic<bool> stop{false};
  const auto run = [&](int strip, int thread) {
    body(strip, thread, [&] {
      if (thread == 0 && interrupted != nullptr && interrupted()) stop = true;
      return stop.load();
    });
  };
  if (n_threads == 1) {  // Without OpenMP, whose runtime may not work; see `forked`.
    for (int strip = 0; strip < strips.count; ++strip) run(strip, 0);
    return !stop;
  }
#pragma omp parallel for schedule(dynamic, 1) num_threads(n_threads)
  for (int strip = 0; strip < strips.count; ++strip) run(strip, omp_get_thread_num());
  return !stop;
}

}  // namespace sfumato
