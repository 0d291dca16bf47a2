// Images between their pixels, and random numbers.

#include "card_operators.h"
#include "compute_config.h"
#include "ops/optional_arguments.h"

#include "shape_like.h"
#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/grid_sample/grid_sample.h"
#include "tessera/targets/tensix/ops/random/random.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

tensix::Sampling sampling_of(const char* op, const std::string& mode) {
  check(mode == "nearest" || mode == "bilinear", Code::unsupported,
        "{}: only 'nearest' and 'bilinear' are supported, not '{}'", op, mode);
  return mode == "nearest" ? tensix::Sampling::nearest : tensix::Sampling::bilinear;
}

void check_zeros(const char* op, const std::string& padding) {
  check(padding == "zeros", Code::unsupported, "{}: what lies outside is zeros, padding_mode '{}' is not supported", op,
        padding);
}

void bind_images(nb::module_& module) {
  module.def(
      "grid_sample",
      [](const AnyTensor& x, const AnyTensor& grid, const std::string& mode, const std::string& padding, bool align,
         bool prepared, bool channels, const OptionalConfig& config, const std::optional<KernelConfig>& compute) {
        constexpr const char* op = "grid_sample";
        check_zeros(op, padding);
        return AnyTensor(tensix::grid_sample(
            x.device(op), grid.device(op), {sampling_of(op, mode), align, prepared, channels, config, plain(compute)}));
      },
      "input_tensor"_a, "grid"_a, nb::kw_only(), "mode"_a = "bilinear", "padding_mode"_a = "zeros",
      "align_corners"_a = false, "use_precomputed_grid"_a = false, "batch_output_channels"_a = false,
      "memory_config"_a = nb::none(), "compute_kernel_config"_a = nb::none());
  module.def(
      "prepare_grid_sample_grid",
      [](const AnyTensor& grid, const std::vector<std::int64_t>& shape, const std::string& mode,
         const std::string& padding, bool align, const std::optional<DataType>& dtype) {
        constexpr const char* op = "prepare_grid_sample_grid";
        check_zeros(op, padding);
        return AnyTensor(tensix::prepare_grid(grid.host(op), Shape(shape), sampling_of(op, mode), align,
                                              plain(dtype).value_or(DType::bfloat16)));
      },
      "grid"_a, "input_shape"_a, nb::kw_only(), "mode"_a = "bilinear", "padding_mode"_a = "zeros",
      "align_corners"_a = false, "output_dtype"_a = nb::none());
  module.def(
      "rotate",
      [](const AnyTensor& x, float angle, const std::optional<std::pair<float, float>>& center, float fill, bool expand,
         const std::string& mode, const OptionalConfig& config) {
        check(!expand, Code::unsupported, "rotate: expand=True is not supported, only results of the same size");
        return AnyTensor(
            tensix::rotate(x.device("rotate"), angle, {center, fill, sampling_of("rotate", mode), config}));
      },
      "input_tensor"_a, "angle"_a, nb::kw_only(), "center"_a = nb::none(), "fill"_a = 0.0F, "expand"_a = false,
      "interpolation_mode"_a = "nearest", "memory_config"_a = nb::none());
}

void bind_random(nb::module_& module) {
  using Device = std::shared_ptr<tensix::Device>;
  const auto spec = [](const ShapeLike& shape, const std::optional<DataType>& dtype, Layout layout,
                       const OptionalConfig& config) {
    return tensix::TensorSpec(Shape(shape.dims), plain(dtype).value_or(DType::bfloat16), layout,
                              config.value_or(tensix::MemoryConfig{}));
  };
  module.def(
      "rand",
      [spec](const ShapeLike& shape, const Device& device, const std::optional<DataType>& dtype, Layout layout,
             const OptionalConfig& config, float low, float high, std::uint32_t seed) {
        return AnyTensor(tensix::random(device, spec(shape, dtype, layout, config), tensix::Distribution::uniform,
                                        static_cast<double>(low), static_cast<double>(high), seed));
      },
      "shape"_a, "device"_a, nb::kw_only(), "dtype"_a = nb::none(), "layout"_a = Layout::tile,
      "memory_config"_a = nb::none(), "low"_a = 0.0F, "high"_a = 1.0F, "seed"_a = 0);
  module.def(
      "randn",
      [spec](const ShapeLike& shape, const Device& device, const std::optional<DataType>& dtype, Layout layout,
             const OptionalConfig& config, std::optional<std::uint32_t> seed) {
        return AnyTensor(tensix::random(device, spec(shape, dtype, layout, config), tensix::Distribution::normal, 0, 1,
                                        seed.value_or(0)));
      },
      "shape"_a, "device"_a, nb::kw_only(), "dtype"_a = nb::none(), "layout"_a = Layout::tile,
      "memory_config"_a = nb::none(), "seed"_a = nb::none());
  module.def(
      "uniform",
      [](AnyTensor& x, float from, float to, std::uint32_t seed, const OptionalConfig& config) {
        check(!config || *config == x.memory_config(), Code::invalid_argument,
              "uniform: the numbers are written where the tensor is");
        return AnyTensor(
            tensix::uniform(x.device("uniform"), static_cast<double>(from), static_cast<double>(to), seed));
      },
      "input"_a, "from"_a = 0.0F, "to"_a = 1.0F, "seed"_a = 0, nb::kw_only(), "memory_config"_a = nb::none(),
      // `from` is a keyword of Python, so no stub can name it: it is given by place, or as **{"from": 0.5}.
      nb::sig("def uniform(input: Tensor, *from_to_seed: float, memory_config: MemoryConfig | None = None, "
              "**from_to_seed_by_name: float) -> Tensor"));
  module.def(
      "bernoulli",
      [](const AnyTensor& x, std::uint32_t seed, const OptionalTensor& output, const std::optional<DataType>& dtype,
         const OptionalConfig& config) {
        return AnyTensor(
            tensix::bernoulli(x.device("bernoulli"), seed, plain(dtype), device_tensor(output, "the output"), config));
      },
      "input"_a, "seed"_a = 0, nb::kw_only(), "output"_a = nb::none(), "dtype"_a = nb::none(),
      "memory_config"_a = nb::none());
  module.def(
      "_experimental_dropout",
      [](const AnyTensor& x, float probability, float scale, std::uint32_t seed, bool per_device,
         const OptionalConfig& config, const OptionalTensor& output) {
        static_cast<void>(per_device);  // each device is asked by itself
        return AnyTensor(tensix::dropout(x.device("dropout"), static_cast<double>(probability),
                                         static_cast<double>(scale), seed, config,
                                         device_tensor(output, "the output tensor")));
      },
      "input_tensor"_a, nb::kw_only(), "probability"_a, "scale"_a, "seed"_a, "use_per_device_seed"_a = true,
      "memory_config"_a = nb::none(), "output_tensor"_a = nb::none());
}

std::vector<std::string> bind_sampling(nb::module_& module) {
  bind_images(module);
  bind_random(module);
  return {"grid_sample", "prepare_grid_sample_grid", "rotate", "rand", "randn", "uniform",
          "bernoulli",   "experimental.dropout"};
}

[[maybe_unused]] const bool kSamplingAdded = add_card_operators(bind_sampling);

}  // namespace
}  // namespace tessera::python
