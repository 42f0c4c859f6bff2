// Rows in the storage they came in: dense of any number type and strides, or CSR.
//
// A pass loads one block of rows at a time, cast to T and measured from the origin. Each storage
// has three classes: the rows, centers prepared for them, and a block, which computes squared
// distances to the centers and adds weighted rows to sums.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "buffer.hpp"
#include "distance.hpp"
#include "lanes.hpp"
#include "strips.hpp"

namespace sfumato {

// Centers measured from the origin of the rows.
struct CentersView {
  const double* values;  // n_clusters x n_features
  int n_clusters;
};

template <class T>
struct DenseRows {
  static constexpr bool dense = true;
  using Scalar = T;
  using Load = void (*)(const DenseRows&, ptrdiff_t begin, int n_rows, T* out, ptrdiff_t stride);
  class Block;

  // Strides in elements of the source.
  const void* data;
  ptrdiff_t n_rows, n_features, row_stride, column_stride;
  Load load;
  std::vector<T> origin;  // Repeated, see load_dense().
  ptrdiff_t origin_repeats = 1;

  // Rows that need not be converted and end with whole vectors; null otherwise.
  const T* ready = nullptr;

  ptrdiff_t stored() const { return n_rows * n_features; }

  void set_origin(const double* values) {
    // Numbers of a loop that subtracts the origin, so that few features do not make short loops.
    // Chosen by hand: at most 1 KB of copies.
    constexpr ptrdiff_t run = 128;
    origin_repeats = std::max<ptrdiff_t>(1, run / std::max<ptrdiff_t>(1, n_features));
    for (ptrdiff_t i = 0; i < origin_repeats; ++i) {
      origin.insert(origin.end(), values, values + n_features);
    }
  }

  Buffer<T> prepare(const CentersView& centers) const {
    return pack_centers<T>(centers.values, centers.n_clusters, n_features);
  }
};

// Rows that follow each other without gaps are one long run, and the origin is repeated to match: a
// loop over few features would mostly begin and end.
template <class T, class Source>
void load_dense(const DenseRows<T>& rows, ptrdiff_t begin, int n_rows, T* out, ptrdiff_t stride) {
  const ptrdiff_t d = rows.n_features, step = rows.column_stride;
  const bool gapless = step == 1 && rows.row_stride == d && stride == d;
  const ptrdiff_t together = gapless ? rows.origin_repeats : 1;
  const T* origin = rows.origin.data();
  for (ptrdiff_t i = 0; i < n_rows; i += together) {
    const Source* row = static_cast<const Source*>(rows.data) + (begin + i) * rows.row_stride;
    const ptrdiff_t run = std::min(together, n_rows - i) * d;
    T* to = out + i * stride;
    if (step == 1) {
      for (ptrdiff_t j = 0; j < run; ++j) to[j] = static_cast<T>(row[j]) - origin[j];
    } else {
      for (ptrdiff_t j = 0; j < d; ++j) to[j] = static_cast<T>(row[j * step]) - origin[j];
    }
  }
}

template <class T>
class DenseRows<T>::Block {
 public:
  using Centers = Buffer<T>;

  Block(const DenseRows& rows, int, int capacity, bool adds_rows)
      : rows_(rows),
        capacity_(capacity),
        stride_(rows.n_features < kWide ? rows.n_features : rows.n_features + kLine),
        tile_size_((rows.n_features + L::width - 1) / L::width * L::width * kTileRows<T> + kLine),
        load_batch_(batch_rows(stride_, capacity)),
        keeps_rows_(adds_rows),
        values_(static_cast<size_t>(adds_rows ? capacity : load_batch_) * stride_ + L::width),
        tiles_(capacity / kTileRows<T> * tile_size_) {}

  void load(ptrdiff_t begin, int n_rows) {
    n_rows_ = n_rows;
    const int direct = rows_.ready && !keeps_rows_ ? n_rows / kTileRows<T> * kTileRows<T> : 0;
    for (int first = 0; first < direct; first += kTileRows<T>) {
      const T* from = rows_.ready + (begin + first) * rows_.row_stride;
      const T* origin = rows_.origin.data();
      pack_tile(first, [&](ptrdiff_t i, ptrdiff_t j) {
        return L::load(from + i * rows_.row_stride + j) - L::load(origin + j);
      });
    }
    for (int first = direct; first < n_rows; first += load_batch_) {
      const int count = std::min(load_batch_, n_rows - first);
      T* to = values_.data() + (keeps_rows_ ? first * stride_ : 0);
      rows_.load(rows_, begin + first, count, to, stride_);
      for (int i = 0; i < count; i += kTileRows<T>) {
        pack_tile(first + i,
                  [&](ptrdiff_t r, ptrdiff_t j) { return L::load(to + (i + r) * stride_ + j); });
      }
    }
  }

