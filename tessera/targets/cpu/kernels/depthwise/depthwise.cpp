// Convolutions that keep channels apart (groups = channels = outputs), channels last, vectorised over channels.

#include "tessera/targets/cpu/kernels/depthwise/depthwise_setup.h"

#include "tessera/core/parallel_for.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/flush.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace tessera::cpu {
namespace {

constexpr std::int64_t kChunk = 64;            // channels that one thread takes at least
constexpr double kEfficiency = 0.25;           // of the peak: two loads for three products
constexpr std::int64_t kGrainFlops = 1 << 17;  // less is not worth a thread

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const Conv& op = std::get<Conv>(problem.node.op);
  const TensorType& x = problem.input(0);
  if (x.type != kernel.type) return Refusal{fmt::format("stores {}, the input is {}", name(kernel.type), name(x.type))};
  if (x.rank() != 3 && x.rank() != 4) return Refusal{fmt::format("for rank 3 and 4, not {}", x.rank())};
  const Shape shape = x.shape(), w = problem.input(1).shape();
  if (!is_depthwise(op, shape, w))
    return Refusal{fmt::format("{} channels in {} groups make {} outputs: not one each", shape[1], op.groups, w[0])};
  if (problem.constant(1) == nullptr) return Refusal{"the weights are not constant"};
  if (problem.node.op_inputs() > 2 && problem.has(2) && problem.constant(2) == nullptr)
    return Refusal{"the bias is not constant"};
  const auto epilogue = read_epilogue(problem);
  if (const auto* refusal = std::get_if<Refusal>(&epilogue)) return *refusal;
  if (std::get<Epilogue>(epilogue).pool != nullptr) return Refusal{"a pool is fused"};
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.inputs[0] = Order::channels_last;
  if (const int residual = std::get<Epilogue>(epilogue).residual; residual >= 0)
    offer.inputs[static_cast<std::size_t>(residual)] = Order::channels_last;
  offer.outputs = {Order::channels_last};
  const Work w0 = work(problem.graph, problem.node);
  offer.estimate = estimate(problem, kernel.isa, w0.flops, w0.read_bytes + w0.write_bytes, kEfficiency);
  return offer;
}

PackedWeights pack(const Array& w, Flush flush) {
  const std::int64_t channels = w.shape()[0], taps = w.count() / std::max<std::int64_t>(channels, 1);
  PackedWeights packed(static_cast<std::size_t>(std::max<std::int64_t>(w.count(), 1)) * sizeof(float));
  auto* to = reinterpret_cast<float*>(packed.data());
  visit_floating_type(w.type(), Conv::kName, [&](auto tag) {
    const auto* from = w.as<typename decltype(tag)::type>().data();
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t t = 0; t < taps; ++t) to[t * channels + c] = flush(static_cast<float>(from[c * taps + t]));
  });
  return packed;
}

Runner prepare(const KernelInfo& kernel, const Problem& problem, const Offer&, WeightCache& weights) {
  struct State {
    DepthwiseJob job;
    std::shared_ptr<const PackedWeights> weights;
    std::vector<float> bias;
    int residual = -1;
    std::int64_t units = 0, grain = 1;
    DepthwiseKernel run = nullptr;
  };
  auto state = std::make_shared<State>();
  DepthwiseJob& job = state->job;
  job = depthwise_job(std::get<Conv>(problem.node.op), problem.input(0).shape(), problem.input(1).shape(),
                      problem.op_output().shape());
  job.bf16 = kernel.type == ElementType::bfloat16;
  state->weights =
      depthwise_weights(problem.graph.value(problem.node.inputs[1]).constant, Flush{!problem.exact}, weights);
  job.weights = reinterpret_cast<const float*>(state->weights->data());
  state->bias = depthwise_bias(problem.node.op_inputs() > 2 ? problem.constant(2) : nullptr, job.channels);
  job.bias = state->bias.data();
  const Epilogue epilogue = std::get<Epilogue>(read_epilogue(problem));
  set_epilogue(epilogue, job);
  state->residual = epilogue.residual;
  state->run = depthwise_function(kernel.isa);

  const std::int64_t rows = job.batch * job.out_height, wanted = 4 * problem.threads;
  job.chunks = 1;
  if (rows > 0 && rows < wanted)
    job.chunks = std::clamp<std::int64_t>(job.channels / kChunk, 1, ceil_div(wanted, rows));
  job.chunk = job.channels / job.chunks / kChunk * kChunk;
  state->units = rows * job.chunks;
  const std::int64_t flops = 2 * job.kernel_h * job.kernel_w * job.out_width * job.channels / job.chunks;
  state->grain = std::max<std::int64_t>(1, kGrainFlops / std::max<std::int64_t>(flops, 1));
  return [state](const StepArgs& args) {
    DepthwiseJob mine = state->job;
    mine.x = args.inputs[0];
    mine.residual = state->residual < 0 ? nullptr : args.inputs[static_cast<std::size_t>(state->residual)];
    mine.y = args.outputs[0];
    parallel_for(state->units, state->grain,
                 [&](std::int64_t begin, std::int64_t end) { state->run(mine, begin, end); });
  };
}

