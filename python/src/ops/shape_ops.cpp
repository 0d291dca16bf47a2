// Operators on shapes: swaps, views, pieces, repetitions.

#include "tessera/targets/tensix/ops/shape_ops/shape_ops.h"

#include "card_operators.h"
#include "given_output.h"
#include "ops/optional_arguments.h"

#include "shape_like.h"
#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/repeat/repeat.h"
#include "tessera/targets/tensix/ops/slice/slice.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <variant>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

std::vector<AnyTensor> wrapped(const std::vector<tensix::DeviceTensor>& tensors) {
  return {tensors.begin(), tensors.end()};
}

AnyTensor repeated(const AnyTensor& x, const ShapeLike& counts, const OptionalConfig& config,
                   const OptionalTensor& output) {
  return into("repeat", tensix::repeat(x.device("repeat"), counts.dims, config), output);
}

std::vector<std::string> bind_shape_ops(nb::module_& module) {
  module.def(
      "transpose",
      [](const AnyTensor& x, int a, int b, const OptionalConfig& config, std::optional<float> pad_value) {
        check(pad_value.value_or(0) == 0, Code::unsupported,
              "transpose: padding is filled with zeros only, not with {}", *pad_value);
        return AnyTensor(tensix::transpose(x.device("transpose"), a, b, config));
      },
      "input_tensor"_a, "dim1"_a, "dim2"_a, nb::kw_only(), "memory_config"_a = nb::none(), "pad_value"_a = nb::none());
  module.def(
      "squeeze", [](const AnyTensor& x) { return AnyTensor(tensix::squeeze(x.device("squeeze"))); }, "input_tensor"_a);
  module.def(
      "squeeze",
      [](const AnyTensor& x, int dim) {
        return AnyTensor(tensix::squeeze(x.device("squeeze"), std::vector<int>{dim}));
      },
      "input_tensor"_a, "dim"_a);
  module.def(
      "squeeze",
      [](const AnyTensor& x, const std::vector<int>& dims) {
        return AnyTensor(tensix::squeeze(x.device("squeeze"), dims));
      },
      "input_tensor"_a, "dim"_a);
  module.def(
      "unsqueeze", [](const AnyTensor& x, int dim) { return AnyTensor(tensix::unsqueeze(x.device("unsqueeze"), dim)); },
      "input_tensor"_a, "dim"_a);
  module.def(
      "unsqueeze_to_4D",
      [](const AnyTensor& x) { return AnyTensor(tensix::unsqueeze_to(x.device("unsqueeze_to_4D"), 4)); }, "tensor"_a);
  module.def(
      "split",
      [](const AnyTensor& x, const std::variant<std::int64_t, std::vector<std::int64_t>>& sizes, int dim,
         const OptionalConfig& config) {
        const tensix::DeviceTensor& tensor = x.device("split");
        if (const auto* size = std::get_if<std::int64_t>(&sizes))
          return wrapped(tensix::split(tensor, *size, dim, config));
        return wrapped(tensix::split(tensor, std::get<std::vector<std::int64_t>>(sizes), dim, config));
      },
      "input_tensor"_a, "split_size"_a, "dim"_a = 0, nb::kw_only(), "memory_config"_a = nb::none());
  module.def(
      "chunk",
      [](const AnyTensor& x, std::int64_t count, int dim) {
        return wrapped(tensix::chunk(x.device("chunk"), count, dim));
      },
      "input_tensor"_a, "chunks"_a, "dim"_a = 0);
  module.def(
      "stack",
      [](const std::vector<AnyTensor>& tensors, int dim) {
        std::vector<tensix::DeviceTensor> inputs;
        for (const AnyTensor& x : tensors) inputs.push_back(x.device("stack"));
        return AnyTensor(tensix::stack(inputs, dim));
      },
      "input_tensors"_a, "dim"_a);
  module.def("repeat", &repeated, "input_tensor"_a, "repetition_vector"_a, nb::kw_only(),
             "memory_config"_a = nb::none(), "optional_output_tensor"_a = nb::none(),
             "The whole tensor so many times along each dimension.");
  module.def("repeat", &repeated, "input_tensor"_a, "repeat_dims"_a, nb::kw_only(), "memory_config"_a = nb::none(),
             "optional_output_tensor"_a = nb::none());
  module.def(
      "repeat_interleave",
      [](const AnyTensor& x, std::int64_t count, int dim, const OptionalConfig& config) {
        return AnyTensor(tensix::repeat_interleave(x.device("repeat_interleave"), count, dim, config));
      },
      "input_tensor"_a, "repeats"_a, "dim"_a, nb::kw_only(), "memory_config"_a = nb::none());
  module.def(
      "expand",
      [](const AnyTensor& x, const std::vector<std::int64_t>& shape, const OptionalConfig& config) {
        return AnyTensor(tensix::expand(x.device("expand"), shape, config));
      },
      "input_tensor"_a, "output_shape"_a, nb::kw_only(), "memory_config"_a = nb::none());
  module.def(
      "_experimental_slice_write",
      [](const AnyTensor& x, const AnyTensor& y, const std::vector<std::int64_t>& start,
         const std::vector<std::int64_t>& end, const std::vector<std::int64_t>& step) {
        return AnyTensor(tensix::slice_write(x.device("slice_write"), y.device("slice_write"), start, end, step));
      },
      "input_tensor"_a, "output_tensor"_a, "start"_a, "end"_a, "step"_a);
  return {"experimental.slice_write",
          "transpose",
          "squeeze",
          "unsqueeze",
          "unsqueeze_to_4D",
          "split",
          "chunk",
          "stack",
          "repeat",
          "expand",
          "repeat_interleave"};
}

[[maybe_unused]] const bool kShapeOpsAdded = add_card_operators(bind_shape_ops);

}  // namespace
}  // namespace tessera::python
