// GroupNorm, InstanceNorm, and BatchNorm that no convolution takes up.

#include "tessera/core/error.h"
#include "tessera/targets/cuda/kernels/channel_norm/channel_norm_arguments.h"
#include "tessera/targets/cuda/kernels/epilogue.h"
#include "tessera/targets/cuda/kernels/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tessera::cuda {
namespace {

struct Read {
  std::int64_t group_channels = 0;  // 0: mean and variance are given
  std::int64_t scale_repeats = 1;   // channels that share a scale
  float epsilon = 0;
  Activation activation;
};

std::variant<Read, Refusal> read(const KernelInfo& kernel, const Problem& problem) {
  if (auto refusal = refuse_types(problem, kernel.type)) return *refusal;
  const Shape x = problem.input(0).shape();
  if (x.rank() < 3) return Refusal{"takes channels of images"};
  for (std::size_t i = 1; i < problem.node.op_inputs(); ++i)
    if (!problem.constant(i)) return Refusal{"scales are no constants"};
  Read out;
  if (const auto* group = std::get_if<GroupNorm>(&problem.node.op)) {
    out.group_channels = std::max<std::int64_t>(1, x[1] / group->groups);
    out.scale_repeats = group->per_group_scale ? out.group_channels : 1;
    out.epsilon = group->epsilon;
    if (group->groups > kMostNormGroups)
      return Refusal{fmt::format("{} groups, takes up to {}", group->groups, kMostNormGroups)};
  } else if (const auto* instance = std::get_if<InstanceNorm>(&problem.node.op)) {
    out.group_channels = 1;
    out.epsilon = instance->epsilon;
    if (x[1] > kMostNormGroups) return Refusal{fmt::format("{} channels, takes up to {}", x[1], kMostNormGroups)};
  } else {
    const auto& batch = std::get<BatchNorm>(problem.node.op);
    if (batch.training) return Refusal{"statistics of the batch are asked for"};
    out.epsilon = batch.epsilon;
  }
  const auto answer = read_epilogue(problem);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return *refusal;
  const auto& epilogue = std::get<Epilogue>(answer);
  if (epilogue.pool != 1 || epilogue.residual >= 0) return Refusal{"something is fused"};
  out.activation = epilogue.activation;
  return out;
}

std::int64_t statistics_bytes(const Shape& x) { return x[0] * x[1] * 8; }

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const auto answer = read(kernel, problem);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return *refusal;
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.inputs[0] = Order::channels_last;
  offer.outputs = {Order::channels_last};
  const bool image = problem.input(0).rank() == 4;
  offer.wide_inputs = image ? 1 : 0;
  offer.wide_outputs = image;
  offer.estimate = streaming_estimate(problem);
  if (std::get<Read>(answer).group_channels > 0) {
    // x is read three times: twice for mean and squares, once more where it is written.
    offer.scratch_bytes = statistics_bytes(problem.input(0).shape());
    const double bytes = static_cast<double>(problem.input(0).shape().volume() * element_bytes(kernel.type));
    offer.estimate.seconds += streaming_estimate(problem.machine.gpu(), 2 * bytes).seconds;
  }
  return offer;
}

// A constant's numbers as float32, each so many times over.
std::shared_ptr<const Memory> floats_on(Device& device, const Problem& problem, std::size_t input,
                                        std::int64_t repeats) {
  const std::shared_ptr<const Array> constant = problem.graph.value(problem.node.inputs[input]).constant;
  return device.weights.get(constant, fmt::format("float32 {} times", repeats), [&](const Array& array) {
    std::vector<float> out;
    for (const float value : floats_of(array)) out.insert(out.end(), static_cast<std::size_t>(repeats), value);
    return rounded_to(ElementType::float32, out);
  });
}

