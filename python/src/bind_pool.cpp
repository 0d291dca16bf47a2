#include "any_tensor.h"
#include "bind.h"
#include "compute_config.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/conv2d/channel_slices.h"
#include "tessera/targets/tensix/ops/fold/fold.h"
#include "tessera/targets/tensix/ops/image_layout/image_layout.h"
#include "tessera/targets/tensix/ops/pool/pool.h"
#include "tessera/targets/tensix/ops/upsample/upsample.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string>
#include <variant>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using OptionalConfig = std::optional<tensix::MemoryConfig>;
using Pair = std::array<std::uint32_t, 2>;
using Four = std::array<std::uint32_t, 4>;
using Padding = std::variant<Four, Pair>;

// (h, w), or (top, bottom, left, right).
Four four(const Padding& padding) {
  if (const Four* all = std::get_if<Four>(&padding)) return *all;
  const auto [h, w] = std::get<Pair>(padding);
  return {h, h, w, w};
}

tensix::SlidingWindow window(const Pair& kernel, const Pair& stride, const Padding& padding, const Pair& dilation) {
  const Four p = four(padding);
  return {.kernel_h = kernel[0],
          .kernel_w = kernel[1],
          .stride_h = stride[0],
          .stride_w = stride[1],
          .dilation_h = dilation[0],
          .dilation_w = dilation[1],
          .top = p[0],
          .bottom = p[1],
          .left = p[2],
          .right = p[3]};
}

using Slices = std::optional<tensix::Conv2dSliceConfig>;
using Scheme = std::optional<tensix::TensorMemoryLayout>;

// What maxima and averages are both told.
tensix::PoolOptions pool_options(const std::array<std::int64_t, 4>& batch_h_w_c, const tensix::SlidingWindow& window,
                                 bool ceil_mode, const OptionalConfig& config, const Slices& slices,
                                 const Scheme& scheme, bool deallocate, bool reallocate, const DataType& dtype,
                                 Layout layout) {
  return {.batch = batch_h_w_c[0],
          .height = batch_h_w_c[1],
          .width = batch_h_w_c[2],
          .channels = batch_h_w_c[3],
          .window = window,
          .ceil_mode = ceil_mode,
          .memory_config = config,
          .scheme = scheme,
          .deallocate_input = deallocate,
          .reallocate_halo = reallocate,
          .dtype = dtype,
          .layout = layout,
          .slice = slices};
}

void bind_pools(nb::module_& module) {
  module.def(
      "max_pool2d",
      [](AnyTensor& x, std::int64_t batch, std::int64_t h, std::int64_t w, std::int64_t c, const Pair& kernel,
         const Pair& stride, const Padding& padding, const Pair& dilation, bool ceil_mode, const OptionalConfig& config,
         const Slices& slices, const Scheme& scheme, bool deallocate, bool reallocate, bool indices, DataType dtype,
         Layout layout, bool lists_in_dram) -> nb::any {
        tensix::PoolOptions options =
            pool_options({batch, h, w, c}, window(kernel, stride, padding, dilation), ceil_mode, config, slices, scheme,
                         deallocate, reallocate, dtype, layout);
        options.lists_in_dram = lists_in_dram;
        if (!indices)
          return nb::borrow<nb::any>(
              nb::cast(AnyTensor(tensix::pool2d(tensix::PoolKind::max, x.device("max_pool2d"), options))));
        const auto [values, where] = tensix::max_pool2d_with_indices(x.device("max_pool2d"), options);
        return nb::borrow<nb::any>(nb::make_tuple(AnyTensor(values), AnyTensor(where)));
      },
      "input_tensor"_a, "batch_size"_a, "input_h"_a, "input_w"_a, "channels"_a, "kernel_size"_a, "stride"_a,
      "padding"_a, "dilation"_a, "ceil_mode"_a = false, nb::kw_only(), "memory_config"_a = nb::none(),
      "dram_slice_config"_a = nb::none(), "applied_shard_scheme"_a = nb::none(), "deallocate_input"_a = false,
      "reallocate_halo_output"_a = true, "return_indices"_a = false, "dtype"_a = DataType{DType::bfloat16},
      "output_layout"_a = Layout::row_major, "config_tensor_in_dram"_a = false,
      "Maxima over windows; with return_indices, a pair: also where in its image each was found.");
  module.def(
      "avg_pool2d",
      [](AnyTensor& x, std::int64_t batch, std::int64_t h, std::int64_t w, std::int64_t c, const Pair& kernel,
         const Pair& stride, const Padding& padding, bool ceil_mode, bool include,
         const std::optional<std::int64_t>& divisor, const OptionalConfig& config, const Slices& slices,
         const Scheme& scheme, const std::optional<KernelConfig>& compute, bool deallocate, bool reallocate,
         DataType dtype, Layout layout, bool lists_in_dram) {
        tensix::PoolOptions options = pool_options({batch, h, w, c}, window(kernel, stride, padding, {1, 1}), ceil_mode,
                                                   config, slices, scheme, deallocate, reallocate, dtype, layout);
        options.lists_in_dram = lists_in_dram;
        options.count_include_pad = include;
        options.divisor_override = divisor;
        options.compute = plain(compute);
        return AnyTensor(tensix::pool2d(tensix::PoolKind::average, x.device("avg_pool2d"), options));
      },
      "input_tensor"_a, "batch_size"_a, "input_h"_a, "input_w"_a, "channels"_a, "kernel_size"_a, "stride"_a,
      "padding"_a, "ceil_mode"_a = false, "count_include_pad"_a = true, "divisor_override"_a = nb::none(),
      nb::kw_only(), "memory_config"_a = nb::none(), "dram_slice_config"_a = nb::none(),
      "applied_shard_scheme"_a = nb::none(), "compute_kernel_config"_a = nb::none(), "deallocate_input"_a = false,
      "reallocate_halo_output"_a = true, "dtype"_a = DataType{DType::bfloat16}, "output_layout"_a = Layout::row_major,
      "config_tensor_in_dram"_a = false);
  module.def(
      "global_avg_pool2d",
      [](const AnyTensor& x, const OptionalConfig& config, const std::optional<DataType>& dtype) {
        static_cast<void>(dtype);  // as the real one
        return AnyTensor(tensix::global_avg_pool2d(x.device("global_avg_pool2d"), config));
      },
      "input_tensor"_a, nb::kw_only(), "memory_config"_a = nb::none(), "dtype"_a = nb::none(),
      "The mean over all pixels; like the real one it keeps its input's dtype.");
}

}  // namespace

