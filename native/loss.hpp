// Losses as functions of the squared distance; the same classes as in src/sfumato/losses.py.
//
// value() is a function of the squared distance. weight() is its derivative by the squared
// distance, but as a function of the loss, which is at hand then: weight(value(t)) here is
// weight(t) in Python. Its result at distance 0 is not used if the loss has a kink: a row that
// coincides with a center adds to the kink force of that center instead of its pull.
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
  double weight(double value) const { return 0.5 / value; }
};

struct Capped {
  static constexpr double kink = 1.0;
  double cap = std::numeric_limits<double>::infinity();
  double value(double sq_dist) const {
    const double distance = std::sqrt(sq_dist);
    return distance < cap ? distance : cap;
  }
  double weight(double value) const { return value < cap ? 0.5 / value : 0.0; }
};

}  // namespace sfumato
