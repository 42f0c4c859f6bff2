// Checks of what comes from Python. They throw std::invalid_argument, a ValueError in Python, with
// what was given and what was expected.
#pragma once

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace sfumato {

// Positions of entries within a block of at most 256 rows are int: more centers could overflow it.
constexpr ptrdiff_t kMostCenters = 1 << 22;

[[noreturn]] inline void fail(const std::string& message) { throw std::invalid_argument(message); }

using Shape = std::vector<ptrdiff_t>;

inline std::string text_of(const Shape& shape) {
  std::string text;
  for (ptrdiff_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

inline void check_shape(const std::string& name, const Shape& given, const Shape& expected) {
  if (given == expected) return;
  fail(name + " has the shape " + text_of(given) + "; expected " + text_of(expected) + ".");
}

// Bounds are included.
inline void check_number(const std::string& name, ptrdiff_t given, ptrdiff_t least,
                         ptrdiff_t most = std::numeric_limits<ptrdiff_t>::max()) {
  if (given >= least && given <= most) return;
  fail(name + "=" + std::to_string(given) + "; expected an integer from " + std::to_string(least) +
       " to " + std::to_string(most) + ".");
}

// Offsets (n_rows + 1) begin at zero, never decrease, and end at n_entries.
template <class Offset>
void check_offsets(const std::string& name, const Offset* offsets, ptrdiff_t n_rows,
                   ptrdiff_t n_entries) {
  check_number(name + "[0]", offsets[0], 0, 0);
  for (ptrdiff_t i = 1; i <= n_rows; ++i) {
    if (offsets[i] < offsets[i - 1]) fail(name + " decreases at " + std::to_string(i) + ".");
  }
  check_number(name + "[-1]", offsets[n_rows], n_entries, n_entries);
}

// Columns of each row ascend from 0 to n_features - 1 at most. Needs checked offsets.
template <class Index, class Offset>
void check_columns(const Index* indices, const Offset* indptr, ptrdiff_t n_rows,
                   ptrdiff_t n_features) {
  for (ptrdiff_t i = 0; i < n_rows; ++i) {
    ptrdiff_t before = -1;
    for (ptrdiff_t e = indptr[i]; e < indptr[i + 1]; ++e) {
      const ptrdiff_t column = indices[e];
      if (column <= before || column >= n_features) {
        fail("row " + std::to_string(i) + " has the column " + std::to_string(column) +
             "; columns of a row must ascend, and be from 0 to n_features - 1 = " +
             std::to_string(n_features - 1) + ".");
      }
      before = column;
    }
  }
}

}  // namespace sfumato