constexpr CpuKernel kernel(std::string_view name, Isa isa, ElementType type) {
  return {{.name = name,
           .op = Conv::kName,
           .isa = isa,
           .type = type,
           .m = isa == Isa::portable ? 1 : 8,
           .n = isa == Isa::avx2 ? 8 : 16,
           .consider = consider},
          prepare};
}

constexpr CpuKernel kKernels[] = {
#if defined(__x86_64__)
    kernel("depthwise_f32_8x16_avx512", Isa::avx512, ElementType::float32),
    kernel("depthwise_bf16_8x16_avx512", Isa::avx512, ElementType::bfloat16),
    kernel("depthwise_f32_8x8_avx2", Isa::avx2, ElementType::float32),
    kernel("depthwise_bf16_8x8_avx2", Isa::avx2, ElementType::bfloat16),
#endif
    kernel("depthwise_f32_1x16", Isa::portable, ElementType::float32),
    kernel("depthwise_bf16_1x16", Isa::portable, ElementType::bfloat16),
};

}  // namespace

bool is_depthwise(const Conv& op, const Shape& x, const Shape& w) { return op.groups == x[1] && w[0] == x[1]; }

DepthwiseJob depthwise_job(const Conv& op, const Shape& x, const Shape& w, const Shape& y) {
  Window resolved = op.window;
  if (resolved.kernel.empty()) resolved.kernel.assign(w.begin() + 2, w.end());
  const ResolvedWindow window = resolve(resolved, {x.begin() + 2, x.end()}, false, Conv::kName);
  const std::size_t last = window.kernel.size() - 1;
  const bool flat = x.rank() == 3;
  DepthwiseJob job;
  job.batch = x[0];
  job.channels = x[1];
  job.height = flat ? 1 : x[2];
  job.width = x[-1];
  job.out_height = flat ? 1 : y[2];
  job.out_width = y[-1];
  job.kernel_w = window.kernel[last];
  job.stride_w = window.strides[last];
  job.dilation_w = window.dilations[last];
  job.left = window.begins[last];
  if (!flat) {
    job.kernel_h = window.kernel[0];
    job.stride_h = window.strides[0];
    job.dilation_h = window.dilations[0];
    job.top = window.begins[0];
  }
  job.chunk = job.channels;
  return job;
}

void set_epilogue(const Epilogue& epilogue, DepthwiseJob& job) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  using Kind = Activation::Kind;
  job.before = epilogue.before;
  job.after = epilogue.after;
  job.low = -kInfinity;
  job.high = kInfinity;
  job.clamps = epilogue.residual < 0 && epilogue.after.kind == Kind::none;
  switch (epilogue.before.kind) {
    case Kind::none: break;
    case Kind::relu: job.low = 0; break;
    case Kind::clip:
      job.low = epilogue.before.alpha;
      job.high = epilogue.before.beta;
      break;
    default: job.clamps = false;
  }
}

DepthwiseKernel depthwise_function(Isa isa) { return TSR_FOR_ISA(isa, depthwise); }

std::shared_ptr<const PackedWeights> depthwise_weights(const std::shared_ptr<const Array>& constant, Flush flush,
                                                       WeightCache& weights) {
  return weights.get(constant, fmt::format("depthwise f32 [kh][kw][c] flush={}", flush.on),
                     [&](const Array& w) { return pack(w, flush); });
}

std::vector<float> depthwise_bias(const Array* bias, std::int64_t channels) {
  std::vector<float> to(static_cast<std::size_t>(channels), 0.0f);
  if (bias == nullptr) return to;
  const std::vector<double> values = bias->to_double();
  std::transform(values.begin(), values.end(), to.begin(), [](double v) { return static_cast<float>(v); });
  return to;
}

std::span<const CpuKernel> depthwise_kernels() { return kKernels; }

}  // namespace tessera::cpu
