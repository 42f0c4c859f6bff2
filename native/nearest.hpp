// The nearest centers of each row of a tile; the lowest index wins a tie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "buffer.hpp"
#include "lanes.hpp"

namespace sfumato {

// Ranks x rows of a block: squared distances and indices of the nearest centers. The nearest is
// first; the others ascend if there are few ranks, or if `sorted` demands it. If all centers are
// requested unsorted, they stay in index order, and the nearest is stored separately (first_*).
template <class T>
struct Nearest {
  using Index = typename Lanes<T>::Index;

  Nearest(int ranks, int n_clusters, int capacity, bool sorted)
      : ranks(ranks),
        capacity(capacity),
        sorted(sorted),
        all(ranks == n_clusters && ranks > 1 && !sorted),
        sq_dist(static_cast<size_t>(ranks) * capacity),
        index(sq_dist.size()),
        first_sq_dist(all ? capacity : 0),
        first_index(first_sq_dist.size()),
        candidates(n_clusters) {
    for (int rank = 0; all && rank < ranks; ++rank) std::fill_n(index_at(rank), capacity, rank);
  }

  int ranks, capacity;
  bool sorted, all;
  Buffer<T> sq_dist;
  Buffer<Index> index;
  Buffer<T> first_sq_dist;  // Of the nearest, where all are wanted.
  Buffer<Index> first_index;
  std::vector<std::pair<T, Index>> candidates;  // Scratch of select_sorted.

  T* sq_dist_at(int rank) { return sq_dist.data() + static_cast<size_t>(rank) * capacity; }
  Index* index_at(int rank) { return index.data() + static_cast<size_t>(rank) * capacity; }
  const T* smallest() { return all ? first_sq_dist.data() : sq_dist_at(0); }
  const Index* labels() { return all ? first_index.data() : index_at(0); }
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

// Row by row and in order, for rules that need it. Pairs compare by distance, then by index. NaN
// has no order: it counts as infinite.
template <class T>
void select_sorted(const T* sq_dist, int n_clusters, int first, Nearest<T>& out) {
  auto& pairs = out.candidates;
  const auto begin = pairs.begin(), middle = begin + out.ranks, end = begin + n_clusters;
  for (int i = 0; i < kTileRows<T>; ++i) {
    for (int k = 0; k < n_clusters; ++k) {
      const T value = sq_dist[k * kTileRows<T> + i];
      pairs[k] = {value == value ? value : std::numeric_limits<T>::infinity(), k};
    }
    if (middle != end) std::nth_element(begin, middle - 1, end);
    std::sort(begin, middle);
    for (int r = 0; r < out.ranks; ++r) {
      out.sq_dist_at(r)[first + i] = pairs[r].first;
      out.index_at(r)[first + i] = pairs[r].second;
    }
  }
}

// Squared distances are not negative, so their bits, read as integers, are in the same order: the
// distance that parts the nearest `ranks` centers from the others is found by halving an interval
// of integers, for all lanes at once. Most rows are done when it lies between two distances; if
// the last of the nearest is tied, the interval shrinks to its one value.
template <class T>
typename Lanes<T>::IndexVector find_threshold(const T* sq_dist, int n_clusters, int ranks) {
  using L = Lanes<T>;
  using Bits = typename L::IndexVector;
  const auto at = [&](int k) { return L::load_bits(sq_dist + k * kTileRows<T>); };
  Bits low = at(0), high = low;
  for (int k = 1; k < n_clusters; ++k) {
    const Bits bits = at(k);
    low = bits < low ? bits : low;
    high = bits > high ? bits : high;
  }
  Bits done = {};
  while (true) {
    const Bits middle = low + (high - low) / 2;
    Bits count = {};
    for (int k = 0; k < n_clusters; ++k) count -= at(k) <= middle;
    done |= (count == ranks) | (low == high);
    high = (count >= ranks) & ~done ? middle : high;
    low = (count < ranks) & ~done ? middle + 1 : low;
    // A lane that is done keeps its interval, and so its middle.
    if (L::all(done)) return middle;
  }
}

// For many ranks: first the threshold, then all centers below it by ascending index, and of those
// at it the first ones. Only the nearest is moved to its place.
template <class T>
void select_by_threshold(const T* sq_dist, int n_clusters, int first, Nearest<T>& out) {
  using L = Lanes<T>;
  for (int from = 0; from < kTileRows<T>; from += L::width) {
    const auto threshold = find_threshold(sq_dist + from, n_clusters, out.ranks);
    for (int lane = 0; lane < L::width; ++lane) {
      const int i = from + lane;
      T limit;
      const typename L::Index bits = threshold[lane];
      std::memcpy(&limit, &bits, sizeof limit);
      int below = 0, rank = 0, nearest = 0;
      for (int k = 0; k < n_clusters; ++k) below += sq_dist[k * kTileRows<T> + i] < limit;
      int at_limit = out.ranks - below;
      T smallest = std::numeric_limits<T>::infinity();
      for (int k = 0; k < n_clusters && rank < out.ranks; ++k) {
        const T value = sq_dist[k * kTileRows<T> + i];
        const bool tied = value == limit && at_limit > 0;
        at_limit -= tied;
        out.sq_dist_at(rank)[first + i] = value;
        out.index_at(rank)[first + i] = k;
        if (value < smallest) smallest = value, nearest = rank;
        rank += value < limit || tied;
      }
      std::swap(out.sq_dist_at(0)[first + i], out.sq_dist_at(nearest)[first + i]);
      std::swap(out.index_at(0)[first + i], out.index_at(nearest)[first + i]);
    }
  }
}

template <class T>
void select_all(const T* sq_dist, int n_clusters, int first, Nearest<T>& out) {
  using L = Lanes<T>;
  for (int i = 0; i < kTileRows<T>; i += L::width) {
    auto best = L::load(sq_dist + i);
    typename L::IndexVector who = {};
    for (int k = 0; k < n_clusters; ++k) {
      const auto value = L::load(sq_dist + k * kTileRows<T> + i);
      L::store(value, out.sq_dist_at(k) + first + i);
      who = value < best ? typename L::IndexVector{} + k : who;
      best = value < best ? value : best;
    }
    L::store(best, out.first_sq_dist.data() + first + i);
    L::store(who, out.first_index.data() + first + i);
  }
}

// sq_dist: one entry per row of the tile, center by center; the tile begins at row `first`.
template <class T>
void select_nearest(const T* sq_dist, int n_clusters, int first, Nearest<T>& out) {
  if (out.all) return select_all(sq_dist, n_clusters, first, out);
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
      if (out.sorted) return select_sorted(sq_dist, n_clusters, first, out);
      return select_by_threshold(sq_dist, n_clusters, first, out);
  }
}

// The smallest value of each row of a table, its column, and the next smallest value; infinite in a
// table of one column. The first column wins a tie.
template <class T>
void two_smallest(const T* table, ptrdiff_t n_rows, ptrdiff_t n_columns, std::int64_t* column,
                  T* smallest, T* second) {
  for (ptrdiff_t i = 0; i < n_rows; ++i) {
    const T* row = table + i * n_columns;
    T least = row[0], next = std::numeric_limits<T>::infinity();
    std::int64_t where = 0;
    for (ptrdiff_t k = 1; k < n_columns; ++k) {
      const T value = row[k];
      next = std::min(next, std::max(least, value));
      where = value < least ? k : where;
      least = std::min(least, value);
    }
    column[i] = where, smallest[i] = least, second[i] = next;
  }
}

}  // namespace sfumato
