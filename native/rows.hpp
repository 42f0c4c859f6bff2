// Rows in the storage they came in: dense of any number type and strides, or CSR.
//
// A pass loads one block of rows at a time, cast to T and measured from the origin. Each storage
// brings three classes: the rows, centers prepared for them, and a block that knows its squared
// distances to the centers and adds weighted rows to sums.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "blas.hpp"
#include "distance.hpp"
#include "lanes.hpp"
#include "strips.hpp"

namespace sfumato {

// Centers measured from the rows' origin, in double and rounded to T.
struct CentersView {
  const double* values;  // n_clusters x n_features
  int n_clusters;
};

template <class T>
struct DenseRows {
  static constexpr bool dense = true;
  using Scalar = T;
  using Load = void (*)(const DenseRows&, ptrdiff_t begin, int n_rows, T* out);
  class Block;

  // Strides in elements of the source.
  const void* data;
  ptrdiff_t n_rows, n_features, row_stride, column_stride;
  Load load;
  std::vector<T> origin;

  ptrdiff_t stored() const { return n_rows * n_features; }

  std::vector<T> prepare(const CentersView& centers) const {
    return {centers.values, centers.values + centers.n_clusters * n_features};
  }
};

template <class T, class Source>
void load_dense(const DenseRows<T>& rows, ptrdiff_t begin, int n_rows, T* out) {
  const ptrdiff_t d = rows.n_features, step = rows.column_stride;
  const T* origin = rows.origin.data();
  for (int i = 0; i < n_rows; ++i) {
    const Source* row = static_cast<const Source*>(rows.data) + (begin + i) * rows.row_stride;
    T* to = out + i * d;
    if (step == 1) {
      for (ptrdiff_t j = 0; j < d; ++j) to[j] = static_cast<T>(row[j]) - origin[j];
    } else {
      for (ptrdiff_t j = 0; j < d; ++j) to[j] = static_cast<T>(row[j * step]) - origin[j];
    }
  }
}

template <class T>
class DenseRows<T>::Block {
 public:
  using Centers = std::vector<T>;

  Block(const DenseRows& rows, int capacity)
      : rows_(rows),
        capacity_(capacity),
        values_(static_cast<size_t>(capacity) * rows.n_features),
        panels_(values_.size()) {}

  void load(ptrdiff_t begin, int n_rows) {
    n_rows_ = n_rows;
    rows_.load(rows_, begin, n_rows, values_.data());
    for (int first = 0; first < n_rows; first += kTileRows<T>) make_panel(first);
  }

  // One entry per row of the tile that begins at `first`, center by center; rows behind the last
  // of the block hold anything.
  void tile_distances(const Centers& centers, int n_clusters, int first, T* out) const {
    sfumato::tile_distances(panels_.data() + first * rows_.n_features, centers.data(), n_clusters,
                            rows_.n_features, out);
  }

  // Sums over the features, center by center, += weights (n_clusters x capacity) * rows.
  void add_product(Gemm<T> gemm, const std::vector<T>& weights, int n_clusters, double* sums) {
    const int d = static_cast<int>(rows_.n_features);
    if constexpr (sizeof(T) == sizeof(double)) {
      weighted_sums(gemm, weights.data(), capacity_, values_.data(), n_rows_, n_clusters, d, T(1),
                    sums);
    } else {  // A block is few rows: sum it in T, and only the blocks in double.
      product_.resize(static_cast<size_t>(n_clusters) * d);
      weighted_sums(gemm, weights.data(), capacity_, values_.data(), n_rows_, n_clusters, d, T(0),
                    product_.data());
      for (size_t e = 0; e < product_.size(); ++e) sums[e] += double(product_[e]);
    }
  }

  // sums += weight * row, for sums over the features of one center.
  void add(int row, double weight, double* sums) const {
    const T* x = values_.data() + row * rows_.n_features;
    for (ptrdiff_t j = 0; j < rows_.n_features; ++j) sums[j] += weight * double(x[j]);
  }

 private:
  void make_panel(int first) {
    using L = Lanes<T>;
    const ptrdiff_t d = rows_.n_features;
    const T* rows = values_.data() + first * d;
    T* panel = panels_.data() + first * d;
    ptrdiff_t j = 0;
    for (; j + L::width <= d; j += L::width) {
      for (int i = 0; i < kTileRows<T>; i += L::width) {
        L::transpose(rows + i * d + j, d, panel + j * kTileRows<T> + i, kTileRows<T>);
      }
    }
    for (; j < d; ++j) {
      for (int i = 0; i < kTileRows<T>; ++i) panel[j * kTileRows<T> + i] = rows[i * d + j];
    }
  }

  const DenseRows& rows_;
  int capacity_, n_rows_ = 0;
  std::vector<T> values_;  // Row by row.
  std::vector<T> panels_;  // Tile by tile, feature by feature within a tile.
  std::vector<T> product_;
};

template <class T>
struct CsrRows {
  static constexpr bool dense = false;
  using Scalar = T;
  using Load = void (*)(const CsrRows&, ptrdiff_t begin, ptrdiff_t end, T* values, int* columns);
  using Offset = ptrdiff_t (*)(const CsrRows&, ptrdiff_t row);
  class Block;

  // Columns of a row ascend and differ.
  const void* data;
  const void* indices;
  const void* indptr;
  ptrdiff_t n_rows, n_features;
  Load load;
  Offset offset;

