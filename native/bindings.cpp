// The Python module. Types and numbers of dimensions are checked by nanobind, shapes and indices by
// arrays.hpp and here, so that no argument can make a pass read or write out of bounds. The GIL is
// released during a pass and taken back now and then to look for Ctrl-C.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>
#ifndef _WIN32
#include <pthread.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>

#include "arrays.hpp"
#include "bind_groups.hpp"
#include "bind_tables.hpp"
#include "checks.hpp"
#include "mixture.hpp"
#include "openmp.hpp"
#include "shift.hpp"
#include "sweep.hpp"
#include "tails.hpp"

using namespace nanobind::literals;

namespace sfumato {
namespace {

using AnyLoss = std::variant<Squared, L21, Capped>;
using AnyMembership = std::variant<Hard, Power, Simplex>;

// Looks for signals twenty times a second, however often it is called: the GIL may be busy.
bool interrupted() {
  using Clock = std::chrono::steady_clock;
  thread_local Clock::time_point last = Clock::now();
  if (Clock::now() - last < std::chrono::milliseconds(50)) return false;
  const nb::gil_scoped_acquire gil;
  last = Clock::now();
  return PyErr_CheckSignals() != 0;
}

template <class T>
Pass checked_pass(const Rows<T>& rows, const MaybeVector<const double>& weights,
                  const Matrix<const double>& centers, int n_threads) {
  check_array("weights", weights, {rows.n_rows()});
  check_number("n_centers", centers.shape(0), 0, kMostCenters);
  const auto n_centers = static_cast<int>(centers.shape(0));
  check_array("centers", centers, {n_centers, rows.n_features()});
  check_number("n_threads", n_threads, 1);
  return {data_or_null(weights), {centers.data(), n_centers}, forked ? 1 : n_threads, &interrupted};
}

// Memberships that the rule stores for each row; all if their number varies.
int checked_entries(const AnyMembership& membership, int n_clusters) {
  check_number("n_centers", n_clusters, 1);
  const int stored =
      std::visit([&](const auto& rule) { return rule.n_entries(n_clusters); }, membership);
  check_number("n_active", stored, -1, n_clusters);
  return stored < 0 ? n_clusters : stored;
}

// Runs a pass without the GIL; an interrupt has already set Python's error.
template <class F, class... Parts>
void run(F&& pass, const Parts&... parts) {
  bool done;
  {
    const nb::gil_scoped_release released;
    done = std::visit(pass, parts...);
  }
  if (!done) throw nb::python_error();
}

template <class T>
double run_sweep(const Rows<T>& rows, const Pass& pass, const AnyLoss& loss,
                 const AnyMembership& membership, const SweepSums* sums,
                 const Assignments<T>* out) {
  double objective = 0;
  const auto body = [&](const auto& x, const auto& l, const auto& m) {
    return sweep(x, pass, l, m, sums, out, &objective);
  };
  run(body, rows.storage, loss, membership);
  return objective;
}

template <class T>
double sweep_rows(const Rows<T>& rows, MaybeVector<const double> weights,
                  Matrix<const double> centers, AnyLoss loss, AnyMembership membership,
                  int n_threads, Matrix<double> pull, Vector<double> weight,
                  Vector<double> kink_force) {
  const Pass pass = checked_pass(rows, weights, centers, n_threads);
  const ptrdiff_t n_clusters = pass.centers.n_clusters;
  checked_entries(membership, pass.centers.n_clusters);
  check_array("pull", pull, {n_clusters, rows.n_features()});
  check_array("weight", weight, {n_clusters});
  check_array("kink_force", kink_force, {n_clusters});
  const SweepSums sums{pull.data(), weight.data(), kink_force.data()};
  return run_sweep<T>(rows, pass, loss, membership, &sums, nullptr);
}

template <class T>
double assign_rows(const Rows<T>& rows, MaybeVector<const double> weights,
                   Matrix<const double> centers, AnyLoss loss, AnyMembership membership,
                   int n_threads, MaybeVector<std::int32_t> labels, MaybeVector<T> distances,
                   MaybeVector<std::int32_t> counts, MaybeVector<const std::int64_t> offsets,
                   MaybeVector<std::int32_t> indices, MaybeVector<T> memberships) {
  const Pass pass = checked_pass(rows, weights, centers, n_threads);
  const ptrdiff_t n_rows = rows.n_rows();
  const ptrdiff_t row_entries = checked_entries(membership, pass.centers.n_clusters);
  check_array("labels", labels, {n_rows});
  check_array("distances", distances, {n_rows});
  check_array("counts", counts, {n_rows});
  check_array("offsets", offsets, {n_rows + 1});
  if (memberships.has_value() != indices.has_value()) fail("give both indices and memberships.");
  if (memberships) {
    const ptrdiff_t size = static_cast<ptrdiff_t>(memberships->shape(0));
    if (offsets) check_offsets("offsets", offsets->data(), n_rows, size);
    check_array("memberships", memberships, {offsets ? size : n_rows * row_entries});
    check_array("indices", indices, {size});
  }
  std::atomic<bool> misfit{false};
  const Assignments<T> out{&misfit,
                           data_or_null(labels),
                           data_or_null(distances),
                           data_or_null(counts),
                           data_or_null(offsets),
                           data_or_null(indices),
                           data_or_null(memberships)};
  const double objective = run_sweep(rows, pass, loss, membership, nullptr, &out);
  if (misfit) fail("offsets leave more or less room than the rows have memberships.");
  return objective;
}

template <class T>
void write_distances(const Rows<T>& rows, Matrix<const double> centers, int n_threads,
                     Matrix<T> out) {
  const Pass pass = checked_pass(rows, std::nullopt, centers, n_threads);
  check_array("out", out, {rows.n_rows(), pass.centers.n_clusters});
  run([&](const auto& x) { return distances(x, pass, out.data()); }, rows.storage);
}

template <class T>
void write_scaled_distances(const Rows<T>& rows, Matrix<const double> centers,
                            Vector<const double> units, int n_threads, Vector<T> out) {
  const Pass pass = checked_pass(rows, std::nullopt, centers, n_threads);
  check_array("units", units, {pass.centers.n_clusters});
  check_array("out", out, {rows.n_rows()});
  run([&](const auto& x) { return scaled_distances(x, pass, units.data(), out.data()); },
      rows.storage);
}

template <class T>
void write_rarities(const Rows<T>& rows, Matrix<const double> centers, Vector<const double> scales,
                    Vector<const double> weights, double power, int n_threads, Vector<double> out) {
  const Pass pass = checked_pass(rows, std::nullopt, centers, n_threads);
  check_array("scales", scales, {pass.centers.n_clusters});
  check_array("weights", weights, {pass.centers.n_clusters});
  check_array("out", out, {rows.n_rows()});
  if (!(power > 0)) fail("power=" + std::to_string(power) + " must be above 0.");
  const TailsView tails{scales.data(), weights.data(), power};
  run([&](const auto& x) { return rarities(x, pass, tails, out.data()); }, rows.storage);
}

void expect_components(const Rows<double>& rows, const Vector<const double>& weights,
                       const Matrix<const double>& centers, const Vector<const double>& heights,
                       const Vector<const double>& precisions,
                       const std::optional<Matrix<const double>>& along, double shape, double power,
                       double uniform, const Vector<const double>& cauchy,
                       const Vector<const double>& middle, const Vector<const double>& units,
                       const Matrix<double>& posteriors, const Vector<double>& log_density,
                       const Vector<double>& masses, const Vector<double>& contrasts,
                       const Vector<double>& pulls, const Matrix<double>& pulled,
                       const Vector<double>& squares, const Matrix<double>& cauchy_sums) {
  const Pass pass = checked_pass(rows, MaybeVector<const double>(weights), centers, 1);
  const ptrdiff_t n = rows.n_rows(), d = rows.n_features(), c = pass.centers.n_clusters;
  const auto* dense = std::get_if<DenseRows<double>>(&rows.storage);
  if (dense == nullptr) fail("rows must be dense.");
  if (!(shape > 0)) fail("shape=" + std::to_string(shape) + " must be above 0.");
  if (!(power > 0)) fail("power=" + std::to_string(power) + " must be above 0.");
  check_array("heights", heights, {c});
  check_array("precisions", precisions, {c});
  check_array("along", along, {c, n});
  check_array("cauchy", cauchy, {n});
  check_array("middle", middle, {d});
  check_array("units", units, {d});
  check_array("posteriors", posteriors, {c + 2, n});
  check_array("log_density", log_density, {n});
  check_array("masses", masses, {c + 2});
  check_array("contrasts", contrasts, {c});
  check_array("pulls", pulls, {c});
  check_array("pulled", pulled, {c, d});
  check_array("squares", squares, {c});
  check_array("cauchy_sums", cauchy_sums, {3, d});
  const MixtureView law{heights.data(), precisions.data(), data_or_null(along), shape,       power,
                        uniform,        cauchy.data(),     middle.data(),       units.data()};
  const MixtureOut out{posteriors.data(), log_density.data(), masses.data(),  contrasts.data(),
                       pulls.data(),      pulled.data(),      squares.data(), cauchy_sums.data()};
  bool done;
  {
    const nb::gil_scoped_release released;
    done = expect_mixture(*dense, pass, law, out);
  }
  if (!done) throw nb::python_error();
}

template <class T>
void shift_points(const Rows<T>& rows, MaybeVector<const double> weights,
                  Matrix<const double> centers, double mass, int n_threads, Matrix<double> means,
                  Vector<double> radii) {
  const Pass pass = checked_pass(rows, weights, centers, n_threads);
  check_number("n_rows", rows.n_rows(), 1);
  check_array("means", means, {pass.centers.n_clusters, rows.n_features()});
  check_array("radii", radii, {pass.centers.n_clusters});
  if (!(mass > 0)) fail("mass=" + std::to_string(mass) + " must be above 0.");
  run([&](const auto& x) { return mean_shift(x, pass, mass, means.data(), radii.data()); },
      rows.storage);
}

template <class T>
void lower_costs(const Rows<T>& rows, Matrix<const double> centers, AnyLoss loss, int n_threads,
                 Vector<T> costs) {
  const Pass pass = checked_pass(rows, std::nullopt, centers, n_threads);
  check_array("costs", costs, {rows.n_rows()});
  run([&](const auto& x, const auto& l) { return update_costs(x, pass, l, costs.data()); },
      rows.storage, loss);
}

template <class T>
void write_candidate_costs(const Rows<T>& rows, MaybeVector<const double> weights,
                           Matrix<const double> centers, AnyLoss loss, int n_threads,
                           Vector<const T> costs, Vector<double> totals,
                           std::optional<Matrix<T>> losses) {
  const Pass pass = checked_pass(rows, weights, centers, n_threads);
  check_array("costs", costs, {rows.n_rows()});
  check_array("totals", totals, {pass.centers.n_clusters});
  check_array("losses", losses, {rows.n_rows(), pass.centers.n_clusters});
  const auto body = [&](const auto& x, const auto& l) {
    return candidate_costs(x, pass, l, costs.data(), totals.data(), data_or_null(losses));
  };
  run(body, rows.storage, loss);
}

template <class T>
int threads_used(const Rows<T>& rows, int n_clusters, int n_threads) {
  check_number("n_clusters", n_clusters, 1, kMostCenters);
  check_number("n_threads", n_threads, 1);
  const ptrdiff_t work = n_clusters * rows.n_features();
  return std::visit(
      [&](const auto& x) { return useful_threads(n_threads, cut(x, n_clusters), work); },
      rows.storage);
}

// Overloads of all passes for rows that are computed in T.
template <class T>
void bind_passes(nb::module_& m, const char* rows_name) {
  nb::class_<Rows<T>>(m, rows_name,
                      "Rows, dense or CSR. Passes over them compute in this precision.")
      .def_static("dense", &dense_rows<T>, "array"_a.noconvert(), "origin"_a.noconvert(),
                  "Dense rows of any real type and strides, to be measured from the origin.")
      .def_static("csr", &csr_rows<T>, "data"_a.noconvert(), "indices"_a.noconvert(),
                  "indptr"_a.noconvert(), "n_features"_a,
                  "CSR rows, the columns of each ascending.");
  m.def("threads_used", &threads_used<T>, "rows"_a, "n_clusters"_a, "n_threads"_a,
        "Threads that a sweep uses if it may use n_threads: fewer where there is little to do.");
  m.def("sweep", &sweep_rows<T>, "rows"_a, "weights"_a.noconvert().none(), "centers"_a.noconvert(),
        "loss"_a, "membership"_a, "n_threads"_a, "pull"_a.noconvert(), "weight"_a.noconvert(),
        "kink_force"_a.noconvert(), "Write statistics at the centers; return the objective.");
  m.def("assign", &assign_rows<T>, "rows"_a, "weights"_a.noconvert().none(),
        "centers"_a.noconvert(), "loss"_a, "membership"_a, "n_threads"_a,
        "labels"_a.noconvert().none() = nb::none(), "distances"_a.noconvert().none() = nb::none(),
        "counts"_a.noconvert().none() = nb::none(), "offsets"_a.noconvert().none() = nb::none(),
        "indices"_a.noconvert().none() = nb::none(),
        "memberships"_a.noconvert().none() = nb::none(),
        "Write what is given for each row; return the objective.");
  m.def("distances", &write_distances<T>, "rows"_a, "centers"_a.noconvert(), "n_threads"_a,
        "out"_a.noconvert(), "Write the distances of all rows to all centers.");
  m.def("scaled_distances", &write_scaled_distances<T>, "rows"_a, "centers"_a.noconvert(),
        "units"_a.noconvert(), "n_threads"_a, "out"_a.noconvert(),
        "Write the smallest distance of each row to any center, in the unit of that center.");
  m.def("rarities", &write_rarities<T>, "rows"_a, "centers"_a.noconvert(), "scales"_a.noconvert(),
        "weights"_a.noconvert(), "power"_a, "n_threads"_a, "out"_a.noconvert(),
        "Write how rare each row is under a density with heavy tails around the centers.");
  m.def("mean_shift", &shift_points<T>, "rows"_a, "weights"_a.noconvert().none(),
        "centers"_a.noconvert(), "mass"_a, "n_threads"_a, "means"_a.noconvert(),
        "radii"_a.noconvert(),
        "Write the mean of the rows nearest to each center, of some weight, and their radius.");
  m.def("update_costs", &lower_costs<T>, "rows"_a, "centers"_a.noconvert(), "loss"_a, "n_threads"_a,
        "costs"_a.noconvert(), "Lower the cost of each row to its smallest loss to any center.");
  m.def("candidate_costs", &write_candidate_costs<T>, "rows"_a, "weights"_a.noconvert().none(),
        "centers"_a.noconvert(), "loss"_a, "n_threads"_a, "costs"_a.noconvert(),
        "totals"_a.noconvert(), "losses"_a.noconvert().none() = nb::none(),
        "Write the total cost if each center alone were added, and all losses if given.");
}

void bind_mixture(nb::module_& m) {
  m.def("expect_mixture", &expect_components, "rows"_a, "weights"_a.noconvert(),
        "centers"_a.noconvert(), "heights"_a.noconvert(), "precisions"_a.noconvert(),
        "along"_a.noconvert().none(), "shape"_a, "power"_a, "uniform"_a, "cauchy"_a.noconvert(),
        "middle"_a.noconvert(), "units"_a.noconvert(), "posteriors"_a.noconvert(),
        "log_density"_a.noconvert(), "masses"_a.noconvert(), "contrasts"_a.noconvert(),
        "pulls"_a.noconvert(), "pulled"_a.noconvert(), "squares"_a.noconvert(),
        "cauchy_sums"_a.noconvert(),
        "Write how likely each row belongs to each component, and sums for the next parameters.");
}

void bind_parts(nb::module_& m) {
  nb::class_<Squared>(m, "Squared").def(nb::init<>());
  nb::class_<L21>(m, "L21").def(nb::init<>());
  const auto capped = [](Capped* self, double cap) {
    if (!(cap >= 0)) fail("cap=" + std::to_string(cap) + " must be at least 0.");
    new (self) Capped{cap};
  };
  nb::class_<Capped>(m, "Capped").def("__init__", capped, "cap"_a);

  nb::class_<Hard>(m, "Hard").def(nb::init<>());
  const auto power = [](Power* self, int n_active, double fuzzifier) {
    check_number("n_active", n_active, 1);
    if (!(fuzzifier > 1)) fail("fuzzifier=" + std::to_string(fuzzifier) + " must be above 1.");
    new (self) Power{n_active, fuzzifier};
  };
  nb::class_<Power>(m, "Power").def("__init__", power, "n_active"_a, "fuzzifier"_a);
  const auto simplex = [](Simplex* self, std::optional<double> gamma, std::optional<int> n_active) {
    if (gamma.has_value() == n_active.has_value()) fail("give either gamma or n_active.");
    check_number("n_active", n_active.value_or(1), 1);
    if (!(gamma.value_or(0) >= 0)) fail("gamma=" + std::to_string(*gamma) + " must be at least 0.");
    new (self) Simplex{gamma.value_or(0.0), n_active.value_or(0)};
  };
  nb::class_<Simplex>(m, "Simplex")
      .def("__init__", simplex, "gamma"_a.none() = nb::none(), "n_active"_a.none() = nb::none());
}

void bind_numerics(nb::module_& m) {
  const auto bind = [&m](const char* name, double (*function)(double), const char* doc) {
    const auto apply = [function](const Numbers& x, const Vector<double>& out) {
      check_array("out", out, {static_cast<ptrdiff_t>(x.size())});
      std::transform(x.data(), x.data() + x.size(), out.data(), function);
    };
    m.def(name, apply, "x"_a.noconvert(), "out"_a.noconvert(), doc);
  };
  bind("log2", &fast_log2, "Logarithms as the passes compute them.");
  bind("exp2", &fast_exp2, "Powers of two as the passes compute them.");
  const auto power = [](const Numbers& x, double exponent, const Vector<double>& out) {
    check_array("out", out, {static_cast<ptrdiff_t>(x.size())});
    check_number("len(x)", x.size(), 0, std::numeric_limits<int>::max());
    Buffer<double> base(x.data(), x.data() + x.size());
    base.resize((x.size() / PowerOf::kRun + 1) * PowerOf::kRun);
    Buffer<double> powers(base.size());
    PowerOf(exponent).apply(base.data(), static_cast<int>(x.size()), powers.data());
    std::copy_n(powers.data(), x.size(), out.data());
  };
  m.def("power", power, "x"_a.noconvert(), "exponent"_a, "out"_a.noconvert(),
        "Powers as the passes compute them.");
}

}  // namespace
}  // namespace sfumato

NB_MODULE(SFUMATO_MODULE, m) {
#ifndef _WIN32  // Where there is no fork.
  pthread_atfork(nullptr, nullptr, [] { sfumato::forked = true; });
#endif
  m.doc() = "Passes over rows, compiled.";
  sfumato::bind_parts(m);
  sfumato::bind_passes<double>(m, "RowsFloat64");
  sfumato::bind_passes<float>(m, "RowsFloat32");
  sfumato::bind_mixture(m);
  sfumato::bind_groups(m);
  sfumato::bind_tables<double>(m);
  sfumato::bind_tables<float>(m);
  sfumato::bind_numerics(m);
  m.def(
      "max_threads", [] { return omp_get_max_threads(); },
      "Threads that OpenMP would use for the next pass.");
}
