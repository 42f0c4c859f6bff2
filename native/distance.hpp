// Squared distances of tiles of dense rows to all centers, by differences.
//
// Differences, not |x|^2 - 2xb + |b|^2: the expanded form loses its digits just where a row is
// close to a center and the weight 1/h is largest. Lanes run over rows, so every pair of row and
// center goes through the same operations in the same order, and equal centers tie exactly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "buffer.hpp"
#include "lanes.hpp"

namespace sfumato {

constexpr int kCenterGroup = 6;

// Rows with many features go by stretches of them, short enough that a stretch of a few tiles and
// of a group of centers stays in the first-level cache.
template <class T>
constexpr ptrdiff_t kStretch = 512 / sizeof(T);

// Rounded to T, in the order of use: stretch by stretch, group by group, feature by feature.
template <class T>
Buffer<T> pack_centers(const double* centers, int n_clusters, ptrdiff_t n_features) {
  Buffer<T> packed(n_clusters * n_features);
  T* to = packed.data();
  for (ptrdiff_t begin = 0; begin < n_features; begin += kStretch<T>) {
    const ptrdiff_t end = std::min(begin + kStretch<T>, n_features);
    for_each_group<kCenterGroup>(n_clusters, [&](ptrdiff_t k, auto group) {
      for (ptrdiff_t j = begin; j < end; ++j) {
        for (int g = 0; g < group; ++g) *to++ = static_cast<T>(centers[(k + g) * n_features + j]);
      }
    });
  }
  return packed;
}

// A stretch of one group of centers, so that a loaded row serves several and sums stay in
// registers. From the second stretch on, sums go on where the last one ended.
template <int Group, class T>
inline void distance_group(const T* panel, const T* centers, ptrdiff_t stretch, bool first,
                           T* sq_dist) {
  using L = Lanes<T>;
  typename L::Vector low[Group] = {}, high[Group] = {};
  if (!first) {
#pragma GCC unroll 8
    for (int k = 0; k < Group; ++k) {
      low[k] = L::load(sq_dist + k * kTileRows<T>);
      high[k] = L::load(sq_dist + k * kTileRows<T> + L::width);
    }
  }
  for (ptrdiff_t j = 0; j < stretch; ++j) {
    const auto x_low = L::load(panel + j * kTileRows<T>);
    const auto x_high = L::load(panel + j * kTileRows<T> + L::width);
#pragma GCC unroll 8
    for (int k = 0; k < Group; ++k) {
      const T b = centers[j * Group + k];
      const auto d_low = x_low - b, d_high = x_high - b;
      low[k] += d_low * d_low;
      high[k] += d_high * d_high;
    }
  }
#pragma GCC unroll 8
  for (int k = 0; k < Group; ++k) {
    L::store(low[k], sq_dist + k * kTileRows<T>);
    L::store(high[k], sq_dist + k * kTileRows<T> + L::width);
  }
}

// panels: tiles of rows, feature by feature; sq_dist: one entry per row of a tile, center by
// center, tile by tile.
template <class T>
void batch_distances(const T* panels, ptrdiff_t panel_size, int n_tiles, const T* packed_centers,
                     int n_clusters, ptrdiff_t n_features, T* sq_dist) {
  for (ptrdiff_t begin = 0; begin < n_features; begin += kStretch<T>) {
    const ptrdiff_t stretch = std::min(kStretch<T>, n_features - begin);
    for_each_group<kCenterGroup>(n_clusters, [&](ptrdiff_t k, auto group) {
      const T* centers = packed_centers + begin * n_clusters + k * stretch;
      for (int tile = 0; tile < n_tiles; ++tile) {
        const T* panel = panels + tile * panel_size + begin * kTileRows<T>;
        distance_group<group>(panel, centers, stretch, begin == 0,
                              sq_dist + (tile * n_clusters + k) * kTileRows<T>);
      }
    });
  }
}

}  // namespace sfumato
