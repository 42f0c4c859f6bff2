// The only file that knows Python. Everything is checked in Python before it comes here; the GIL is
// released during a pass and taken back now and then to look for Ctrl-C.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <omp.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sweep.hpp"
#include "turn.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace sfumato {
namespace {

template <class T>
using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
using Anything = nb::ndarray<nb::ro, nb::device::cpu>;
using Doubles = Array<double>;
using ConstDoubles = Array<const double>;

using AnyLoss = std::variant<Squared, L21, Capped>;
using AnyMembership = std::variant<Hard, Power, Simplex>;

// Calls f with a null pointer of the array's element type.
template <class F>
auto with_element_type(const Anything& array, F&& f) {
  const nb::dlpack::dtype type = array.dtype();
  if (type == nb::dtype<double>()) return f(static_cast<double*>(nullptr));
  if (type == nb::dtype<float>()) return f(static_cast<float*>(nullptr));
  if (type == nb::dtype<bool>()) return f(static_cast<bool*>(nullptr));
  if (type == nb::dtype<std::int8_t>()) return f(static_cast<std::int8_t*>(nullptr));
  if (type == nb::dtype<std::int16_t>()) return f(static_cast<std::int16_t*>(nullptr));
  if (type == nb::dtype<std::int32_t>()) return f(static_cast<std::int32_t*>(nullptr));
  if (type == nb::dtype<std::int64_t>()) return f(static_cast<std::int64_t*>(nullptr));
  if (type == nb::dtype<std::uint8_t>()) return f(static_cast<std::uint8_t*>(nullptr));
  if (type == nb::dtype<std::uint16_t>()) return f(static_cast<std::uint16_t*>(nullptr));
  if (type == nb::dtype<std::uint32_t>()) return f(static_cast<std::uint32_t*>(nullptr));
  if (type == nb::dtype<std::uint64_t>()) return f(static_cast<std::uint64_t*>(nullptr));
  throw std::invalid_argument("rows have an element type that the core does not read");
}

// Rows with the Python arrays that they point into.
struct Rows {
  std::variant<DenseRows<double>, DenseRows<float>, CsrRows<double>, CsrRows<float>> rows;
  std::vector<Anything> owners;
};

template <class T>
DenseRows<T> dense_rows(const Anything& array, const ConstDoubles& origin) {
  DenseRows<T> rows{};
  rows.data = array.data();
  rows.n_rows = static_cast<ptrdiff_t>(array.shape(0));
  rows.n_features = static_cast<ptrdiff_t>(array.shape(1));
  rows.row_stride = array.stride(0);
  rows.column_stride = array.stride(1);
  rows.set_origin(origin.data());
  rows.load = with_element_type(array, [](auto* null) -> typename DenseRows<T>::Load {
    return &load_dense<T, std::remove_pointer_t<decltype(null)>>;
  });
  const bool whole = rows.n_features % Lanes<T>::width == 0;
  if (array.dtype() == nb::dtype<T>() && rows.column_stride == 1 && whole) {
    rows.ready = static_cast<const T*>(rows.data);
  }
  return rows;
}

template <class T>
CsrRows<T> csr_rows(const Anything& data, const Anything& indices, const Anything& indptr,
                    ptrdiff_t n_features) {
  CsrRows<T> rows{};
  rows.data = data.data();
  rows.indices = indices.data();
  rows.indptr = indptr.data();
  rows.n_rows = static_cast<ptrdiff_t>(indptr.shape(0)) - 1;
  rows.n_features = n_features;
  const bool wide = indices.dtype() == nb::dtype<std::int64_t>();
  rows.load = with_element_type(data, [wide](auto* null) -> typename CsrRows<T>::Load {
    using Source = std::remove_pointer_t<decltype(null)>;
    return wide ? &load_csr<T, Source, std::int64_t> : &load_csr<T, Source, std::int32_t>;
  });
  rows.offset = indptr.dtype() == nb::dtype<std::int64_t>() ? &csr_offset<T, std::int64_t>
                                                            : &csr_offset<T, std::int32_t>;
  rows.measure();
  return rows;
}

// Asked often, but the GIL may be busy: looks for signals twenty times a second.
bool interrupted() {
  using Clock = std::chrono::steady_clock;
  thread_local Clock::time_point last = Clock::now();
  if (Clock::now() - last < std::chrono::milliseconds(50)) return false;
  const nb::gil_scoped_acquire gil;
  last = Clock::now();
  return PyErr_CheckSignals() != 0;
}

Pass pass_of(const ConstDoubles& centers, const std::optional<ConstDoubles>& weights,
             int n_threads) {
  return {weights ? weights->data() : nullptr,
          {centers.data(), static_cast<int>(centers.shape(0))},
          n_threads,
          &interrupted};
}

// Runs a pass without the GIL; an interrupt has already set Python's error.
template <class F>
void run(F&& pass) {
  bool done;
  {
    const nb::gil_scoped_release released;
    done = pass();
  }
  if (!done) throw nb::python_error();
}

double sweep_moments(const Rows& any, std::optional<ConstDoubles> weights, ConstDoubles centers,
                     AnyLoss loss, AnyMembership membership, int n_threads, Doubles pull,
                     Doubles weight, Doubles hold) {
  const Pass pass = pass_of(centers, weights, n_threads);
  const Moments moments{pull.data(), weight.data(), hold.data()};
  double objective = 0;
  run([&] {
    return std::visit(
        [&](const auto& rows, const auto& l, const auto& m) {
          return sweep(rows, pass, l, m, &moments, nullptr, &objective);
        },
        any.rows, loss, membership);
  });
  return objective;
}

bool wrong_precision() {
  throw std::invalid_argument("the precision of the function is not that of the rows");
}

template <class T>
T* data_or_null(std::optional<Array<T>>& array) {
  return array ? array->data() : nullptr;
}

template <class T>
double sweep_places(const Rows& any, std::optional<ConstDoubles> weights, ConstDoubles centers,
                    AnyLoss loss, AnyMembership membership, int n_threads,
                    std::optional<Array<std::int32_t>> labels, std::optional<Array<T>> distances,
                    std::optional<Array<std::int32_t>> counts,
                    std::optional<Array<const std::int64_t>> offsets,
                    std::optional<Array<std::int32_t>> indices,
                    std::optional<Array<T>> memberships) {
  const Pass pass = pass_of(centers, weights, n_threads);
  const Places<T> places{data_or_null(labels),  data_or_null(distances), data_or_null(counts),
                         data_or_null(offsets), data_or_null(indices),   data_or_null(memberships)};
  double objective = 0;
  run([&] {
    return std::visit(
        [&](const auto& rows, const auto& l, const auto& m) {
          if constexpr (std::is_same_v<typename std::decay_t<decltype(rows)>::Scalar, T>) {
            return sweep(rows, pass, l, m, nullptr, &places, &objective);
          } else {
            return wrong_precision();
          }
        },
        any.rows, loss, membership);
  });
  return objective;
}

template <class T>
void all_distances(const Rows& any, ConstDoubles centers, int n_threads, Array<T> out) {
  const Pass pass = pass_of(centers, std::nullopt, n_threads);
  run([&] {
    return std::visit(
        [&](const auto& rows) {
          if constexpr (std::is_same_v<typename std::decay_t<decltype(rows)>::Scalar, T>) {
            return distances(rows, pass, out.data());
          } else {
            return wrong_precision();
          }
        },
        any.rows);
  });
}

template <class T>
void relative_distances(const Rows& any, ConstDoubles centers, ConstDoubles units, int n_threads,
                        Array<T> out) {
  const Pass pass = pass_of(centers, std::nullopt, n_threads);
  run([&] {
    return std::visit(
        [&](const auto& rows) {
          if constexpr (std::is_same_v<typename std::decay_t<decltype(rows)>::Scalar, T>) {
            return scaled_distances(rows, pass, units.data(), out.data());
          } else {
            return wrong_precision();
          }
        },
        any.rows);
  });
}

template <class T>
void lower_costs(const Rows& any, ConstDoubles centers, AnyLoss loss, int n_threads,
                 Array<T> costs) {
  const Pass pass = pass_of(centers, std::nullopt, n_threads);
  run([&] {
    return std::visit(
        [&](const auto& rows, const auto& l) {
          if constexpr (std::is_same_v<typename std::decay_t<decltype(rows)>::Scalar, T>) {
            return update_costs(rows, pass, l, costs.data());
          } else {
            return wrong_precision();
          }
        },
        any.rows, loss);
  });
}

template <class T>
void total_costs(const Rows& any, std::optional<ConstDoubles> weights, ConstDoubles candidates,
                 AnyLoss loss, int n_threads, Array<const T> costs, Doubles totals,
                 std::optional<Array<T>> losses) {
  const Pass pass = pass_of(candidates, weights, n_threads);
  run([&] {
    return std::visit(
        [&](const auto& rows, const auto& l) {
          if constexpr (std::is_same_v<typename std::decay_t<decltype(rows)>::Scalar, T>) {
            return candidate_costs(rows, pass, l, costs.data(), totals.data(),
                                   data_or_null(losses));
          } else {
            return wrong_precision();
          }
        },
        any.rows, loss);
  });
}

template <class T>
void turn_columns(const std::vector<Array<const T>>& columns, Array<T> out) {
  std::vector<const T*> pointers;
  for (const auto& column : columns) pointers.push_back(column.data());
  const nb::gil_scoped_release released;
  turn(pointers.data(), static_cast<ptrdiff_t>(pointers.size()),
       static_cast<ptrdiff_t>(out.shape(0)), out.data());
}

}  // namespace
}  // namespace sfumato

