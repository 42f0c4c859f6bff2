// Weighted medians of groups: for radii of clusters, which are estimated many times over.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace sfumato {

// Smallest value of each group with half of its weight at or below it; NaN for a group without
// weight. Labels are in range, weights are not negative; values of weight zero do not count.
inline void grouped_median(const double* values, const std::int32_t* labels, const double* weights,
                           ptrdiff_t n_values, ptrdiff_t n_groups, double* medians) {
  using Weighted = std::pair<double, double>;
  std::vector<ptrdiff_t> ends(n_groups + 1, 0);
  for (ptrdiff_t i = 0; i < n_values; ++i) ends[labels[i] + 1] += weights[i] > 0;
  for (ptrdiff_t k = 0; k < n_groups; ++k) ends[k + 1] += ends[k];
  std::vector<ptrdiff_t> places(ends.begin(), ends.end() - 1);
  std::vector<Weighted> sorted(ends[n_groups]);
  for (ptrdiff_t i = 0; i < n_values; ++i) {
    if (weights[i] > 0) sorted[places[labels[i]]++] = {values[i], weights[i]};
  }
  for (ptrdiff_t k = 0; k < n_groups; ++k) {
    const auto begin = sorted.begin() + ends[k], end = sorted.begin() + ends[k + 1];
    if (begin == end) {
      medians[k] = std::numeric_limits<double>::quiet_NaN();
      continue;
    }
    const auto same = [&](const Weighted& each) { return each.second == begin->second; };
    if (std::all_of(begin, end, same)) {
      const auto middle = begin + (end - begin - 1) / 2;
      std::nth_element(begin, middle, end);
      medians[k] = middle->first;
      continue;
    }
    std::sort(begin, end);
    double total = 0;
    for (auto each = begin; each != end; ++each) total += each->second;
    double below = begin->second;
    auto median = begin;
    while (below < total / 2 && median + 1 != end) below += (++median)->second;
    medians[k] = median->first;
  }
}

}  // namespace sfumato