Launch prepare(const KernelInfo& kernel, const Problem& problem, const Offer&, Device& device,
               const StepAddresses& at) {
  const auto answer = read(kernel, problem);
  const Read& norm = std::get<Read>(answer);
  const Shape x = problem.input(0).shape();
  if (x.volume() == 0) return nothing();
  const bool image = x.rank() == 4;
  const auto small = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  ChannelNormArguments a{};
  a.n = small(x[0]), a.channels = small(x[1]), a.pixels = small(x.volume() / (x[0] * x[1]));
  a.x_pixel = small(image ? problem.input_pixel(0) : x[1]);
  a.y_pixel = small(image ? problem.output_pixel() : x[1]);
  a.group_channels = small(norm.group_channels);
  a.epsilon = norm.epsilon;
  a.activation = norm.activation;
  const void* const from = at.input(0);
  void* const to = at.outputs[0];
  const int pack = pack_elements(kernel.type);
  const bool wide = a.channels % pack == 0 && a.x_pixel % pack == 0 && a.y_pixel % pack == 0 &&
                    reinterpret_cast<std::uintptr_t>(from) % 16 == 0 && reinterpret_cast<std::uintptr_t>(to) % 16 == 0;
  a.packs = a.channels / (wide ? pack : 1);
  const std::string suffix = fmt::format("{}{}", short_name(kernel.type), wide ? "_wide" : "");
  const int multiprocessors = problem.machine.gpu().multiprocessors;

  const int lanes = std::max(1, kNormThreads / a.packs), turns = (a.pixels + lanes - 1) / lanes;
  a.chunks = std::clamp((4 * multiprocessors + a.n - 1) / a.n, 1, std::max(1, turns / 2));
  const auto scale = floats_on(device, problem, 1, norm.scale_repeats);
  const auto bias = floats_on(device, problem, 2, norm.scale_repeats);
  std::array<std::shared_ptr<const Memory>, 2> given;  // mean and variance
  if (norm.group_channels == 0) given = {floats_on(device, problem, 3, 1), floats_on(device, problem, 4, 1)};
  const int groups = norm.group_channels > 0 ? small(a.channels / norm.group_channels) : 0;
  const auto address = [](const auto& memory) { return memory ? memory->data() : nullptr; };
  const Launch write =
      launch_of(device.library.function(Binary::channel_norm, "channel_norm_" + suffix),
                {.blocks = a.n * a.chunks, .threads = kNormThreads, .shared_bytes = groups * 8, .early_start = true},
                from, to, at.scratch, address(given[0]), address(given[1]), address(scale), address(bias), a);
  const auto keep = [scale, bias, given](Launch launch) {
    return [scale, bias, given, launch = std::move(launch)](const Stream& stream) { launch(stream); };
  };
  if (norm.group_channels == 0) return keep(write);

  const int blocks = a.n * ((a.packs + kNormPacks - 1) / kNormPacks);
  constexpr int kLanes = kNormThreads / kNormPacks, kMostParts = 8;
  a.parts = 1;
  while (a.parts < kMostParts && a.parts * 2 * kLanes <= a.pixels && blocks * a.parts < 2 * multiprocessors)
    a.parts *= 2;
  const Launch find =
      launch_of(device.library.function(Binary::channel_norm, "channel_statistics_" + suffix),
                {.blocks = blocks * a.parts, .threads = kNormThreads, .cluster = a.parts, .early_start = true}, from,
                at.scratch, a);
  return keep([find, write](const Stream& stream) {
    find(stream);
    write(stream);
  });
}

}  // namespace

std::vector<CudaKernel> channel_norm_kernels() {
  struct Row {
    std::string_view name;
    ElementType type;
  };
  std::vector<CudaKernel> out;
  for (const Row& row : std::initializer_list<Row>{{"channel_norm_f16", ElementType::float16},
                                                   {"channel_norm_bf16", ElementType::bfloat16},
                                                   {"channel_norm_f32", ElementType::float32}})
    for (const std::string_view op : {GroupNorm::kName, InstanceNorm::kName, BatchNorm::kName})
      out.push_back({.info = {.name = row.name, .op = op, .type = row.type, .consider = consider}, .prepare = prepare});
  return out;
}

}  // namespace tessera::cuda
