#include "tessera/targets/tensix/ops/conv2d/channel_slices.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/ops/concat/concat.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_weights.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"
#include "tessera/targets/tensix/ops/slice/slice.h"
#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

void check_channel_slices(std::int64_t channels, std::int64_t slices) {
  check(slices >= 1 && channels % slices == 0, Code::invalid_argument, "{} channels cannot be cut into {} equal slices",
        channels, slices);
}

// Cutting into one slice copies nothing: what the caller has stays.
void free_slice(DeviceTensor& part, std::int64_t slices) {
  if (slices > 1 && part.is_allocated()) part.deallocate();
}

DeviceTensor sent_bias(const Conv2dOperand& bias, const Conv2dProblem& problem, const DeviceTensor& total) {
  if (const DeviceTensor* there = std::get_if<DeviceTensor>(&bias)) return *there;
  const Tensor row = Tensor::from_float32(std::get<Tensor>(bias).to_float32(), {1, 1, 1, problem.out_channels},
                                          total.spec().dtype(), Layout::tile);
  return to_device(row, total.device());
}

}  // namespace

std::vector<DeviceTensor> cut_channels(const DeviceTensor& x, std::int64_t slices) {
  x.check_allocated();
  const Shape& shape = x.spec().logical_shape();
  check(shape.rank() >= 1, Code::invalid_argument, "a tensor of rank 0 has no channels to cut");
  check_channel_slices(shape[-1], slices);
  const auto rank = static_cast<std::size_t>(shape.rank());
  const std::int64_t width = shape[-1] / slices;
  std::vector<DeviceTensor> parts;
  for (std::int64_t i = 0; i < slices; ++i) {
    std::vector<std::int64_t> begin(rank, 0), end = shape.dims();
    begin.back() = i * width;
    end.back() = (i + 1) * width;
    parts.push_back(slice(x, begin, end, std::vector<std::int64_t>(rank, 1)));
  }
  return parts;
}

DeviceTensor run_on_channels(const DeviceTensor& x, std::int64_t slices,
                             FunctionRef<DeviceTensor(DeviceTensor&)> layer) {
  std::vector<DeviceTensor> outputs, parts = cut_channels(x, slices);
  for (DeviceTensor& part : parts) {
    const DeviceTensor output = layer(part);
    free_slice(part, slices);
    outputs.push_back(to_memory_config(output, kDramMemoryConfig));
  }
  return concat(outputs, -1);
}

std::vector<Conv2dOperand> cut_conv_weights(const Tensor& weights, std::int64_t slices) {
  const Shape& shape = weights.shape();
  check(shape.rank() == 4, Code::invalid_argument, "weights of a convolution have rank 4, not shape {}",
        shape.to_string());
  check_channel_slices(shape[1], slices);
  const std::vector<float> values = weights.to_float32();
  const std::int64_t part = shape[1] / slices * shape[2] * shape[3];
  std::vector<Conv2dOperand> out;
  for (std::int64_t i = 0; i < slices; ++i) {
    std::vector<float> own;
    own.reserve(static_cast<std::size_t>(shape[0] * part));
    for (std::int64_t o = 0; o < shape[0]; ++o) {
      const auto from = values.begin() + (o * slices + i) * part;
      own.insert(own.end(), from, from + part);
    }
    const Shape cut{shape[0], shape[1] / slices, shape[2], shape[3]};
    out.emplace_back(Tensor::from_float32(own, cut, weights.dtype(), Layout::row_major));
  }
  return out;
}

ChannelSlicedConv2d conv2d_by_channels(DeviceTensor input, const std::vector<Conv2dOperand>& weights,
                                       const std::optional<Conv2dOperand>& bias, const Conv2dProblem& problem,
                                       const Conv2dOptions& options) {
  const auto slices = static_cast<std::int64_t>(weights.size());
  check(problem.groups == 1, Code::unsupported, "conv2d: channels of {} groups cannot be sliced", problem.groups);
  check_channel_slices(problem.in_channels, slices);
  if (bias && std::holds_alternative<Tensor>(*bias)) check_conv_bias(std::get<Tensor>(*bias).shape(), problem);
  Conv2dProblem part = problem;
  part.in_channels /= slices;
  part.config.activation.reset();
  part.config.deallocate_activation = problem.config.deallocate_activation && slices > 1;
  std::vector<VectorFunction> then;
  if (const auto& name = problem.config.activation; name && !name->empty())
    then.push_back({.activation = activation_from_name(*name), .name = *name});

  for (const Conv2dOperand& each : weights)
    if (const Tensor* host = std::get_if<Tensor>(&each)) check_conv_weights(host->shape(), part);

  std::optional<DeviceTensor> total;
  std::vector<DeviceTensor> kept, parts = cut_channels(input, slices);
  // A slice that cannot run is found before the first one does, whose program would stay in the cache.
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (const auto story = rehearse_conv2d(parts[i], weights[i], std::nullopt, part, options); !story)
      raise(story.refusal());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Conv2dResult y = conv2d(parts[i], weights[i], std::nullopt, part, options);
    free_slice(parts[i], slices);
    kept.push_back(y.weights);
    if (!total) {
      total = to_memory_config(y.output, kDramMemoryConfig);
      continue;
    }
    BinaryOptions sum;
    sum.output = *total;
    if (i + 1 == parts.size() && !bias) sum.activations = then;
    binary(Binary::Kind::add, y.output, *total, sum);
  }
  std::optional<DeviceTensor> kept_bias;
  if (bias) {
    kept_bias = sent_bias(*bias, problem, *total);
    BinaryOptions sum;
    sum.output = *total;
    sum.activations = then;
    binary(Binary::Kind::add, *total, *kept_bias, sum);
  } else if (slices == 1 && !then.empty()) {
    UnaryOptions in_place;
    in_place.output = *total;
    unary(then.front().name, then, *total, in_place);
  }
  if (problem.config.deallocate_activation && input.spec().memory_config().is_l1()) input.deallocate();
  return {*total, std::move(kept), std::move(kept_bias)};
}

}  // namespace tessera::tensix
