// Tables of numbers, as Python calls them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "arrays.hpp"
#include "checks.hpp"
#include "nearest.hpp"
#include "transpose.hpp"

namespace sfumato {

using namespace nanobind::literals;

template <class T>
void write_two_smallest(Matrix<const T> table, Vector<std::int64_t> column, Vector<T> smallest,
                        Vector<T> second) {
  const auto n_rows = static_cast<ptrdiff_t>(table.shape(0));
  const auto n_columns = static_cast<ptrdiff_t>(table.shape(1));
  check_number("n_columns", n_columns, 1);
  check_array("column", column, {n_rows});
  check_array("smallest", smallest, {n_rows});
  check_array("second", second, {n_rows});
  two_smallest(table.data(), n_rows, n_columns, column.data(), smallest.data(), second.data());
}

template <class T>
void transpose_columns(const std::vector<Vector<const T>>& columns, Matrix<T> out) {
  const auto n_columns = static_cast<ptrdiff_t>(columns.size());
  const auto n_rows = static_cast<ptrdiff_t>(out.shape(0));
  check_array("out", out, {n_rows, n_columns});
  std::vector<const T*> pointers;
  for (const auto& column : columns) {
    check_array("column", column, {n_rows});
    pointers.push_back(column.data());
  }
  const nb::gil_scoped_release released;
  transpose(pointers.data(), n_columns, n_rows, out.data());
}

template <class T>
void bind_tables(nb::module_& m) {
  m.def("transpose", &transpose_columns<T>, "columns"_a.noconvert(), "out"_a.noconvert(),
        "Write columns into the rows of out.");
  m.def("two_smallest", &write_two_smallest<T>, "table"_a.noconvert(), "column"_a.noconvert(),
        "smallest"_a.noconvert(), "second"_a.noconvert(),
        "Write the smallest value of each row, its column, and the next smallest value.");
}

}  // namespace sfumato