NB_MODULE(SFUMATO_MODULE, m) {
  using namespace sfumato;
  m.doc() = "Passes over rows, compiled. Arguments are checked by the callers.";

  nb::class_<Squared>(m, "Squared").def(nb::init<>());
  nb::class_<L21>(m, "L21").def(nb::init<>());
  nb::class_<Capped>(m, "Capped")
      .def("__init__", [](Capped* self, double cap) { new (self) Capped{cap}; }, "cap"_a);
  nb::class_<Hard>(m, "Hard").def(nb::init<>());
  nb::class_<Power>(m, "Power")
      .def(
          "__init__",
          [](Power* self, int n_active, double fuzzifier) {
            new (self) Power{n_active, fuzzifier};
          },
          "n_active"_a, "fuzzifier"_a);
  nb::class_<Simplex>(m, "Simplex")
      .def(
          "__init__",
          [](Simplex* self, std::optional<double> gamma, std::optional<int> n_active) {
            new (self) Simplex{gamma.value_or(0.0), n_active.value_or(0)};
          },
          "gamma"_a.none(), "n_active"_a.none());

  nb::class_<Rows>(m, "Rows")
      .def_static(
          "dense",
          [](Anything array, ConstDoubles origin, bool single) {
            if (single) return Rows{dense_rows<float>(array, origin), {array}};
            return Rows{dense_rows<double>(array, origin), {array}};
          },
          "array"_a.noconvert(), "origin"_a.noconvert(), "single"_a)
      .def_static(
          "csr",
          [](Anything data, Anything indices, Anything indptr, ptrdiff_t n_features, bool single) {
            std::vector<Anything> owners{data, indices, indptr};
            if (single) return Rows{csr_rows<float>(data, indices, indptr, n_features), owners};
            return Rows{csr_rows<double>(data, indices, indptr, n_features), owners};
          },
          "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "n_features"_a,
          "single"_a);

  m.def(
      "log2",
      [](ConstDoubles x, Doubles out) {
        std::transform(x.data(), x.data() + x.size(), out.data(), fast_log2);
      },
      "x"_a.noconvert(), "out"_a.noconvert(), "Logarithms as the kernel computes them.");
  m.def(
      "exp2",
      [](ConstDoubles x, Doubles out) {
        std::transform(x.data(), x.data() + x.size(), out.data(), fast_exp2);
      },
      "x"_a.noconvert(), "out"_a.noconvert(), "Powers of two as the kernel computes them.");
  m.def(
      "power",
      [](ConstDoubles x, double exponent, Doubles out) {
        Buffer<double> base(x.data(), x.data() + x.size());
        base.resize((x.size() / PowerOf::kRun + 1) * PowerOf::kRun);
        Buffer<double> powers(base.size());
        PowerOf(exponent).apply(base.data(), static_cast<int>(x.size()), powers.data());
        std::copy_n(powers.data(), x.size(), out.data());
      },
      "x"_a.noconvert(), "exponent"_a, "out"_a.noconvert(), "Powers as the kernel computes them.");
  m.def(
      "max_threads", [] { return omp_get_max_threads(); },
      "Threads that OpenMP would use for the next pass.");
  m.def(
      "n_strips",
      [](ptrdiff_t n_rows, ptrdiff_t n_clusters) {
        return cut(n_rows, n_clusters, 1, n_rows).count;
      },
      "n_rows"_a, "n_clusters"_a,
      "Pieces that a pass over dense rows is cut into, whatever the number of threads.");

  const auto bind_turn = [&m](const char* name, auto* function) {
    m.def(name, function, "columns"_a, "out"_a.noconvert(), "Write columns into rows.");
  };
  bind_turn("turn_float64", &turn_columns<double>);
  bind_turn("turn_float32", &turn_columns<float>);

  m.def("sweep", &sweep_moments, "rows"_a, "weights"_a.noconvert().none(), "centers"_a.noconvert(),
        "loss"_a, "membership"_a, "n_threads"_a, "pull"_a.noconvert(), "weight"_a.noconvert(),
        "hold"_a.noconvert(), "Statistics at the centers; returns the objective.");

  const auto bind_places = [&m](const char* name, auto* function) {
    m.def(name, function, "rows"_a, "weights"_a.noconvert().none(), "centers"_a.noconvert(),
          "loss"_a, "membership"_a, "n_threads"_a, "labels"_a.noconvert().none(),
          "distances"_a.noconvert().none(), "counts"_a.noconvert().none(),
          "offsets"_a.noconvert().none(), "indices"_a.noconvert().none(),
          "memberships"_a.noconvert().none(), "Places of all rows; returns the objective.");
  };
  bind_places("assign_float64", &sweep_places<double>);
  bind_places("assign_float32", &sweep_places<float>);

  const auto bind_distances = [&m](const char* name, auto* function) {
    m.def(name, function, "rows"_a, "centers"_a.noconvert(), "n_threads"_a, "out"_a.noconvert(),
          "Distances of all rows to all centers.");
  };
  bind_distances("distances_float64", &all_distances<double>);
  bind_distances("distances_float32", &all_distances<float>);

  const auto bind_relative = [&m](const char* name, auto* function) {
    m.def(name, function, "rows"_a, "centers"_a.noconvert(), "units"_a.noconvert(), "n_threads"_a,
          "out"_a.noconvert(), "Smallest distance of each row, in the unit of the center.");
  };
  bind_relative("scaled_distances_float64", &relative_distances<double>);
  bind_relative("scaled_distances_float32", &relative_distances<float>);

  const auto bind_lower = [&m](const char* name, auto* function) {
    m.def(name, function, "rows"_a, "centers"_a.noconvert(), "loss"_a, "n_threads"_a,
          "costs"_a.noconvert(), "Lower each row's cost to its smallest loss to any center.");
  };
  bind_lower("update_costs_float64", &lower_costs<double>);
  bind_lower("update_costs_float32", &lower_costs<float>);

  const auto bind_potentials = [&m](const char* name, auto* function) {
    m.def(name, function, "rows"_a, "weights"_a.noconvert().none(), "candidates"_a.noconvert(),
          "loss"_a, "n_threads"_a, "costs"_a.noconvert(), "totals"_a.noconvert(),
          "losses"_a.noconvert().none(), "Total cost if each candidate alone became a center.");
  };
  bind_potentials("candidate_costs_float64", &total_costs<double>);
  bind_potentials("candidate_costs_float32", &total_costs<float>);
}
