#include "any_tensor.h"
#include "bind.h"
#include "compute_config.h"
#include "ttnn_conv2d_config.h"

#include "tessera/backends/sim/tensix/conv2d.h"
#include "tessera/backends/sim/tensix/conv2d_request.h"
#include "tessera/backends/sim/tensix/conv2d_weights.h"
#include "tessera/core/error.h"

#include <fmt/format.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using DevicePointer = std::shared_ptr<Device>;
using OptionalDevice = std::optional<DevicePointer>;
using OptionalConfig = std::optional<MemoryConfig>;
using OptionalType = std::optional<DataType>;
using OptionalSize = std::optional<std::int64_t>;
using Sizes = std::variant<std::int64_t, std::vector<std::int64_t>>;  // one number stands for both extents
using tensix::Conv2dOperand;
using tensix::Conv2dProblem;
using tensix::Conv2dRequest;

// How an input in DRAM is worked off: all of it at once in L1, or in slices of the output's rows or columns.
struct SliceConfig {
  enum class Type : std::uint8_t { l1_full, dram_height, dram_width };
  Type type = Type::dram_width;
  std::int64_t slices = 0;  // 0: as few as fit
  bool operator==(const SliceConfig&) const = default;
};

std::vector<std::int64_t> extents(const Sizes& sizes) {
  if (const auto* one = std::get_if<std::int64_t>(&sizes)) return {*one, *one};
  return std::get<1>(sizes);
}

// What conv2d computes with where nothing is said.
ComputeConfig conv2d_compute(const std::optional<KernelConfig>& given) {
  if (given) return plain(*given);
  ComputeConfig config;
  config.packer_l1_acc = true;
  return config;
}

// Weights on a card that have not been prepared come back to the host, where they are.
bool is_prepared(const AnyTensor& x) {
  const Shape& shape = x.shape();
  return x.on_device() && x.layout() == Layout::tile && shape.rank() == 4 && shape[0] == 1 && shape[1] == 1;
}

Conv2dOperand operand(const AnyTensor& x) {
  if (is_prepared(x)) return x.device("conv2d");
  return *x.on_host();
}

AnyTensor converted(const AnyTensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  if (is_block_float(dtype) && x.layout() == Layout::row_major) return to_layout(x, Layout::tile, dtype, std::nullopt);
  return typecast(x, dtype, std::nullopt);
}

// The input on the card, in the type that the config wants.
DeviceTensor placed_input(const AnyTensor& x, const OptionalDevice& device, const TtnnConv2dConfig& config) {
  check(x.on_device() || device, Code::invalid_argument, Hint{"pass device, or put the input there first"},
        "conv2d: the input is in host memory and no device is given");
  check(!x.on_device() || !device || x.device("conv2d").device() == *device, Code::invalid_argument,
        "conv2d: the input is on another device than the one that is given");
  const AnyTensor typed = config.activation_dtype ? converted(x, *config.activation_dtype) : x;
  return to_device(typed, device.value_or(nullptr), std::nullopt).device("conv2d");
}

// Guides open devices without an L1_SMALL region, where lists of indices would go: their short calls keep them in DRAM.
void suit_device(const Device& device, const Conv2dRequest& request, Conv2dConfig& config) {
  if (!says_everything(request) && device.memory_view(BufferType::l1_small).total_bytes_per_bank == 0)
    config.config_tensors_in_dram = true;
}

bool is_sliced(const DeviceTensor& x, const std::optional<SliceConfig>& slice) {
  if (slice && slice->type != SliceConfig::Type::l1_full)
    check(slice->slices <= 1, Code::unsupported, Hint{"Conv2dL1FullSliceConfig runs it in one piece"},
          "conv2d: {} slices are asked for, only one exists here", slice->slices);
  return slice ? slice->type != SliceConfig::Type::l1_full : !x.spec().memory_config().is_l1();
}

nb::object conv2d_result(const tensix::Conv2dResult& result, bool with_size, bool with_weights) {
  nb::list parts;
  parts.append(nb::cast(AnyTensor(result.output)));
  if (with_size) parts.append(nb::make_tuple(result.out_h, result.out_w));
  if (with_weights) {
    const nb::object bias = result.bias ? nb::cast(AnyTensor(*result.bias)) : nb::none();
    parts.append(nb::make_tuple(nb::cast(AnyTensor(result.weights)), bias));
  }
  return with_size || with_weights ? nb::object(nb::tuple(parts)) : nb::object(parts[0]);
}

