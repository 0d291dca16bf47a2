// Convolutions that keep channels apart, over planes (row_major), vectorised over pixels: where input and result lie so
// that channels last would cost two conversions, each as long as the convolution.

#include "tessera/backends/cpu/internal/depthwise_planar.h"

#include "tessera/backends/cpu/internal/depthwise_setup.h"
#include "tessera/backends/cpu/internal/families.h"
#include "tessera/core/parallel_for.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace tessera::cpu {
namespace {

constexpr double kEfficiency = 0.25;           // of the peak: a load for each product
constexpr std::int64_t kGrainFlops = 1 << 17;  // less is not worth a thread
constexpr std::int64_t kMostRows = 16;         // of the result that one copy of rows serves
constexpr std::int64_t kVectorPixels = 16;     // of the widest vectors

// How the rows of a plane are copied; nothing if they do not fit.
std::optional<DepthwisePlanarJob> planar_job(const Problem& problem) {
  DepthwisePlanarJob planar;
  planar.job = depthwise_job(std::get<Conv>(problem.node.op), problem.input(0).shape(), problem.input(1).shape(),
                             problem.op_output().shape());
  const DepthwiseJob& job = planar.job;
  const std::int64_t reach = (job.kernel_w - 1) * job.dilation_w;
  planar.phases = std::min(job.stride_w, reach + 1);
  planar.phase_pixels = round_up(job.out_width, kVectorPixels) + reach / job.stride_w;
  const std::int64_t window = (job.kernel_h - 1) * job.dilation_h + 1,
                     fit = kPlanarElements / (planar.phases * planar.phase_pixels);
  if (fit < window) return std::nullopt;
  planar.strip = std::clamp<std::int64_t>((fit - window) / job.stride_h + 1, 1, std::min(kMostRows, job.out_height));
  return planar;
}

bool all_finite(const Array& array) {
  const auto values = array.as<float>();
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const Conv& op = std::get<Conv>(problem.node.op);
  const TensorType& x = problem.input(0);
  if (x.type != kernel.type) return Refusal{fmt::format("stores {}, the input is {}", name(kernel.type), name(x.type))};
  if (x.rank() != 3 && x.rank() != 4) return Refusal{fmt::format("for rank 3 and 4, not {}", x.rank())};
  const Shape shape = x.shape(), w = problem.input(1).shape();
  if (!is_depthwise(op, shape, w))
    return Refusal{fmt::format("{} channels in {} groups make {} outputs: not one each", shape[1], op.groups, w[0])};
  const std::vector<ValueId>& outputs = problem.graph.outputs;
  if (std::find(outputs.begin(), outputs.end(), problem.node.outputs[0]) == outputs.end())
    return Refusal{"what reads the result is quicker with channels last"};
  if (problem.constant(1) == nullptr) return Refusal{"the weights are not constant"};
  if (!all_finite(*problem.constant(1))) return Refusal{"weights that are not finite would meet the padding"};
  if (problem.node.op_inputs() > 2 && problem.has(2) && problem.constant(2) == nullptr)
    return Refusal{"the bias is not constant"};
  const auto epilogue = read_epilogue(problem);
  if (const auto* refusal = std::get_if<Refusal>(&epilogue)) return *refusal;
  if (std::get<Epilogue>(epilogue).pool != nullptr) return Refusal{"a pool is fused"};
  if (x.shape().volume() == 0 || problem.op_output().shape().volume() == 0) return Refusal{"nothing to compute"};
  const auto planar = planar_job(problem);
  if (!planar) return Refusal{fmt::format("rows of {} pixels are too long to copy", shape[-1])};
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.outputs = {Order::row_major};
  const Work w0 = work(problem.graph, problem.node);
  const double width = static_cast<double>(planar->job.out_width);
  const double useful = width / static_cast<double>(round_up(planar->job.out_width, kVectorPixels));
  offer.estimate = estimate(problem, kernel.isa, w0.flops, w0.read_bytes + w0.write_bytes, useful * kEfficiency);
  return offer;
}

Runner prepare(const KernelInfo& kernel, const Problem& problem, const Offer&, WeightCache&) {
  struct State {
    DepthwisePlanarJob planar;
    std::vector<float> weights, bias;
    int residual = -1;
    std::int64_t grain = 1;
    decltype(&portable::depthwise_planar) run = nullptr;
  };
  auto state = std::make_shared<State>();
  state->planar = *planar_job(problem);
  DepthwiseJob& job = state->planar.job;
  const auto weights = problem.constant(1)->as<float>();
  state->weights.assign(weights.begin(), weights.end());
  job.weights = state->weights.data();
  state->bias = depthwise_bias(problem.node.op_inputs() > 2 ? problem.constant(2) : nullptr, job.channels);
  job.bias = state->bias.data();
  const Epilogue epilogue = std::get<Epilogue>(read_epilogue(problem));
  set_epilogue(epilogue, job);
  state->residual = epilogue.residual;
  state->run = TSR_FOR_ISA(kernel.isa, depthwise_planar);
  const std::int64_t flops = 2 * job.kernel_h * job.kernel_w * job.out_width * job.out_height;
  state->grain = std::max<std::int64_t>(1, kGrainFlops / std::max<std::int64_t>(flops, 1));
  return [state](const StepArgs& args) {
    DepthwisePlanarJob mine = state->planar;
    mine.job.x = args.inputs[0];
    mine.job.residual = state->residual < 0 ? nullptr : args.inputs[static_cast<std::size_t>(state->residual)];
    mine.job.y = args.outputs[0];
    parallel_for(mine.job.batch * mine.job.channels, state->grain,
                 [&](std::int64_t begin, std::int64_t end) { state->run(mine, begin, end); });
  };
}

constexpr CpuKernel kernel(std::string_view name, Isa isa) {
  return {{.name = name, .op = Conv::kName, .isa = isa, .type = ElementType::float32, .consider = consider}, prepare};
}

constexpr CpuKernel kKernels[] = {
#if defined(__x86_64__)
    kernel("depthwise_planar_f32_avx512", Isa::avx512),
    kernel("depthwise_planar_f32_avx2", Isa::avx2),
#endif
    kernel("depthwise_planar_f32_portable", Isa::portable),
};

}  // namespace

std::span<const CpuKernel> depthwise_planar_kernels() { return kKernels; }

}  // namespace tessera::cpu
