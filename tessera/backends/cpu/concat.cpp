// Concat and Split: rows of one tensor side by side in another, in any order.

#include "tessera/backends/cpu/internal/families.h"
#include "tessera/backends/cpu/internal/moving.h"

#include <memory>

namespace tessera::cpu {
namespace {

// The part of `whole` that begins at `begin` along `axis` and has the shape of `part`, copied one way or the other.
StridedCopy part_copy(const Shape& whole, const Shape& part, Order order, int axis, std::int64_t begin, bool to_whole,
                      std::int64_t element_bytes) {
  const std::vector<std::int64_t> of_whole = strides_of(whole, order), of_part = strides_of(part, order);
  std::vector<CopyDim> dims;
  for (std::size_t d = 0; d < of_whole.size(); ++d)
    dims.push_back({part.dims()[d], to_whole ? of_part[d] : of_whole[d], to_whole ? of_whole[d] : of_part[d]});
  const std::int64_t offset = begin * of_whole[static_cast<std::size_t>(axis)];
  return {std::move(dims), to_whole ? 0 : offset, to_whole ? offset : 0, element_bytes};
}

Answer consider_concat(const KernelInfo&, const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  // The order in which most of the bytes are.
  std::int64_t last = 0, major = 0;
  for (std::size_t i = 0; i < problem.node.inputs.size(); ++i)
    if (problem.constant(i) == nullptr)
      (problem.orders[i] == Order::channels_last ? last : major) += problem.input(i).shape().volume();
  const Order order = last > major ? Order::channels_last : Order::row_major;
  return moving_offer(problem, order, order, problem.node.inputs.size());
}

Runner prepare_concat(const KernelInfo&, const Problem& problem, const Offer& offer, WeightCache&) {
  auto copies = std::make_shared<std::vector<StridedCopy>>();
  const Shape y = problem.output().shape();
  const int axis = normalized_axis(std::get<Concat>(problem.node.op).axis, y.rank(), Concat::kName);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < problem.node.inputs.size(); ++i) {
    const Shape x = problem.input(i).shape();
    copies->push_back(part_copy(y, x, offer.outputs[0], axis, begin, true, element_bytes(problem.output().type)));
    begin += x[axis];
  }
  return [copies](const StepArgs& args) {
    for (std::size_t i = 0; i < copies->size(); ++i) (*copies)[i].run(args.inputs[i], args.outputs[0]);
  };
}

Answer consider_split(const KernelInfo&, const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  return moving_offer(problem, problem.orders[0], problem.orders[0]);
}

Runner prepare_split(const KernelInfo&, const Problem& problem, const Offer& offer, WeightCache&) {
  auto copies = std::make_shared<std::vector<StridedCopy>>();
  const Shape x = problem.input(0).shape();
  const int axis = normalized_axis(std::get<Split>(problem.node.op).axis, x.rank(), Split::kName);
  std::int64_t begin = 0;
  for (const TensorType& type : problem.types.outputs) {
    const Shape y = type.shape();
    copies->push_back(part_copy(x, y, offer.inputs[0], axis, begin, false, element_bytes(type.type)));
    begin += y[axis];
  }
  return [copies](const StepArgs& args) {
    for (std::size_t i = 0; i < args.outputs.size(); ++i)
      if (args.outputs[i] != nullptr) (*copies)[i].run(args.inputs[0], args.outputs[i]);
  };
}

constexpr CpuKernel kKernels[] = {
    {{.name = "concat", .op = Concat::kName, .consider = consider_concat}, prepare_concat},
    {{.name = "split", .op = Split::kName, .consider = consider_split}, prepare_split},
};

}  // namespace

std::span<const CpuKernel> concat_kernels() { return kKernels; }

}  // namespace tessera::cpu
