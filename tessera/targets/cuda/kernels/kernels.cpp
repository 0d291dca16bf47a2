#include "tessera/core/error.h"
#include "tessera/core/float_bits.h"
#include "tessera/targets/cuda/kernels/families.h"
#include "tessera/targets/cuda/kernels/kernel.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::cuda {

std::span<const CudaKernel> kernels() {
  static const std::vector<CudaKernel> all = [] {
    std::vector<CudaKernel> out;
    for (const auto& family :
         {conv2d_kernels(), gemv_kernels(), depthwise_kernels(), conv_transpose_kernels(), pool_kernels(),
          elementwise_kernels(), resize_kernels(), row_kernels(), move_kernels(), part_kernels(), reduce_kernels(),
          matmul_kernels(), attention_kernels(), channel_norm_kernels(), choice_kernels()})
      out.insert(out.end(), family.begin(), family.end());
    return out;
  }();
  return all;
}

std::shared_ptr<const Memory> WeightStore::get(const std::shared_ptr<const Array>& constant, const std::string& key,
                                               const std::function<std::vector<std::byte>(const Array&)>& pack) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[{constant.get(), key}];
  if (entry.constant.lock() == constant)
    if (auto held = entry.memory.lock()) return held;
  auto made = std::make_shared<const Memory>(context_, pack(constant->loaded()));
  entry = {constant, made};
  return made;
}

std::int64_t WeightStore::bytes() const {
  const std::lock_guard lock(mutex_);
  std::int64_t sum = 0;
  for (const auto& [key, entry] : entries_)
    if (const auto held = entry.memory.lock()) sum += held->bytes();
  return sum;
}

std::string_view short_name(ElementType type) {
  switch (type) {
    case ElementType::float16: return "f16";
    case ElementType::bfloat16: return "bf16";
    case ElementType::float32: return "f32";
    default: fail(Code::internal, "cuda: there are no kernels for {}", name(type));
  }
}

std::optional<Refusal> refuse_types(const Problem& problem, ElementType type) {
  const auto refuse = [&](const TensorType& found) {
    return Refusal{fmt::format("is for {}, there is {}", name(type), name(found.type))};
  };
  if (problem.output().type != type) return refuse(problem.output());
  if (problem.op_output().type != type) return refuse(problem.op_output());
  for (std::size_t i = 0; i < problem.node.inputs.size(); ++i)
    if (problem.has(i) && !problem.constant(i) && problem.input(i).type != type) return refuse(problem.input(i));
  return std::nullopt;
}

// Fitted to nothing yet but the launches of conv2d's model: what such kernels reach is in docs/cuda.md.
Estimate streaming_estimate(const GpuSpec& gpu, double bytes) {
  constexpr double kLaunchSeconds = 1.6e-6, kLatencySeconds = 1.0e-6, kAchieved = 0.8, kCacheOverMemory = 1.8;
  double rate = gpu.memory_achieved_bytes_per_s.value_or(gpu.memory_bytes_per_s) * kAchieved;
  if (bytes < static_cast<double>(gpu.l2_bytes) / 2) rate *= kCacheOverMemory;
  const double moving = bytes / rate;
  return {kLaunchSeconds + kLatencySeconds + moving,
          moving > kLaunchSeconds + kLatencySeconds ? std::string_view("memory") : std::string_view("latency")};
}

Estimate streaming_estimate(const Problem& problem) {
  const Work all = work(problem.graph, problem.node);
  return streaming_estimate(problem.machine.gpu(), all.read_bytes + all.write_bytes);
}

std::vector<std::byte> rounded_to(ElementType type, std::span<const float> values) {
  if (type == ElementType::float32) {
    const auto bytes = std::as_bytes(values);
    return {bytes.begin(), bytes.end()};
  }
  std::vector<std::byte> out(values.size() * 2);
  auto* const halves = reinterpret_cast<std::uint16_t*>(out.data());
  std::ranges::transform(values, halves, [&](float x) {
    return type == ElementType::float16 ? float16_from_float(x) : bfloat16_from_float_host(x);
  });
  return out;
}

std::vector<float> floats_of(const Array& array) {
  std::vector<float> out(static_cast<std::size_t>(array.count()));
  const std::byte* bytes = array.bytes().data();
  const auto* halves = reinterpret_cast<const std::uint16_t*>(bytes);
  switch (array.type()) {
    case ElementType::float32: std::memcpy(out.data(), bytes, out.size() * 4); break;
    case ElementType::float16: std::transform(halves, halves + out.size(), out.begin(), float_from_float16); break;
    case ElementType::bfloat16: std::transform(halves, halves + out.size(), out.begin(), float_from_bfloat16); break;
    default: {
      const std::vector<double> values = array.to_double();
      std::ranges::transform(values, out.begin(), [](double x) { return static_cast<float>(x); });
    }
  }
  return out;
}

int blocks_for(std::int64_t items, int threads) {
  const std::int64_t blocks = (items + threads - 1) / threads;
  check(blocks <= 0x7fffffff, Code::unsupported, "cuda: {} results are more than one kernel can be launched for",
        items);
  return static_cast<int>(blocks);
}

}  // namespace tessera::cuda
