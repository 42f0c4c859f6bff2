// One step of mean shift: from some points to the means of the rows nearest to them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "median.hpp"
#include "sweep.hpp"

namespace sfumato {

// Element of a rank among n values, from 0 on. A sample of them bounds it from above, and only
// values up to the bound are ordered: where the rank is low, as here, they are few. `scratch` has
// room for all.
template <class T>
T value_of_rank(const T* values, ptrdiff_t n, ptrdiff_t rank, std::vector<T>& scratch) {
  constexpr ptrdiff_t sampled = 256;  // Chosen by hand, as is the margin of 8.
  const ptrdiff_t step = n / sampled;
  const ptrdiff_t bounding = step > 0 ? 2 * (rank / step) + 8 : sampled;
  scratch.resize(n);
  ptrdiff_t count = 0;
  if (bounding < sampled) {
    for (ptrdiff_t i = 0; i < sampled; ++i) scratch[i] = values[i * step];
    std::nth_element(scratch.begin(), scratch.begin() + bounding, scratch.begin() + sampled);
    const T bound = scratch[bounding];
    for (ptrdiff_t i = 0; i < n; ++i) {
      scratch[count] = values[i];
      count += values[i] <= bound;
    }
  }
  if (count <= rank) count = std::copy_n(values, n, scratch.begin()) - scratch.begin();
  std::nth_element(scratch.begin(), scratch.begin() + rank, scratch.begin() + count);
  return scratch[rank];
}

// Smallest of the squared distances within which rows have a weight of `mass`, or the largest of
// all. Weights are null if they are alike; `mass` then counts rows. `scratch` has room for all.
template <class T>
T radius_of_mass(const T* sq_dist, const double* weights, ptrdiff_t n_rows, double mass,
                 std::vector<std::pair<T, double>>& scratch, std::vector<T>& values) {
  if (weights == nullptr) {
    const auto place = static_cast<ptrdiff_t>(std::ceil(mass)) - 1;
    return value_of_rank(sq_dist, n_rows, std::clamp<ptrdiff_t>(place, 0, n_rows - 1), values);
  }
  scratch.resize(n_rows);
  for (ptrdiff_t i = 0; i < n_rows; ++i) scratch[i] = {sq_dist[i], weights[i]};
  std::sort(scratch.begin(), scratch.end());
  double sum = 0;
  for (const auto& [sq, weight] : scratch) {
    sum += weight;
    if (sum >= mass) return sq;
  }
  return scratch.back().first;
}

// means[k]: weighted mean of the rows nearest to point k, of a total weight of `mass` at least,
// and radii[k] the distance of the farthest of them. Points are the centers of the pass.
template <class Rows>
bool mean_shift(const Rows& rows, const Pass& pass, double mass, double* means, double* radii) {
  using T = typename Rows::Scalar;
  constexpr int lanes = kTileRows<T>;
  const ptrdiff_t n = rows.n_rows, d = rows.n_features;
  const int c = pass.centers.n_clusters;
  const auto points = rows.prepare(pass.centers);
  Buffer<T> sq_dists(static_cast<size_t>(c) * n);
  const auto measure = [&](int, Workspace<Rows>& work, ptrdiff_t begin, int n_rows) {
    for_each_tile(work, points, c, begin, n_rows, [&](int first, const auto* sq_dist) {
      const int m = std::min(lanes, n_rows - first);
      for (int k = 0; k < c; ++k) {
        std::copy_n(sq_dist + k * lanes, m, sq_dists.data() + k * n + begin + first);
      }
    });
  };
  if (!for_each_block(rows, pass, cut_freely(rows), PassOptions{1}, measure)) return false;

  const bool alike = pass.weights == nullptr ||
                     std::all_of(pass.weights, pass.weights + n,
                                 [&](double weight) { return weight == pass.weights[0]; });
  const double mass_of_row = alike && pass.weights ? pass.weights[0] : 1.0;
  // Weights are measured in a unit in which they neither overflow nor vanish in T.
  const double unit = alike ? mass_of_row : 1 / weight_scale(pass.weights, n);
  std::vector<std::pair<T, double>> scratch;
  std::vector<T> values, limits(c);
  for (int k = 0; k < c; ++k) {
    limits[k] = radius_of_mass(sq_dists.data() + k * n, alike ? nullptr : pass.weights, n,
                               mass / mass_of_row, scratch, values);
    radii[k] = double(std::sqrt(limits[k]));
  }

  // Few rows are near a point, so that one thread is enough.
  const int capacity = block_rows(d, sizeof(T), 1);
  typename Rows::Block block(rows, c, capacity, true);
  std::vector<int> near(capacity);
  std::vector<T> shares(capacity);
  std::vector<double> totals(c, 0.0);
  std::fill(means, means + c * d, 0.0);
  for (ptrdiff_t begin = 0; begin < n; begin += capacity) {
    const int n_rows = static_cast<int>(std::min<ptrdiff_t>(capacity, n - begin));
    block.load(begin, n_rows);
    for (int k = 0; k < c; ++k) {
      const T* sq_dist = sq_dists.data() + k * n + begin;
      int count = 0;
      for (int i = 0; i < n_rows; ++i) {
        if (!(sq_dist[i] <= limits[k])) continue;
        const double weight = pass.weights ? pass.weights[begin + i] / unit : 1.0;
        near[count] = i, shares[count++] = static_cast<T>(weight);
        totals[k] += weight;
      }
      block.add_rows(near.data(), shares.data(), count, 0, d, means + k * d);
    }
  }
  for (int k = 0; k < c; ++k) {
    for (ptrdiff_t j = 0; j < d; ++j) means[k * d + j] /= totals[k];
  }
  return true;
}

}  // namespace sfumato
