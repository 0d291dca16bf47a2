#include "bind.h"
#include "conv2d_arguments.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/conv2d/channel_slices.h"

#include <fmt/format.h>
#include <nanobind/operators.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using tensix::Conv2dRequest;
using tensix::Conv2dSliceConfig;
using tensix::Conv2dSliceType;

nb::object conv2d(const AnyTensor& input, const AnyTensor& weight, const OptionalDevice& device,
                  OptionalSize in_channels, OptionalSize out_channels, OptionalSize batch, OptionalSize height,
                  OptionalSize width, const std::optional<Sizes>& kernel, const Sizes& stride, const Sizes& padding,
                  const Sizes& dilation, OptionalSize groups, const OptionalType& dtype,
                  const std::optional<AnyTensor>& bias, const std::optional<TtnnConv2dConfig>& conv_config,
                  const std::optional<KernelConfig>& compute, const OptionalConfig& memory_config,
                  const OptionalSlice& slice, bool return_output_dim, bool return_weights_and_bias,
                  const std::optional<TtnnConv2dConfig>& guide_config) {
  check(!conv_config || !guide_config, Code::invalid_argument,
        "conv2d: config is another name of conv_config: give one");
  const TtnnConv2dConfig config = conv_config ? *conv_config : guide_config.value_or(TtnnConv2dConfig());
  Conv2dRequest request{batch,  height,       width,           in_channels,       out_channels,
                        groups, std::nullopt, extents(stride), extents(dilation), extents(padding)};
  if (kernel) request.kernel = extents(*kernel);
  const tensix::DeviceTensor x = conv2d_input("conv2d", input, device, config);
  const tensix::Conv2dProblem problem = conv2d_problem(request, input, weight, x, config, compute, dtype);
  tensix::Conv2dOptions options;
  options.memory_config = memory_config;
  options.slice = slice;
  return conv2d_result(tensix::conv2d(x, conv2d_operand(weight), conv2d_operand(bias), problem, options),
                       return_output_dim, return_weights_and_bias);
}

// The output, the prepared weights of each slice, and the bias.
nb::tuple conv2d_by_channels(const AnyTensor& input, const AnyTensor& weight, std::int64_t slices,
                             const std::vector<AnyTensor>& prepared, const std::optional<AnyTensor>& bias,
                             const OptionalDevice& device, OptionalSize in_channels, OptionalSize out_channels,
                             OptionalSize batch, OptionalSize height, OptionalSize width, const Sizes& kernel,
                             const Sizes& stride, const Sizes& padding, const Sizes& dilation, OptionalSize groups,
                             const OptionalType& dtype, const TtnnConv2dConfig& config,
                             const std::optional<KernelConfig>& compute, const OptionalSlice& slice) {
  const Conv2dRequest request{batch,  height,          width,           in_channels,       out_channels,
                              groups, extents(kernel), extents(stride), extents(dilation), extents(padding)};
  const tensix::DeviceTensor x = conv2d_input("conv2d", input, device, config);
  const tensix::Conv2dProblem problem = conv2d_problem(request, input, weight, x, config, compute, dtype);
  std::vector<tensix::Conv2dOperand> weights;
  for (const AnyTensor& each : prepared) weights.push_back(conv2d_operand(each));
  if (weights.empty()) weights = tensix::cut_conv_weights(std::get<Tensor>(conv2d_operand(weight)), slices);
  tensix::Conv2dOptions options;
  options.slice = slice;
  const tensix::ChannelSlicedConv2d y = tensix::conv2d_by_channels(x, weights, conv2d_operand(bias), problem, options);
  nb::list kept;
  for (const tensix::DeviceTensor& each : y.weights) kept.append(AnyTensor(each));
  return nb::make_tuple(AnyTensor(y.output), kept, y.bias ? nb::cast(AnyTensor(*y.bias)) : nb::none());
}

