// Squared distances of tiles of dense rows to all centers, by differences.
//
// Differences, not |x|^2 - 2xb + |b|^2: the expanded form loses its digits just where a row is
// close to a center and the weight 1/h is largest. Lanes run over rows, so every pair of row and
// center goes through the same operations in the same order, and equal centers tie exactly.
#pragma once

#include <cstddef>

#include "buffer.hpp"
#include "lanes.hpp"

namespace sfumato {

// Centers whose distances are summed together. Each has two vectors of sums: with 6 of them 12 of
// AVX2's 16 registers are sums, and 4 are left for the rows and the center. More would spill, fewer
// would load each row more often.
constexpr int kCenterGroup = 6;

// Centers rounded to T, in the order of use: group by group, feature by feature within a group.
template <class T>
Buffer<T> pack_centers(const double* centers, int n_clusters, ptrdiff_t n_features) {
  Buffer<T> packed(n_clusters * n_features);
  T* to = packed.data();
  for_each_group<kCenterGroup>(n_clusters, [&](ptrdiff_t k, auto group) {
    for (ptrdiff_t j = 0; j < n_features; ++j) {
      for (int g = 0; g < group; ++g) *to++ = static_cast<T>(centers[(k + g) * n_features + j]);
    }
  });
  return packed;
}

// One group of centers, so that a loaded row serves several and sums stay in registers.
template <int Group, class T>
inline void distance_group(const T* tile, const T* centers, ptrdiff_t n_features, T* sq_dist) {
  using L = Lanes<T>;
  typename L::Vector low[Group] = {}, high[Group] = {};
  for (ptrdiff_t j = 0; j < n_features; ++j) {
    const auto x_low = L::load(tile + j * kTileRows<T>);
    const auto x_high = L::load(tile + j * kTileRows<T> + L::width);
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

// tiles: packed tiles of rows, feature by feature; sq_dist: one entry per row of a tile, center by
// center, tile by tile. A group of centers serves all tiles while it is in cache.
template <class T>
void batch_distances(const T* tiles, ptrdiff_t tile_size, int n_tiles, const T* packed_centers,
                     int n_clusters, ptrdiff_t n_features, T* sq_dist) {
  for_each_group<kCenterGroup>(n_clusters, [&](ptrdiff_t k, auto group) {
    for (int tile = 0; tile < n_tiles; ++tile) {
      distance_group<group>(tiles + tile * tile_size, packed_centers + k * n_features, n_features,
                            sq_dist + (tile * n_clusters + k) * kTileRows<T>);
    }
  });
}

}  // namespace sfumato
