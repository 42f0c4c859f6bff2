// The nearest centers of each row of a tile; the lowest index wins a tie.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "lanes.hpp"

namespace sfumato {

// Ranks x rows of a block: squared distances and indices of the nearest centers. The nearest is
// always first; the others ascend if there are few ranks, or if `sorted` demands it.
template <class T>
struct Nearest {
  using Index = typename Lanes<T>::Index;

  Nearest(int ranks, int n_clusters, int capacity, bool sorted)
      : ranks(ranks),
        capacity(capacity),
        sorted(sorted),
        sq_dist(static_cast<size_t>(ranks) * capacity),
        index(sq_dist.size()),
        candidates(n_clusters) {}

  int ranks, capacity;
  bool sorted;
  std::vector<T> sq_dist;
  std::vector<Index> index;
  std::vector<std::pair<T, Index>> candidates;  // Scratch of select_by_partition.

  T* sq_dist_at(int rank) { return sq_dist.data() + static_cast<size_t>(rank) * capacity; }
  Index* index_at(int rank) { return index.data() + static_cast<size_t>(rank) * capacity; }
};

// Insertion into `Ranks` sorted registers, one row per lane, without branches. Centers come by
// ascending index and replace only what is strictly farther, so the lowest index wins a tie.
template <int Ranks, class T>
void select_in_lanes(const T* sq_dist, int n_clusters, int first, Nearest<T>& out) {
  using L = Lanes<T>;
  for (int i = 0; i < kTileRows<T>; i += L::width) {
    typename L::Vector best[Ranks];
    typename L::IndexVector who[Ranks];
    for (int r = 0; r < Ranks; ++r) {
      best[r] = typename L::Vector{} + std::numeric_limits<T>::infinity();
      who[r] = typename L::IndexVector{};
    }
    for (int k = 0; k < n_clusters; ++k) {
      typename L::Vector value = L::load(sq_dist + k * kTileRows<T> + i);
      typename L::IndexVector index = typename L::IndexVector{} + k;
      typename L::IndexVector nearer = {};
      for (int r = 0; r < Ranks; ++r) {
        nearer |= value < best[r];  // From the place of insertion on, all move back by one.
        const auto old_best = best[r];
        const auto old_who = who[r];
        best[r] = nearer ? value : old_best;
        who[r] = nearer ? index : old_who;
        value = nearer ? old_best : value;
        index = nearer ? old_who : index;
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < Ranks; ++r) {
      L::store(best[r], out.sq_dist_at(r) + first + i);
      L::store(who[r], out.index_at(r) + first + i);
    }
  }
}

// Row by row, for many ranks. Pairs compare by distance, then by index.
template <class T>
void select_by_partition(const T* sq_dist, int n_clusters, int first, Nearest<T>& out) {
  auto& pairs = out.candidates;
  const auto begin = pairs.begin(), middle = begin + out.ranks, end = begin + n_clusters;
  for (int i = 0; i < kTileRows<T>; ++i) {
    for (int k = 0; k < n_clusters; ++k) pairs[k] = {sq_dist[k * kTileRows<T> + i], k};
    if (middle != end) std::nth_element(begin, middle - 1, end);
    if (out.sorted) {
      std::sort(begin, middle);
    } else {
      std::iter_swap(begin, std::min_element(begin, middle));
    }
    for (int r = 0; r < out.ranks; ++r) {
      out.sq_dist_at(r)[first + i] = pairs[r].first;
      out.index_at(r)[first + i] = pairs[r].second;
    }
  }
}

// sq_dist: one entry per row of the tile, center by center; the tile begins at row `first`.
template <class T>
void select_nearest(const T* sq_dist, int n_clusters, int first, Nearest<T>& out) {
  switch (out.ranks) {
    case 1:
      return select_in_lanes<1>(sq_dist, n_clusters, first, out);
    case 2:
      return select_in_lanes<2>(sq_dist, n_clusters, first, out);
    case 3:
      return select_in_lanes<3>(sq_dist, n_clusters, first, out);
    case 4:
      return select_in_lanes<4>(sq_dist, n_clusters, first, out);
    case 5:
      return select_in_lanes<5>(sq_dist, n_clusters, first, out);
    case 6:
      return select_in_lanes<6>(sq_dist, n_clusters, first, out);
    default:
      return select_by_partition(sq_dist, n_clusters, first, out);
  }
}

}  // namespace sfumato
