// MaxPool, AveragePool and GlobalPool, channels last.

#include "tessera/core/error.h"
#include "tessera/targets/cuda/kernels/families.h"
#include "tessera/targets/cuda/kernels/pool/pool_arguments.h"

#include <fmt/format.h>

namespace tessera::cuda {
namespace {

std::optional<Refusal> refuse(const KernelInfo& kernel, const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  if (problem.input(0).rank() != 4) return Refusal{"takes images of two dimensions"};
  return refuse_types(problem, kernel.type);
}

Offer pool_offer(const Problem& problem) {
  Offer offer;
  offer.inputs = {Order::channels_last};
  offer.outputs.assign(problem.types.outputs.size(), Order::channels_last);
  offer.wide_inputs = 1;
  offer.estimate = streaming_estimate(problem);
  return offer;
}

Answer consider_pool(const KernelInfo& kernel, const Problem& problem) {
  if (auto refusal = refuse(kernel, problem)) return *refusal;
  if (const auto* pool = std::get_if<MaxPool>(&problem.node.op); pool != nullptr && pool->with_indices)
    return Refusal{"positions of the largest are asked for"};
  Offer offer = pool_offer(problem);
  offer.wide_outputs = true;
  return offer;
}

// Whether every 16 bytes of channels can be moved at once.
bool is_wide(ElementType type, std::int64_t channels, std::initializer_list<std::int64_t> pixels,
             std::initializer_list<const void*> addresses) {
  const int pack = pack_elements(type);
  for (const std::int64_t pixel : pixels)
    if (pixel % pack != 0) return false;
  for (const void* address : addresses)
    if (reinterpret_cast<std::uintptr_t>(address) % 16 != 0) return false;
  return channels % pack == 0;
}

Launch prepare_pool(const KernelInfo& kernel, const Problem& problem, const Offer&, Device& device,
                    const StepAddresses& at) {
  const Shape x = problem.input(0).shape(), y = problem.output().shape();
  if (y.volume() == 0) return nothing();
  PoolArguments a{};
  const auto* average = std::get_if<AveragePool>(&problem.node.op);
  const auto* most = std::get_if<MaxPool>(&problem.node.op);
  const ResolvedWindow window = resolve(average ? average->window : most->window, {x[2], x[3]},
                                        average ? average->ceil_mode : most->ceil_mode, name(problem.node.op));
  const auto small = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  a.n = small(x[0]), a.h = small(x[2]), a.w = small(x[3]), a.oh = small(y[2]), a.ow = small(y[3]);
  a.x_pixel = small(problem.input_pixel(0)), a.y_pixel = small(problem.output_pixel());
  a.kh = small(window.kernel[0]), a.kw = small(window.kernel[1]);
  a.stride_h = small(window.strides[0]), a.stride_w = small(window.strides[1]);
  a.dilation_h = small(window.dilations[0]), a.dilation_w = small(window.dilations[1]);
  a.pad_top = small(window.begins[0]), a.pad_left = small(window.begins[1]);
  a.pad_bottom = small(window.ends[0]), a.pad_right = small(window.ends[1]);
  a.average = average != nullptr;
  a.counts_border = average != nullptr && average->count_include_pad;
  const void* from = at.input(0);
  const bool wide = is_wide(kernel.type, x[1], {a.x_pixel, a.y_pixel}, {from, at.outputs[0]});
  a.packs = small(x[1] / (wide ? pack_elements(kernel.type) : 1));
  const std::int64_t items = y[0] * y[2] * y[3] * a.packs;
  // Small windows of maxima have kernels of their own.
  const bool square = !a.average && a.kh == a.kw && (a.kh == 2 || a.kh == 3) && a.dilation_h == 1 && a.dilation_w == 1;
  const std::string prefix = square ? fmt::format("max_pool_{}x{}", a.kh, a.kw) : "pool";
  return launch_of(device.library.function(
                       Binary::pool, fmt::format("{}_{}{}", prefix, short_name(kernel.type), wide ? "_wide" : "")),
                   {.blocks = blocks_for(items, 256), .threads = 256, .early_start = true}, from, at.outputs[0], a);
}

Answer consider_global(const KernelInfo& kernel, const Problem& problem) {
  if (auto refusal = refuse(kernel, problem)) return *refusal;
  if (std::get<GlobalPool>(problem.node.op).kind == GlobalPool::Kind::lp) return Refusal{"a norm is asked for"};
  return pool_offer(problem);
}

Launch prepare_global(const KernelInfo& kernel, const Problem& problem, const Offer&, Device& device,
                      const StepAddresses& at) {
  const Shape x = problem.input(0).shape();
  if (x.volume() == 0) return nothing();
  GlobalPoolArguments a{};
  a.n = static_cast<std::int32_t>(x[0]), a.pixels = static_cast<std::int32_t>(x[2] * x[3]);
  a.x_pixel = static_cast<std::int32_t>(problem.input_pixel(0));
  a.average = std::get<GlobalPool>(problem.node.op).kind == GlobalPool::Kind::average;
  const void* from = at.input(0);
  const bool wide = is_wide(kernel.type, x[1], {a.x_pixel}, {from, at.outputs[0]});
  a.packs = static_cast<std::int32_t>(x[1] / (wide ? pack_elements(kernel.type) : 1));
  const int blocks = a.n * ((a.packs + kGlobalPoolPacks - 1) / kGlobalPoolPacks);
  constexpr int kLanes = kGlobalPoolThreads / kGlobalPoolPacks, kMostParts = 8;
  a.parts = 1;
  while (a.parts < kMostParts && a.parts * 2 * kLanes <= a.pixels &&
         blocks * a.parts < 2 * problem.machine.gpu().multiprocessors)
    a.parts *= 2;
  return launch_of(device.library.function(
                       Binary::pool, fmt::format("global_pool_{}{}", short_name(kernel.type), wide ? "_wide" : "")),
                   {.blocks = blocks * a.parts, .threads = kGlobalPoolThreads, .cluster = a.parts, .early_start = true},
                   from, at.outputs[0], a);
}

}  // namespace

std::vector<CudaKernel> pool_kernels() {
  struct Row {
    std::string_view name;
    ElementType type;
  };
  std::vector<CudaKernel> out;
  for (const Row& row : std::initializer_list<Row>{{"pool_f16", ElementType::float16},
                                                   {"pool_bf16", ElementType::bfloat16},
                                                   {"pool_f32", ElementType::float32}})
    for (const std::string_view op : {MaxPool::kName, AveragePool::kName})
      out.push_back(
          {.info = {.name = row.name, .op = op, .type = row.type, .consider = consider_pool}, .prepare = prepare_pool});
  for (const Row& row : std::initializer_list<Row>{{"global_pool_f16", ElementType::float16},
                                                   {"global_pool_bf16", ElementType::bfloat16},
                                                   {"global_pool_f32", ElementType::float32}})
    out.push_back({.info = {.name = row.name, .op = GlobalPool::kName, .type = row.type, .consider = consider_global},
                   .prepare = prepare_global});
  return out;
}

}  // namespace tessera::cuda
