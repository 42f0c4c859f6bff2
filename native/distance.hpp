// Squared distances of a block of dense rows to all centers, by differences.
//
// Differences, not |x|^2 - 2xb + |b|^2: the expanded form loses its digits just where a row is
// close to a center and the weight 1/h is largest. Lanes run over rows, so every pair of row and
// center goes through the same operations in the same order, and equal centers tie exactly.
#pragma once

#include <cstddef>

#include "lanes.hpp"

namespace sfumato {

// `Centers` centers against two vectors of rows.
template <int Centers, class T>
inline void distance_tile(const T* columns, ptrdiff_t stride, const T* centers,
                          ptrdiff_t n_features, T* sq_dist) {
  using L = Lanes<T>;
  typename L::Vector low[Centers] = {}, high[Centers] = {};
  for (ptrdiff_t j = 0; j < n_features; ++j) {
    const auto x_low = L::load(columns + j * stride);
    const auto x_high = L::load(columns + j * stride + L::width);
    for (int k = 0; k < Centers; ++k) {
      const T b = centers[k * n_features + j];
      const auto d_low = x_low - b, d_high = x_high - b;
      low[k] += d_low * d_low;
      high[k] += d_high * d_high;
    }
  }
  for (int k = 0; k < Centers; ++k) {
    L::store(low[k], sq_dist + k * stride);
    L::store(high[k], sq_dist + k * stride + L::width);
  }
}

// columns: n_features arrays over `stride` rows; sq_dist: n_clusters such arrays.
// n_rows is a multiple of two vectors, and rows behind the last are readable.
template <class T>
void squared_distances(const T* columns, ptrdiff_t stride, int n_rows, const T* centers,
                       int n_clusters, ptrdiff_t n_features, T* sq_dist) {
  constexpr int step = 2 * Lanes<T>::width;
  for (int i = 0; i < n_rows; i += step) {
    int k = 0;
    for (; k + 4 <= n_clusters; k += 4) {
      distance_tile<4>(columns + i, stride, centers + k * n_features, n_features,
                       sq_dist + k * stride + i);
    }
    for (; k < n_clusters; ++k) {
      distance_tile<1>(columns + i, stride, centers + k * n_features, n_features,
                       sq_dist + k * stride + i);
    }
  }
}

}  // namespace sfumato
