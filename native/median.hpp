// Weighted medians of groups: for radii of clusters, which are estimated many times over.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace sfumato {

using Weighted = std::pair<double, double>;  // A value and its weight, which is positive.

// Smallest value with half of the weight at or below it; NaN without values. Reorders them.
inline double weighted_median(Weighted* begin, Weighted* end) {
  if (begin == end) return std::numeric_limits<double>::quiet_NaN();
  const auto same = [&](const Weighted& each) { return each.second == begin->second; };
  if (std::all_of(begin, end, same)) {
    Weighted* const middle = begin + (end - begin - 1) / 2;
    std::nth_element(begin, middle, end);
    return middle->first;
  }
  std::sort(begin, end);
  double total = 0;
  for (const Weighted* each = begin; each != end; ++each) total += each->second;
  double below = begin->second;
  const Weighted* median = begin;
  while (below < total / 2 && median + 1 != end) below += (++median)->second;
  return median->first;
}

// Values and weights, one group after the other, in their order; those of weight zero are left out.
// Labels are in range, weights are not negative.
struct Groups {
  Groups(const double* values, const std::int32_t* labels, const double* weights,
         ptrdiff_t n_values, ptrdiff_t n_groups)
      : ends(n_groups + 1, 0) {
    for (ptrdiff_t i = 0; i < n_values; ++i) ends[labels[i] + 1] += weights[i] > 0;
    for (ptrdiff_t k = 0; k < n_groups; ++k) ends[k + 1] += ends[k];
    std::vector<ptrdiff_t> places(ends.begin(), ends.end() - 1);
    members.resize(ends[n_groups]);
    for (ptrdiff_t i = 0; i < n_values; ++i) {
      if (weights[i] > 0) members[places[labels[i]]++] = {values[i], weights[i]};
    }
  }

  Weighted* begin(ptrdiff_t k) { return members.data() + ends[k]; }
  Weighted* end(ptrdiff_t k) { return members.data() + ends[k + 1]; }

  std::vector<ptrdiff_t> ends;
  std::vector<Weighted> members;
};

// Median of each group; see weighted_median().
inline void grouped_median(const double* values, const std::int32_t* labels, const double* weights,
                           ptrdiff_t n_values, ptrdiff_t n_groups, double* medians) {
  Groups groups(values, labels, weights, n_values, n_groups);
  for (ptrdiff_t k = 0; k < n_groups; ++k) {
    medians[k] = weighted_median(groups.begin(k), groups.end(k));
  }
}

}  // namespace sfumato
