// x^p for x in 0..1 with one exponent for many x.
//
// Exponents that are multiples of 1/2 up to a bound need multiplications and at most one square
// root: every automatic fuzzifier gives such an exponent, and so do r = 1.1, 1.2, 1.25, 1.5 and 2.
#pragma once

#include <cmath>

namespace sfumato {

class UnitPower {
 public:
  explicit UnitPower(double exponent) : exponent_(exponent) {
    const double doubled = std::round(2 * exponent);
    // 1 / (1.1 - 1) is not exactly 10; a relative deviation this small changes no result by more
    // than rounding does.
    if (doubled >= 1 && doubled <= 4096 && std::abs(2 * exponent - doubled) <= 1e-13 * doubled) {
      halves_ = static_cast<int>(doubled);
    }
  }

  // In place, for n values.
  void apply(double* x, int n) const {
    if (halves_ == 0) {
      for (int i = 0; i < n; ++i) x[i] = std::pow(x[i], exponent_);
      return;
    }
    for (int i = 0; i < n; ++i) x[i] = multiply(x[i]);
  }

 private:
  double multiply(double x) const {
    double result = halves_ % 2 ? std::sqrt(x) : 1.0;
    double square = x;
    for (int bits = halves_ / 2; bits > 0; bits /= 2) {
      if (bits % 2) result *= square;
      square *= square;
    }
    return result;
  }

  double exponent_;
  int halves_ = 0;  // Twice the exponent, or 0 if that is no integer.
};

}  // namespace sfumato
