// The pass behind the number of clusters: how likely each row belongs to each component of a
// mixture, and the sums from which the next parameters follow.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "power.hpp"
#include "sweep.hpp"

namespace sfumato {

// Components and outliers, as src/sfumato/_selection has them. Densities are natural logarithms,
// and hold the share of their law.
struct MixtureView {
  const double* heights;     // Density of each component at its center.
  const double* precisions;  // One over the squared width of each component.
  const double* along;       // Of rows along long axes, n_clusters x n_rows; null if all are round.
  double shape;              // Degrees of freedom of Student-t distributions, or infinite.
  double power;              // Of the squared distance in the exponent.
  double uniform;            // Density of uniform outliers.
  const double* cauchy;      // Density that Cauchy outliers would have in their middle, per row.
  const double* middle;      // Middle of these, per feature.
  const double* units;       // One over their scale, per feature.
};

// Arrays that the pass writes; Expectation in src/sfumato/_selection/components.py.
struct MixtureOut {
  double* posteriors;   // n_clusters + 2 x n_rows: of each component, and of both laws of outliers.
  double* log_density;  // n_rows
  double* masses;       // n_clusters + 2: sums of the posteriors.
  double* contrasts;    // n_clusters: sums of posteriors times the logarithm of their ratio to
                        // those of the outliers.
  double* pulls;        // n_clusters: sums of the pulls, which are posteriors for Gaussians.
  double* pulled;       // n_clusters x n_features: sums of the pulls times the rows.
  double* squares;      // n_clusters: sums of the pulls times squared distances.
  double* cauchy;       // 3 x n_features: sums of the pulls of Cauchy outliers, of these times the
                        // rows, and of these times squared distances in units of their scale.
};

// The pass over one tile after the other; lanes run over rows.
class MixturePass {
 public:
  static constexpr int lanes = kTileRows<double>;

  MixturePass(const MixtureView& law, int n_clusters, ptrdiff_t n_features)
      : law_(law),
        c_(n_clusters),
        d_(n_features),
        power_(law.power),
        relative_(room(n_clusters)),
        raised_(room(n_clusters)),
        logs_(room(n_clusters + 2)),
        posteriors_(room(n_clusters + 2)),
        beyond_(room(n_clusters + 2)),
        mass_(room(n_clusters + 2)),
        contrast_(room(n_clusters)),
        pull_(room(n_clusters)),
        square_(room(n_clusters)),
        cauchy_(size_t(3) * n_features * lanes) {
    near_.reserve(n_clusters + 2);
  }

  // Rows from `row` on, `n_rows` of them; further lanes of the tile weigh nothing. `x` has the
  // features of the tile, `sq_dist` its squared distances, which are bounded here, and `pulls`
  // room for those of each component, `stride` apart.
  void add(ptrdiff_t row, int n_rows, ptrdiff_t n, const double* weights, const double* x,
           double* sq_dist, double* pulls, ptrdiff_t stride, const MixtureOut& out) {
    find_logs(row, n_rows, n, sq_dist);
    find_cauchy(row, n_rows, x);
    double top[lanes], total[lanes] = {}, share[lanes], outlying[lanes];
    std::fill(top, top + lanes, -std::numeric_limits<double>::max());
    for (int k = 0; k < c_ + 2; ++k) {
      const double* log = logs_.data() + k * lanes;
      for (int i = 0; i < lanes; i += L::width) {
        L::store(L::max(L::load(top + i), L::load(log + i)), top + i);
      }
    }
    const double* uniform = logs_.data() + c_ * lanes;
    const double* cauchy = uniform + lanes;
    for (int i = 0; i < lanes; ++i) {
      const double high = std::max(uniform[i], cauchy[i]), low = std::min(uniform[i], cauchy[i]);
      outlying[i] = high + fast_log2(1 + fast_exp2(low - high));
    }
    find_near(top, outlying);
    const int likely = static_cast<int>(near_.size()) * lanes;
    double* __restrict posteriors = posteriors_.data();
    for (int e = 0; e < likely; ++e) {
      const double power = fast_exp2(posteriors[e]);
      posteriors[e] = posteriors[e] > kLeastLog ? power : 0.0;
    }
    for (int e = 0; e < likely; e += lanes) {
      for (int i = 0; i < lanes; ++i) total[i] += posteriors[e + i];
    }
    for (int i = 0; i < lanes; ++i) {
      share[i] = (i < n_rows ? weights[row + i] : 0.0) / total[i];
      total[i] = (top[i] + fast_log2(total[i])) / kLog2e;
    }
    std::copy_n(total, n_rows, out.log_density + row);
    for (int e = 0; e < likely; e += lanes) {
      double* __restrict mass = mass_.data() + near_[e / lanes] * lanes;
      for (int i = 0; i < lanes; ++i) mass[i] += posteriors[e + i] *= share[i];
    }
    write_posteriors(row, n_rows, n, out);
    add_pulls(sq_dist, pulls, stride);
    add_cauchy(x);
  }

