// The fused pass: load a block, distances, nearest centers, memberships, sums. One block of rows is
// in flight at a time, and nothing of size rows x clusters ever exists.
#pragma once

#include <cstdint>
#include <vector>

#include "blas.hpp"
#include "loss.hpp"
#include "membership.hpp"
#include "nearest.hpp"
#include "rows.hpp"
#include "strips.hpp"

namespace sfumato {

struct Pass {
  const double* weights;  // Per row, or null for all ones.
  CentersView centers;    // Measured from the origin of the rows.
  int n_threads;
  Interrupted interrupted;
  Blas blas;
};

// Where a sweep puts its sums, at centers b_k; see Statistics in statistics.py.
struct Moments {
  double* pull;    // n_clusters x n_features
  double* weight;  // n_clusters
  double* hold;    // n_clusters
};

// Where an assignment puts its rows; see Assignment in base.py. Null arrays are not written.
template <class T>
struct Places {
  std::int32_t* labels;
  T* distances;
  std::int32_t* counts;         // Memberships of each row that are not zero.
  const std::int64_t* offsets;  // Start of each row for rules without a fixed number of entries;
                                // zeros are then left out.
  std::int32_t* indices;
  T* memberships;
};

// Scratch of one thread: a block and everything known of it.
template <class Rows>
struct Workspace {
  using T = typename Rows::Scalar;

  Workspace(const Rows& rows, int ranks, int n_clusters, int capacity, bool sorted)
      : block(rows, capacity),
        sq_dist(static_cast<size_t>(n_clusters) * kTileRows<T>),
        nearest(ranks, n_clusters, capacity, sorted),
        terms(ranks, capacity),
        sorted(ranks) {}

  typename Rows::Block block;
  std::vector<T> sq_dist;  // Of a tile, n_clusters x kTileRows.
  std::vector<T> pulls;    // Of a block, n_clusters x capacity, where sums are a product.
  Nearest<T> nearest;
  Terms terms;
  std::vector<int> sorted;
};

// Sums of one strip, in one array: per center the features, then weights, holds, the objective.
class StripSums {
 public:
  StripSums(int strips, int n_clusters, ptrdiff_t n_features)
      : n_clusters_(n_clusters),
        n_features_(n_features),
        size_(n_clusters * n_features + 2 * n_clusters + 1),
        values_(static_cast<size_t>(strips) * size_) {}

  int n_clusters() const { return static_cast<int>(n_clusters_); }
  ptrdiff_t n_features() const { return n_features_; }
  double* of(int strip) { return values_.data() + strip * size_; }
  double* center(double* sums, ptrdiff_t k) const { return sums + k * n_features_; }
  double& weight(double* sums, ptrdiff_t k) const { return sums[n_clusters_ * n_features_ + k]; }
  double& hold(double* sums, ptrdiff_t k) const { return (&weight(sums, n_clusters_))[k]; }
  double& objective(double* sums) const { return sums[size_ - 1]; }

  // Adds all strips to the first, in order.
  double* total(int n_threads) {
    const ptrdiff_t strips = values_.size() / size_;
#pragma omp parallel for schedule(static) num_threads(n_threads) if (size_ > 4096)
    for (ptrdiff_t e = 0; e < size_; ++e) {
      for (ptrdiff_t strip = 1; strip < strips; ++strip) values_[e] += values_[strip * size_ + e];
    }
    return values_.data();
  }

