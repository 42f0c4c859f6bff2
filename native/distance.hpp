// Squared distances of a tile of dense rows to all centers, by differences.
//
// Differences, not |x|^2 - 2xb + |b|^2: the expanded form loses its digits just where a row is
// close to a center and the weight 1/h is largest. Lanes run over rows, so every pair of row and
// center goes through the same operations in the same order, and equal centers tie exactly.
#pragma once

#include <cstddef>

#include "lanes.hpp"

namespace sfumato {

// `Centers` centers at a time, so that a loaded row serves several and sums stay in registers.
template <int Centers, class T>
inline void distance_group(const T* panel, const T* centers, ptrdiff_t n_features, T* sq_dist) {
  using L = Lanes<T>;
  typename L::Vector low[Centers] = {}, high[Centers] = {};
  for (ptrdiff_t j = 0; j < n_features; ++j) {
    const auto x_low = L::load(panel + j * kTileRows<T>);
    const auto x_high = L::load(panel + j * kTileRows<T> + L::width);
    for (int k = 0; k < Centers; ++k) {
      const T b = centers[k * n_features + j];
      const auto d_low = x_low - b, d_high = x_high - b;
      low[k] += d_low * d_low;
      high[k] += d_high * d_high;
    }
  }
#pragma GCC unroll 8
  for (int k = 0; k < Centers; ++k) {
    L::store(low[k], sq_dist + k * kTileRows<T>);
    L::store(high[k], sq_dist + k * kTileRows<T> + L::width);
  }
}

// panel: the tile's rows, feature by feature; sq_dist: one entry per row of the tile, center by
// center.
template <class T>
void tile_distances(const T* panel, const T* centers, int n_clusters, ptrdiff_t n_features,
                    T* sq_dist) {
  constexpr int group = 4;
  int k = 0;
  for (; k + group <= n_clusters; k += group) {
    distance_group<group>(panel, centers + k * n_features, n_features, sq_dist + k * kTileRows<T>);
  }
  const T* rest = centers + k * n_features;
  T* out = sq_dist + k * kTileRows<T>;
  switch (n_clusters - k) {
    case 3:
      return distance_group<3>(panel, rest, n_features, out);
    case 2:
      return distance_group<2>(panel, rest, n_features, out);
    case 1:
      return distance_group<1>(panel, rest, n_features, out);
    default:
      return;
  }
}

}  // namespace sfumato
