// Convolutions that keep channels apart, on planes (row_major), vectorised along their rows. For a layer whose
// neighbours are row_major: around the kernels of depthwise.cpp, changing the order of what goes in and out would take
// longer than the work itself.

#include "tessera/targets/cpu/kernels/depthwise/depthwise_planes.h"

#include "tessera/core/parallel_for.h"
#include "tessera/targets/cpu/kernels/dense/conv2d.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/flush.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

namespace tessera::cpu {
namespace {

constexpr std::int64_t kGrainFlops = 1 << 17;  // less is not worth a thread
constexpr std::int64_t kChunkRows = 4;         // at least, when planes are cut

// Of the peak: lanes that are used, times what loads across cache lines leave. Measured.
double efficiency(const Conv2dShape& s, Isa isa) {
  const std::int64_t lanes = isa == Isa::portable ? 4 : isa == Isa::avx2 ? 8 : 16;
  const double used = static_cast<double>(s.ow) / static_cast<double>(round_up(s.ow, lanes));
  const bool unrolled = s.kh == s.kw && s.stride_h == s.stride_w && (s.kw == 3 || s.kw == 5 || s.kw == 7);
  return used * (!unrolled ? 0.1 : s.stride_w == 1 ? 0.6 : 0.3);
}

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const auto read = read_conv2d(problem);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return *refusal;
  const Conv2dShape& s = std::get<Conv2dShape>(read);
  if (problem.input(0).type != kernel.type)
    return Refusal{fmt::format("stores {}, the input is {}", name(kernel.type), name(problem.input(0).type))};
  if (s.groups != s.ic || s.oc != s.ic)
    return Refusal{fmt::format("{} channels in {} groups make {} outputs: not one each", s.ic, s.groups, s.oc)};
  if (auto refusal = refuse_inner_planes(problem)) return *refusal;
  if (s.dilation_h != 1 || s.dilation_w != 1)
    return Refusal{fmt::format("dilation {}x{}, not 1", s.dilation_h, s.dilation_w)};
  if (s.stride_w > 2) return Refusal{fmt::format("every {}th pixel of a row, not every one or second", s.stride_w)};
  if (problem.constant(1) == nullptr) return Refusal{"the weights are not constant"};
  if (problem.node.op_inputs() > 2 && problem.has(2) && problem.constant(2) == nullptr)
    return Refusal{"the bias is not constant"};
  if (!all_finite(*problem.constant(1))) return Refusal{"a weight is not finite: padding is multiplied by it"};
  const auto read_fused = read_epilogue(problem);
  if (const auto* refusal = std::get_if<Refusal>(&read_fused)) return *refusal;
  if (std::get<Epilogue>(read_fused).pool != nullptr) return Refusal{"a pool is fused"};
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.outputs = {Order::row_major};
  const Work w = work(problem.graph, problem.node);
  offer.estimate = estimate(problem, kernel.isa, w.flops, w.read_bytes + w.write_bytes, efficiency(s, kernel.isa));
  return offer;
}

Runner prepare(const KernelInfo& kernel, const Problem& problem, const Offer&, WeightCache& weights) {
  struct State {
    DepthwisePlanesJob job;
    std::shared_ptr<const PackedWeights> weights;
    std::vector<float> bias;
    int residual = -1;
    std::int64_t units = 0, grain = 1;
    void (*run)(const DepthwisePlanesJob& job, std::int64_t begin, std::int64_t end) = nullptr;
  };
  auto state = std::make_shared<State>();
  DepthwisePlanesJob& job = state->job;
  const Conv2dShape s = std::get<Conv2dShape>(read_conv2d(problem));
  job.channels = s.ic, job.height = s.h, job.width = s.w, job.out_height = s.oh, job.out_width = s.ow;
  job.kernel_h = s.kh, job.kernel_w = s.kw, job.stride_h = s.stride_h, job.stride_w = s.stride_w;
  job.top = s.top, job.left = s.left;
  const Flush flush{!problem.exact};
  state->weights =
      weights.get(problem.graph.value(problem.node.inputs[1]).constant,
                  fmt::format("depthwise_planes flush={}", flush.on), [&](const Array& array) {
                    const std::span<const float> from = array.as<float>();
                    PackedWeights packed(from.size_bytes());
                    std::transform(from.begin(), from.end(), reinterpret_cast<float*>(packed.data()), flush);
                    return packed;
                  });
  job.weights = reinterpret_cast<const float*>(state->weights->data());
  state->bias.assign(static_cast<std::size_t>(s.ic), 0.0f);
  if (problem.node.op_inputs() > 2 && problem.has(2)) {
    const std::vector<double> values = problem.constant(2)->to_double();
    std::transform(values.begin(), values.end(), state->bias.begin(), [](double v) { return static_cast<float>(v); });
  }
  job.bias = state->bias.data();
  const Epilogue epilogue = std::get<Epilogue>(read_epilogue(problem));
  job.epilogue = dense_epilogue(epilogue);
  state->residual = epilogue.residual;
  state->run = TSR_FOR_ISA(kernel.isa, depthwise_planes);

  const std::int64_t planes = s.n * s.ic, wanted = 4 * problem.threads;
  if (planes < wanted) job.chunks = std::clamp<std::int64_t>(s.oh / kChunkRows, 1, ceil_div(wanted, planes));
  job.chunk = round_up(ceil_div(s.oh, job.chunks), kChunkRows);
  job.chunks = ceil_div(s.oh, job.chunk);
  state->units = planes * job.chunks;
  const std::int64_t flops = 2 * s.kh * s.kw * s.oh * s.ow / job.chunks;
  state->grain = std::max<std::int64_t>(1, kGrainFlops / std::max<std::int64_t>(flops, 1));
  return [state](const StepArgs& args) {
    DepthwisePlanesJob mine = state->job;
    mine.x = args.input<float>(0);
    mine.residual = state->residual < 0 ? nullptr : args.input<float>(static_cast<std::size_t>(state->residual));
    mine.y = args.output<float>();
    parallel_for(state->units, state->grain,
                 [&](std::int64_t begin, std::int64_t end) { state->run(mine, begin, end); });
  };
}

constexpr CpuKernel kernel(std::string_view name, Isa isa, int lanes) {
  return {{.name = name,
           .op = Conv::kName,
           .isa = isa,
           .type = ElementType::float32,
           .m = 4,
           .n = lanes,
           .consider = consider},
          prepare};
}

constexpr CpuKernel kKernels[] = {
#if defined(__x86_64__)
    kernel("depthwise_planes_f32_4x16_avx512", Isa::avx512, 16),
    kernel("depthwise_planes_f32_4x8_avx2", Isa::avx2, 8),
#endif
    kernel("depthwise_planes_f32_4x4", Isa::portable, 4),
};

}  // namespace

std::span<const CpuKernel> depthwise_planes_kernels() { return kKernels; }

}  // namespace tessera::cpu
