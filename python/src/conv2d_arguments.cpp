#include "conv2d_arguments.h"

#include "tessera/core/error.h"

namespace nb = nanobind;

namespace tessera::python {
namespace {

AnyTensor converted(const AnyTensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  if (is_block_float(dtype) && x.layout() == Layout::row_major) return to_layout(x, Layout::tile, dtype, std::nullopt);
  return typecast(x, dtype, std::nullopt);
}

}  // namespace

std::vector<std::int64_t> extents(const Sizes& sizes) {
  if (const auto* one = std::get_if<std::int64_t>(&sizes)) return {*one, *one};
  return std::get<1>(sizes);
}

tensix::ComputeConfig conv2d_compute(const std::optional<KernelConfig>& given) {
  if (given) return plain(*given);
  tensix::ComputeConfig config;
  config.packer_l1_acc = true;
  return config;
}

bool is_prepared(const AnyTensor& x) {
  const Shape& shape = x.shape();
  return x.on_device() && x.layout() == Layout::tile && shape.rank() == 4 && shape[0] == 1 && shape[1] == 1;
}

tensix::Conv2dOperand conv2d_operand(const AnyTensor& x) {
  if (is_prepared(x)) return x.device("conv2d");
  return *x.on_host();
}

std::optional<tensix::Conv2dOperand> conv2d_operand(const std::optional<AnyTensor>& x) {
  return x ? std::optional(conv2d_operand(*x)) : std::nullopt;
}

tensix::DeviceTensor conv2d_input(std::string_view op, const AnyTensor& x, const OptionalDevice& device,
                                  const TtnnConv2dConfig& config) {
  check(x.on_device() || device, Code::invalid_argument, Hint{"pass device, or put the input there first"},
        "{}: the input is in host memory and no device is given", op);
  check(!x.on_device() || !device || x.device(op).device() == *device, Code::invalid_argument,
        "{}: the input is on another device than the one that is given", op);
  const AnyTensor typed = config.activation_dtype ? converted(x, *config.activation_dtype) : x;
  return to_device(typed, device.value_or(nullptr), std::nullopt).device(op);
}

tensix::Conv2dProblem conv2d_problem(const tensix::Conv2dRequest& request, const AnyTensor& input,
                                     const AnyTensor& weight, const tensix::DeviceTensor& x,
                                     const TtnnConv2dConfig& config, const std::optional<KernelConfig>& compute,
                                     const OptionalType& dtype) {
  const std::optional<Shape> shape = is_prepared(weight) ? std::nullopt : std::optional(weight.shape());
  tensix::Conv2dProblem problem = tensix::conv2d_problem(request, input.shape(), shape);
  problem.config = config;
  problem.compute = conv2d_compute(compute);
  problem.output_dtype = plain(dtype).value_or(config.output_dtype.value_or(x.spec().dtype()));
  if (!says_everything(request) && x.device()->memory_view(tensix::BufferType::l1_small).total_bytes_per_bank == 0)
    problem.config.config_tensors_in_dram = true;
  return problem;
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

}  // namespace tessera::python