nb::object conv2d(const AnyTensor& input, const AnyTensor& weight, const OptionalDevice& device,
                  OptionalSize in_channels, OptionalSize out_channels, OptionalSize batch, OptionalSize height,
                  OptionalSize width, const std::optional<Sizes>& kernel, const Sizes& stride, const Sizes& padding,
                  const Sizes& dilation, OptionalSize groups, const OptionalType& dtype,
                  const std::optional<AnyTensor>& bias, const std::optional<TtnnConv2dConfig>& conv_config,
                  const std::optional<KernelConfig>& compute, const OptionalConfig& memory_config,
                  const std::optional<SliceConfig>& slice, bool return_output_dim, bool return_weights_and_bias,
                  const std::optional<TtnnConv2dConfig>& guide_config) {
  check(!conv_config || !guide_config, Code::invalid_argument,
        "conv2d: config is another name of conv_config: give one");
  const TtnnConv2dConfig config = conv_config ? *conv_config : guide_config.value_or(TtnnConv2dConfig());
  Conv2dRequest request{batch,  height,       width,           in_channels,       out_channels,
                        groups, std::nullopt, extents(stride), extents(dilation), extents(padding)};
  if (kernel) request.kernel = extents(*kernel);
  const std::optional<Shape> shape = is_prepared(weight) ? std::nullopt : std::optional(weight.shape());
  Conv2dProblem problem = conv2d_problem(request, input.shape(), shape);
  const DeviceTensor x = placed_input(input, device, config);
  problem.config = config;
  problem.compute = conv2d_compute(compute);
  problem.output_dtype = plain(dtype).value_or(config.output_dtype.value_or(x.spec().dtype()));
  suit_device(*x.device(), request, problem.config);
  tensix::Conv2dOptions options;
  options.memory_config = memory_config;
  if (!memory_config && is_sliced(x, slice)) options.memory_config = kDramMemoryConfig;
  const std::optional<Conv2dOperand> b = bias ? std::optional(operand(*bias)) : std::nullopt;
  return conv2d_result(tensix::conv2d(x, operand(weight), b, problem, options), return_output_dim,
                       return_weights_and_bias);
}

// The problem that weights are prepared for, and how it runs.
struct Prepared {
  Conv2dProblem problem;
  tensix::Conv2dPlan plan;
  DevicePointer device;

  AnyTensor send(const Tensor& tensor) const { return to_device(tensor, device, kDramMemoryConfig); }
};

// The arguments that prepare_conv_weights and prepare_conv_bias share.
Prepared prepared(const MemoryConfig& input_memory_config, Layout input_layout, std::int64_t in_channels,
                  std::int64_t out_channels, std::int64_t batch, std::int64_t height, std::int64_t width,
                  const Sizes& kernel, const Sizes& stride, const Sizes& padding, const Sizes& dilation, bool has_bias,
                  std::int64_t groups, const DevicePointer& device, DataType input_dtype,
                  const OptionalType& output_dtype, const std::optional<TtnnConv2dConfig>& conv_config,
                  const std::optional<KernelConfig>& compute, DType weights_dtype) {
  const Conv2dRequest request{batch,  height,          width,           in_channels,       out_channels,
                              groups, extents(kernel), extents(stride), extents(dilation), extents(padding)};
  Prepared out;
  out.problem = conv2d_problem(request, Shape{batch, height, width, in_channels}, std::nullopt);
  out.problem.has_bias = has_bias;
  out.problem.input_dtype = input_dtype;
  out.problem.input_layout = input_layout;
  out.problem.input_memory = input_memory_config;
  out.problem.config = conv_config.value_or(TtnnConv2dConfig());
  out.problem.weights_dtype = out.problem.config.weights_dtype.value_or(weights_dtype);
  out.problem.compute = conv2d_compute(compute);
  out.problem.output_dtype = plain(output_dtype).value_or(input_dtype);
  device->check_open();
  out.plan = plan_conv2d(out.problem, device->card());
  out.device = device;
  return out;
}

