// Arrays and rows as they come from Python, with checked types and shapes. Besides bindings.cpp and
// cpu.cpp the only file that knows Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "checks.hpp"
#include "lanes.hpp"
#include "rows.hpp"

namespace sfumato {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using MaybeVector = std::optional<Vector<T>>;

// Arrays of rows, of any element type.
using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

template <class Given>
void check_array(const char* name, const Given& array, const Shape& expected) {
  Shape shape(array.ndim());
  for (size_t axis = 0; axis < shape.size(); ++axis) shape[axis] = array.shape(axis);
  check_shape(name, shape, expected);
}

template <class Given>
void check_array(const char* name, const std::optional<Given>& array, const Shape& expected) {
  if (array) check_array(name, *array, expected);
}

template <class Given>
auto* data_or_null(const std::optional<Given>& array) {
  return array ? array->data() : nullptr;
}

// Calls f with a null pointer of the array's element type, which must be one of `Types`.
template <class... Types, class Given, class F>
void with_type(const char* name, const Given& array, F&& f) {
  const nb::dlpack::dtype type = array.dtype();
  const auto call = [&](auto* null) {
    if (reinterpret_cast<std::uintptr_t>(array.data()) % sizeof(*null) != 0) {
      fail(std::string(name) + " is not aligned: its address is no multiple of its element size.");
    }
    f(null);
    return true;
  };
  if (((type == nb::dtype<Types>() && call(static_cast<Types*>(nullptr))) || ...)) return;
  constexpr const char* kinds[] = {"int", "uint", "float", "?", "bfloat", "complex", "bool"};
  fail(std::string(name) + " is of type " + kinds[type.code < 7 ? type.code : 3] +
       std::to_string(type.bits) + ", which the core does not read here.");
}

template <class Given, class F>
void with_number_type(const char* name, const Given& array, F&& f) {
  with_type<double, float, bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
            std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(name, array, f);
}

// Rows that are computed in T, with the Python arrays that they point into.
template <class T>
struct Rows {
  std::variant<DenseRows<T>, CsrRows<T>> storage;
  std::vector<nb::ndarray<nb::ro>> owners;

  ptrdiff_t n_rows() const {
    return std::visit([](const auto& rows) { return rows.n_rows; }, storage);
  }
  ptrdiff_t n_features() const {
    return std::visit([](const auto& rows) { return rows.n_features; }, storage);
  }
};

template <class T>
Rows<T> dense_rows(const AnyMatrix& array, const Vector<const double>& origin) {
  DenseRows<T> rows{};
  rows.data = array.data();
  rows.n_rows = static_cast<ptrdiff_t>(array.shape(0));
  rows.n_features = static_cast<ptrdiff_t>(array.shape(1));
  rows.row_stride = array.stride(0);
  rows.column_stride = array.stride(1);
  check_array("origin", origin, {rows.n_features});
  rows.set_origin(origin.data());
  with_number_type("array", array, [&](auto* null) {
    rows.load = &load_dense<T, std::remove_pointer_t<decltype(null)>>;
  });
  const bool whole = rows.n_features % Lanes<T>::width == 0;
  if (array.dtype() == nb::dtype<T>() && rows.column_stride == 1 && whole) {
    rows.ready = static_cast<const T*>(rows.data);
  }
  return {rows, {nb::ndarray<nb::ro>(array)}};
}

template <class T>
Rows<T> csr_rows(const AnyVector& data, const AnyVector& indices, const AnyVector& indptr,
                 ptrdiff_t n_features) {
  CsrRows<T> rows{};
  rows.data = data.data();
  rows.indices = indices.data();
  rows.indptr = indptr.data();
  check_number("len(indptr)", indptr.shape(0), 1);
  check_number("n_features", n_features, 0, std::numeric_limits<int>::max());
  check_array("indices", indices, {static_cast<ptrdiff_t>(data.shape(0))});
  rows.n_rows = static_cast<ptrdiff_t>(indptr.shape(0)) - 1;
  rows.n_features = n_features;
  with_type<std::int32_t, std::int64_t>("indptr", indptr, [&](auto* offset) {
    using Offset = std::remove_pointer_t<decltype(offset)>;
    const auto* offsets = static_cast<const Offset*>(rows.indptr);
    check_offsets("indptr", offsets, rows.n_rows, static_cast<ptrdiff_t>(data.shape(0)));
    rows.offset = &csr_offset<T, Offset>;
    with_type<std::int32_t, std::int64_t>("indices", indices, [&](auto* index) {
      using Index = std::remove_pointer_t<decltype(index)>;
      check_columns(static_cast<const Index*>(rows.indices), offsets, rows.n_rows, n_features);
      with_number_type("data", data, [&](auto* null) {
        rows.load = &load_csr<T, std::remove_pointer_t<decltype(null)>, Index>;
      });
    });
  });
  rows.measure();
  using Owner = nb::ndarray<nb::ro>;
  return {rows, {Owner(data), Owner(indices), Owner(indptr)}};
}

}  // namespace sfumato