  // Tiles whose distances are found together, and the packed tile that begins at row `first`.
  int batch() const { return kBatch; }
  const T* tile(int first) const { return tiles_.data() + first / kTileRows<T> * tile_size_; }

  // One entry per row of a tile, center by center, tile by tile from the one that begins at
  // `first`; rows after the last of the block are undefined.
  void distances(const Centers& centers, int c, int first, int n_tiles, T* out) const {
    batch_distances(tile(first), tile_size_, n_tiles, centers.data(), c, rows_.n_features, out);
  }

  // sums[j] += sum over entries e of weights[e] * rows[e][j], for the features begin..end. A few
  // rows at a time are added in T.
  void add_rows(const int* rows, const T* weights, int n_entries, ptrdiff_t begin, ptrdiff_t end,
                double* sums) const {
    int e = 0;
    for (; e + 8 <= n_entries; e += 8) add_together<8>(rows + e, weights + e, begin, end, sums);
    for (; e + 4 <= n_entries; e += 4) add_together<4>(rows + e, weights + e, begin, end, sums);
    for (; e < n_entries; ++e) add_together<1>(rows + e, weights + e, begin, end, sums);
  }

  // sums (n_clusters x n_features) += weights (n_clusters x capacity) * rows, as dot products with
  // the features; weights behind the last row are zero.
  void add_dots(const Buffer<T>& weights, int n_clusters, ptrdiff_t begin, ptrdiff_t end,
                double* sums) const {
    const ptrdiff_t d = rows_.n_features;
    for_each_group<4>(n_clusters, [&](ptrdiff_t k, auto group) {
      for_each_group<2>(end - begin, [&](ptrdiff_t f, auto features) {
        const ptrdiff_t j = begin + f;
        dot_group<group, features>(weights.data() + k * capacity_, tiles_.data() + j * kTileRows<T>,
                                   d, sums + k * d + j);
      });
    });
  }

 private:
  using L = Lanes<T>;
  static constexpr int kBatch = 2;  // Tiles that use a group of centers in turn. Chosen by hand.
  static constexpr ptrdiff_t kLine = kLineBytes / sizeof(T);
  static constexpr ptrdiff_t kWide = 128;  // Features from which rows are padded. Chosen by hand.
  static constexpr ptrdiff_t kLoadBytes = 1 << 14;  // Of a load batch: half a first-level cache.

  const T* row(int i) const { return values_.data() + i * stride_; }

  // In two partial sums, so that additions need not wait for one another.
  template <int Count>
  void add_together(const int* rows, const T* weights, ptrdiff_t begin, ptrdiff_t end,
                    double* sums) const {
    const T* x[Count];
    T w[Count];
#pragma GCC unroll 8
    for (int e = 0; e < Count; ++e) x[e] = row(rows[e]), w[e] = weights[e];
    ptrdiff_t j = begin;
    for (; j + L::width <= end; j += L::width) {
      typename L::Vector sum[2] = {};
#pragma GCC unroll 8
      for (int e = 0; e < Count; ++e) sum[e % 2] += L::load(x[e] + j) * w[e];
      L::add_to(sums + j, sum[0] + sum[1]);
    }
    for (; j < end; ++j) {
      T sum[2] = {};
#pragma GCC unroll 8
      for (int e = 0; e < Count; ++e) sum[e % 2] += x[e][j] * w[e];
      sums[j] += double(sum[0] + sum[1]);
    }
  }

  // A few centers and features at a time, so that what is loaded serves several.
  template <int Group, int Features>
  void dot_group(const T* weights, const T* tile, ptrdiff_t n_features, double* sums) const {
    typename L::Vector dot[Group][Features] = {};
    const ptrdiff_t stride = capacity_, next_tile = tile_size_ - L::width;
    const T* const end = weights + n_rows_;
    while (weights < end) {
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half) {
        typename L::Vector x[Features];
#pragma GCC unroll 4
        for (int f = 0; f < Features; ++f) x[f] = L::load(tile + f * kTileRows<T>);
#pragma GCC unroll 4
        for (int k = 0; k < Group; ++k) {
          const auto weight = L::load(weights + k * stride);
#pragma GCC unroll 4
          for (int f = 0; f < Features; ++f) dot[k][f] += weight * x[f];
        }
        weights += L::width;
        tile += half == 0 ? L::width : next_tile;
      }
    }
#pragma GCC unroll 4
    for (int k = 0; k < Group; ++k) {
#pragma GCC unroll 4
      for (int f = 0; f < Features; ++f) sums[k * n_features + f] += double(L::sum(dot[k][f]));
    }
  }

