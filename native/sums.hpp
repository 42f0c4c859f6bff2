// Sums of each strip, and how a block of rows is added to them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "buffer.hpp"
#include "lanes.hpp"
#include "membership.hpp"
#include "nearest.hpp"
#include "strips.hpp"

namespace sfumato {

// Sums of all strips. A strip has one array: n_clusters x n_features sums of rows, n_clusters
// weights, n_clusters kink forces, the objective. Strips are summed by different threads, so they
// share no cache line.
class StripSums {
 public:
  StripSums(int strips, int n_clusters, ptrdiff_t n_features)
      : n_clusters_(n_clusters),
        n_features_(n_features),
        size_(n_clusters * n_features + 2 * n_clusters + 1),
        stride_((size_ + 2 * kLine - 1) / kLine * kLine),
        values_(static_cast<size_t>(std::max(1, strips)) * stride_) {}  // No rows: zeros.

  int n_clusters() const { return static_cast<int>(n_clusters_); }
  ptrdiff_t n_features() const { return n_features_; }
  double* of(int strip) { return values_.data() + strip * stride_; }
  double* center(double* sums, ptrdiff_t k) const { return sums + k * n_features_; }
  double& weight(double* sums, ptrdiff_t k) const { return sums[n_clusters_ * n_features_ + k]; }
  double& kink_force(double* sums, ptrdiff_t k) const {
    return sums[n_clusters_ * (n_features_ + 1) + k];
  }
  double& objective(double* sums) const { return sums[size_ - 1]; }

  // Adds all strips to the first, in order.
  double* total(int n_threads) {
    const ptrdiff_t strips = values_.size() / stride_;
    n_threads = static_cast<int>(std::min<ptrdiff_t>(n_threads, kMostStrips));
#pragma omp parallel for schedule(static) num_threads(n_threads) if (size_ * strips > kThreadSums)
    for (ptrdiff_t begin = 0; begin < size_; begin += kRun) {
      const ptrdiff_t end = std::min(size_, begin + kRun);
      for (ptrdiff_t strip = 1; strip < strips; ++strip) {
        const double* more = values_.data() + strip * stride_;
        for (ptrdiff_t e = begin; e < end; ++e) values_[e] += more[e];
      }
    }
    return values_.data();
  }

 private:
  static constexpr ptrdiff_t kLine = kLineBytes / sizeof(double);
  static constexpr ptrdiff_t kRun = 512;             // Sums of a step: 4 KB. Chosen by hand.
  static constexpr ptrdiff_t kThreadSums = 1 << 15;  // Sums that are worth threads. By hand.

  ptrdiff_t n_clusters_, n_features_, size_, stride_;
  Buffer<double> values_;
};

// Adds the rows of a block, times their pulls, to the sums of a strip: per center the rows that
// pull it, or as dot products over all rows, where half of the centers are active or there are few.
template <class Rows>
class Accumulator {
 public:
  using T = typename Rows::Scalar;
  using Block = typename Rows::Block;

  Accumulator(int ranks, int n_clusters, ptrdiff_t n_features, int capacity)
      : n_clusters_(n_clusters), capacity_(capacity) {
    by_dots_ = Rows::dense && dots_are_faster(ranks, n_clusters, n_features);
    if (by_dots_) {
      weights_.resize(static_cast<size_t>(n_clusters) * capacity);
    } else {
      ends_.resize(n_clusters + 1);
      rows_.resize(static_cast<size_t>(ranks) * capacity);
      weights_.resize(rows_.size());
    }
  }

  bool needs_rows() const { return !by_dots_; }

  void add(Block& block, Nearest<T>& nearest, Terms& terms, int n_rows, const StripSums& layout,
           double* sums) {
    if (by_dots_) {
      add_dots(block, nearest, terms, n_rows, layout, sums);
    } else {
      add_rows(block, nearest, terms, n_rows, layout, sums);
    }
  }

 private:
  // Cost of sorting and adding one row of one center, in vector operations of the dot products.
  // Chosen by hand: more means dot products for more clusters and features.
  static constexpr int kEntryCost = 16;

  // A feature block has kFeatureBlockBytes, a part of the second-level cache, but at least
  // kLeastFeatures features, and a multiple of kFeatureMultiple, which is whole vectors at every
  // level. Chosen by hand: blocks half as wide begin and end more loops, wider ones leave the
  // cache.
  static constexpr ptrdiff_t kFeatureBlockBytes = 1 << 17;
  static constexpr ptrdiff_t kLeastFeatures = 48, kFeatureMultiple = 24;

