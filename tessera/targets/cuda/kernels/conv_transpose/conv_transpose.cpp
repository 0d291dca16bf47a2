// ConvTranspose of any window: slow, there for completeness. Windows that do not overlap go to conv2d's kernels.

#include "tessera/core/error.h"
#include "tessera/targets/cuda/kernels/conv_transpose/conv_transpose_arguments.h"
#include "tessera/targets/cuda/kernels/epilogue.h"
#include "tessera/targets/cuda/kernels/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace tessera::cuda {
namespace {

struct Read {
  ConvTransposeArguments arguments{};
  int residual = -1;
};

std::variant<Read, Refusal> read(const KernelInfo& kernel, const Problem& problem) {
  if (auto refusal = refuse_types(problem, kernel.type)) return *refusal;
  if (problem.input(0).rank() != 4) return Refusal{"takes images of two dimensions"};
  if (!problem.constant(1)) return Refusal{"weights are no constant"};
  if (problem.node.op_inputs() > 2 && problem.has(2) && !problem.constant(2)) return Refusal{"the bias is no constant"};
  const auto& op = std::get<ConvTranspose>(problem.node.op);
  // How much an output shape or an automatic border takes off at the beginning is not worked out here.
  if (!op.output_shape.empty() || op.window.auto_pad != AutoPad::none)
    return Refusal{"takes borders that are given, not those that follow from an output shape"};
  const Shape x = problem.input(0).shape(), w = problem.input(1).shape(), y = problem.op_output().shape();
  const auto answer = read_epilogue(problem);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return *refusal;
  const auto& epilogue = std::get<Epilogue>(answer);
  if (epilogue.pool != 1) return Refusal{"a pool is fused"};
  const auto small = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  const auto entry = [&](const std::vector<std::int64_t>& list, std::size_t i, std::int64_t otherwise) {
    return small(list.empty() ? otherwise : list[i]);
  };
  Read out;
  ConvTransposeArguments& a = out.arguments;
  a.n = small(x[0]), a.h = small(x[2]), a.w = small(x[3]), a.c = small(x[1]);
  a.oh = small(y[2]), a.ow = small(y[3]), a.oc = small(y[1]), a.groups = small(op.groups);
  a.kh = small(w[2]), a.kw = small(w[3]);
  a.stride_h = entry(op.window.strides, 0, 1), a.stride_w = entry(op.window.strides, 1, 1);
  a.dilation_h = entry(op.window.dilations, 0, 1), a.dilation_w = entry(op.window.dilations, 1, 1);
  a.pad_top = entry(op.window.pads, 0, 0), a.pad_left = entry(op.window.pads, 1, 0);
  a.x_pixel = small(problem.input_pixel(0)), a.y_pixel = small(problem.output_pixel());
  a.activation = epilogue.activation;
  out.residual = epilogue.residual;
  if (out.residual >= 0) a.residual_pixel = small(problem.input_pixel(static_cast<std::size_t>(out.residual)));
  return out;
}

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const auto answer = read(kernel, problem);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return *refusal;
  const int residual = std::get<Read>(answer).residual;
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.inputs[0] = Order::channels_last;
  if (residual >= 0) offer.inputs[static_cast<std::size_t>(residual)] = Order::channels_last;
  offer.outputs = {Order::channels_last};
  offer.wide_outputs = true;
  offer.wide_inputs = 1 | (residual >= 0 ? std::uint64_t{1} << residual : 0);
  constexpr double kFlopPerSecond = 1.0e12;  // assumed: conv2d's direct kernel does 1.5e12
  offer.estimate = streaming_estimate(problem);
  offer.estimate.seconds += work(problem.graph, problem.node).flops / kFlopPerSecond;
  return offer;
}

// c, oc of a group, kh, kw as group, kh, kw, c of a group, oc of a group.
std::vector<std::byte> packed(const Array& array, ElementType type, std::int64_t groups) {
  const std::vector<float> w = floats_of(array);
  const Shape shape = array.shape();
  const std::int64_t c = shape[0] / groups, oc = shape[1], taps = shape[2] * shape[3];
  std::vector<float> out(w.size());
  for (std::int64_t g = 0; g < groups; ++g)
    for (std::int64_t i = 0; i < c; ++i)
      for (std::int64_t o = 0; o < oc; ++o)
        for (std::int64_t tap = 0; tap < taps; ++tap)
          out[static_cast<std::size_t>(((g * taps + tap) * c + i) * oc + o)] =
              w[static_cast<std::size_t>(((g * c + i) * oc + o) * taps + tap)];
  return rounded_to(type, out);
}

Launch prepare(const KernelInfo& kernel, const Problem& problem, const Offer&, Device& device,
               const StepAddresses& at) {
  const auto answer = read(kernel, problem);
  const auto& [arguments, residual] = std::get<Read>(answer);
  const std::int64_t results = problem.output().shape().volume();
  if (results == 0) return nothing();
  const std::int64_t groups = arguments.groups;
  const auto weights = device.weights.get(problem.graph.value(problem.node.inputs[1]).constant,
                                          fmt::format("conv_transpose {}", name(kernel.type)),
                                          [&](const Array& array) { return packed(array, kernel.type, groups); });
  std::vector<float> bias(static_cast<std::size_t>(arguments.oc));
  if (problem.node.op_inputs() > 2 && problem.has(2)) bias = floats_of(*problem.constant(2));
  const auto biases =
      std::make_shared<const Memory>(device.library.context(), std::as_bytes(std::span<const float>(bias)));
  const void* more = residual >= 0 ? at.input(static_cast<std::size_t>(residual)) : nullptr;
  const Launch launch = launch_of(
      device.library.function(Binary::conv_transpose, fmt::format("conv_transpose_{}", short_name(kernel.type))),
      {.blocks = blocks_for(results, 256), .threads = 256, .early_start = true}, at.input(0),
      static_cast<const void*>(weights->data()), static_cast<const void*>(biases->data()), more, at.outputs[0],
      arguments);
  return [launch, weights, biases](const Stream& stream) { launch(stream); };
}

}  // namespace

std::vector<CudaKernel> conv_transpose_kernels() {
  struct Row {
    std::string_view name;
    ElementType type;
  };
  std::vector<CudaKernel> out;
  for (const Row& row : std::initializer_list<Row>{{"conv_transpose2d_f16_any", ElementType::float16},
                                                   {"conv_transpose2d_bf16_any", ElementType::bfloat16},
                                                   {"conv_transpose2d_f32_any", ElementType::float32}})
    out.push_back({.info = {.name = row.name, .op = ConvTranspose::kName, .type = row.type, .consider = consider},
                   .prepare = prepare});
  return out;
}

}  // namespace tessera::cuda
