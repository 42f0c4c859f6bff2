// Losses as functions of the squared distance; twins of src/sfumato/problem/losses.py.
//
// weight() is the derivative of value() by the squared distance, and 0 at distance 0 where the loss
// has a kink: a row that coincides with a center holds it (kink > 0) instead of pulling it.
#pragma once

#include <cmath>
#include <limits>

namespace sfumato {

struct Squared {
  static constexpr double kink = 0.0;
  double value(double sq_dist) const { return sq_dist; }
  double weight(double) const { return 1.0; }
};

struct L21 {
  static constexpr double kink = 1.0;
  double value(double sq_dist) const { return std::sqrt(sq_dist); }
  double weight(double sq_dist) const { return sq_dist > 0 ? 0.5 / std::sqrt(sq_dist) : 0.0; }
};

struct Capped {
  static constexpr double kink = 1.0;
  double cap = std::numeric_limits<double>::infinity();
  double value(double sq_dist) const {
    const double distance = std::sqrt(sq_dist);
    return distance < cap ? distance : cap;
  }
  double weight(double sq_dist) const {
    const double distance = std::sqrt(sq_dist);
    return sq_dist > 0 && distance < cap ? 0.5 / distance : 0.0;
  }
};

}  // namespace sfumato
