// The fused pass: load a block, distances, nearest centers, memberships, sums. One block of rows is
// handled at a time, and nothing of size rows x clusters is stored.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "buffer.hpp"
#include "loss.hpp"
#include "membership.hpp"
#include "nearest.hpp"
#include "power.hpp"
#include "rows.hpp"
#include "strips.hpp"
#include "sums.hpp"

namespace sfumato {

// What every pass is given besides the rows.
struct Pass {
  const double* weights;  // Per row, or null for all ones.
  CentersView centers;    // Measured from the origin of the rows.
  int n_threads;
  Interrupted interrupted;
};

// Arrays that a sweep writes its sums to; Statistics in src/sfumato/_problem.py.
struct SweepSums {
  double* pull;        // n_clusters x n_features
  double* weight;      // n_clusters
  double* kink_force;  // n_clusters
};

// Arrays that a pass writes for each row; Assignment in src/sfumato/_engines/base.py. Null arrays
// are not written.
template <class T>
struct Assignments {
  std::atomic<bool>* misfit;  // Set if a row has more or fewer entries than offsets leave room for.
  std::int32_t* labels;
  T* distances;
  std::int32_t* counts;         // Memberships of each row that are not zero.
  const std::int64_t* offsets;  // Start of each row, n_rows + 1, for rules without a fixed number
                                // of entries; memberships of zero are then left out.
  std::int32_t* indices;
  T* memberships;
};

// What a pass computes for each row.
struct PassOptions {
  int ranks;                 // Number of nearest centers.
  bool sorted = false;       // Nearest centers in order of distance.
  bool sums = false;         // Sums per center.
  bool memberships = false;  // Memberships themselves, not only the sums.
};

// Scratch memory of one thread: a block of rows and all that is computed for it.
template <class Rows>
struct Workspace {
  using T = typename Rows::Scalar;

  Workspace(const Rows& rows, const Pass& pass, const PassOptions& options, int capacity)
      : accumulator(options.ranks, options.sums ? pass.centers.n_clusters : 0, rows.n_features,
                    capacity),
        block(rows, pass.centers.n_clusters, capacity, options.sums && accumulator.needs_rows()),
        sq_dist(static_cast<size_t>(pass.centers.n_clusters) * block.batch() * kTileRows<T>),
        nearest(options.ranks, pass.centers.n_clusters, capacity, options.sorted),
        terms(options.ranks, capacity, options.memberships),
        sorted(options.ranks) {}

