// The pass behind outlier scores: how rare each row is under a density with heavy tails.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "power.hpp"
#include "sweep.hpp"

namespace sfumato {

// Density with heavy tails around centers; Tails in src/sfumato/_engines/tails.py.
struct TailsView {
  const double* scales;   // Length of each center.
  const double* weights;  // Of each center, with the sum one.
  double power;           // Of the distance with which the density falls.
};

// out[i]: the density of a row to the power of -1 / power, which is 1 or more. With squares
// s_k = 1 + (h_k / scale_k)^2 and the smallest s of them, the density is a multiple of
// s^(-power / 2) * sum_k weight_k * (s / s_k)^(power / 2), in which nothing overflows.
template <class Rows>
bool rarities(const Rows& rows, const Pass& pass, const TailsView& tails, double* out) {
  constexpr int lanes = kTileRows<typename Rows::Scalar>;
  constexpr int group = 8, room = group * lanes;  // Centers whose powers are taken together.
  static_assert(room % PowerOf::kRun == 0);
  const auto centers = rows.prepare(pass.centers);
  const int c = pass.centers.n_clusters;
  const PowerOf falling(tails.power / 2), rising(-1 / tails.power);
  const auto body = [&](int, Workspace<Rows>& work, ptrdiff_t begin, int n_rows) {
    for_each_tile(work, centers, c, begin, n_rows, [&](int first, const auto* sq_dist) {
      double least[lanes], total[lanes] = {}, ratio[room] = {}, power[room];
      const auto square = [](double sq, double unit) {  // The square of a unit may overflow.
        return std::min(1 + sq * unit * unit, std::numeric_limits<double>::max());
      };
      std::fill(least, least + lanes, std::numeric_limits<double>::max());
      for (int k = 0; k < c; ++k) {
        const double unit = 1 / tails.scales[k];
        const auto* __restrict sq = sq_dist + k * lanes;
        for (int i = 0; i < lanes; ++i) least[i] = std::min(least[i], square(double(sq[i]), unit));
      }
      for (int begin_k = 0; begin_k < c; begin_k += group) {
        const int count = std::min(group, c - begin_k);
        for (int g = 0; g < count; ++g) {
          const double unit = 1 / tails.scales[begin_k + g];
          const auto* __restrict sq = sq_dist + (begin_k + g) * lanes;
          for (int i = 0; i < lanes; ++i) {
            ratio[g * lanes + i] = least[i] / square(double(sq[i]), unit);
          }
        }
        falling.apply(ratio, count * lanes, power);
        for (int g = 0; g < count; ++g) {
          const double weight = tails.weights[begin_k + g];
          for (int i = 0; i < lanes; ++i) total[i] += weight * power[g * lanes + i];
        }
      }
      std::copy_n(total, lanes, ratio);
      rising.apply(ratio, lanes, power);
      const int m = std::min(lanes, n_rows - first);
      for (int i = 0; i < m; ++i) out[begin + first + i] = std::sqrt(least[i]) * power[i];
    });
  };
  return for_each_block(rows, pass, cut_freely(rows), PassOptions{1}, body);
}

}  // namespace sfumato
