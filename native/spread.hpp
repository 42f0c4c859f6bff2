// How far the rows of clusters spread around their centers. Distances to the power of 2/3 are
// nearly normal in a Gaussian cluster, so that their middle and their deviation tell its radius and
// its dimension; see _outliers.py and _init/dimension.py of src/sfumato.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "median.hpp"

namespace sfumato {

// Weight that counts as one row: row_weight() in src/sfumato/_outliers.py.
inline double row_weight(double total, ptrdiff_t count) {
  return count > 0 ? std::min(1.0, total / double(count)) : 1.0;
}

inline double total_weight(const Weighted* begin, const Weighted* end) {
  double total = 0;
  for (; begin != end; ++begin) total += begin->second;
  return total;
}

// Constants of src/sfumato/_outliers.py, by the same names.
struct RadiusRule {
  double trim_deviations, mad_to_sigma, min_spread_share, min_deviation, min_cluster_rows;
  int max_trim_rounds;
};

// Median and robust deviation of the powers of a group.
struct Middle {
  double median, deviation;
};

// `scratch` has room for the group.
inline Middle robust_middle(const Weighted* begin, const Weighted* end, const RadiusRule& rule,
                            Weighted* scratch) {
  Weighted* last = std::copy(begin, end, scratch);
  const double median = weighted_median(scratch, last);
  const auto deviation_of = [&](bool rest) {
    last = scratch;
    for (const Weighted* each = begin; each != end; ++each) {
      const double off = std::abs(each->first - median);
      if (!rest || off > 0) *last++ = {off, each->second};
    }
    const double enough = rest ? rule.min_spread_share * total_weight(begin, end) : 0;
    if (total_weight(scratch, last) < enough || last == scratch) return 0.0;
    return rule.mad_to_sigma * weighted_median(scratch, last);
  };
  double deviation = deviation_of(false);
  if (deviation == 0) deviation = deviation_of(true);
  return {median, std::max(deviation, rule.min_deviation * median)};
}

// Median and robust deviation of the distances of each group to the power of 2/3. Rows beyond
// trim_deviations are excluded, repeatedly, and those from `limit` on from the beginning. NaN for
// groups of few rows.
inline void trimmed_spreads(const double* distances, const std::int32_t* labels,
                            const double* weights, ptrdiff_t n_rows, ptrdiff_t n_groups,
                            double limit, const RadiusRule& rule, double* medians,
                            double* deviations) {
  std::vector<double> counted(weights, weights + n_rows), powers(n_rows);
  for (ptrdiff_t i = 0; i < n_rows; ++i) {
    if (!(distances[i] < limit)) counted[i] = 0;
    powers[i] = std::cbrt(distances[i] * distances[i]);
  }
  Groups groups(powers.data(), labels, counted.data(), n_rows, n_groups);
  std::vector<Weighted*> ends(n_groups);
  for (ptrdiff_t k = 0; k < n_groups; ++k) ends[k] = groups.end(k);
  std::vector<Weighted> scratch(groups.members.size());
  std::vector<double> limits(n_groups, std::numeric_limits<double>::infinity()), masses(n_groups);
  std::vector<char> changed(n_groups, true);
  for (int round = 0; round < rule.max_trim_rounds; ++round) {
    double total = 0;
    ptrdiff_t count = 0;
    for (ptrdiff_t k = 0; k < n_groups; ++k) {
      if (changed[k]) {
        const Middle found = robust_middle(groups.begin(k), ends[k], rule, scratch.data());
        medians[k] = found.median, deviations[k] = found.deviation;
        masses[k] = total_weight(groups.begin(k), ends[k]);
      }
      total += masses[k], count += ends[k] - groups.begin(k);
    }
    const double least = rule.min_cluster_rows * row_weight(total, count);
    bool any = false;
    for (ptrdiff_t k = 0; k < n_groups; ++k) {
      changed[k] = false;
      if (masses[k] < least) continue;
      const double edge = medians[k] + rule.trim_deviations * deviations[k];
      if (!(edge < limits[k])) continue;
      limits[k] = edge;
      Weighted* const kept = std::remove_if(
          groups.begin(k), ends[k], [&](const Weighted& each) { return each.first > edge; });
      changed[k] = kept != ends[k];
      any |= changed[k];
      ends[k] = kept;
    }
    if (!any || round + 1 == rule.max_trim_rounds) {
      for (ptrdiff_t k = 0; k < n_groups; ++k) {
        if (masses[k] < least) medians[k] = std::numeric_limits<double>::quiet_NaN();
      }
      return;
    }
  }
}

// Constants of src/sfumato/_init/dimension.py, by the same names.
struct SpreadRule {
  double first_limit, last_limit, limit_tolerance, radius_deviations;
  double trim, trimmed_deviation, mad_to_sigma, min_neighbors;
  int max_growths, trim_rounds;
};

// Mean and standard deviation of the powers of one group, from inside out, without far rows.
class RadialSpread {
 public:
  // Reorders the members, whose values are distances.
  RadialSpread(Weighted* begin, Weighted* end, const SpreadRule& rule)
      : rule_(rule), begin_(begin), sums_(end - begin + 1), scratch_(end - begin) {
    std::sort(begin, end);
    const ptrdiff_t count = end - begin;
    distances_.reserve(count);
    for (Weighted* each = begin; each != end; ++each) {
      distances_.push_back(each->first);
      each->first = std::cbrt(each->first * each->first);
    }
    // Sums of values less a typical one, so that squares lose no digits.
    center_ = count ? begin[count / 2].first : 0.0;
    for (ptrdiff_t i = 0; i < count; ++i) {
      const double off = begin[i].first - center_, weight = begin[i].second;
      sums_[i + 1] = {sums_[i].weight + weight, sums_[i].value + weight * off,
                      sums_[i].square + weight * (off * off)};
    }
    least_ = rule.min_neighbors * row_weight(sums_[count].weight, count);
  }