  Accumulator<Rows> accumulator;
  typename Rows::Block block;
  Buffer<T> sq_dist;  // Of a batch of tiles, each n_clusters x kTileRows.
  Nearest<T> nearest;
  Terms terms;
  std::vector<int> sorted;
};

// Calls body(first, sq_dist) for every tile of the block.
template <class Rows, class Body>
void for_each_tile(Workspace<Rows>& work, const typename Rows::Block::Centers& centers,
                   int n_clusters, ptrdiff_t begin, int n_rows, Body&& body) {
  constexpr int size = kTileRows<typename Rows::Scalar>;
  work.block.load(begin, n_rows);
  const int tiles = (n_rows + size - 1) / size;
  for (int tile = 0; tile < tiles; tile += work.block.batch()) {
    const int batch = std::min(work.block.batch(), tiles - tile);
    work.block.distances(centers, n_clusters, tile * size, batch, work.sq_dist.data());
    for (int t = 0; t < batch; ++t) {
      body((tile + t) * size, work.sq_dist.data() + static_cast<size_t>(t) * n_clusters * size);
    }
  }
}

// Loads a block and computes its nearest centers, losses and memberships.
template <class Rows, class Loss, class Membership>
void solve_block(Workspace<Rows>& work, const typename Rows::Block::Centers& centers,
                 int n_clusters, ptrdiff_t begin, int n_rows, const Loss& loss,
                 const Membership& membership) {
  for_each_tile(work, centers, n_clusters, begin, n_rows, [&](int first, const auto* sq_dist) {
    select_nearest(sq_dist, n_clusters, first, work.nearest);
  });
  for (int rank = 0; rank < work.nearest.ranks; ++rank) {
    const auto* __restrict sq_dist = work.nearest.sq_dist_at(rank);
    double* __restrict losses = work.terms.at(work.terms.loss, rank);
    for (int i = 0; i < n_rows; ++i) losses[i] = loss.value(double(sq_dist[i]));
  }
  const auto* __restrict smallest = work.nearest.smallest();
  double* __restrict losses = work.terms.smallest.data();
  for (int i = 0; i < n_rows; ++i) losses[i] = loss.value(double(smallest[i]));
  work.terms.nearest_first = !work.nearest.all;
  membership.solve(work.terms, n_rows, work.nearest.ranks);
}

// Power of two that brings the largest weight near one: pulls are rounded to the precision of the
// rows, and float32 has little range.
inline double weight_scale(const double* weights, ptrdiff_t n_rows) {
  if (weights == nullptr || n_rows == 0) return 1.0;
  const double largest = *std::max_element(weights, weights + n_rows);
  return largest > 0 ? std::ldexp(1.0, -std::ilogb(largest)) : 1.0;
}

// Pull of each row on its nearest centers. A row that coincides with a center has no pull on it,
// but adds to its kink force.
template <class Rows, class Loss>
void compute_pulls(Workspace<Rows>& work, const double* weights, double scale, int n_rows,
                   const Loss& loss, const StripSums& layout, double* sums) {
  for (int rank = 0; rank < work.nearest.ranks; ++rank) {
    const double* __restrict losses = work.terms.at(work.terms.loss, rank);
    double* __restrict phi = work.terms.at(work.terms.phi, rank);
    double* __restrict pull = work.terms.at(work.terms.pull, rank);
    if (weights) {
      for (int i = 0; i < n_rows; ++i) phi[i] *= weights[i] * scale;
    }
    for (int i = 0; i < n_rows; ++i) pull[i] = phi[i] * loss.weight(losses[i]);
  }
  if (Loss::kink == 0) return;
  const auto* nearest = work.nearest.smallest();
  if (std::find(nearest, nearest + n_rows, 0) == nearest + n_rows) return;
  for (int rank = 0; rank < work.nearest.ranks; ++rank) {
    for (int i = 0; i < n_rows; ++i) {
      if (work.nearest.sq_dist_at(rank)[i] != 0) continue;
      const double phi = work.terms.at(work.terms.phi, rank)[i];
      layout.kink_force(sums, work.nearest.index_at(rank)[i]) += phi * Loss::kink;
      work.terms.at(work.terms.pull, rank)[i] = 0;
    }
  }
}

// Entries of a row that are ordered by counting how many come before each. Chosen by hand.
constexpr int kCountedEntries = 12;

// Ranks of the nearest centers of a row, by ascending center.
template <class Rows>
const std::vector<int>& ranks_by_center(Workspace<Rows>& work, int i, int entries) {
  auto& order = work.sorted;
  if (!work.nearest.all && entries <= kCountedEntries) {
    typename Nearest<typename Rows::Scalar>::Index center[kCountedEntries];
    for (int e = 0; e < entries; ++e) center[e] = work.nearest.index_at(e)[i];
    for (int e = 0; e < entries; ++e) {
      int before = 0;
      for (int f = 0; f < entries; ++f) {
        before += (center[f] < center[e]) | ((center[f] == center[e]) & (f < e));
      }
      order[before] = e;
    }
    return order;
  }
  std::iota(order.begin(), order.begin() + entries, 0);
  if (work.nearest.all) return order;  // They are in this order already.
  std::sort(order.begin(), order.begin() + entries, [&](int a, int b) {
    return work.nearest.index_at(a)[i] < work.nearest.index_at(b)[i];
  });
  return order;
}

// Writes the memberships of a row, by ascending center.
template <class Rows>
void write_memberships(Workspace<Rows>& work, int i, ptrdiff_t row, int entries,
                       const Assignments<typename Rows::Scalar>& out) {
  const auto& order = ranks_by_center(work, i, entries);
  ptrdiff_t at = out.offsets ? out.offsets[row] : row * entries;
  const ptrdiff_t end = out.offsets ? out.offsets[row + 1] : at + entries;
  for (int e = 0; e < entries; ++e) {
    const double membership = work.terms.at(work.terms.membership, order[e])[i];
    if (out.offsets && membership == 0) continue;
    if (at == end) return out.misfit->store(true);
    out.indices[at] = static_cast<std::int32_t>(work.nearest.index_at(order[e])[i]);
    out.memberships[at++] = static_cast<typename Rows::Scalar>(membership);
  }
  if (at != end) out.misfit->store(true);
}

// Writes what is wanted of each row of a block.
template <class Rows>
void write_assignments(Workspace<Rows>& work, ptrdiff_t begin, int n_rows, int entries,
                       const Assignments<typename Rows::Scalar>& out) {
  for (int i = 0; i < n_rows; ++i) {
    const ptrdiff_t row = begin + i;
    if (out.labels) out.labels[row] = static_cast<std::int32_t>(work.nearest.labels()[i]);
    if (out.distances) out.distances[row] = std::sqrt(work.nearest.smallest()[i]);
    if (out.counts) {
      out.counts[row] = 0;
      for (int rank = 0; rank < entries; ++rank) {
        out.counts[row] += work.terms.at(work.terms.membership, rank)[i] != 0;
      }
    }
    if (out.memberships) write_memberships(work, i, row, entries, out);
  }
}

// Calls body(strip, work, begin, n_rows) for every block of every strip, in order within a strip.
template <class Rows, class Body>
bool for_each_block(const Rows& rows, const Pass& pass, const Strips& strips,
                    const PassOptions& options, Body&& body) {
  const int c = pass.centers.n_clusters;
  const int capacity = block_rows(rows.n_features, sizeof(typename Rows::Scalar), options.ranks);
  const int n_threads = useful_threads(pass.n_threads, strips, c * rows.n_features);
  std::vector<Workspace<Rows>> work;
  work.reserve(n_threads);
  for (int t = 0; t < n_threads; ++t) work.emplace_back(rows, pass, options, capacity);
  const auto on_strip = [&](int strip, int thread, const auto& stopped) {
    for (ptrdiff_t begin = strips.begin(strip); begin < strips.end(strip); begin += capacity) {
      if (stopped()) return;
      const int n_rows = static_cast<int>(std::min<ptrdiff_t>(capacity, strips.end(strip) - begin));
      body(strip, work[thread], begin, n_rows);
    }
  };
  return for_each_strip(strips, n_threads, pass.interrupted, on_strip);
}

// One pass: sums at the centers if `out_sums` is given, labels and memberships if `out_rows` is.
// Returns false if interrupted; what was written is then undefined.
template <class Rows, class Loss, class Membership>
bool sweep(const Rows& rows, const Pass& pass, const Loss& loss, const Membership& membership,
           const SweepSums* out_sums, const Assignments<typename Rows::Scalar>* out_rows,
           double* objective) {
  const int c = pass.centers.n_clusters;
  const ptrdiff_t d = rows.n_features;
  const auto centers = rows.prepare(pass.centers);
  const int ranks = membership.n_nearest(c);
  const int entries = membership.n_entries(c) < 0 ? c : membership.n_entries(c);
  const Strips strips = cut(rows, c);
  const double scale = weight_scale(pass.weights, rows.n_rows);
  StripSums sums(strips.count, c, out_sums ? d : 0);
  const auto body = [&](int strip, Workspace<Rows>& work, ptrdiff_t begin, int n_rows) {
    solve_block(work, centers, c, begin, n_rows, loss, membership);
    const double* weights = pass.weights ? pass.weights + begin : nullptr;
    if (weights) {
      for (int i = 0; i < n_rows; ++i) work.terms.objective[i] *= weights[i];
    }
    sums.objective(sums.of(strip)) += lane_sum(work.terms.objective.data(), n_rows);
    if (out_sums) {
      compute_pulls(work, weights, scale, n_rows, loss, sums, sums.of(strip));
      work.accumulator.add(work.block, work.nearest, work.terms, n_rows, sums, sums.of(strip));
    }
    if (out_rows) write_assignments(work, begin, n_rows, entries, *out_rows);
  };
  const PassOptions options{ranks, Membership::needs_order, out_sums != nullptr,
                            out_rows && (out_rows->memberships || out_rows->counts)};
  if (!for_each_block(rows, pass, strips, options, body)) return false;

  double* total = sums.total(pass.n_threads);
  *objective = sums.objective(total);
  if (out_sums == nullptr) return true;
  for (ptrdiff_t k = 0; k < c; ++k) {
    out_sums->weight[k] = sums.weight(total, k) / scale;
    out_sums->kink_force[k] = sums.kink_force(total, k) / scale;
    for (ptrdiff_t j = 0; j < d; ++j) {
      const double b = pass.centers.values[k * d + j];
      out_sums->pull[k * d + j] = (sums.center(total, k)[j] - sums.weight(total, k) * b) / scale;
    }
  }
  return true;
}

// costs[i] = min(costs[i], smallest loss to any center).
template <class Rows, class Loss>
bool update_costs(const Rows& rows, const Pass& pass, const Loss& loss,
                  typename Rows::Scalar* costs) {
  using T = typename Rows::Scalar;
  const auto centers = rows.prepare(pass.centers);
  const int c = pass.centers.n_clusters;
  const auto body = [&](int, Workspace<Rows>& work, ptrdiff_t begin, int n_rows) {
    for_each_tile(work, centers, c, begin, n_rows, [&](int first, const auto* sq_dist) {
      select_nearest(sq_dist, c, first, work.nearest);
    });
    const auto* __restrict sq_dist = work.nearest.sq_dist_at(0);
    for (int i = 0; i < n_rows; ++i) {
      costs[begin + i] = std::min(costs[begin + i], static_cast<T>(loss.value(double(sq_dist[i]))));
    }
  };
  return for_each_block(rows, pass, cut_freely(rows), PassOptions{1}, body);
}

// totals[k] = sum_i v_i min(costs[i], loss of row i to center k). Losses (n_rows x n_clusters) are
// kept if there is room for them.
template <class Rows, class Loss>
bool candidate_costs(const Rows& rows, const Pass& pass, const Loss& loss,
                     const typename Rows::Scalar* costs, double* totals,
                     typename Rows::Scalar* losses = nullptr) {
  using T = typename Rows::Scalar;
  constexpr int lanes = kTileRows<typename Rows::Scalar>;
  const auto centers = rows.prepare(pass.centers);
  const int c = pass.centers.n_clusters;
  const Strips strips = cut(rows, c);
  const size_t size = static_cast<size_t>(c) * lanes;
  Buffer<double> partial(strips.count * size);
  const auto body = [&](int strip, Workspace<Rows>& work, ptrdiff_t begin, int n_rows) {
    double* sums = partial.data() + strip * size;
    for_each_tile(work, centers, c, begin, n_rows, [&](int first, const auto* sq_dist) {
      const int m = std::min(lanes, n_rows - first);
      for (int k = 0; k < c; ++k) {
        for (int i = 0; i < m; ++i) {
          const double cost = costs[begin + first + i];
          const double v = pass.weights ? pass.weights[begin + first + i] : 1.0;
          const double value = loss.value(double(sq_dist[k * lanes + i]));
          if (losses) losses[(begin + first + i) * c + k] = static_cast<T>(value);
          sums[k * lanes + i] += v * std::min(cost, value);
        }
      }
    });
  };
  const bool done = for_each_block(rows, pass, strips, PassOptions{1}, body);
  for (int k = 0; k < c; ++k) {
    totals[k] = 0;
    for (int strip = 0; strip < strips.count; ++strip) {
      const double* lane = partial.data() + strip * size + k * lanes;
      totals[k] += std::accumulate(lane, lane + lanes, 0.0);
    }
  }
  return done;
}

// out[i]: smallest distance to any center, each in the unit of that center.
template <class Rows>
bool scaled_distances(const Rows& rows, const Pass& pass, const double* units,
                      typename Rows::Scalar* out) {
  constexpr int lanes = kTileRows<typename Rows::Scalar>;
  const auto centers = rows.prepare(pass.centers);
  const int c = pass.centers.n_clusters;
  const auto body = [&](int, Workspace<Rows>& work, ptrdiff_t begin, int n_rows) {
    for_each_tile(work, centers, c, begin, n_rows, [&](int first, const auto* sq_dist) {
      double least[lanes];
      std::fill(least, least + lanes, std::numeric_limits<double>::infinity());
      for (int k = 0; k < c; ++k) {
        const double scale = 1 / (units[k] * units[k]);
        for (int i = 0; i < lanes; ++i) {
          least[i] = std::min(least[i], double(sq_dist[k * lanes + i]) * scale);
        }
      }
      const int m = std::min(lanes, n_rows - first);
      for (int i = 0; i < m; ++i) {
        out[begin + first + i] = static_cast<typename Rows::Scalar>(std::sqrt(least[i]));
      }
    });
  };
  return for_each_block(rows, pass, cut_freely(rows), PassOptions{1}, body);
}

// out: n_rows x n_clusters distances.
template <class Rows>
bool distances(const Rows& rows, const Pass& pass, typename Rows::Scalar* out) {
  constexpr int lanes = kTileRows<typename Rows::Scalar>;
  const auto centers = rows.prepare(pass.centers);
  const int c = pass.centers.n_clusters;
  const auto body = [&](int, Workspace<Rows>& work, ptrdiff_t begin, int n_rows) {
    for_each_tile(work, centers, c, begin, n_rows, [&](int first, const auto* sq_dist) {
      const int m = std::min(lanes, n_rows - first);
      for (int i = 0; i < m; ++i) {
        auto* row = out + (begin + first + i) * c;
        for (int k = 0; k < c; ++k) row[k] = std::sqrt(sq_dist[k * lanes + i]);
      }
    });
  };
  return for_each_block(rows, pass, cut_freely(rows), PassOptions{1}, body);
}

}  // namespace sfumato
