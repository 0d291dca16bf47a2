#include "bind.h"
#include "conv2d_arguments.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/conv_transpose2d/conv_transpose2d.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

nb::object conv_transpose2d(const AnyTensor& input, const AnyTensor& weight, const OptionalDevice& device,
                            OptionalSize in_channels, OptionalSize out_channels, OptionalSize batch,
                            OptionalSize height, OptionalSize width, const std::optional<Sizes>& kernel,
                            const Sizes& stride, const Sizes& padding, const Sizes& output_padding,
                            const Sizes& dilation, OptionalSize groups, const OptionalType& dtype,
                            const std::optional<AnyTensor>& bias, const std::optional<TtnnConv2dConfig>& conv_config,
                            const std::optional<KernelConfig>& compute, const OptionalConfig& memory_config,
                            const OptionalSlice& slice, bool mirror_kernel, bool return_output_dim,
                            bool return_weights_and_bias) {
  check(mirror_kernel, Code::unsupported, Hint{"pass the weights as PyTorch has them"},
        "conv_transpose2d: mirror_kernel is False, but only kernels that are not yet mirrored are taken");
  const TtnnConv2dConfig config = conv_config.value_or(TtnnConv2dConfig());
  tensix::Conv2dRequest request{batch,  height,       width,           in_channels,       out_channels,
                                groups, std::nullopt, extents(stride), extents(dilation), extents(padding),
                                true};
  if (kernel) request.kernel = extents(*kernel);
  const std::vector<std::int64_t> more = extents(output_padding);
  check(more.size() == 2, Code::invalid_argument,
        "conv_transpose2d: output_padding has a height and a width, but {} values were given", more.size());
  const tensix::DeviceTensor x = conv2d_input("conv_transpose2d", input, device, config);
  const tensix::ConvTranspose2dProblem problem{conv2d_problem(request, input, weight, x, config, compute, dtype),
                                               more[0], more[1]};
  tensix::Conv2dOptions options;
  options.memory_config = memory_config;
  options.slice = slice;
  return conv2d_result(tensix::conv_transpose2d(x, conv2d_operand(weight), conv2d_operand(bias), problem, options),
                       return_output_dim, return_weights_and_bias);
}

}  // namespace

void bind_conv_transpose2d(nb::module_& module) {
  module.def("conv_transpose2d", &conv_transpose2d, "input_tensor"_a, "weight_tensor"_a, nb::kw_only(),
             "device"_a = nb::none(), "in_channels"_a = nb::none(), "out_channels"_a = nb::none(),
             "batch_size"_a = nb::none(), "input_height"_a = nb::none(), "input_width"_a = nb::none(),
             "kernel_size"_a = nb::none(), "stride"_a = Sizes(1), "padding"_a = Sizes(0), "output_padding"_a = Sizes(0),
             "dilation"_a = Sizes(1), "groups"_a = nb::none(), "dtype"_a = nb::none(), "bias_tensor"_a = nb::none(),
             "conv_config"_a = nb::none(), "compute_config"_a = nb::none(), "memory_config"_a = nb::none(),
             "dram_slice_config"_a = nb::none(), "mirror_kernel"_a = true, "return_output_dim"_a = false,
             "return_weights_and_bias"_a = false,
             "A convolution backwards: each pixel of the input adds its window to the output. Weights are "
             "[C_in, C_out/groups, kh, kw]; arguments and results are those of conv2d.");
}

}  // namespace tessera::python