  // Rows of a load batch: they stay in the first-level cache until they are packed into tiles.
  static int batch_rows(ptrdiff_t stride, int capacity) {
    const ptrdiff_t fitting = kLoadBytes / (sizeof(T) * std::max<ptrdiff_t>(1, stride));
    const ptrdiff_t tiles = std::max<ptrdiff_t>(1, fitting / kTileRows<T>);
    return static_cast<int>(std::min<ptrdiff_t>(tiles * kTileRows<T>, capacity));
  }

  // Packs the tile that begins at row `first`: feature by feature, the rows of a feature next to
  // each other. part(i, j) is a vector of its i-th row from feature j on. Blocks of width x width
  // numbers are transposed; the last one may extend beyond the features of a row, and that part of
  // the tile is never read.
  template <class Part>
  void pack_tile(int first, Part&& part) {
    T* tile = tiles_.data() + first / kTileRows<T> * tile_size_;
    for (ptrdiff_t j = 0; j < rows_.n_features; j += L::width) {
      for (int i = 0; i < kTileRows<T>; i += L::width) {
        L::transpose([&](int lane) { return part(i + lane, j); }, tile + j * kTileRows<T> + i,
                     kTileRows<T>);
      }
    }
  }

  const DenseRows& rows_;
  int capacity_, n_rows_ = 0;
  // Wide rows are padded: rows that lie a power of two apart share few sets of the cache.
  ptrdiff_t stride_;
  ptrdiff_t tile_size_;
  int load_batch_;    // Rows that are loaded together.
  bool keeps_rows_;   // For add_rows(); otherwise each load batch overwrites the last.
  Buffer<T> values_;  // Row by row.
  Buffer<T> tiles_;   // Packed tiles: feature by feature within a tile.
};

template <class T>
struct CsrRows {
  static constexpr bool dense = false;
  using Scalar = T;
  using Load = void (*)(const CsrRows&, ptrdiff_t begin, ptrdiff_t end, T* values, int* columns);
  using Offset = ptrdiff_t (*)(const CsrRows&, ptrdiff_t row);
  class Block;

  // As check_columns() has them: columns of a row ascend, differ and are less than n_features,
  // which fits in an int.
  const void* data;
  const void* indices;
  const void* indptr;
  ptrdiff_t n_rows, n_features;
  Load load;
  Offset offset;

  ptrdiff_t stored() const { return offset(*this, n_rows); }

  // Most nonzeros that any block can have, wherever it starts; set by measure().
  ptrdiff_t block_entries = 0;

  void measure() {
    const int capacity = block_rows(n_features, sizeof(T), 1);
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
    columns[entry - begin] = static_cast<int>(indices[entry]);  // Fits, see check_columns().
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

  Block(const CsrRows& rows, int n_clusters, int capacity, bool)
      : rows_(rows),
        offsets_(capacity + 1),
        values_(rows.block_entries),
        columns_(values_.size()),
        dense_(rows.n_features),
        products_(n_clusters) {}

  void load(ptrdiff_t begin, int n_rows) {
    n_rows_ = n_rows;
    const ptrdiff_t first = rows_.offset(rows_, begin);
    for (int i = 0; i <= n_rows; ++i) offsets_[i] = rows_.offset(rows_, begin + i) - first;
    rows_.load(rows_, first, first + offsets_[n_rows], values_.data(), columns_.data());
  }

  int batch() const { return 1; }

  // Expanded form over the nonzeros, and differences where that has lost digits.
  void distances(const Centers& centers, int n_clusters, int first, int, T* out) {
    const int last = std::min(first + kTileRows<T>, n_rows_);
    for (int i = first; i < last; ++i) row_distances(centers, n_clusters, i, out + (i - first));
  }

  void add_rows(const int* rows, const T* weights, int n_entries, ptrdiff_t, ptrdiff_t,
                double* sums) const {
    for (int i = 0; i < n_entries; ++i) {
      const double weight = weights[i];
      for (ptrdiff_t e = offsets_[rows[i]]; e < offsets_[rows[i] + 1]; ++e) {
        sums[columns_[e]] += weight * double(values_[e]);
      }
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
