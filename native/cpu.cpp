// Which instruction-set levels this machine has, best first; see CMakeLists.txt.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

NB_MODULE(_cpu, m) {
  m.def(
      "levels",
      [] {
        std::vector<std::string> levels;
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
          levels.push_back("avx2");
#endif
        levels.push_back("baseline");
        return levels;
      },
      "Names of the levels that can run here, best first.");
}