// For type checkers and help(): TTNN's arguments in TTNN's order.
constexpr const char* kSignature =
    "def conv2d(input_tensor: Tensor, weight_tensor: Tensor, *, device: Device | None = None, "
    "in_channels: int | None = None, out_channels: int | None = None, batch_size: int | None = None, "
    "input_height: int | None = None, input_width: int | None = None, "
    "kernel_size: int | collections.abc.Sequence[int] | None = None, "
    "stride: int | collections.abc.Sequence[int] = 1, padding: int | collections.abc.Sequence[int] = 0, "
    "dilation: int | collections.abc.Sequence[int] = 1, groups: int | None = None, dtype: DataType | None = None, "
    "bias_tensor: Tensor | None = None, conv_config: Conv2dConfig | None = None, "
    "compute_config: WormholeComputeKernelConfig | None = None, memory_config: MemoryConfig | None = None, "
    "slice_config: Conv2dSliceConfig | None = None, return_output_dim: bool = False, "
    "return_weights_and_bias: bool = False, config: Conv2dConfig | None = None) -> typing.Any";

void bind_slices(nb::module_& module) {
  nb::class_<Conv2dSliceConfig> config(module, "Conv2dSliceConfig",
                                       "How an input in DRAM is worked off: in how many slices, and of what.");
  nb::enum_<Conv2dSliceType>(config, "SliceTypeEnum")
      .value("L1Full", Conv2dSliceType::l1_full)
      .value("DRAMSliceHeight", Conv2dSliceType::dram_height)
      .value("DRAMSliceWidth", Conv2dSliceType::dram_width);
  config
      .def(
          "__init__",
          [](Conv2dSliceConfig* self, Conv2dSliceType type, std::uint32_t slices) {
            new (self) Conv2dSliceConfig{type, slices};
          },
          nb::kw_only(), "slice_type"_a, "num_slices"_a = 0)
      .def_rw("slice_type", &Conv2dSliceConfig::type)
      .def_prop_rw(
          "num_slices", [](const Conv2dSliceConfig& self) { return self.num_slices; },
          [](Conv2dSliceConfig& self, std::uint32_t slices) { self.num_slices = slices; })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__repr__", [](const Conv2dSliceConfig& self) {
        constexpr const char* kNames[] = {"L1_FULL", "DRAM_WIDTH", "DRAM_HEIGHT"};
        return fmt::format("Op2DSliceConfig(slice_type=SliceType::{},num_slices={})",
                           kNames[static_cast<std::size_t>(self.type)], self.num_slices);
      });
}

}  // namespace

void bind_conv2d(nb::module_& module) {
  bind_slices(module);
  module.def(
      "conv2d", &conv2d, "input_tensor"_a, "weight_tensor"_a, nb::kw_only(), "device"_a = nb::none(),
      "in_channels"_a = nb::none(), "out_channels"_a = nb::none(), "batch_size"_a = nb::none(),
      "input_height"_a = nb::none(), "input_width"_a = nb::none(), "kernel_size"_a = nb::none(), "stride"_a = Sizes(1),
      "padding"_a = Sizes(0), "dilation"_a = Sizes(1), "groups"_a = nb::none(), "dtype"_a = nb::none(),
      "bias_tensor"_a = nb::none(), "conv_config"_a = nb::none(), "compute_config"_a = nb::none(),
      "memory_config"_a = nb::none(), "slice_config"_a = nb::none(), "return_output_dim"_a = false,
      "return_weights_and_bias"_a = false, "config"_a = nb::none(), nb::sig(kSignature),
      "Convolves an image [N, H, W, C], or its pixels [1, 1, N*H*W, C], with weights [C_out, C_in/groups, kh, kw].\n\n"
      "The result is [1, 1, N*H_out*W_out, C_out]; with return_output_dim its height and width follow, with "
      "return_weights_and_bias the prepared weights and bias, for the next call. What is left out is read from "
      "the shapes. `config` is another name of conv_config.");
  module.def("_conv2d_by_channels", &conv2d_by_channels, "input_tensor"_a, "weight_tensor"_a, "slices"_a, "prepared"_a,
             "bias_tensor"_a.none(), nb::kw_only(), "device"_a, "in_channels"_a, "out_channels"_a, "batch_size"_a,
             "input_height"_a, "input_width"_a, "kernel_size"_a, "stride"_a, "padding"_a, "dilation"_a, "groups"_a,
             "dtype"_a.none(), "conv_config"_a, "compute_config"_a.none(), "slice_config"_a.none());
}

}  // namespace tessera::python