  // `radius` is that of some of the rows. The limit of the distances grows from there, until it
  // lies beyond the radius of the group.
  void find(double radius, double* mean, double* deviation) {
    double limit = rule_.first_limit * radius;
    for (int growth = 0; growth < rule_.max_growths; ++growth) {
      const auto inside = std::lower_bound(distances_.begin(), distances_.end(), limit);
      trimmed(inside - distances_.begin(), mean, deviation);
      const double edge = std::pow(*mean + rule_.radius_deviations * *deviation, 1.5);
      const double wanted = std::min(edge, rule_.last_limit * radius);
      if (!(wanted > (1 + rule_.limit_tolerance) * limit)) break;  // Also if they are NaN.
      limit = wanted;
    }
  }

 private:
  struct Sums {
    double weight = 0, value = 0, square = 0;
  };

  // Mean and deviation of the first values within `trim` deviations of the mean; NaN for few.
  void trimmed(ptrdiff_t count, double* mean, double* deviation) {
    const double total = sums_[count].weight;
    *mean = *deviation = std::numeric_limits<double>::quiet_NaN();
    if (count == 0 || total < least_) return;
    const auto reaches = [](const Sums& sums, double weight) { return sums.weight < weight; };
    const auto half =
        std::lower_bound(sums_.begin() + 1, sums_.begin() + count, total / 2, reaches);
    const double median = begin_[half - sums_.begin() - 1].first;
    for (ptrdiff_t i = 0; i < count; ++i) {
      scratch_[i] = {std::abs(begin_[i].first - median), begin_[i].second};
    }
    *mean = median;
    *deviation = rule_.mad_to_sigma * weighted_median(scratch_.data(), scratch_.data() + count);
    for (int round = 0; round < rule_.trim_rounds; ++round) {
      const double reach = rule_.trim * *deviation;
      const auto value = [](const Weighted& each, double v) { return each.first < v; };
      const auto above = [](double v, const Weighted& each) { return v < each.first; };
      const Weighted* const end = begin_ + count;
      const ptrdiff_t low = std::lower_bound(begin_, begin_ + count, *mean - reach, value) - begin_;
      const ptrdiff_t high =
          std::upper_bound(static_cast<const Weighted*>(begin_), end, *mean + reach, above) -
          begin_;
      const double mass = sums_[high].weight - sums_[low].weight;
      if (!(mass >= least_)) return;
      const double off = (sums_[high].value - sums_[low].value) / mass;
      const double square = (sums_[high].square - sums_[low].square) / mass;
      const double spread = std::sqrt(std::max(0.0, square - off * off)) / rule_.trimmed_deviation;
      if (center_ + off == *mean && spread == *deviation) return;
      *mean = center_ + off, *deviation = spread;
    }
  }

  const SpreadRule& rule_;
  Weighted* begin_;
  std::vector<Sums> sums_;
  std::vector<Weighted> scratch_;
  std::vector<double> distances_;
  double center_ = 0, least_ = 0;
};

// Mean and deviation of each group; see RadialSpread. `radii` has one for each group.
inline void radial_spreads(const double* distances, const std::int32_t* labels,
                           const double* weights, ptrdiff_t n_rows, ptrdiff_t n_groups,
                           const double* radii, const SpreadRule& rule, double* means,
                           double* deviations) {
  Groups groups(distances, labels, weights, n_rows, n_groups);
  for (ptrdiff_t k = 0; k < n_groups; ++k) {
    RadialSpread(groups.begin(k), groups.end(k), rule).find(radii[k], means + k, deviations + k);
  }
}

}  // namespace sfumato
