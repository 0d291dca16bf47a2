// Attention: on tensor cores for 16-bit types with channels in eights, and a kernel for every shape.

#include "tessera/core/error.h"
#include "tessera/targets/cuda/kernels/attention/attention_arguments.h"
#include "tessera/targets/cuda/kernels/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <string>

namespace tessera::cuda {
namespace {

constexpr int kMostDepth = 128;

bool is_packed(const Problem& problem) { return !problem.has(1); }

AttentionArguments arguments_of(const Problem& problem) {
  const auto& op = std::get<Attention>(problem.node.op);
  const bool packed = is_packed(problem);
  const Shape q = problem.input(0).shape(), k = problem.input(packed ? 0 : 1).shape(),
              v = problem.input(packed ? 0 : 2).shape(), y = problem.output().shape();
  AttentionArguments a{};
  a.heads = static_cast<std::int32_t>(op.heads);
  a.queries = static_cast<std::int32_t>(q[1]);
  a.keys = static_cast<std::int32_t>(k[1]);
  a.depth = static_cast<std::int32_t>(q[2] / op.heads / (packed ? 3 : 1));
  a.width = static_cast<std::int32_t>(y[2] / op.heads);
  a.q_pitch = q[2], a.k_pitch = k[2], a.v_pitch = v[2], a.y_pitch = y[2];
  a.q_batch = q[1] * q[2], a.k_batch = k[1] * k[2], a.v_batch = v[1] * v[2], a.y_batch = y[1] * y[2];
  a.scale = op.scale;
  a.bias_batches = 1;
  if (problem.has(3)) {
    const Shape b = problem.input(3).shape();
    a.bias_batches = static_cast<std::int32_t>(b[0]);
    a.bias_key = b[3] == 1 ? 0 : 1;
    a.bias_query = b[2] == 1 ? 0 : b[3];
    a.bias_head = b[1] == 1 ? 0 : b[2] * b[3];
    a.bias_batch = b[1] * b[2] * b[3];
  }
  return a;
}

// Warps of a block: as many as share keys without leaving multiprocessors idle.
int warps_of(const AttentionArguments& a, std::int64_t batch, const GpuSpec& gpu) {
  const auto blocks = [&](int warps) { return batch * a.heads * ((a.queries + warps * 16 - 1) / (warps * 16)); };
  for (const int warps : {4, 2})
    if (a.queries > (warps / 2) * 16 && blocks(warps) >= gpu.multiprocessors) return warps;
  return a.queries > 16 ? 2 : 1;
}

int tile_depth(const AttentionArguments& a) { return (std::max(a.depth, a.width) + 31) / 32 * 32; }

std::int64_t batch_of(const Problem& problem) { return problem.input(0).shape()[0]; }

Offer offer_of(const Problem& problem, double rate, double step_seconds) {
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.outputs = {Order::row_major};
  const Work all = work(problem.graph, problem.node);
  const Estimate moving = streaming_estimate(problem.machine.gpu(), all.read_bytes + all.write_bytes);
  const double multiplying = all.flops / rate;
  offer.estimate = {moving.seconds + multiplying + step_seconds,
                    multiplying > moving.seconds ? std::string_view("tensor cores") : moving.bound};
  return offer;
}

Answer consider_tiles(const KernelInfo& kernel, const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  if (auto refusal = refuse_types(problem, kernel.type)) return *refusal;
  const AttentionArguments a = arguments_of(problem);
  if (a.depth % 8 != 0 || a.width % 8 != 0)
    return Refusal{fmt::format("{} and {} channels of a head are no multiples of 8", a.depth, a.width)};
  if (tile_depth(a) > kMostDepth)
    return Refusal{fmt::format("{} channels of a head, takes up to {}", std::max(a.depth, a.width), kMostDepth)};
  // What a warp reaches of the tensor cores; and each tile of keys is waited for.
  constexpr double kFlopPerSecond = 180e12, kTileSeconds = 0.6e-6;
  return offer_of(problem, kFlopPerSecond, (a.keys + kKeyTile - 1) / kKeyTile * kTileSeconds);
}

Answer consider_direct(const KernelInfo& kernel, const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  if (auto refusal = refuse_types(problem, kernel.type)) return *refusal;
  const AttentionArguments a = arguments_of(problem);
  if ((a.depth + a.width) * 4 * kDirectWarps > 48 * 1024) return Refusal{"rows that do not fit shared memory"};
  constexpr double kFlopPerSecond = 2e12;
  return offer_of(problem, kFlopPerSecond, a.keys * 20e-9);
}

struct Pointers {
  const void *q, *k, *v, *bias;
};

Pointers pointers_of(const Problem& problem, const AttentionArguments& a, ElementType type, const StepAddresses& at) {
  Pointers p{at.input(0), nullptr, nullptr, problem.has(3) ? at.input(3) : nullptr};
  if (is_packed(problem)) {
    const auto* const bytes = static_cast<const std::byte*>(p.q);
    const std::int64_t part = std::int64_t{a.heads} * a.depth * element_bytes(type);
    p.k = bytes + part;
    p.v = bytes + 2 * part;
  } else {
    p.k = at.input(1);
    p.v = at.input(2);
  }
  return p;
}

Launch prepare_tiles(const KernelInfo& kernel, const Problem& problem, const Offer&, Device& device,
                     const StepAddresses& at) {
  const AttentionArguments a = arguments_of(problem);
  if (problem.output().shape().volume() == 0) return nothing();
  const Pointers p = pointers_of(problem, a, kernel.type, at);
  const int warps = warps_of(a, batch_of(problem), problem.machine.gpu()), depth = tile_depth(a);
  const std::int64_t tiles = (a.queries + warps * 16 - 1) / (warps * 16);
  const std::int64_t blocks = batch_of(problem) * a.heads * tiles;
  const bool few = blocks <= problem.machine.gpu().multiprocessors;
  const int most_tiles = few ? kKeyTilesOfFew : kKeyTilesOfMany;
  const int key_tiles = std::min((a.keys + kKeyTile - 1) / kKeyTile, most_tiles);
  const int shared_bytes = (2 * key_tiles * kKeyTile + warps * 16) * (depth + 8) * 2;
  const Function function = device.library.function(
      Binary::attention, fmt::format("attention_{}_{}{}", short_name(kernel.type), depth, few ? "_few" : ""));
  // Launches of other shapes share the function, and its limit is that of the last who asked.
  constexpr int kMostWarps = 4;
  function.allow_shared_bytes((2 * most_tiles * kKeyTile + kMostWarps * 16) * (depth + 8) * 2);
  return launch_of(
      function,
      {.blocks = blocks_for(blocks, 1), .threads = warps * 32, .shared_bytes = shared_bytes, .early_start = true}, p.q,
      p.k, p.v, p.bias, at.outputs[0], a);
}

Launch prepare_direct(const KernelInfo& kernel, const Problem& problem, const Offer&, Device& device,
                      const StepAddresses& at) {
  const AttentionArguments a = arguments_of(problem);
  if (problem.output().shape().volume() == 0) return nothing();
  const Pointers p = pointers_of(problem, a, kernel.type, at);
  const std::int64_t tiles = (a.queries + kDirectWarps - 1) / kDirectWarps;
  return launch_of(
      device.library.function(Binary::attention, fmt::format("attention_{}_direct", short_name(kernel.type))),
      {.blocks = blocks_for(batch_of(problem) * a.heads * tiles, 1),
       .threads = kDirectWarps * 32,
       .shared_bytes = (a.depth + a.width) * 4 * kDirectWarps,
       .early_start = true},
      p.q, p.k, p.v, p.bias, at.outputs[0], a);
}

}  // namespace

std::vector<CudaKernel> attention_kernels() {
  static std::list<std::string> names;  // KernelInfo keeps views
  std::vector<CudaKernel> out;
  for (const ElementType type : {ElementType::float16, ElementType::bfloat16, ElementType::float32}) {
    if (type != ElementType::float32) {
      names.push_back(fmt::format("attention_{}", short_name(type)));
      out.push_back({.info = {.name = names.back(), .op = Attention::kName, .type = type, .consider = consider_tiles},
                     .prepare = prepare_tiles});
    }
    names.push_back(fmt::format("attention_{}_direct", short_name(type)));
    out.push_back({.info = {.name = names.back(), .op = Attention::kName, .type = type, .consider = consider_direct},
                   .prepare = prepare_direct});
  }
  return out;
}

}  // namespace tessera::cuda