  // Writes the sums over all tiles, except that of pulls times rows.
  void finish(const MixtureOut& out) const {
    const auto write = [](const Buffer<double>& lanewise, ptrdiff_t count, double* to) {
      for (ptrdiff_t k = 0; k < count; ++k) {
        const double* lane = lanewise.data() + k * lanes;
        to[k] = std::accumulate(lane, lane + lanes, 0.0);
      }
    };
    write(mass_, c_ + 2, out.masses);
    write(contrast_, c_, out.contrasts);
    write(pull_, c_, out.pulls);
    write(square_, c_, out.squares);
    write(cauchy_, 3 * d_, out.cauchy);
    for (int k = 0; k < c_; ++k) out.contrasts[k] /= kLog2e;
  }

 private:
  using L = Lanes<double>;
  using V = L::Vector;

  static constexpr double kLog2e = 1.4426950408889634;
  static constexpr double kLargest = 1e300;       // Of squares: larger ones would overflow in sums.
  static constexpr ptrdiff_t kFactors = 8;        // Factors of a Cauchy density before a logarithm,
  static constexpr double kLargestFactor = 1e37;  // so that none is too large.
  // Logarithm of the least posterior over the largest. Below it they are zero, which changes no
  // digit of a sum, and saves most of the work where components are apart.
  static constexpr double kLeastLog = -100;

  // Numbers of a tile for each component, up to the next multiple of PowerOf::kRun.
  static size_t room(int n_clusters) {
    return (size_t(n_clusters) * lanes / PowerOf::kRun + 1) * PowerOf::kRun;
  }

  // Squared distances in widths, and the densities, as logarithms to the base of two.
  void find_logs(ptrdiff_t row, int n_rows, ptrdiff_t n, double* sq_dist) {
    const V most = V{} + kLargest;
    for (int k = 0; k < c_; ++k) {
      double* sq = sq_dist + k * lanes;
      double* relative = relative_.data() + k * lanes;
      const double precision = law_.precisions[k];
      for (int i = 0; i < lanes; i += L::width) {
        const V square = L::min(L::load(sq + i), most);
        L::store(square, sq + i);
        L::store(L::min(square * precision, most), relative + i);
      }
      if (!law_.along) continue;
      const double* along = law_.along + k * n + row;
      for (int i = 0; i < n_rows; ++i) {
        relative[i] = std::max(relative[i] - along[i] * along[i], 0.0);
      }
    }
    const double* energy = relative_.data();  // Twice the fall of the log-density.
    const int n_numbers = c_ * lanes;
    if (law_.power != 1) {
      power_.apply(relative_.data(), n_numbers, raised_.data());
      for (double& raised : raised_) raised = std::min(raised, kLargest);
      energy = raised_.data();
    } else if (std::isfinite(law_.shape)) {
      const double unit = 1 / law_.shape, degrees = (law_.shape + double(d_)) / kLog2e;
      for (int e = 0; e < n_numbers; ++e) {
        raised_[e] = degrees * fast_log2(1 + relative_[e] * unit);
      }
      energy = raised_.data();
    }
    for (int k = 0; k < c_; ++k) {
      const double height = law_.heights[k] * kLog2e;
      for (int e = k * lanes; e < (k + 1) * lanes; e += L::width) {
        L::store(height - L::load(energy + e) * (kLog2e / 2), logs_.data() + e);
      }
    }
  }

