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

#include "lanes.hpp"

namespace sfumato {

// Loops over numbers become vector instructions only where these functions are inlined, which
// compilers stop doing in a large file unless told.
#define SFUMATO_INLINE __attribute__((always_inline)) inline

// c[0] + c[1] x + c[2] x^2 + ..., even and odd powers apart, so that neither waits for the other.
template <int N>
SFUMATO_INLINE double polynomial(const double (&c)[N], double x) {
  const double square = x * x;
  double last = c[N - 1], before = c[N - 2];
#pragma GCC unroll 16
  for (int i = N - 3; i >= 0; i -= 2) {
    last = last * square + c[i];
    if (i > 0) before = before * square + c[i - 1];
  }
  return N % 2 ? last + before * x : before + last * x;
}

// log2 of a positive normal number, to about 1 unit in the last place of max(1, |result|).
SFUMATO_INLINE double fast_log2(double x) {
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
  constexpr double atanh_series[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9, 1.0 / 11,
                                     1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
  constexpr double two_over_ln2 = 2.8853900817779268;
  return whole + two_over_ln2 * f * polynomial(atanh_series, s);
}

// 2^y for y in -1022..1023; below and above it stays at the ends.
SFUMATO_INLINE double fast_exp2(double y) {
  y = y > -1022.0 ? y : -1022.0;
  y = y < 1023.0 ? y : 1023.0;
  constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer.
  const double shifted = y + shift;
  const double f = (y - (shifted - shift)) * 0.6931471805599453;  // |f| <= 0.347
  constexpr double exp_series[] = {1.0,
                                   1.0,
                                   1.0 / 2,
                                   1.0 / 6,
                                   1.0 / 24,
                                   1.0 / 120,
                                   1.0 / 720,
                                   1.0 / 5040,
                                   1.0 / 40320,
                                   1.0 / 362880,
                                   1.0 / 3628800,
                                   1.0 / 39916800,
                                   1.0 / 479001600,
                                   1.0 / 6227020800};
  const double series = polynomial(exp_series, f);
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
  // Numbers that are squared together: with AVX2 eight vectors, half squares and half products,
  // stay in registers. Chosen by hand.
  static constexpr int kRun = 16;

  explicit PowerOf(double exponent) : exponent_(exponent) {
    const double doubled = std::round(2 * exponent);
    // 1 / (1.1 - 1) is not exactly 10, though 10 is what was meant. Taking the half-integer next to
    // the exponent changes a power x^p by the share 1e-13 * |p log x| at most.
    if (doubled >= 1 && doubled <= 4096 && std::abs(2 * exponent - doubled) <= 1e-13 * doubled) {
      halves_ = static_cast<int>(doubled);
    }
  }

  // out = x^exponent for n numbers x >= 0. Both arrays have room up to the next multiple of kRun.
  void apply(const double* __restrict x, int n, double* __restrict out) const {
    if (halves_ == 0) {
      for (int i = 0; i < n; ++i) {
        const double positive = x[i] > kSmallest ? x[i] : kSmallest;
        const double power = fast_exp2(exponent_ * fast_log2(positive));
        out[i] = x[i] > 0 ? power : 0.0;
      }
      return;
    }
    for (int i = 0; i < n; i += kRun) multiply(x + i, out + i);
  }

 private:
  using L = Lanes<double>;
  static constexpr int kVectors = kRun / L::width;

  // By squaring, a run at a time, so that squares and products stay in registers.
  void multiply(const double* x, double* out) const {
    L::Vector square[kVectors], product[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      square[v] = L::load(x + v * L::width);
      product[v] = halves_ % 2 ? L::sqrt(square[v]) : L::Vector{} + 1.0;
    }
    for (int bits = halves_ / 2; bits > 0; bits /= 2) {
      if (bits % 2) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) product[v] *= square[v];
      }
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) square[v] *= square[v];
    }
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) L::store(product[v], out + v * L::width);
  }

  static constexpr double kSmallest = std::numeric_limits<double>::min();

  double exponent_;
  int halves_ = 0;  // Twice the exponent, or 0 if that is no integer.
};

}  // namespace sfumato
