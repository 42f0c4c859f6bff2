// Membership rules; the same classes as in src/sfumato/memberships.py.
//
// A rule works on a block of rows: losses of the nearest centers, as one array over the rows per
// rank, the nearest first unless all centers are there. It writes memberships, their coefficients
// phi in the objective, and the objective of each row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "buffer.hpp"
#include "power.hpp"

namespace sfumato {

// Ranks x rows, all arrays over rows contiguous.
struct Terms {
  Terms(int ranks, int capacity, bool memberships_wanted)
      : capacity(capacity),
        memberships_wanted(memberships_wanted),
        loss(static_cast<size_t>(ranks) * capacity),
        membership(loss.size()),
        phi(loss.size()),
        pull(loss.size()),
        objective(capacity),
        smallest(capacity),
        inverse(capacity) {}

  int capacity;
  bool memberships_wanted;  // If false, `membership` is undefined after solve().
  bool nearest_first = true;
  Buffer<double> loss, membership, phi, pull, objective;
  Buffer<double> smallest;  // Loss of the nearest center.
  Buffer<double> inverse;   // Used by rules while they solve.

  double* at(Buffer<double>& values, int rank) const {
    return values.data() + static_cast<size_t>(rank) * capacity;
  }
};

struct Hard {
  static constexpr bool needs_order = false;
  int n_nearest(int) const { return 1; }
  int n_entries(int) const { return 1; }

  void solve(Terms& terms, int n_rows, int) const {
    std::fill_n(terms.membership.data(), n_rows, 1.0);
    std::fill_n(terms.phi.data(), n_rows, 1.0);
    std::copy_n(terms.loss.data(), n_rows, terms.objective.data());
  }
};

struct Power {
  static constexpr bool needs_order = false;
  int n_active = 1;
  double fuzzifier = 2.0;

  int n_nearest(int) const { return n_active; }
  int n_entries(int) const { return n_active; }

  // With ratios q = smallest / loss in 0..1, shares s = q^(1/(r-1)) and their sum S:
  // membership s / S, phi = membership^r = s q / S^r (one power per entry), objective
  // smallest * S^(1-r). Nothing over- or underflows.
  void solve(Terms& terms, int n_rows, int ranks) const {
    const PowerOf to_share(1 / (fuzzifier - 1)), to_fuzzifier(fuzzifier);
    const double* __restrict smallest = terms.smallest.data();
    double* __restrict total = terms.objective.data();
    double* __restrict inverse = terms.inverse.data();
    const int known = terms.nearest_first ? 1 : 0;  // The nearest has ratio and share 1.
    std::fill_n(terms.phi.data(), known * n_rows, 1.0);
    std::fill_n(terms.membership.data(), known * n_rows, 1.0);
    std::fill_n(total, n_rows, double(known));
    for (int rank = known; rank < ranks; ++rank) {
      const double* __restrict loss = terms.at(terms.loss, rank);
      double* __restrict ratio = terms.at(terms.phi, rank);
      double* __restrict share = terms.at(terms.membership, rank);
      for (int i = 0; i < n_rows; ++i) {
        const double quotient = smallest[i] / loss[i];
        ratio[i] = loss[i] == 0 ? 1.0 : quotient;  // On the center: 0 / 0.
      }
      to_share.apply(ratio, n_rows, share);
      for (int i = 0; i < n_rows; ++i) total[i] += share[i];
    }
    to_fuzzifier.apply(total, n_rows, inverse);
    for (int i = 0; i < n_rows; ++i) inverse[i] = 1 / inverse[i];
    for (int rank = 0; rank < ranks; ++rank) {
      double* __restrict phi = terms.at(terms.phi, rank);
      double* __restrict membership = terms.at(terms.membership, rank);
      for (int i = 0; i < n_rows; ++i) phi[i] *= membership[i] * inverse[i];
      if (!terms.memberships_wanted) continue;
      for (int i = 0; i < n_rows; ++i) membership[i] /= total[i];
    }
    for (int i = 0; i < n_rows; ++i) total[i] *= smallest[i] * inverse[i];
  }
};

struct Simplex {
  static constexpr bool needs_order = true;
  double gamma = 0.0;  // Used if n_active is 0.
  int n_active = 0;

  int n_nearest(int n_clusters) const {
    return n_active > 0 ? std::min(n_active + 1, n_clusters) : n_clusters;
  }
  int n_entries(int) const { return n_active > 0 ? n_active : -1; }

  void solve(Terms& terms, int n_rows, int ranks) const {
    for (int i = 0; i < n_rows; ++i) solve_row(terms, i, ranks);
  }

 private:
  void solve_row(Terms& terms, int i, int ranks) const {
    const size_t stride = terms.capacity;
    const double* loss = terms.loss.data() + i;
    double* membership = terms.membership.data() + i;
    double* phi = terms.phi.data() + i;
    const double smallest = loss[0];
    const double row_gamma = n_active > 0 ? gamma_of_row(loss, stride, ranks) : gamma;

    // The first `count` memberships are positive: see project() in memberships.py.
    const int most = n_active > 0 ? n_active : ranks;
    double sum = 0, level = 0;
    int count = 0;
    for (; count < most; ++count) {
      const double excess = loss[count * stride] - smallest;
      const double next = (2 * row_gamma + sum + excess) / (count + 1);
      if (!(excess < next || excess == 0)) break;
      sum += excess;
      level = next;
    }
    double total = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const double excess = loss[rank * stride] - smallest;
      const double soft = rank < count ? (level - excess) / (2 * row_gamma) : 0.0;
      membership[rank * stride] = soft;
      total += soft;
    }
    if (!(total > 0) || !std::isfinite(total)) {  // gamma is 0: the nearest share equally.
      for (int rank = 0; rank < count; ++rank) membership[rank * stride] = 1.0;
      total = count;
    }
    double linear = 0, quadratic = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const double value = membership[rank * stride] / total;
      membership[rank * stride] = phi[rank * stride] = value;
      linear += value * loss[rank * stride];
      quadratic += value * value;
    }
    terms.objective[i] = linear + row_gamma * quadratic;
  }

  // The gamma that leaves exactly n_active memberships; row_gamma() in memberships.py.
  double gamma_of_row(const double* loss, size_t stride, int ranks) const {
    double sum = 0;
    for (int rank = 0; rank < n_active; ++rank) sum += loss[rank * stride];
    if (ranks > n_active) return (n_active * loss[n_active * stride] - sum) / 2;
    return n_active * loss[(n_active - 1) * stride] - sum;
  }
};

}  // namespace sfumato