  // Components and laws that any row is near to, and their densities over the largest.
  void find_near(const double* top, const double* outlying) {
    near_.clear();
    for (int k = 0; k < c_ + 2; ++k) {
      const double* log = logs_.data() + k * lanes;
      double* off = posteriors_.data() + near_.size() * lanes;
      double* beyond = beyond_.data() + near_.size() * lanes;
      bool far = true;
      for (int i = 0; i < lanes; i += L::width) {
        const V own = L::load(log + i), least = own - L::load(top + i);
        L::store(least, off + i);
        L::store(own - L::load(outlying + i), beyond + i);
        far &= L::all(least <= V{} + kLeastLog);
      }
      if (!far) near_.push_back(k);
    }
  }

  void write_posteriors(ptrdiff_t row, int n_rows, ptrdiff_t n, const MixtureOut& out) const {
    size_t place = 0;
    for (int k = 0; k < c_ + 2; ++k) {
      double* to = out.posteriors + k * n + row;
      if (place < near_.size() && near_[place] == k) {
        std::copy_n(posteriors_.data() + place++ * lanes, n_rows, to);
      } else {
        std::fill(to, to + n_rows, 0.0);
      }
    }
  }

  // Densities of both laws of outliers: products of one plus squared distances, of as many as
  // cannot overflow.
  void find_cauchy(ptrdiff_t row, int n_rows, const double* x) {
    double product[lanes], logs[lanes] = {};
    for (ptrdiff_t begin = 0; begin < d_; begin += kFactors) {
      const ptrdiff_t end = std::min(begin + kFactors, d_);
      std::fill(product, product + lanes, 1.0);
      for (ptrdiff_t j = begin; j < end; ++j) {
        for (int i = 0; i < lanes; i += L::width) {
          L::store(L::load(product + i) * (1 + cauchy_square(x, j, i)), product + i);
        }
      }
      for (int i = 0; i < lanes; ++i) logs[i] += fast_log2(product[i]);
    }
    double* uniform = logs_.data() + c_ * lanes;
    double* cauchy = uniform + lanes;
    for (int i = 0; i < lanes; ++i) {
      const double height = i < n_rows ? law_.cauchy[row + i] : 0.0;
      uniform[i] = law_.uniform * kLog2e;
      cauchy[i] = height * kLog2e - logs[i];
    }
  }

  // Squared distances to the middle along a feature, for the lanes from i on.
  V cauchy_square(const double* x, ptrdiff_t j, int i) const {
    const V off = (L::load(x + j * lanes + i) - law_.middle[j]) * law_.units[j];
    return L::min(off * off, V{} + kLargestFactor);
  }

