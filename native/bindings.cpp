#include <nanobind/nanobind.h>
#include <omp.h>
namespace nb = nanobind;
NB_MODULE(_core, m) { m.def("max_threads", [] { return omp_get_max_threads(); }); }
