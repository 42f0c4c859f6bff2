// The one matrix product that a pass needs, through pointers to somebody else's BLAS.
#pragma once

#include <cstddef>

namespace sfumato {

// Fortran's gemm with 32-bit integers.
template <class T>
using Gemm = void (*)(char*, char*, int*, int*, int*, T*, T*, int*, T*, int*, T*, T*, int*);

// Pointers may be null: then there is no BLAS, and loops are used instead.
struct Blas {
  Gemm<double> dgemm = nullptr;
  Gemm<float> sgemm = nullptr;

  Gemm<double> gemm(double) const { return dgemm; }
  Gemm<float> gemm(float) const { return sgemm; }
};

// out (c x d) = scale * out + weights (c x n, rows `stride` apart) * rows (n x d), all by rows.
template <class T>
void weighted_sums(Gemm<T> gemm, const T* weights, int stride, const T* rows, int n, int c, int d,
                   T scale, T* out) {
  char plain = 'N';
  T one = 1;
  // By columns, as Fortran reads them, this is out' = rows' * weights'.
  gemm(&plain, &plain, &d, &c, &n, &one, const_cast<T*>(rows), &d, const_cast<T*>(weights), &stride,
       &scale, out, &d);
}

}  // namespace sfumato
