// MaxPool and AveragePool, channels last, vectorised over channels.

#include "tessera/targets/cpu/kernels/pool/pool.h"

#include "tessera/core/parallel_for.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/quantize/quantize_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace tessera::cpu {
namespace {

constexpr double kEfficiency = 0.1;               // of the peak: one load and up to three instructions for each tap
constexpr std::int64_t kGrainElements = 1 << 15;  // less is not worth a thread

struct PoolOp {
  Window window;
  bool ceil_mode = false, max = true, count_padding = false;
};

PoolOp pool_of(const Op& op) {
  if (const auto* max = std::get_if<MaxPool>(&op)) return {max->window, max->ceil_mode, true, false};
  const auto& average = std::get<AveragePool>(op);
  return {average.window, average.ceil_mode, false, average.count_include_pad};
}

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const TensorType& x = problem.input(0);
  if (x.type != kernel.type) return Refusal{fmt::format("stores {}, the input is {}", name(kernel.type), name(x.type))};
  if (x.rank() != 3 && x.rank() != 4) return Refusal{fmt::format("for rank 3 and 4, not {}", x.rank())};
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  const auto* max = std::get_if<MaxPool>(&problem.node.op);
  if (max != nullptr && max->with_indices) return Refusal{"indices are asked for"};
  Offer offer;
  offer.inputs = {Order::channels_last};
  offer.outputs = {Order::channels_last};
  offer.wide_inputs = offer.wide_outputs = element_bytes(kernel.type) > 1;
  const Work w = work(problem.graph, problem.node);
  offer.estimate = estimate(problem, kernel.isa, w.flops, w.read_bytes + w.write_bytes, kEfficiency);
  return offer;
}

std::vector<PoolSpan> spans(const ResolvedWindow& window, std::size_t d, std::int64_t extent) {
  const std::int64_t dilation = window.dilations[d];
  std::vector<PoolSpan> out;
  for (std::int64_t o = 0; o < window.output[d]; ++o) {
    const std::int64_t first = o * window.strides[d] - window.begins[d];
    const auto taps_to = [&](std::int64_t distance) {
      return std::clamp<std::int64_t>(ceil_div(distance, dilation), 0, window.kernel[d]);
    };
    const std::int64_t low = first >= 0 ? 0 : ceil_div(-first, dilation);
    const std::int64_t high = first >= extent ? 0 : taps_to(extent - first);
    out.push_back({first + low * dilation, std::max<std::int64_t>(high - low, 0),
                   std::max<std::int64_t>(taps_to(std::max<std::int64_t>(extent + window.ends[d] - first, 0)), 0)});
  }
  return out;
}

PoolKernel function_of(Isa isa, ElementType type) {
  if (element_bytes(type) == 1) return TSR_FOR_ISA(isa, max_pool_bytes);
  return TSR_FOR_ISA(isa, pool);
}

Runner prepare(const KernelInfo& kernel, const Problem& problem, const Offer&, WeightCache&) {
  struct State {
    PoolJob job;
    std::vector<PoolSpan> rows, columns;
    std::int64_t units = 0, grain = 1;
    PoolKernel run = nullptr;
  };
  auto state = std::make_shared<State>();
  PoolJob& job = state->job;
  const PoolOp op = pool_of(problem.node.op);
  const Shape x = problem.input(0).shape();
  const bool flat = x.rank() == 3;
  const ResolvedWindow window = resolve(op.window, {x.begin() + 2, x.end()}, op.ceil_mode, name(problem.node.op));
  const std::size_t last = window.kernel.size() - 1;
  job.max = op.max;
  job.count_padding = op.count_padding;
  job.bf16 = kernel.type == ElementType::bfloat16;
  job.has_sign = kernel.type == ElementType::int8;
  job.channels = x[1];
  job.x_pixel = problem.input_pixel(0);
  job.y_pixel = problem.output_pixel();
  job.height = flat ? 1 : x[2];
  job.width = x[-1];
  job.out_height = flat ? 1 : window.output[0];
  job.out_width = window.output[last];
  job.dilation_h = flat ? 1 : window.dilations[0];
  job.dilation_w = window.dilations[last];
  state->rows = flat ? std::vector<PoolSpan>{{0, 1, 1}} : spans(window, 0, job.height);
  state->columns = spans(window, last, job.width);
  job.rows = state->rows.data();
  job.columns = state->columns.data();
  state->run = function_of(kernel.isa, kernel.type);
  state->units = x[0] * job.out_height;
  std::int64_t taps = 1;
  for (const std::int64_t k : window.kernel) taps *= k;
  state->grain =
      std::max<std::int64_t>(1, kGrainElements / std::max<std::int64_t>(1, job.out_width * job.channels * taps));
  return [state](const StepArgs& args) {
    PoolJob mine = state->job;
    mine.x = args.inputs[0];
    mine.y = args.outputs[0];
    parallel_for(state->units, state->grain,
                 [&](std::int64_t begin, std::int64_t end) { state->run(mine, begin, end); });
  };
}

constexpr CpuKernel kernel(std::string_view name, std::string_view op, Isa isa, ElementType type) {
  return {{.name = name,
           .op = op,
           .isa = isa,
           .type = type,
           .m = 1,
           .n = isa == Isa::avx512 ? 64
                : isa == Isa::avx2 ? 32
                                   : 16,
           .consider = consider},
          prepare};
}

constexpr CpuKernel kKernels[] = {
#if defined(__x86_64__)
    kernel("max_pool_f32_avx512", MaxPool::kName, Isa::avx512, ElementType::float32),
    kernel("max_pool_bf16_avx512", MaxPool::kName, Isa::avx512, ElementType::bfloat16),
    kernel("average_pool_f32_avx512", AveragePool::kName, Isa::avx512, ElementType::float32),
    kernel("average_pool_bf16_avx512", AveragePool::kName, Isa::avx512, ElementType::bfloat16),
    kernel("max_pool_f32_avx2", MaxPool::kName, Isa::avx2, ElementType::float32),
    kernel("max_pool_bf16_avx2", MaxPool::kName, Isa::avx2, ElementType::bfloat16),
    kernel("average_pool_f32_avx2", AveragePool::kName, Isa::avx2, ElementType::float32),
    kernel("average_pool_bf16_avx2", AveragePool::kName, Isa::avx2, ElementType::bfloat16),
    kernel("max_pool_i8_avx512", MaxPool::kName, Isa::avx512, ElementType::int8),
    kernel("max_pool_u8_avx512", MaxPool::kName, Isa::avx512, ElementType::uint8),
    kernel("max_pool_i8_avx2", MaxPool::kName, Isa::avx2, ElementType::int8),
    kernel("max_pool_u8_avx2", MaxPool::kName, Isa::avx2, ElementType::uint8),
#endif
    kernel("max_pool_f32", MaxPool::kName, Isa::portable, ElementType::float32),
    kernel("max_pool_bf16", MaxPool::kName, Isa::portable, ElementType::bfloat16),
    kernel("average_pool_f32", AveragePool::kName, Isa::portable, ElementType::float32),
    kernel("average_pool_bf16", AveragePool::kName, Isa::portable, ElementType::bfloat16),
    kernel("max_pool_i8", MaxPool::kName, Isa::portable, ElementType::int8),
    kernel("max_pool_u8", MaxPool::kName, Isa::portable, ElementType::uint8),
};

}  // namespace

std::span<const CpuKernel> pool_kernels() { return kKernels; }

}  // namespace tessera::cpu
