// Runs every pass over every part, storage and precision, on odd sizes, to be compiled with address
// and undefined-behavior sanitizers. Checks what must hold of any result; says so and fails if not.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "sweep.hpp"
#include "turn.hpp"

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
};

template <class Rows, class Loss, class Membership>
void try_sweep(const Rows& rows, const Pass& pass, const Loss& loss, const Membership& membership) {
  using T = typename Rows::Scalar;
  const int c = pass.centers.n_clusters;
  const int fixed = membership.n_entries(c);
  std::vector<double> pull(c * rows.n_features), weight(c), hold(c);
  const Moments moments{pull.data(), weight.data(), hold.data()};
  double swept = 0, assigned = 0;
  require(sweep(rows, pass, loss, membership, &moments, nullptr, &swept), "a sweep finishes");

  std::vector<std::int32_t> labels(rows.n_rows), counts(rows.n_rows);
  std::vector<T> nearest(rows.n_rows);
  Places<T> places{labels.data(), nearest.data(), counts.data(), nullptr, nullptr, nullptr};
  require(sweep(rows, pass, loss, membership, nullptr, &places, &assigned), "counting finishes");
  std::vector<std::int64_t> offsets(rows.n_rows + 1);
  for (ptrdiff_t i = 0; i < rows.n_rows; ++i) {
    offsets[i + 1] = offsets[i] + (fixed < 0 ? counts[i] : fixed);
  }
  std::vector<std::int32_t> indices(offsets.back());
  std::vector<T> memberships(offsets.back());
  places.offsets = fixed < 0 ? offsets.data() : nullptr;
  places.indices = indices.data();
  places.memberships = memberships.data();
  require(sweep(rows, pass, loss, membership, nullptr, &places, &assigned), "writing finishes");

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
void try_loss(const Rows& rows, const Pass& pass, const Loss& loss) {
  const int c = pass.centers.n_clusters;
  try_sweep(rows, pass, loss, Hard{});
  for (int active : {1, 2, 3, c - 1, c}) {
    if (active < 1 || active > c) continue;
    for (double fuzzifier : {1.01, 1.1, 1.37, 2.0, 5.0}) {
      try_sweep(rows, pass, loss, Power{active, fuzzifier});
    }
    try_sweep(rows, pass, loss, Simplex{0.0, active});
  }
  for (double gamma : {1e-9, 1.0, 1e9}) try_sweep(rows, pass, loss, Simplex{gamma, 0});

  std::vector<typename Rows::Scalar> costs(rows.n_rows, INFINITY);
  std::vector<double> totals(c);
  require(update_costs(rows, pass, loss, costs.data()), "lowering finishes");
  require(candidate_costs(rows, pass, loss, costs.data(), totals.data()), "candidate_costs finish");
  for (double total : totals) require(std::isfinite(total), "finite candidate_costs");
}

template <class Rows>
void try_rows(const Rows& rows, const Pass& pass) {
  try_loss(rows, pass, Squared{});
  try_loss(rows, pass, L21{});
  try_loss(rows, pass, Capped{1.5});
  std::vector<typename Rows::Scalar> out(rows.n_rows * pass.centers.n_clusters);
  require(distances(rows, pass, out.data()), "distances finish");
}

template <class T>
void try_turn(const std::vector<T>& x, const Case& size) {
  std::vector<std::vector<T>> columns(size.d, std::vector<T>(size.n));
  std::vector<const T*> pointers;
  for (ptrdiff_t j = 0; j < size.d; ++j) {
    for (ptrdiff_t i = 0; i < size.n; ++i) columns[j][i] = x[i * size.d + j];
    pointers.push_back(columns[j].data());
  }
  std::vector<T> rows(x.size());
  turn(pointers.data(), size.d, size.n, rows.data());
  require(rows == x, "columns become rows");
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
  try_rows(dense, pass);
  try_rows(dense, weighted);
  try_turn(x, size);

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
  csr.measure();
  try_rows(csr, weighted);
}

}  // namespace

int main() {
  std::mt19937 random(0);
  const std::vector<Case> cases{{1, 1, 1, 1},     {2, 3, 2, 2},    {33, 5, 3, 3},
                                {255, 2, 7, 2},   {257, 70, 9, 4}, {1000, 3, 33, 7},
                                {130, 600, 4, 2}, {100, 40, 24, 2}};
  for (const Case& size : cases) {
    try_case<double>(size, random);
    try_case<float>(size, random);
  }
  std::printf("sanitized: %d checks hold\n", checks);
}
