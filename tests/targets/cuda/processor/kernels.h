#pragma once

// Kernels by their names, each with what calls it with the values that a launch points at.

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace tessera::cuda::processor {

struct Kernel {
  // The arguments, copied from where a launch points.
  std::function<std::function<void()>(void** arguments)> bind;
  void (*fill_dynamic)(std::size_t bytes);  // so many bytes of dynamic shared memory, with NaN
};

inline std::map<std::string, Kernel>& all_kernels() {
  static std::map<std::string, Kernel> all;
  return all;
}

template <class... Parameters>
bool add_kernel(const char* name, void (*function)(Parameters...), void (*fill_dynamic)(std::size_t)) {
  const auto bind = [function]<std::size_t... i>(std::index_sequence<i...>) {
    return [function](void** arguments) -> std::function<void()> {
      return [function, values = std::tuple<std::remove_cv_t<Parameters>...>(
                            *static_cast<std::remove_cv_t<Parameters>*>(arguments[i])...)] {
        std::apply(function, values);
      };
    };
  }(std::index_sequence_for<Parameters...>{});
  all_kernels()[name] = {bind, fill_dynamic};
  return true;
}

}  // namespace tessera::cuda::processor