  // A pull is a posterior, less where tails are heavy and more where they are light.
  void add_pulls(const double* sq_dist, double* pulls, ptrdiff_t stride) {
    size_t place = 0;
    for (int k = 0; k < c_; ++k) {
      double* __restrict pull = pulls + k * stride;
      if (place == near_.size() || near_[place] != k) {
        std::fill(pull, pull + lanes, 0.0);
        continue;
      }
      const double* __restrict posterior = posteriors_.data() + place * lanes;
      const double* __restrict beyond = beyond_.data() + place++ * lanes;
      const double* __restrict relative = relative_.data() + k * lanes;
      const double* __restrict raised = raised_.data() + k * lanes;
      const double* __restrict sq = sq_dist + k * lanes;
      if (std::isfinite(law_.shape)) {
        const double most = law_.shape + double(d_);
        for (int i = 0; i < lanes; ++i) pull[i] = posterior[i] * most / (law_.shape + relative[i]);
      } else if (law_.power != 1) {
        for (int i = 0; i < lanes; ++i) {
          const double steep = relative[i] > 0 ? raised[i] / relative[i] : 0.0;
          pull[i] = posterior[i] * law_.power * steep;
        }
      } else {
        std::copy_n(posterior, lanes, pull);
      }
      double* __restrict sum = pull_.data() + k * lanes;
      double* __restrict square = square_.data() + k * lanes;
      double* __restrict contrast = contrast_.data() + k * lanes;
      for (int i = 0; i < lanes; i += L::width) {
        const V own = L::load(pull + i);
        L::store(L::load(sum + i) + own, sum + i);
        L::store(L::load(square + i) + own * L::load(sq + i), square + i);
        const V more = L::load(posterior + i) * L::load(beyond + i);
        L::store(L::load(contrast + i) + more, contrast + i);
      }
    }
  }

  void add_cauchy(const double* x) {
    if (near_.empty() || near_.back() != c_ + 1) return;
    const double* weight = posteriors_.data() + (near_.size() - 1) * lanes;
    for (ptrdiff_t j = 0; j < d_; ++j) {
      double* sum = cauchy_.data() + j * lanes;
      double* pulled = sum + d_ * lanes;
      double* square = pulled + d_ * lanes;
      for (int i = 0; i < lanes; i += L::width) {
        const V far = cauchy_square(x, j, i), pull = 2 * L::load(weight + i) / (1 + far);
        L::store(L::load(sum + i) + pull, sum + i);
        L::store(L::load(pulled + i) + pull * L::load(x + j * lanes + i), pulled + i);
        L::store(L::load(square + i) + pull * far, square + i);
      }
    }
  }

  const MixtureView& law_;
  int c_;
  ptrdiff_t d_;
  PowerOf power_;
  Buffer<double> relative_, raised_;  // Squared distances in widths, and their powers.
  Buffer<double> logs_;               // Densities.
  std::vector<int> near_;             // Components and laws that any row is near to,
  Buffer<double> posteriors_;         // their posteriors,
  Buffer<double> beyond_;             // and their densities over those of the outliers.
  Buffer<double> mass_, contrast_, pull_, square_, cauchy_;  // Sums, lane by lane.
};

// One pass, in one thread: samples of some thousand rows are not worth more. Returns false if
// interrupted.
inline bool expect_mixture(const DenseRows<double>& rows, const Pass& pass, const MixtureView& law,
                           const MixtureOut& out) {
  const int c = pass.centers.n_clusters, capacity = block_rows(rows.n_features, sizeof(double), 1);
  const ptrdiff_t n = rows.n_rows, d = rows.n_features;
  const auto centers = rows.prepare(pass.centers);
  MixturePass mixture(law, c, d);
  Buffer<double> pulls(static_cast<size_t>(c) * capacity);
  std::fill(out.pulled, out.pulled + c * d, 0.0);
  const auto body = [&](int, Workspace<DenseRows<double>>& work, ptrdiff_t begin, int n_rows) {
    for_each_tile(work, centers, c, begin, n_rows, [&](int first, double* sq_dist) {
      mixture.add(begin + first, std::min(MixturePass::lanes, n_rows - first), n, pass.weights,
                  work.block.tile(first), sq_dist, pulls.data() + first, capacity, out);
    });
    work.block.add_dots(pulls, c, 0, d, out.pulled);
  };
  const Strips whole{n, std::max<ptrdiff_t>(1, n), n > 0};
  const bool done = for_each_block(rows, pass, whole, PassOptions{1}, body);
  mixture.finish(out);
  return done;
}

}  // namespace sfumato
