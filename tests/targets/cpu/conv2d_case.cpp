#include "tests/targets/cpu/conv2d_case.h"

#include "tessera/core/isa.h"

#include <algorithm>

namespace tessera::cpu {

KernelCase conv2d_case(const Conv2dSpec& spec, std::mt19937_64& random) {
  KernelCase test;
  std::vector<std::int64_t> x{spec.n, spec.ic}, w{spec.oc, spec.ic / spec.groups};
  x.insert(x.end(), spec.spatial.begin(), spec.spatial.end());
  w.insert(w.end(), spec.kernel.begin(), spec.kernel.end());
  Conv conv;
  conv.window.strides = spec.strides;
  conv.window.dilations = spec.dilations;
  conv.window.pads = spec.pads;
  conv.groups = spec.groups;
  std::vector<ValueId> inputs{test.graph.add_input("x", {spec.type, Shape(x)}),
                              test.graph.add_constant("w", random_array(spec.type, Shape(w), random))};
  if (spec.bias) inputs.push_back(test.graph.add_constant("b", random_array(spec.type, Shape{spec.oc}, random)));
  test.arrays.push_back(random_array(spec.type, Shape(x), random));
  if (spec.specials) sprinkle(test.arrays[0], random);
  test.graph.outputs = {test.graph.add("conv", conv, inputs)};
  fuse(test, spec.fusion, spec.type, random);
  allow_rounding(test, spec.type, Shape(w).volume() / spec.oc);
  return test;
}

std::size_t vector_sets() { return host_isa() >= Isa::avx512 ? 3 : host_isa() >= Isa::avx2 ? 2 : 1; }

std::size_t count_of(const std::vector<std::string>& names, std::string_view prefix) {
  return static_cast<std::size_t>(
      std::ranges::count_if(names, [&](const std::string& name) { return name.starts_with(prefix); }));
}

std::vector<std::string> check_spec(const Conv2dSpec& spec, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  return expect_kernels_agree(conv2d_case(spec, random));
}

}  // namespace tessera::cpu
