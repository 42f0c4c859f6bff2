// The nearest centers of each row of a block, nearest first; the lowest index wins a tie.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "lanes.hpp"

namespace sfumato {

// Ranks x rows: squared distances and indices of the nearest centers.
template <class T>
struct Nearest {
  using Index = typename Lanes<T>::Index;

  Nearest(int ranks, int n_clusters, int capacity)
      : ranks(ranks),
        capacity(capacity),
        sq_dist(static_cast<size_t>(ranks) * capacity),
        index(sq_dist.size()),
        order(n_clusters) {}

  int ranks, capacity;
  std::vector<T> sq_dist;
  std::vector<Index> index;
  std::vector<int> order;  // Scratch of select_by_sorting.

  T* sq_dist_at(int rank) { return sq_dist.data() + static_cast<size_t>(rank) * capacity; }
  Index* index_at(int rank) { return index.data() + static_cast<size_t>(rank) * capacity; }
};

// Insertion into `Ranks` sorted registers, one row per lane, without branches. Centers come by
// ascending index and replace only what is strictly farther, so the lowest index wins a tie.
template <int Ranks, class T>
void select_in_lanes(const T* sq_dist, int n_clusters, int n_rows, Nearest<T>& out) {
  using L = Lanes<T>;
  for (int i = 0; i < n_rows; i += L::width) {
    typename L::Vector best[Ranks];
    typename L::IndexVector who[Ranks];
    for (int r = 0; r < Ranks; ++r) {
      best[r] = typename L::Vector{} + std::numeric_limits<T>::infinity();
      who[r] = typename L::IndexVector{};
    }
    for (int k = 0; k < n_clusters; ++k) {
      typename L::Vector value = L::load(sq_dist + static_cast<size_t>(k) * out.capacity + i);
      typename L::IndexVector index = typename L::IndexVector{} + k;
      for (int r = 0; r < Ranks; ++r) {
        const auto nearer = value < best[r];
        const auto old_best = best[r];
        const auto old_who = who[r];
        best[r] = nearer ? value : old_best;
        who[r] = nearer ? index : old_who;
        value = nearer ? old_best : value;
        index = nearer ? old_who : index;
      }
    }
    for (int r = 0; r < Ranks; ++r) {
      L::store(best[r], out.sq_dist_at(r) + i);
      L::store(who[r], out.index_at(r) + i);
    }
  }
}

template <class T>
void select_by_sorting(const T* sq_dist, int n_clusters, int n_rows, Nearest<T>& out) {
  for (int i = 0; i < n_rows; ++i) {
    const auto at = [&](int k) { return sq_dist[static_cast<size_t>(k) * out.capacity + i]; };
    std::iota(out.order.begin(), out.order.end(), 0);
    const auto nearer = [&](int a, int b) { return at(a) < at(b) || (at(a) == at(b) && a < b); };
    std::partial_sort(out.order.begin(), out.order.begin() + out.ranks,
                      out.order.begin() + n_clusters, nearer);
    for (int r = 0; r < out.ranks; ++r) {
      out.sq_dist_at(r)[i] = at(out.order[r]);
      out.index_at(r)[i] = out.order[r];
    }
  }
}

// sq_dist holds one array over the rows (of the block's capacity) per center.
template <class T>
void select_nearest(const T* sq_dist, int n_clusters, int n_rows, Nearest<T>& out) {
  switch (out.ranks) {
    case 1:
      return select_in_lanes<1>(sq_dist, n_clusters, n_rows, out);
    case 2:
      return select_in_lanes<2>(sq_dist, n_clusters, n_rows, out);
    case 3:
      return select_in_lanes<3>(sq_dist, n_clusters, n_rows, out);
    case 4:
      return select_in_lanes<4>(sq_dist, n_clusters, n_rows, out);
    case 5:
      return select_in_lanes<5>(sq_dist, n_clusters, n_rows, out);
    case 6:
      return select_in_lanes<6>(sq_dist, n_clusters, n_rows, out);
    default:
      return select_by_sorting(sq_dist, n_clusters, n_rows, out);
  }
}

}  // namespace sfumato