void bind_pool(nb::module_& module) {
  bind_pools(module);
  module.def(
      "_run_on_channels",
      [](const AnyTensor& x, std::int64_t slices, const nb::callable& layer) {
        return AnyTensor(
            tensix::run_on_channels(x.device("slices of channels"), slices, [&](tensix::DeviceTensor& part) {
              AnyTensor given(part);
              return nb::cast<AnyTensor&>(layer(given)).device("slices of channels");
            }));
      },
      "x"_a, "slices"_a, "layer"_a, "A layer on equally many channels at a time; the results meet in DRAM.");
  module.def(
      "upsample",
      [](const AnyTensor& x, const std::variant<double, std::array<double, 2>>& scale, const std::string& mode,
         const OptionalConfig& config, const std::optional<KernelConfig>& compute) {
        tensix::UpsampleOptions options{.memory_config = config, .compute = plain(compute)};
        if (const double* both = std::get_if<double>(&scale))
          options.scale = {*both, *both};
        else
          options.scale = std::get<std::array<double, 2>>(scale);
        check(mode == "nearest" || mode == "bilinear", Code::unsupported,
              "upsample: mode '{}' is not supported, only 'nearest' and 'bilinear'", mode);
        options.mode = mode == "nearest" ? tensix::UpsampleMode::nearest : tensix::UpsampleMode::bilinear;
        return AnyTensor(tensix::upsample(x.device("upsample"), options));
      },
      "input_tensor"_a, "scale_factor"_a, nb::kw_only(), "mode"_a = "nearest", "memory_config"_a = nb::none(),
      "compute_kernel_config"_a = nb::none());
  module.def(
      "fold",
      [](const AnyTensor& x, std::uint32_t stride_h, std::uint32_t stride_w, bool by_transposing,
         const nb::object& shape, const std::variant<Four, Pair>& padding, const nb::object& grid,
         const nb::object& config, bool collapse) {
        check(!by_transposing && shape.is_none() && grid.is_none() && config.is_none(), Code::unsupported,
              "fold: use_transpose_as_fold, output_shape, grid_size and override_memory_config are not supported");
        const Four p = four(padding);
        return AnyTensor(tensix::fold(x.device("fold"), {stride_h, stride_w, {p[0], p[1], p[2], p[3]}, collapse}));
      },
      "input"_a, "stride_h"_a, "stride_w"_a, "use_transpose_as_fold"_a = false, "output_shape"_a = nb::none(),
      "padding"_a = Pair{0, 0}, "grid_size"_a = nb::none(), "override_memory_config"_a = nb::none(),
      "collapse_output"_a = false);
  module.def(
      "_convert_to_hwc",
      [](const AnyTensor& x, const OptionalConfig& config, const std::optional<DataType>& dtype) {
        return AnyTensor(tensix::convert_to_hwc(x.device("convert_to_hwc"), config, plain(dtype)));
      },
      "input"_a, nb::kw_only(), "memory_config"_a = nb::none(), "dtype"_a = nb::none());
  module.def(
      "_convert_to_chw",
      [](const AnyTensor& x, const std::optional<DataType>& dtype) {
        return AnyTensor(tensix::convert_to_chw(x.device("convert_to_chw"), plain(dtype)));
      },
      "input"_a, nb::kw_only(), "dtype"_a = nb::none());
}

}  // namespace tessera::python
