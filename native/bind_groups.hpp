// Statistics of groups of numbers, as Python calls them.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>

#include "arrays.hpp"
#include "checks.hpp"
#include "median.hpp"
#include "spread.hpp"

namespace sfumato {

using namespace nanobind::literals;

using Numbers = Vector<const double>;
using Labels = Vector<const std::int32_t>;

// Labels of values, each with a weight, are those of the groups that out has one entry for.
inline ptrdiff_t checked_groups(const Numbers& values, const Labels& labels, const Numbers& weights,
                                const Vector<double>& out) {
  const auto n_values = static_cast<ptrdiff_t>(values.size());
  const auto n_groups = static_cast<ptrdiff_t>(out.size());
  check_array("labels", labels, {n_values});
  check_array("weights", weights, {n_values});
  for (ptrdiff_t i = 0; i < n_values; ++i) {
    if (labels(i) < 0 || labels(i) >= n_groups) check_number("label", labels(i), 0, n_groups - 1);
  }
  return n_values;
}

inline void bind_groups(nb::module_& m) {
  const auto median = [](const Numbers& values, const Labels& labels, const Numbers& weights,
                         const Vector<double>& out) {
    const ptrdiff_t n_values = checked_groups(values, labels, weights, out);
    grouped_median(values.data(), labels.data(), weights.data(), n_values,
                   static_cast<ptrdiff_t>(out.size()), out.data());
  };
  m.def("grouped_median", median, "values"_a.noconvert(), "labels"_a.noconvert(),
        "weights"_a.noconvert(), "out"_a.noconvert(), "Write the weighted median of each group.");
  const auto trimmed = [](const Numbers& distances, const Labels& labels, const Numbers& weights,
                          double limit, const Vector<double>& medians,
                          const Vector<double>& deviations, double trim_deviations,
                          double mad_to_sigma, double min_spread_share, double min_deviation,
                          double min_cluster_rows, int max_trim_rounds) {
    const ptrdiff_t n_rows = checked_groups(distances, labels, weights, medians);
    const auto n_groups = static_cast<ptrdiff_t>(medians.size());
    check_array("deviations", deviations, {n_groups});
    const RadiusRule rule{trim_deviations, mad_to_sigma,     min_spread_share,
                          min_deviation,   min_cluster_rows, max_trim_rounds};
    trimmed_spreads(distances.data(), labels.data(), weights.data(), n_rows, n_groups, limit, rule,
                    medians.data(), deviations.data());
  };
  m.def("trimmed_spreads", trimmed, "distances"_a.noconvert(), "labels"_a.noconvert(),
        "weights"_a.noconvert(), "limit"_a, "medians"_a.noconvert(), "deviations"_a.noconvert(),
        "trim_deviations"_a, "mad_to_sigma"_a, "min_spread_share"_a, "min_deviation"_a,
        "min_cluster_rows"_a, "max_trim_rounds"_a,
        "Write robust medians and deviations of the distances of groups, to the power of 2/3.");
  const auto radial = [](const Numbers& distances, const Labels& labels, const Numbers& weights,
                         const Numbers& radii, const Vector<double>& means,
                         const Vector<double>& deviations, double first_limit, double last_limit,
                         double limit_tolerance, double radius_deviations, double trim,
                         double trimmed_deviation, double mad_to_sigma, double min_neighbors,
                         int max_growths, int trim_rounds) {
    const ptrdiff_t n_rows = checked_groups(distances, labels, weights, means);
    const auto n_groups = static_cast<ptrdiff_t>(means.size());
    check_array("radii", radii, {n_groups});
    check_array("deviations", deviations, {n_groups});
    const SpreadRule rule{first_limit, last_limit,        limit_tolerance, radius_deviations,
                          trim,        trimmed_deviation, mad_to_sigma,    min_neighbors,
                          max_growths, trim_rounds};
    radial_spreads(distances.data(), labels.data(), weights.data(), n_rows, n_groups, radii.data(),
                   rule, means.data(), deviations.data());
  };
  m.def("radial_spreads", radial, "distances"_a.noconvert(), "labels"_a.noconvert(),
        "weights"_a.noconvert(), "radii"_a.noconvert(), "means"_a.noconvert(),
        "deviations"_a.noconvert(), "first_limit"_a, "last_limit"_a, "limit_tolerance"_a,
        "radius_deviations"_a, "trim"_a, "trimmed_deviation"_a, "mad_to_sigma"_a, "min_neighbors"_a,
        "max_growths"_a, "trim_rounds"_a,
        "Write means and deviations of the distances of groups, to the power of 2/3.");
}

}  // namespace sfumato