  static bool dots_are_faster(int ranks, ptrdiff_t n_clusters, ptrdiff_t n_features) {
    if (2 * ranks >= n_clusters) return true;
    return n_clusters * (n_features + 1) <= kEntryCost * ranks * Lanes<T>::width;
  }

  void add_dots(Block& block, Nearest<T>& nearest, Terms& terms, int n_rows,
                const StripSums& layout, double* sums) {
    if constexpr (Rows::dense) {
      spread(nearest, terms, n_rows);
      for (int k = 0; k < n_clusters_; ++k) {
        const T* weights = weights_.data() + static_cast<size_t>(k) * capacity_;
        layout.weight(sums, k) += lane_sum(weights, n_rows);
      }
      for_each_feature_block(layout.n_features(), n_rows, [&](ptrdiff_t begin, ptrdiff_t end) {
        block.add_dots(weights_, n_clusters_, begin, end, sums);
      });
    }
  }

  void add_rows(Block& block, Nearest<T>& nearest, Terms& terms, int n_rows,
                const StripSums& layout, double* sums) {
    sort_by_center(nearest, terms, n_rows);
    for (int k = 0; k < n_clusters_; ++k) {
      layout.weight(sums, k) += lane_sum(weights_.data() + ends_[k], ends_[k + 1] - ends_[k]);
    }
    for_each_feature_block(layout.n_features(), n_rows, [&](ptrdiff_t begin, ptrdiff_t end) {
      for (int k = 0; k < n_clusters_; ++k) {
        const int first = ends_[k], n_entries = ends_[k + 1] - first;
        block.add_rows(rows_.data() + first, weights_.data() + first, n_entries, begin, end,
                       layout.center(sums, k));
      }
    });
  }

  // Calls body(begin, end) for blocks of features, so that these features of all rows stay in cache
  // for all centers.
  template <class Body>
  static void for_each_feature_block(ptrdiff_t n_features, int n_rows, Body&& body) {
    const ptrdiff_t fitting = kFeatureBlockBytes / static_cast<ptrdiff_t>(sizeof(T) * n_rows);
    const ptrdiff_t size =
        Rows::dense ? std::max(kLeastFeatures, fitting / kFeatureMultiple * kFeatureMultiple)
                    : n_features;
    for (ptrdiff_t begin = 0; begin < n_features; begin += size) {
      body(begin, std::min(n_features, begin + size));
    }
  }

  // Entries of center k from ends_[k] to ends_[k + 1], by ascending row.
  void sort_by_center(Nearest<T>& nearest, Terms& terms, int n_rows) {
    std::fill(ends_.begin(), ends_.end(), 0);
    for (int rank = 0; rank < nearest.ranks; ++rank) {
      const auto* index = nearest.index_at(rank);
      for (int i = 0; i < n_rows; ++i) ++ends_[index[i]];
    }
    for (int k = 1; k <= n_clusters_; ++k) ends_[k] += ends_[k - 1];
    for (int rank = nearest.ranks - 1; rank >= 0; --rank) {
      const auto* index = nearest.index_at(rank);
      const double* pull = terms.at(terms.pull, rank);
      for (int i = n_rows - 1; i >= 0; --i) {
        const int at = --ends_[index[i]];
        rows_[at] = i;
        weights_[at] = static_cast<T>(pull[i]);
      }
    }
  }

  // n_clusters x capacity, zero where a center is not active and behind the last row.
  void spread(Nearest<T>& nearest, Terms& terms, int n_rows) {
    if (nearest.all) {
      std::copy(terms.pull.begin(), terms.pull.end(), weights_.begin());
      for (int k = 0; n_rows < capacity_ && k < n_clusters_; ++k) {
        T* weights = weights_.data() + static_cast<size_t>(k) * capacity_;
        std::fill(weights + n_rows, weights + capacity_, T(0));
      }
      return;
    }
    std::fill(weights_.begin(), weights_.end(), T(0));
    for (int rank = 0; rank < nearest.ranks; ++rank) {
      const auto* index = nearest.index_at(rank);
      const double* pull = terms.at(terms.pull, rank);
      for (int i = 0; i < n_rows; ++i) {
        weights_[static_cast<size_t>(index[i]) * capacity_ + i] = static_cast<T>(pull[i]);
      }
    }
  }

  bool by_dots_;
  int n_clusters_, capacity_;
  std::vector<int> ends_, rows_;
  Buffer<T> weights_;
};

}  // namespace sfumato
