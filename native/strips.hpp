// Work cut into strips by the shape of the data, never by the number of threads.
//
// Each strip is summed by one thread, and strips are added in their order: the same bits for any
// number of threads. The order is part of the contract.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace sfumato {

// Asked by the calling thread between blocks; true ends the pass early.
using Interrupted = bool (*)();

constexpr int kBlockBytes = 1 << 20;  // A block of rows stays near the second-level cache,
constexpr int kBlockEntries = 2048;   // and what is known of its nearest centers near the first.
constexpr int kLeastBlock = 32, kLargestBlock = 256;

inline int block_rows(ptrdiff_t n_features, size_t scalar_bytes, int ranks) {
  const ptrdiff_t row_bytes =
      static_cast<ptrdiff_t>(scalar_bytes) * std::max<ptrdiff_t>(1, n_features);
  const ptrdiff_t fitting = kBlockBytes / row_bytes / 32 * 32;
  const ptrdiff_t least = n_features < 256 ? 64 : 256;  // For wide rows, entries hardly matter.
  const ptrdiff_t few = std::max<ptrdiff_t>(least, kBlockEntries / std::max(1, ranks) / 32 * 32);
  return static_cast<int>(
      std::clamp<ptrdiff_t>(std::min(fitting, few), kLeastBlock, kLargestBlock));
}

struct Strips {
  ptrdiff_t n_rows;
  ptrdiff_t rows_per_strip;
  int count;

  ptrdiff_t begin(int strip) const { return strip * rows_per_strip; }
  ptrdiff_t end(int strip) const { return std::min(n_rows, begin(strip) + rows_per_strip); }
};

// A strip has sums of its own, n_clusters x n_features of them. All together they stay under a
// twelfth of the numbers that the rows store, or under a million where that is more.
inline Strips cut(ptrdiff_t n_rows, ptrdiff_t n_clusters, ptrdiff_t n_features, ptrdiff_t stored) {
  constexpr ptrdiff_t most = 64, few = 4, least_rows = 64, always = 1 << 20;
  const ptrdiff_t sums = std::max<ptrdiff_t>(1, n_clusters * n_features);
  const ptrdiff_t cheap = std::min({few, n_rows / least_rows, always / sums});
  const ptrdiff_t wanted = std::clamp<ptrdiff_t>(std::max(stored / (12 * sums), cheap), 1, most);
  ptrdiff_t rows = (n_rows + wanted - 1) / wanted;
  rows = std::max<ptrdiff_t>(1, (rows + 31) / 32 * 32);
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

// Waking a thread takes longer than some passes do: each must have enough to do. The results do not
// depend on this.
inline int useful_threads(int n_threads, const Strips& strips, ptrdiff_t work_per_row) {
  constexpr ptrdiff_t least_work = 1 << 21;  // Differences to square, some 0.1 milliseconds.
  const ptrdiff_t worthwhile = strips.n_rows * work_per_row / least_work + 1;
  return static_cast<int>(std::min<ptrdiff_t>({n_threads, strips.count, worthwhile}));
}

// Calls body(strip, thread, stopped) for every strip; false if interrupted. The body asks stopped()
// between blocks, and must not throw.
template <class Body>
bool for_each_strip(const Strips& strips, int n_threads, Interrupted interrupted, Body&& body) {
  std::atomic<bool> stop{false};
#pragma omp parallel for schedule(dynamic, 1) num_threads(n_threads)
  for (int strip = 0; strip < strips.count; ++strip) {
    const int thread = omp_get_thread_num();
    body(strip, thread, [&] {
      if (thread == 0 && interrupted != nullptr && interrupted()) stop = true;
      return stop.load();
    });
  }
  return !stop;
}

}  // namespace sfumato
