// Conv with a window of its own for every channel.

#include "tessera/core/error.h"
#include "tessera/targets/cuda/kernels/depthwise/depthwise_arguments.h"
#include "tessera/targets/cuda/kernels/epilogue.h"
#include "tessera/targets/cuda/kernels/families.h"

#include <fmt/format.h>

#include <memory>

namespace tessera::cuda {
namespace {

struct Read {
  DepthwiseArguments arguments{};
  int residual = -1;
  bool narrow = false;  // one result for each thread
};

// Windows that have a kernel of their own.
bool is_special(const DepthwiseArguments& a) {
  return a.kh == a.kw && a.stride_h == a.stride_w && a.dilation_h == 1 && a.dilation_w == 1 &&
         (a.kh == 3 || a.kh == 5) && a.stride_h <= 2;
}

std::variant<Read, Refusal> read(const KernelInfo& kernel, const Problem& problem) {
  if (auto refusal = refuse_types(problem, kernel.type)) return *refusal;
  if (problem.input(0).rank() != 4) return Refusal{"takes images of two dimensions"};
  if (!problem.constant(1)) return Refusal{"weights are no constant"};
  if (problem.node.op_inputs() > 2 && problem.has(2) && !problem.constant(2)) return Refusal{"the bias is no constant"};
  const auto& op = std::get<Conv>(problem.node.op);
  const Shape x = problem.input(0).shape(), w = problem.input(1).shape(), y = problem.op_output().shape();
  const int pack = pack_elements(kernel.type);
  if (op.groups != x[1] || w[0] != x[1]) return Refusal{"channels share windows"};
  if (x[1] % pack != 0) return Refusal{fmt::format("{} channels are no multiple of {}", x[1], pack)};
  const auto answer = read_epilogue(problem);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return *refusal;
  const auto& epilogue = std::get<Epilogue>(answer);
  if (epilogue.pool != 1) return Refusal{"a pool is fused"};
  Window given = op.window;
  if (given.kernel.empty()) given.kernel = {w[2], w[3]};
  const ResolvedWindow window = resolve(given, {x[2], x[3]}, false, Conv::kName);
  const auto small = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  Read out;
  DepthwiseArguments& a = out.arguments;
  a.n = small(x[0]), a.h = small(x[2]), a.w = small(x[3]), a.oh = small(y[2]), a.ow = small(y[3]);
  a.packs = small(x[1] / pack);
  a.kh = small(w[2]), a.kw = small(w[3]);
  a.stride_h = small(window.strides[0]), a.stride_w = small(window.strides[1]);
  a.dilation_h = small(window.dilations[0]), a.dilation_w = small(window.dilations[1]);
  a.pad_top = small(window.begins[0]), a.pad_left = small(window.begins[1]);
  a.x_pixel = small(problem.input_pixel(0)), a.y_pixel = small(problem.output_pixel());
  // With four results to a thread, are there threads for every multiprocessor?
  const int columns = is_special(a) && a.kh == 5 ? kColumnsOf5x5 : kColumnsOfOthers;
  const std::int64_t threads = std::int64_t{a.n} * a.oh * ((a.ow + columns - 1) / columns) * a.packs;
  constexpr int kThreadsOfMultiprocessor = 256;
  out.narrow = threads < std::int64_t{problem.machine.gpu().multiprocessors} * kThreadsOfMultiprocessor;
  a.strips = out.narrow ? a.ow : (a.ow + columns - 1) / columns;
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
  offer.may_overwrite = residual;  // every thread reads of it what it writes of the result
  offer.estimate = streaming_estimate(problem);
  // Large windows are read from the cache once for each of their rows and columns: measured on an H200.
  constexpr double kLargeWindows = 3;
  if (std::get<Read>(answer).arguments.kh >= 5) offer.estimate.seconds *= kLargeWindows;
  return offer;
}

bool has_tiles(const DepthwiseArguments& a) {
  return is_special(a)
             ? a.kh == 5
             : a.kh == 7 && a.kw == 7 && a.stride_h == 1 && a.stride_w == 1 && a.dilation_h == 1 && a.dilation_w == 1;
}

Answer consider_tiles(const KernelInfo& kernel, const Problem& problem) {
  const auto answer = read(kernel, problem);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return *refusal;
  if (!has_tiles(std::get<Read>(answer).arguments)) return Refusal{"is for windows of 5x5 and 7x7"};
  Answer as_others = consider(kernel, problem);
  auto& offer = std::get<Offer>(as_others);
  constexpr double kTiles = 1.3;
  offer.estimate = streaming_estimate(problem);
  offer.estimate.seconds *= kTiles;
  return as_others;
}

// c, 1, kh, kw as kh, kw, c.
std::vector<std::byte> packed(const Array& array) {
  const std::vector<float> w = floats_of(array);
  const std::int64_t channels = array.shape()[0], taps = array.shape()[2] * array.shape()[3];
  std::vector<float> out(w.size());
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t tap = 0; tap < taps; ++tap)
      out[static_cast<std::size_t>(tap * channels + c)] = w[static_cast<std::size_t>(c * taps + tap)];
  return rounded_to(ElementType::float32, out);
}

std::string function_name(ElementType type, const DepthwiseArguments& a, bool narrow) {
  const std::string out = fmt::format("depthwise_{}", short_name(type)), end = narrow ? "_narrow" : "";
  if (!is_special(a)) return out + end;
  return out + fmt::format("_{}x{}{}", a.kh, a.kw, a.stride_h == 2 ? "_s2" : "") + end;
}

struct Constants {
  std::shared_ptr<const Memory> weights, bias;
};

Constants constants_of(const Problem& problem, Device& device) {
  std::vector<float> bias(static_cast<std::size_t>(problem.op_output().shape()[1]));
  if (problem.node.op_inputs() > 2 && problem.has(2)) bias = floats_of(*problem.constant(2));
  return {device.weights.get(problem.graph.value(problem.node.inputs[1]).constant, "depthwise", packed),
          std::make_shared<const Memory>(device.library.context(), std::as_bytes(std::span<const float>(bias)))};
}

Launch launch_with(const Constants& constants, const Function& function, const LaunchShape& shape, const Read& read,
                   const StepAddresses& at) {
  const void* const more = read.residual >= 0 ? at.input(static_cast<std::size_t>(read.residual)) : nullptr;
  const Launch launch =
      launch_of(function, shape, at.input(0), static_cast<const void*>(constants.weights->data()),
                static_cast<const void*>(constants.bias->data()), more, at.outputs[0], read.arguments);
  return [launch, constants](const Stream& stream) { launch(stream); };
}

Launch prepare(const KernelInfo& kernel, const Problem& problem, const Offer&, Device& device,
               const StepAddresses& at) {
  const auto answer = read(kernel, problem);
  const Read& found = std::get<Read>(answer);
  const DepthwiseArguments& a = found.arguments;
  if (problem.output().shape().volume() == 0) return nothing();
  const std::int64_t threads = std::int64_t{a.n} * a.oh * a.strips * a.packs;
  return launch_with(constants_of(problem, device),
                     device.library.function(Binary::depthwise, function_name(kernel.type, a, found.narrow)),
                     {.blocks = blocks_for(threads, 128), .threads = 128, .early_start = true}, found, at);
}

Launch prepare_tiles(const KernelInfo& kernel, const Problem& problem, const Offer&, Device& device,
                     const StepAddresses& at) {
  const auto answer = read(kernel, problem);
  const Read& found = std::get<Read>(answer);
  const DepthwiseArguments& a = found.arguments;
  if (problem.output().shape().volume() == 0) return nothing();
  const auto tiles = [](int size, int tile) { return std::int64_t{(size + tile - 1) / tile}; };
  const auto blocks = [&](int rows) {
    return a.n * tiles(a.oh, rows) * tiles(a.ow, kTileColumns) * tiles(a.packs * 8, kTileChannels);
  };
  // Lower tiles where there would be too few of them: what they load overlaps more.
  const int rows = blocks(8) >= 2 * problem.machine.gpu().multiprocessors ? 8
                   : blocks(4) >= problem.machine.gpu().multiprocessors   ? 4
                                                                          : 2;
  const int shared_bytes = a.kh == 7         ? DepthwiseTile<7, 1>::shared_bytes(rows)
                           : a.stride_h == 1 ? DepthwiseTile<5, 1>::shared_bytes(rows)
                                             : DepthwiseTile<5, 2>::shared_bytes(rows);
  const std::string name =
      fmt::format("depthwise_tiles_{}_{}x{}{}", short_name(kernel.type), a.kh, a.kw, a.stride_h == 2 ? "_s2" : "");
  return launch_with(
      constants_of(problem, device), device.library.function(Binary::depthwise_tiles, name),
      {.blocks = blocks_for(blocks(rows), 1), .threads = rows * 16, .shared_bytes = shared_bytes, .early_start = true},
      found, at);
}

}  // namespace

std::vector<CudaKernel> depthwise_kernels() {
  struct Row {
    std::string_view name;
    ElementType type;
  };
  std::vector<CudaKernel> out;
  for (const Row& row : std::initializer_list<Row>{{"depthwise_f16", ElementType::float16},
                                                   {"depthwise_bf16", ElementType::bfloat16},
                                                   {"depthwise_f32", ElementType::float32}})
    out.push_back(
        {.info = {.name = row.name, .op = Conv::kName, .type = row.type, .consider = consider}, .prepare = prepare});
  for (const Row& row : std::initializer_list<Row>{{"depthwise_tiles_f16", ElementType::float16},
                                                   {"depthwise_tiles_bf16", ElementType::bfloat16}})
    out.push_back({.info = {.name = row.name, .op = Conv::kName, .type = row.type, .consider = consider_tiles},
                   .prepare = prepare_tiles});
  return out;
}

}  // namespace tessera::cuda
