// A choice between two operands with broadcasting. Values are only moved: their size is all that matters.

#include "tessera/targets/cpu/kernels/broadcast.h"
#include "tessera/targets/cpu/kernels/elementwise/elementwise.h"
#include "tessera/targets/cpu/kernels/families.h"

#include <fmt/format.h>

namespace tessera::cpu {
namespace {

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  Offer offer;
  const Shape to = problem.output().shape();
  const Order order = broadcast_order(problem, 3, to);
  offer.inputs = broadcast_inputs(problem, 3, to, order);
  offer.outputs = {order};
  offer.may_overwrite = overwritable(problem, offer.inputs, 3, to, order, element_bytes(problem.output().type));
  offer.estimate = estimate(problem, kernel.isa, static_cast<double>(to.volume()), streamed_bytes(problem), 0.1);
  return offer;
}

template <class T>
void choose(const std::uint8_t* c, std::int64_t c_stride, const T* a, std::int64_t a_stride, const T* b,
            std::int64_t b_stride, T* y, std::int64_t n) {
  if (c_stride == 1 && a_stride == 1 && b_stride == 1)
    for (std::int64_t i = 0; i < n; ++i) y[i] = c[i] != 0 ? a[i] : b[i];
  else if (c_stride == 1 && a_stride == 1 && b_stride == 0)
    for (std::int64_t i = 0; i < n; ++i) y[i] = c[i] != 0 ? a[i] : b[0];
  else if (c_stride == 1 && a_stride == 0 && b_stride == 1)
    for (std::int64_t i = 0; i < n; ++i) y[i] = c[i] != 0 ? a[0] : b[i];
  else
    for (std::int64_t i = 0; i < n; ++i) y[i] = c[i * c_stride] != 0 ? a[i * a_stride] : b[i * b_stride];
}

template <class T>
Runner runner_of(const BroadcastLoop<3>& loop) {
  return [loop](const StepArgs& args) {
    const auto* c = args.input<std::uint8_t>(0);
    const T *a = args.input<T>(1), *b = args.input<T>(2);
    T* y = args.output<T>();
    loop.run(kCheapGrain, [&](const auto& from, std::int64_t to, std::int64_t n) {
      choose(c + from[0], loop.inner_strides[0], a + from[1], loop.inner_strides[1], b + from[2], loop.inner_strides[2],
             y + to, n);
    });
  };
}

Runner prepare(const KernelInfo&, const Problem& problem, const Offer& offer, WeightCache&) {
  const Shape to = problem.output().shape();
  const Order order = offer.outputs[0];
  std::array<std::vector<std::int64_t>, 3> strides;
  for (std::size_t i = 0; i < 3; ++i)
    strides[i] = broadcast_strides(problem.input(i).shape(), offer.inputs[i], to, order);
  const BroadcastLoop<3> loop(stored_shape(to, order), strides);
  switch (element_bytes(problem.output().type)) {
    case 1: return runner_of<std::uint8_t>(loop);
    case 2: return runner_of<std::uint16_t>(loop);
    case 4: return runner_of<std::uint32_t>(loop);
    default: return runner_of<std::uint64_t>(loop);
  }
}

constexpr CpuKernel kKernels[] = {
    {{.name = "where", .op = Where::kName, .isa = Isa::portable, .consider = consider}, prepare},
};

}  // namespace

std::span<const CpuKernel> where_kernels() { return kKernels; }

}  // namespace tessera::cpu
