// Columns, each of them contiguous, written as rows: a square of numbers at a time, in registers.
#pragma once

#include <cstddef>

#include "lanes.hpp"

namespace sfumato {

// out: n_rows x n_columns.
template <class T>
void transpose(const T* const* columns, ptrdiff_t n_columns, ptrdiff_t n_rows, T* out) {
  using L = Lanes<T>;
  const ptrdiff_t whole_rows = n_rows / L::width * L::width;
  const ptrdiff_t whole_columns = n_columns / L::width * L::width;
  const auto copy = [&](ptrdiff_t row, ptrdiff_t first) {
    for (ptrdiff_t j = first; j < n_columns; ++j) out[row * n_columns + j] = columns[j][row];
  };
  for (ptrdiff_t i = 0; i < whole_rows; i += L::width) {
    for (ptrdiff_t j = 0; j < whole_columns; j += L::width) {
      L::transpose([&](int lane) { return L::load(columns[j + lane] + i); },
                   out + i * n_columns + j, n_columns);
    }
    for (ptrdiff_t row = i; row < i + L::width; ++row) copy(row, whole_columns);
  }
  for (ptrdiff_t row = whole_rows; row < n_rows; ++row) copy(row, 0);
}

}  // namespace sfumato