 private:
  ptrdiff_t n_clusters_, n_features_, size_;
  std::vector<double> values_;
};

// Calls body(first) for every tile of the block, with the tile's distances in the workspace.
template <class Rows, class Body>
void for_each_tile(Workspace<Rows>& work, const typename Rows::Block::Centers& centers,
                   int n_clusters, ptrdiff_t begin, int n_rows, Body&& body) {
  work.block.load(begin, n_rows);
  for (int first = 0; first < n_rows; first += kTileRows<typename Rows::Scalar>) {
    work.block.tile_distances(centers, n_clusters, first, work.sq_dist.data());
    body(first);
  }
}

// From rows to terms.
template <class Rows, class Loss, class Membership>
void solve_block(Workspace<Rows>& work, const typename Rows::Block::Centers& centers,
                 int n_clusters, ptrdiff_t begin, int n_rows, const Loss& loss,
                 const Membership& membership) {
  for_each_tile(work, centers, n_clusters, begin, n_rows, [&](int first) {
    select_nearest(work.sq_dist.data(), n_clusters, first, work.nearest);
  });
  for (int rank = 0; rank < work.nearest.ranks; ++rank) {
    const auto* __restrict sq_dist = work.nearest.sq_dist_at(rank);
    double* __restrict losses = work.terms.at(work.terms.loss, rank);
    for (int i = 0; i < n_rows; ++i) losses[i] = loss.value(double(sq_dist[i]));
  }
  membership.solve(work.terms, n_rows, work.nearest.ranks);
}

// How hard each row pulls its centers; rows that coincide with a center hold it instead.
template <class Rows, class Loss>
void pull_or_hold(Workspace<Rows>& work, const double* weights, int n_rows, const Loss& loss,
                  const StripSums& layout, double* sums) {
  for (int rank = 0; rank < work.nearest.ranks; ++rank) {
    const double* __restrict losses = work.terms.at(work.terms.loss, rank);
    double* __restrict phi = work.terms.at(work.terms.phi, rank);
    double* __restrict pull = work.terms.at(work.terms.pull, rank);
    if (weights) {
      for (int i = 0; i < n_rows; ++i) phi[i] *= weights[i];
    }
    for (int i = 0; i < n_rows; ++i) pull[i] = phi[i] * loss.weight(losses[i]);
  }
  if (Loss::kink == 0) return;
  const auto* nearest = work.nearest.sq_dist_at(0);
  if (std::find(nearest, nearest + n_rows, 0) == nearest + n_rows) return;
  for (int rank = 0; rank < work.nearest.ranks; ++rank) {
    for (int i = 0; i < n_rows; ++i) {
      if (work.nearest.sq_dist_at(rank)[i] != 0) continue;
      const double phi = work.terms.at(work.terms.phi, rank)[i];
      layout.hold(sums, work.nearest.index_at(rank)[i]) += phi * Loss::kink;
      work.terms.at(work.terms.pull, rank)[i] = 0;
    }
  }
}

// When half of many centers are active in every row, sums are a matrix product that is nearly
// dense; below that, measured, adding rows one by one is faster.
template <class Rows>
bool sums_by_product(const Blas& blas, int ranks, int n_clusters, ptrdiff_t n_features) {
  return Rows::dense && blas.gemm(typename Rows::Scalar()) != nullptr && 2 * ranks >= n_clusters &&
         n_clusters >= 16 && n_features >= 16;
}

template <class Rows>
void accumulate(Workspace<Rows>& work, int n_rows, const Blas& blas, const StripSums& layout,
                double* sums) {
  using T = typename Rows::Scalar;
  const int ranks = work.nearest.ranks, c = layout.n_clusters();
  const bool by_product = sums_by_product<Rows>(blas, ranks, c, layout.n_features());
  if (by_product) work.pulls.assign(static_cast<size_t>(c) * work.nearest.capacity, T(0));
  for (int i = 0; i < n_rows; ++i) {
    for (int rank = 0; rank < ranks; ++rank) {
      const double pull = work.terms.at(work.terms.pull, rank)[i];
      const ptrdiff_t k = work.nearest.index_at(rank)[i];
      layout.weight(sums, k) += pull;
      if (by_product) {
        work.pulls[k * work.nearest.capacity + i] = static_cast<T>(pull);
      } else {
        work.block.add(i, pull, layout.center(sums, k));
      }
    }
  }
  if constexpr (Rows::dense) {
    if (by_product) work.block.add_product(blas.gemm(T()), work.pulls, c, sums);
  }
}

// Entries of a row, by ascending center.
template <class Rows>
void place_entries(Workspace<Rows>& work, int i, ptrdiff_t row, int entries,
                   const Places<typename Rows::Scalar>& out) {
  auto& order = work.sorted;
  std::iota(order.begin(), order.begin() + entries, 0);
  std::sort(order.begin(), order.begin() + entries, [&](int a, int b) {
    return work.nearest.index_at(a)[i] < work.nearest.index_at(b)[i];
  });
  ptrdiff_t at = out.offsets ? out.offsets[row] : row * entries;
  for (int e = 0; e < entries; ++e) {
    const double membership = work.terms.at(work.terms.membership, order[e])[i];
    if (out.offsets && membership == 0) continue;
    out.indices[at] = static_cast<std::int32_t>(work.nearest.index_at(order[e])[i]);
    out.memberships[at++] = static_cast<typename Rows::Scalar>(membership);
  }
}

template <class Rows>
void place(Workspace<Rows>& work, ptrdiff_t begin, int n_rows, int entries,
           const Places<typename Rows::Scalar>& out) {
  for (int i = 0; i < n_rows; ++i) {
    const ptrdiff_t row = begin + i;
    if (out.labels) out.labels[row] = static_cast<std::int32_t>(work.nearest.index_at(0)[i]);
    if (out.distances) out.distances[row] = std::sqrt(work.nearest.sq_dist_at(0)[i]);
    if (out.counts) {
      out.counts[row] = 0;
      for (int rank = 0; rank < entries; ++rank) {
        out.counts[row] += work.terms.at(work.terms.membership, rank)[i] != 0;
      }
    }
    if (out.memberships) place_entries(work, i, row, entries, out);
  }
}

// Calls body(strip, work, begin, n_rows) for every block of every strip, in order within a strip.
template <class Rows, class Body>
bool for_each_block(const Rows& rows, const Pass& pass, int ranks, bool sorted, Body&& body) {
  const int c = pass.centers.n_clusters;
  const Strips strips = cut(rows, c);
  const int capacity = block_rows(rows.n_features, sizeof(typename Rows::Scalar));
  const int n_threads = useful_threads(pass.n_threads, strips, c * rows.n_features);
  std::vector<Workspace<Rows>> work;
  work.reserve(n_threads);
  for (int t = 0; t < n_threads; ++t) work.emplace_back(rows, ranks, c, capacity, sorted);
  const auto on_strip = [&](int strip, int thread, const auto& stopped) {
    for (ptrdiff_t begin = strips.begin(strip); begin < strips.end(strip); begin += capacity) {
      if (stopped()) return;
      const int n_rows = static_cast<int>(std::min<ptrdiff_t>(capacity, strips.end(strip) - begin));
      body(strip, work[thread], begin, n_rows);
    }
  };
  return for_each_strip(strips, n_threads, pass.interrupted, on_strip);
}

// One pass: moments at the centers if `moments` is given, labels and memberships if `places` is.
// Returns false if interrupted; what was written then means nothing.
template <class Rows, class Loss, class Membership>
bool sweep(const Rows& rows, const Pass& pass, const Loss& loss, const Membership& membership,
           const Moments* moments, const Places<typename Rows::Scalar>* places, double* objective) {
  const int c = pass.centers.n_clusters;
  const ptrdiff_t d = rows.n_features;
  const auto centers = rows.prepare(pass.centers);
  const int ranks = membership.n_nearest(c);
  const int entries = membership.n_entries(c) < 0 ? c : membership.n_entries(c);
  StripSums sums(cut(rows, c).count, c, moments ? d : 0);
  const auto body = [&](int strip, Workspace<Rows>& work, ptrdiff_t begin, int n_rows) {
    solve_block(work, centers, c, begin, n_rows, loss, membership);
    const double* weights = pass.weights ? pass.weights + begin : nullptr;
    for (int i = 0; i < n_rows; ++i) {
      sums.objective(sums.of(strip)) += (weights ? weights[i] : 1.0) * work.terms.objective[i];
    }
    if (moments) {
      pull_or_hold(work, weights, n_rows, loss, sums, sums.of(strip));
      accumulate(work, n_rows, pass.blas, sums, sums.of(strip));
    }
    if (places) place(work, begin, n_rows, entries, *places);
  };
  if (!for_each_block(rows, pass, ranks, Membership::needs_order, body)) return false;

  double* total = sums.total(pass.n_threads);
  *objective = sums.objective(total);
  if (moments == nullptr) return true;
  for (ptrdiff_t k = 0; k < c; ++k) {
    moments->weight[k] = sums.weight(total, k);
    moments->hold[k] = sums.hold(total, k);
    for (ptrdiff_t j = 0; j < d; ++j) {
      const double b = pass.centers.values[k * d + j];
      moments->pull[k * d + j] = sums.center(total, k)[j] - moments->weight[k] * b;
    }
  }
  return true;
}

// costs[i] = min(costs[i], smallest loss to any center).
template <class Rows, class Loss>
bool lower(const Rows& rows, const Pass& pass, const Loss& loss, double* costs) {
  const auto centers = rows.prepare(pass.centers);
  const int c = pass.centers.n_clusters;
  const auto body = [&](int, Workspace<Rows>& work, ptrdiff_t begin, int n_rows) {
    for_each_tile(work, centers, c, begin, n_rows,
                  [&](int first) { select_nearest(work.sq_dist.data(), c, first, work.nearest); });
    const auto* __restrict sq_dist = work.nearest.sq_dist_at(0);
    for (int i = 0; i < n_rows; ++i) {
      costs[begin + i] = std::min(costs[begin + i], loss.value(double(sq_dist[i])));
    }
  };
  return for_each_block(rows, pass, 1, false, body);
}

// totals[k] = sum_i v_i min(costs[i], loss of row i to center k).
template <class Rows, class Loss>
bool potentials(const Rows& rows, const Pass& pass, const Loss& loss, const double* costs,
                double* totals) {
  constexpr int lanes = kTileRows<typename Rows::Scalar>;
  const auto centers = rows.prepare(pass.centers);
  const int c = pass.centers.n_clusters, strips = cut(rows, c).count;
  const size_t size = static_cast<size_t>(c) * lanes;
  std::vector<double> partial(strips * size);
  const auto body = [&](int strip, Workspace<Rows>& work, ptrdiff_t begin, int n_rows) {
    double* sums = partial.data() + strip * size;
    for_each_tile(work, centers, c, begin, n_rows, [&](int first) {
      const int m = std::min(lanes, n_rows - first);
      for (int k = 0; k < c; ++k) {
        for (int i = 0; i < m; ++i) {
          const double cost = costs[begin + first + i];
          const double v = pass.weights ? pass.weights[begin + first + i] : 1.0;
          sums[k * lanes + i] +=
              v * std::min(cost, loss.value(double(work.sq_dist[k * lanes + i])));
        }
      }
    });
  };
  const bool done = for_each_block(rows, pass, 1, false, body);
  for (int k = 0; k < c; ++k) {
    totals[k] = 0;
    for (int strip = 0; strip < strips; ++strip) {
      const double* lane = partial.data() + strip * size + k * lanes;
      totals[k] += std::accumulate(lane, lane + lanes, 0.0);
    }
  }
  return done;
}

// out: n_rows x n_clusters distances.
template <class Rows>
bool distances(const Rows& rows, const Pass& pass, typename Rows::Scalar* out) {
  constexpr int lanes = kTileRows<typename Rows::Scalar>;
  const auto centers = rows.prepare(pass.centers);
  const int c = pass.centers.n_clusters;
  const auto body = [&](int, Workspace<Rows>& work, ptrdiff_t begin, int n_rows) {
    for_each_tile(work, centers, c, begin, n_rows, [&](int first) {
      const int m = std::min(lanes, n_rows - first);
      for (int i = 0; i < m; ++i) {
        auto* row = out + (begin + first + i) * c;
        for (int k = 0; k < c; ++k) row[k] = std::sqrt(work.sq_dist[k * lanes + i]);
      }
    });
  };
  return for_each_block(rows, pass, 1, false, body);
}

}  // namespace sfumato
