#include "bind.h"
#include "conv2d_arguments.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_weights.h"

#include <string>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using tensix::Conv2dProblem;
using tensix::Conv2dRequest;

// The problem that weights are prepared for, and how it runs.
struct Prepared {
  Conv2dProblem problem;
  tensix::Conv2dPlan plan;
  DevicePointer device;

  AnyTensor send(const Tensor& tensor) const { return to_device(tensor, device, tensix::kDramMemoryConfig); }
};

// The arguments that prepare_conv_weights and prepare_conv_bias share.
Prepared prepared(const tensix::MemoryConfig& input_memory_config, Layout input_layout, std::int64_t in_channels,
                  std::int64_t out_channels, std::int64_t batch, std::int64_t height, std::int64_t width,
                  const Sizes& kernel, const Sizes& stride, const Sizes& padding, const Sizes& dilation, bool has_bias,
                  std::int64_t groups, const DevicePointer& device, DataType input_dtype,
                  const OptionalType& output_dtype, const std::optional<TtnnConv2dConfig>& conv_config,
                  const std::optional<KernelConfig>& compute, const OptionalSlice& slice, DType weights_dtype) {
  const Conv2dRequest request{batch,  height,          width,           in_channels,       out_channels,
                              groups, extents(kernel), extents(stride), extents(dilation), extents(padding)};
  Prepared out;
  out.problem = tensix::conv2d_problem(request, Shape{batch, height, width, in_channels}, std::nullopt);
  out.problem.has_bias = has_bias;
  out.problem.input_dtype = input_dtype;
  out.problem.input_layout = input_layout;
  out.problem.input_memory = input_memory_config;
  out.problem.config = conv_config.value_or(TtnnConv2dConfig());
  out.problem.weights_dtype = out.problem.config.weights_dtype.value_or(weights_dtype);
  out.problem.compute = conv2d_compute(compute);
  out.problem.output_dtype = plain(output_dtype).value_or(input_dtype);
  device->check_open();
  // Weights are the same for all slices.
  const bool cut = slice && slice->type != tensix::Conv2dSliceType::l1_full && slice->num_slices > 1;
  if (cut) out.problem = slice_conv2d(out.problem, slice->type, slice->num_slices).front();
  out.plan = plan_conv2d(out.problem, device->card());
  out.device = device;
  return out;
}

}  // namespace

void bind_prepare_conv(nb::module_& module) {
  module.def(
      "prepare_conv_weights",
      [](const AnyTensor& weight, const tensix::MemoryConfig& memory_config, Layout layout, const std::string& format,
         std::int64_t in_channels, std::int64_t out_channels, std::int64_t batch, std::int64_t height,
         std::int64_t width, const Sizes& kernel, const Sizes& stride, const Sizes& padding, const Sizes& dilation,
         bool has_bias, std::int64_t groups, const DevicePointer& device, DataType input_dtype,
         const OptionalType& output_dtype, const std::optional<TtnnConv2dConfig>& config,
         const std::optional<KernelConfig>& compute, const OptionalSlice& slice) {
        check(format == "OIHW", Code::unsupported, "prepare_conv_weights: weights are in order OIHW, not {}", format);
        const Prepared p = prepared(memory_config, layout, in_channels, out_channels, batch, height, width, kernel,
                                    stride, padding, dilation, has_bias, groups, device, input_dtype, output_dtype,
                                    config, compute, slice, weight.dtype());
        return p.send(tensix::prepare_conv_weights(*weight.on_host(), p.problem, p.plan, p.problem.weights_dtype));
      },
      nb::kw_only(), "weight_tensor"_a, "input_memory_config"_a, "input_layout"_a, "weights_format"_a, "in_channels"_a,
      "out_channels"_a, "batch_size"_a, "input_height"_a, "input_width"_a, "kernel_size"_a, "stride"_a, "padding"_a,
      "dilation"_a, "has_bias"_a, "groups"_a, "device"_a, "input_dtype"_a, "output_dtype"_a = nb::none(),
      "conv_config"_a = nb::none(), "compute_config"_a = nb::none(), "slice_config"_a = nb::none(),
      "Weights on the device as such a convolution reads them: a matrix of tiles.");
  module.def(
      "prepare_conv_bias",
      [](const AnyTensor& bias, const tensix::MemoryConfig& memory_config, Layout layout, std::int64_t in_channels,
         std::int64_t out_channels, std::int64_t batch, std::int64_t height, std::int64_t width, const Sizes& kernel,
         const Sizes& stride, const Sizes& padding, const Sizes& dilation, std::int64_t groups,
         const DevicePointer& device, DataType input_dtype, const OptionalType& output_dtype,
         const std::optional<TtnnConv2dConfig>& config, const std::optional<KernelConfig>& compute,
         const OptionalSlice& slice) {
        const Prepared p =
            prepared(memory_config, layout, in_channels, out_channels, batch, height, width, kernel, stride, padding,
                     dilation, true, groups, device, input_dtype, output_dtype, config, compute, slice, bias.dtype());
        return p.send(tensix::prepare_conv_bias(*bias.on_host(), p.problem, p.plan, p.problem.weights_dtype));
      },
      nb::kw_only(), "bias_tensor"_a, "input_memory_config"_a, "input_layout"_a, "in_channels"_a, "out_channels"_a,
      "batch_size"_a, "input_height"_a, "input_width"_a, "kernel_size"_a, "stride"_a, "padding"_a, "dilation"_a,
      "groups"_a, "device"_a, "input_dtype"_a, "output_dtype"_a = nb::none(), "conv_config"_a = nb::none(),
      "compute_config"_a = nb::none(), "slice_config"_a = nb::none(),
      "A bias on the device as such a convolution reads it: a row of tiles.");
}

}  // namespace tessera::python