void bind_preparing(nb::module_& module) {
  module.def(
      "prepare_conv_weights",
      [](const AnyTensor& weight, const MemoryConfig& memory_config, Layout layout, const std::string& format,
         std::int64_t in_channels, std::int64_t out_channels, std::int64_t batch, std::int64_t height,
         std::int64_t width, const Sizes& kernel, const Sizes& stride, const Sizes& padding, const Sizes& dilation,
         bool has_bias, std::int64_t groups, const DevicePointer& device, DataType input_dtype,
         const OptionalType& output_dtype, const std::optional<TtnnConv2dConfig>& config,
         const std::optional<KernelConfig>& compute, const std::optional<SliceConfig>&) {
        check(format == "OIHW", Code::unsupported, "prepare_conv_weights: weights are in order OIHW, not {}", format);
        const Prepared p =
            prepared(memory_config, layout, in_channels, out_channels, batch, height, width, kernel, stride, padding,
                     dilation, has_bias, groups, device, input_dtype, output_dtype, config, compute, weight.dtype());
        return p.send(prepare_conv_weights(*weight.on_host(), p.problem, p.plan, p.problem.weights_dtype));
      },
      nb::kw_only(), "weight_tensor"_a, "input_memory_config"_a, "input_layout"_a, "weights_format"_a, "in_channels"_a,
      "out_channels"_a, "batch_size"_a, "input_height"_a, "input_width"_a, "kernel_size"_a, "stride"_a, "padding"_a,
      "dilation"_a, "has_bias"_a, "groups"_a, "device"_a, "input_dtype"_a, "output_dtype"_a = nb::none(),
      "conv_config"_a = nb::none(), "compute_config"_a = nb::none(), "slice_config"_a = nb::none(),
      "Weights on the device as such a convolution reads them: a matrix of tiles.");
  module.def(
      "prepare_conv_bias",
      [](const AnyTensor& bias, const MemoryConfig& memory_config, Layout layout, std::int64_t in_channels,
         std::int64_t out_channels, std::int64_t batch, std::int64_t height, std::int64_t width, const Sizes& kernel,
         const Sizes& stride, const Sizes& padding, const Sizes& dilation, std::int64_t groups,
         const DevicePointer& device, DataType input_dtype, const OptionalType& output_dtype,
         const std::optional<TtnnConv2dConfig>& config, const std::optional<KernelConfig>& compute,
         const std::optional<SliceConfig>&) {
        const Prepared p =
            prepared(memory_config, layout, in_channels, out_channels, batch, height, width, kernel, stride, padding,
                     dilation, true, groups, device, input_dtype, output_dtype, config, compute, bias.dtype());
        return p.send(prepare_conv_bias(*bias.on_host(), p.problem, p.plan, p.problem.weights_dtype));
      },
      nb::kw_only(), "bias_tensor"_a, "input_memory_config"_a, "input_layout"_a, "in_channels"_a, "out_channels"_a,
      "batch_size"_a, "input_height"_a, "input_width"_a, "kernel_size"_a, "stride"_a, "padding"_a, "dilation"_a,
      "groups"_a, "device"_a, "input_dtype"_a, "output_dtype"_a = nb::none(), "conv_config"_a = nb::none(),
      "compute_config"_a = nb::none(), "slice_config"_a = nb::none(),
      "A bias on the device as such a convolution reads it: a row of tiles.");
}

// Only the stub and help() read it: TTNN's arguments in TTNN's order.
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
  nb::class_<SliceConfig> config(module, "Conv2dSliceConfig",
                                 "How an input in DRAM is worked off: in how many slices, and of what.");
  nb::enum_<SliceConfig::Type>(config, "SliceTypeEnum")
      .value("L1Full", SliceConfig::Type::l1_full)
      .value("DRAMSliceHeight", SliceConfig::Type::dram_height)
      .value("DRAMSliceWidth", SliceConfig::Type::dram_width);
  config
      .def(
          "__init__",
          [](SliceConfig* self, SliceConfig::Type type, std::uint32_t slices) { new (self) SliceConfig{type, slices}; },
          nb::kw_only(), "slice_type"_a, "num_slices"_a = 0)
      .def_rw("slice_type", &SliceConfig::type)
      .def_prop_rw(
          "num_slices", [](const SliceConfig& self) { return self.slices; },
          [](SliceConfig& self, std::uint32_t slices) { self.slices = slices; })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__repr__", [](const SliceConfig& self) {
        constexpr const char* kNames[] = {"L1_FULL", "DRAM_HEIGHT", "DRAM_WIDTH"};
        return fmt::format("Op2DSliceConfig(slice_type=SliceType::{},num_slices={})",
                           kNames[static_cast<std::size_t>(self.type)], self.slices);
      });
}

}  // namespace

void bind_conv2d(nb::module_& module) {
  bind_slices(module);
  bind_preparing(module);
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
}

}  // namespace tessera::python