  ptrdiff_t stored() const { return offset(*this, n_rows); }

  // Most nonzeros that any block can have, wherever it starts; to be set by measure().
  ptrdiff_t block_entries = 0;

  void measure() {
    const int capacity = block_rows(n_features, sizeof(T));
    for (ptrdiff_t i = 0; i < n_rows; ++i) {
      const ptrdiff_t end = offset(*this, std::min(n_rows, i + capacity));
      block_entries = std::max(block_entries, end - offset(*this, i));
    }
  }

  struct Centers {
    const double* by_center;  // Not rounded: sparse rows cannot be measured from an origin.
    std::vector<T> by_feature, sq_norms;
  };

  Centers prepare(const CentersView& given) const {
    const int c = given.n_clusters;
    Centers centers{given.values, std::vector<T>(c * n_features), std::vector<T>(c)};
    for (int k = 0; k < c; ++k) {
      double sum = 0;
      for (ptrdiff_t j = 0; j < n_features; ++j) {
        const double b = given.values[k * n_features + j];
        centers.by_feature[j * c + k] = static_cast<T>(b);
        sum += b * b;
      }
      centers.sq_norms[k] = static_cast<T>(sum);
    }
    return centers;
  }
};

template <class T, class Source, class Index>
void load_csr(const CsrRows<T>& rows, ptrdiff_t begin, ptrdiff_t end, T* values, int* columns) {
  const auto* data = static_cast<const Source*>(rows.data);
  const auto* indices = static_cast<const Index*>(rows.indices);
  for (ptrdiff_t entry = begin; entry < end; ++entry) {
    values[entry - begin] = T(data[entry]);
    columns[entry - begin] = static_cast<int>(indices[entry]);
  }
}

template <class T, class Index>
ptrdiff_t csr_offset(const CsrRows<T>& rows, ptrdiff_t row) {
  return static_cast<const Index*>(rows.indptr)[row];
}

template <class T>
class CsrRows<T>::Block {
 public:
  using Centers = typename CsrRows::Centers;

  Block(const CsrRows& rows, int capacity)
      : rows_(rows),
        offsets_(capacity + 1),
        values_(rows.block_entries),
        columns_(values_.size()),
        dense_(rows.n_features) {}

  void load(ptrdiff_t begin, int n_rows) {
    n_rows_ = n_rows;
    const ptrdiff_t first = rows_.offset(rows_, begin);
    for (int i = 0; i <= n_rows; ++i) offsets_[i] = rows_.offset(rows_, begin + i) - first;
    rows_.load(rows_, first, first + offsets_[n_rows], values_.data(), columns_.data());
  }

  // Expanded form over the nonzeros, and differences where that has lost digits.
  void tile_distances(const Centers& centers, int n_clusters, int first, T* out) {
    products_.resize(n_clusters);
    const int last = std::min(first + kTileRows<T>, n_rows_);
    for (int i = first; i < last; ++i) row_distances(centers, n_clusters, i, out + (i - first));
  }

  void add(int row, double weight, double* sums) const {
    for (ptrdiff_t e = offsets_[row]; e < offsets_[row + 1]; ++e) {
      sums[columns_[e]] += weight * double(values_[e]);
    }
  }

 private:
  // Below this share of the norms the expanded form is off by more than 1e-5 (float) or 1e-11
  // (double) of itself.
  static constexpr T kDigitsLost = sizeof(T) == 4 ? T(1) / 16 : T(1e-4);

  // Into every kTileRows-th entry of out.
  void row_distances(const Centers& centers, int n_clusters, int i, T* out) {
    std::fill(products_.begin(), products_.end(), T(0));
    T sq_norm = 0;
    for (ptrdiff_t e = offsets_[i]; e < offsets_[i + 1]; ++e) {
      const T x = values_[e];
      const T* b = centers.by_feature.data() + static_cast<ptrdiff_t>(columns_[e]) * n_clusters;
      for (int k = 0; k < n_clusters; ++k) products_[k] += x * b[k];
      sq_norm += x * x;
    }
    bool scattered = false;
    for (int k = 0; k < n_clusters; ++k) {
      const T norms = sq_norm + centers.sq_norms[k];
      T sq_dist = norms - 2 * products_[k];
      if (sq_dist <= kDigitsLost * norms) {
        if (!scattered) scatter(i, scattered = true);
        sq_dist = direct(centers.by_center + k * rows_.n_features);
      }
      out[k * kTileRows<T>] = sq_dist;
    }
    if (scattered) scatter(i, false);
  }

  // Writes row i into the dense buffer, or wipes it out again.
  void scatter(int i, bool write) {
    for (ptrdiff_t e = offsets_[i]; e < offsets_[i + 1]; ++e) {
      dense_[columns_[e]] = write ? values_[e] : T(0);
    }
  }

  T direct(const double* center) const {
    double sum = 0;
    for (ptrdiff_t j = 0; j < rows_.n_features; ++j) {
      const double difference = dense_[j] - center[j];
      sum += difference * difference;
    }
    return static_cast<T>(sum);
  }

  const CsrRows& rows_;
  int n_rows_ = 0;
  std::vector<ptrdiff_t> offsets_;
  std::vector<T> values_;
  std::vector<int> columns_;
  std::vector<T> dense_, products_;
};

}  // namespace sfumato
