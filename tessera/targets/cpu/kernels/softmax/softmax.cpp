// Softmax and its logarithm along any axis, in any order.

#include "tessera/targets/cpu/kernels/softmax/softmax.h"

#include "tessera/core/parallel_for.h"
#include "tessera/targets/cpu/kernels/families.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::cpu {
namespace {

constexpr double kEfficiency = 0.05;              // of the peak, at five operations for each element: e^x takes twenty
constexpr std::int64_t kGrainElements = 1 << 13;  // less is not worth a thread

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const Softmax& op = std::get<Softmax>(problem.node.op);
  const TensorType& x = problem.input(0);
  if (x.type != kernel.type) return Refusal{fmt::format("stores {}, the input is {}", name(kernel.type), name(x.type))};
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  if (x.shape().volume() == 0) return Refusal{"there are no elements"};
  // A row of all axes from one on lies together in row_major, or if it is everything of an image.
  const bool any_order = !op.flatten || normalized_axis(op.axis, x.rank(), Softmax::kName) <= 1;
  Offer offer;
  offer.inputs = {any_order ? problem.orders[0] : Order::row_major};
  offer.outputs = offer.inputs;
  const Work w = work(problem.graph, problem.node);
  offer.estimate = estimate(problem, kernel.isa, w.flops, w.read_bytes + w.write_bytes, kEfficiency);
  return offer;
}

SoftmaxKernel function_of(Isa isa) { return TSR_FOR_ISA(isa, softmax); }

Runner prepare(const KernelInfo& kernel, const Problem& problem, const Offer& offer, WeightCache&) {
  const Softmax& op = std::get<Softmax>(problem.node.op);
  const Shape shape = problem.input(0).shape(), x = stored_shape(shape, offer.inputs[0]);
  const int axis = normalized_axis(op.axis, shape.rank(), Softmax::kName);
  const int at = op.flatten ? axis : stored_axis(axis, shape.rank(), offer.inputs[0]);
  SoftmaxJob job;
  job.log = op.log;
  job.bf16 = kernel.type == ElementType::bfloat16;
  for (int d = 0; d < x.rank(); ++d) (d < at ? job.outer : d == at || op.flatten ? job.length : job.inner) *= x[d];
  job.blocks = ceil_div(job.inner, kSoftmaxBlock);
  const std::int64_t grain =
      std::max<std::int64_t>(1, kGrainElements / (job.length * std::min(job.inner, kSoftmaxBlock)));
  return [job, grain, run = function_of(kernel.isa)](const StepArgs& args) {
    SoftmaxJob mine = job;
    mine.x = args.inputs[0];
    mine.y = args.outputs[0];
    parallel_for(mine.outer * mine.blocks, grain, [&](std::int64_t begin, std::int64_t end) { run(mine, begin, end); });
  };
}

constexpr CpuKernel kernel(std::string_view name, Isa isa, ElementType type) {
  return {{.name = name, .op = Softmax::kName, .isa = isa, .type = type, .consider = consider}, prepare};
}

constexpr CpuKernel kKernels[] = {
#if defined(__x86_64__)
    kernel("softmax_f32_avx512", Isa::avx512, ElementType::float32),
    kernel("softmax_bf16_avx512", Isa::avx512, ElementType::bfloat16),
    kernel("softmax_f32_avx2", Isa::avx2, ElementType::float32),
    kernel("softmax_bf16_avx2", Isa::avx2, ElementType::bfloat16),
#endif
    kernel("softmax_f32", Isa::portable, ElementType::float32),
    kernel("softmax_bf16", Isa::portable, ElementType::bfloat16),
};

}  // namespace

std::span<const CpuKernel> softmax_kernels() { return kKernels; }

}  // namespace tessera::cpu
