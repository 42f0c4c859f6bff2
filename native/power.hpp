// Powers of many numbers with one exponent, in loops that compilers turn into vector instructions.
//
// Exponents that are multiples of 1/2 need multiplications and at most one square root: nearly
// every automatic fuzzifier gives such an exponent, and so do r = 1.1, 1.2, 1.25, 1.5 and 2. All
// others go by exp2(p * log2(x)), with series that end below the rounding of a double.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace sfumato {

// log2 of a positive normal number, to about 1 unit in the last place of max(1, |result|).
inline double fast_log2(double x) {
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  // Split into a mantissa in sqrt(1/2)..sqrt(2) and an exponent: adding the gap between 1 and
  // sqrt(1/2) makes mantissas above sqrt(2) carry into the exponent.
  const std::uint64_t carried = bits + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
  const std::uint64_t exponent = carried >> 52;
  const std::uint64_t mantissa_bits = (carried & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu;
  double mantissa, shifted;
  std::memcpy(&mantissa, &mantissa_bits, sizeof mantissa);
  const std::uint64_t shifted_bits = exponent | 0x4330000000000000u;  // 2^52 + exponent
  std::memcpy(&shifted, &shifted_bits, sizeof shifted);
  const double whole = shifted - (4503599627370496.0 + 1023.0);
  // log(m) = 2 atanh(f), f = (m - 1) / (m + 1), |f| <= 0.1716.
  const double f = (mantissa - 1) / (mantissa + 1), s = f * f;
  double series = 1.0 / 21;
  series = series * s + 1.0 / 19;
  series = series * s + 1.0 / 17;
  series = series * s + 1.0 / 15;
  series = series * s + 1.0 / 13;
  series = series * s + 1.0 / 11;
  series = series * s + 1.0 / 9;
  series = series * s + 1.0 / 7;
  series = series * s + 1.0 / 5;
  series = series * s + 1.0 / 3;
  constexpr double two_over_ln2 = 2.8853900817779268;
  return whole + two_over_ln2 * (f + f * s * series);
}

// 2^y for y in -1022..1023; below and above it stays at the ends.
inline double fast_exp2(double y) {
  y = y > -1022.0 ? y : -1022.0;
  y = y < 1023.0 ? y : 1023.0;
  constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer.
  const double shifted = y + shift;
  const double f = (y - (shifted - shift)) * 0.6931471805599453;  // |f| <= 0.347
  double series = 1.0 / 6227020800;
  series = series * f + 1.0 / 479001600;
  series = series * f + 1.0 / 39916800;
  series = series * f + 1.0 / 3628800;
  series = series * f + 1.0 / 362880;
  series = series * f + 1.0 / 40320;
  series = series * f + 1.0 / 5040;
  series = series * f + 1.0 / 720;
  series = series * f + 1.0 / 120;
  series = series * f + 1.0 / 24;
  series = series * f + 1.0 / 6;
  series = series * f + 0.5;
  series = series * f + 1.0;
  series = series * f + 1.0;
  std::uint64_t bits, exponent;
  std::memcpy(&bits, &series, sizeof bits);
  std::memcpy(&exponent, &shifted, sizeof exponent);
  bits += exponent << 52;
  double result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

class PowerOf {
 public:
  explicit PowerOf(double exponent) : exponent_(exponent) {
    const double doubled = std::round(2 * exponent);
    // 1 / (1.1 - 1) is not exactly 10; so small a deviation changes no result by more than
    // rounding.
    if (doubled >= 1 && doubled <= 4096 && std::abs(2 * exponent - doubled) <= 1e-13 * doubled) {
      halves_ = static_cast<int>(doubled);
    }
  }

  // out = x^exponent for n numbers x >= 0; x is used up.
  void apply(double* __restrict x, int n, double* __restrict out) const {
    if (halves_ == 0) {
      for (int i = 0; i < n; ++i) {
        const double positive = x[i] > kSmallest ? x[i] : kSmallest;
        const double power = fast_exp2(exponent_ * fast_log2(positive));
        out[i] = x[i] > 0 ? power : 0.0;
      }
      return;
    }
    if (halves_ % 2) {
      for (int i = 0; i < n; ++i) out[i] = std::sqrt(x[i]);
    } else {
      for (int i = 0; i < n; ++i) out[i] = 1.0;
    }
    for (int bits = halves_ / 2; bits > 0; bits /= 2) {
      if (bits % 2) {
        for (int i = 0; i < n; ++i) out[i] *= x[i];
      }
      for (int i = 0; i < n; ++i) x[i] *= x[i];
    }
  }

 private:
  static constexpr double kSmallest = std::numeric_limits<double>::min();

  double exponent_;
  int halves_ = 0;  // Twice the exponent, or 0 if that is no integer.
};

}  // namespace sfumato
