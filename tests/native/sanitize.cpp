// Runs every pass over every part, storage and precision, on odd sizes, to be compiled with address
// and undefined-behavior sanitizers, or with the thread sanitizer. Sizes of the last cases are such
// that several threads share the work. Fails with a message if a result is not what it must be.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <type_traits>
#include <vector>

#include "checks.hpp"
#include "mixture.hpp"
#include "sweep.hpp"
#include "tails.hpp"
#include "transpose.hpp"

using namespace sfumato;

namespace {

int checks = 0;

void require(bool holds, const char* what) {
  ++checks;
  if (!holds) {
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::exit(1);
  }
}

struct Case {
  ptrdiff_t n, d;
  int c, threads;
  int used;  // Threads that share a sweep over dense rows.
};

template <class Rows, class Loss, class Membership>
void try_sweep(const Rows& rows, const Pass& pass, const Loss& loss, const Membership& membership) {
  using T = typename Rows::Scalar;
  const int c = pass.centers.n_clusters;
  const int fixed = membership.n_entries(c);
  std::vector<double> pull(c * rows.n_features), weight(c), kink_force(c);
  const SweepSums sums{pull.data(), weight.data(), kink_force.data()};
  double swept = 0, assigned = 0;
  require(sweep(rows, pass, loss, membership, &sums, nullptr, &swept), "a sweep finishes");

  std::vector<std::int32_t> labels(rows.n_rows), counts(rows.n_rows);
  std::vector<T> nearest(rows.n_rows);
  std::atomic<bool> misfit{false};
  Assignments<T> out{&misfit, labels.data(), nearest.data(), counts.data(),
                     nullptr, nullptr,       nullptr};
  require(sweep(rows, pass, loss, membership, nullptr, &out, &assigned), "counting finishes");
  std::vector<std::int64_t> offsets(rows.n_rows + 1);
  for (ptrdiff_t i = 0; i < rows.n_rows; ++i) {
    offsets[i + 1] = offsets[i] + (fixed < 0 ? counts[i] : fixed);
  }
  std::vector<std::int32_t> indices(offsets.back());
  std::vector<T> memberships(offsets.back());
  out.offsets = fixed < 0 ? offsets.data() : nullptr;
  out.indices = indices.data();
  out.memberships = memberships.data();
  require(sweep(rows, pass, loss, membership, nullptr, &out, &assigned), "writing finishes");

  require(!misfit, "memberships fit their offsets");
  require(std::isfinite(swept) && swept == assigned, "one objective");
  for (double value : pull) require(std::isfinite(value), "finite pulls");
  for (ptrdiff_t i = 0; i < rows.n_rows; ++i) {
    require(labels[i] >= 0 && labels[i] < c, "labels in range");
    double total = 0;
    for (std::int64_t e = offsets[i]; e < offsets[i + 1]; ++e) {
      require(indices[e] >= 0 && indices[e] < c, "centers in range");
      require(e == offsets[i] || indices[e - 1] < indices[e], "centers ascend");
      total += double(memberships[e]);
    }
    require(std::abs(total - 1) < 1e-5, "memberships sum to one");
  }
}

template <class Rows, class Loss>
void try_loss(const Rows& rows, const Pass& pass, const Loss& loss, bool thorough) {
  const int c = pass.centers.n_clusters;
  try_sweep(rows, pass, loss, Hard{});
  const std::vector<int> few{2}, many{1, 2, 3, c - 1, c};
  for (int active : thorough ? many : few) {
    if (active < 1 || active > c) continue;
    for (double fuzzifier : {1.01, 1.1, 1.37, 2.0, 5.0}) {
      if (!thorough && fuzzifier != 1.37) continue;
      try_sweep(rows, pass, loss, Power{active, fuzzifier});
    }
    try_sweep(rows, pass, loss, Simplex{0.0, active});
  }
  for (double gamma : {1e-9, 1.0, 1e9}) {
    if (thorough || gamma == 1.0) try_sweep(rows, pass, loss, Simplex{gamma, 0});
  }

  std::vector<typename Rows::Scalar> costs(rows.n_rows, INFINITY);
  std::vector<double> totals(c);
  require(update_costs(rows, pass, loss, costs.data()), "lowering finishes");
  require(candidate_costs(rows, pass, loss, costs.data(), totals.data()), "candidate costs finish");
  for (double total : totals) require(std::isfinite(total), "finite candidate costs");
  std::vector<double> again(c);
  std::vector<typename Rows::Scalar> losses(rows.n_rows * c, -1);
  require(candidate_costs(rows, pass, loss, costs.data(), again.data(), losses.data()),
          "candidate costs with losses finish");
  require(again == totals, "losses that are kept change no total");
  for (ptrdiff_t i = 0; i < rows.n_rows; ++i) {
    const auto least = *std::min_element(losses.begin() + i * c, losses.begin() + (i + 1) * c);
    require(least == costs[i], "the smallest loss of a row is its cost");
  }
  std::vector<std::int64_t> column(rows.n_rows);
  std::vector<typename Rows::Scalar> smallest(rows.n_rows), second(rows.n_rows);
  two_smallest(losses.data(), rows.n_rows, c, column.data(), smallest.data(), second.data());
  for (ptrdiff_t i = 0; i < rows.n_rows; ++i) {
    require(smallest[i] == costs[i] && losses[i * c + column[i]] == costs[i], "the smallest loss");
    require(second[i] >= smallest[i], "the next smallest loss");
  }
}

template <class Rows>
void try_rows(const Rows& rows, const Pass& pass, bool thorough) {
  if (thorough) try_loss(rows, pass, Squared{}, true);
  if (thorough) try_loss(rows, pass, Capped{1.5}, true);
  try_loss(rows, pass, L21{}, thorough);
  std::vector<typename Rows::Scalar> out(rows.n_rows * pass.centers.n_clusters);
  require(distances(rows, pass, out.data()), "distances finish");
  std::vector<typename Rows::Scalar> smallest(rows.n_rows);
  const std::vector<double> units(pass.centers.n_clusters, 2.0);
  require(scaled_distances(rows, pass, units.data(), smallest.data()), "scaled distances finish");
  for (ptrdiff_t i = 0; i < rows.n_rows; ++i) {
    const auto* row = out.data() + i * pass.centers.n_clusters;
    const auto least = *std::min_element(row, row + pass.centers.n_clusters);
    require(std::abs(2 * smallest[i] - least) <= 1e-6 * least, "half the distance in units of two");
  }
  std::vector<double> rare(rows.n_rows);
  const std::vector<double> shares(pass.centers.n_clusters, 1.0 / pass.centers.n_clusters);
  require(rarities(rows, pass, {units.data(), shares.data(), 7.0}, rare.data()), "rarities finish");
  for (ptrdiff_t i = 0; i < rows.n_rows; ++i) {
    require(std::isfinite(rare[i]) && rare[i] >= 1 - 1e-12, "rarities of at least one");
  }
}

template <class T>
void try_transpose(const std::vector<T>& x, const Case& size) {
  std::vector<std::vector<T>> columns(size.d, std::vector<T>(size.n));
  std::vector<const T*> pointers;
  for (ptrdiff_t j = 0; j < size.d; ++j) {
    for (ptrdiff_t i = 0; i < size.n; ++i) columns[j][i] = x[i * size.d + j];
    pointers.push_back(columns[j].data());
  }
  std::vector<T> rows(x.size());
  transpose(pointers.data(), size.d, size.n, rows.data());
  require(rows == x, "columns become rows");
}

void try_mixture(const DenseRows<double>& rows, const Pass& pass) {
  const int c = pass.centers.n_clusters;
  const ptrdiff_t n = rows.n_rows, d = rows.n_features;
  const std::vector<double> heights(c, -1.0), precisions(c, 2.0), along(c * n, 0.1);
  const std::vector<double> cauchy(n, -3.0), middle(d, 0.5), units(d, 0.7);
  std::vector<double> posteriors((c + 2) * n), log_density(n), masses(c + 2), contrasts(c);
  std::vector<double> pulls(c), pulled(c * d), squares(c), sums(3 * d);
  const MixtureOut out{posteriors.data(), log_density.data(), masses.data(),  contrasts.data(),
                       pulls.data(),      pulled.data(),      squares.data(), sums.data()};
  for (double shape : {3.0, double(INFINITY)}) {
    for (double power : {1.0, 2.5}) {
      const MixtureView law{heights.data(),
                            precisions.data(),
                            power == 1 ? along.data() : nullptr,
                            shape,
                            power,
                            -4.0,
                            cauchy.data(),
                            middle.data(),
                            units.data()};
      require(expect_mixture(rows, pass, law, out), "a pass over a mixture finishes");
      for (ptrdiff_t i = 0; i < n; ++i) {
        double total = 0;
        for (int k = 0; k < c + 2; ++k) total += posteriors[k * n + i];
        require(std::abs(total - pass.weights[i]) < 1e-9, "posteriors sum to the weight");
        require(std::isfinite(log_density[i]), "finite densities");
      }
      for (double value : sums) require(std::isfinite(value), "finite sums of a mixture");
    }
  }
}

template <class T>
void try_case(const Case& size, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<T> x(size.n * size.d);
  for (T& value : x) value = T(normal(random) > 0.3 ? normal(random) : 0.0);
  std::vector<double> centers(size.c * size.d), weights(size.n);
  for (ptrdiff_t e = 0; e < size.c * size.d; ++e) {
    centers[e] = e < size.n * size.d ? double(x[e]) : normal(random);  // Some lie on rows.
  }
  for (double& weight : weights) weight = std::abs(normal(random));
  const CentersView view{centers.data(), size.c};
  const Pass pass{nullptr, view, size.threads, nullptr};
  const Pass weighted{weights.data(), view, size.threads, nullptr};

  DenseRows<T> dense{};
  dense.data = x.data();
  dense.n_rows = size.n;
  dense.n_features = size.d;
  dense.row_stride = size.d;
  dense.column_stride = 1;
  dense.load = &load_dense<T, T>;
  const std::vector<double> origin(size.d);
  dense.set_origin(origin.data());
  require(useful_threads(size.threads, cut(dense, size.c), size.c * size.d) == size.used,
          "as many threads as this case is for");
  const bool thorough = size.used == 1;  // Large cases are for the threads, not for the rules.
  try_rows(dense, pass, thorough);
  try_rows(dense, weighted, thorough);
  try_transpose(x, size);
  if constexpr (std::is_same_v<T, double>) try_mixture(dense, weighted);

  std::vector<T> values;
  std::vector<std::int32_t> indices;
  std::vector<std::int64_t> indptr{0};
  for (ptrdiff_t i = 0; i < size.n; ++i) {
    for (ptrdiff_t j = 0; j < size.d; ++j) {
      if (x[i * size.d + j] == 0) continue;
      values.push_back(x[i * size.d + j]);
      indices.push_back(static_cast<std::int32_t>(j));
    }
    indptr.push_back(static_cast<std::int64_t>(values.size()));
  }
  CsrRows<T> csr{};
  csr.data = values.data();
  csr.indices = indices.data();
  csr.indptr = indptr.data();
  csr.n_rows = size.n;
  csr.n_features = size.d;
  csr.load = &load_csr<T, T, std::int32_t>;
  csr.offset = &csr_offset<T, std::int64_t>;
  check_offsets("indptr", indptr.data(), size.n, static_cast<ptrdiff_t>(values.size()));
  check_columns(indices.data(), indptr.data(), size.n, size.d);
  csr.measure();
  try_rows(csr, weighted, thorough);
}

}  // namespace

int main() {
  std::mt19937 random(0);
  const std::vector<Case> cases{{1, 1, 1, 1, 1},     {2, 3, 2, 2, 1},      {33, 5, 3, 3, 1},
                                {255, 2, 7, 2, 1},   {257, 70, 9, 4, 1},   {1000, 3, 33, 7, 1},
                                {130, 600, 4, 2, 1}, {100, 40, 24, 2, 1},  {0, 3, 2, 2, 1},
                                {5, 0, 2, 2, 1},     {4001, 40, 40, 4, 4}, {2001, 700, 5, 3, 3}};
  for (const Case& size : cases) {
    try_case<double>(size, random);
    try_case<float>(size, random);
  }
  std::printf("sanitized: %d checks hold\n", checks);
}
