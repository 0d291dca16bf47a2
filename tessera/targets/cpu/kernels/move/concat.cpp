// Concat and Split: rows of one tensor side by side in another, in any order.

#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/move/moving.h"

#include <memory>

namespace tessera::cpu {
namespace {

// One side of a copy. Pixels are so far apart (channels last).
struct Side {
  Shape shape;
  std::int64_t pixel = 0;
};

Side input_side(const Problem& problem, std::size_t i) {
  return {problem.input(i).shape(), problem.input(i).rank() < 3 ? 0 : problem.input_pixel(i)};
}
Side output_side(const Problem& problem, std::size_t i = 0) {
  return {problem.output(i).shape(), problem.output(i).rank() < 3 ? 0 : problem.output_pixel(i)};
}

// The part of `whole` that begins at `begin` along `axis` and has the shape of `part`, copied one way or the other;
// nothing is, if it lies there already.
StridedCopy part_copy(const Side& whole, const Side& part, Order order, int axis, std::int64_t begin, bool to_whole,
                      std::int64_t element_bytes) {
  const std::vector<std::int64_t> of_whole = strides_of(whole.shape, order, whole.pixel),
                                  of_part = strides_of(part.shape, order, part.pixel);
  std::vector<CopyDim> dims;
  for (std::size_t d = 0; d < of_whole.size(); ++d)
    dims.push_back({part.shape.dims()[d], to_whole ? of_part[d] : of_whole[d], to_whole ? of_whole[d] : of_part[d]});
  const std::int64_t offset = begin * of_whole[static_cast<std::size_t>(axis)];
  return {std::move(dims), to_whole ? 0 : offset, to_whole ? offset : 0, element_bytes};
}

// Copies take pixels as they come.
void set_wide(Offer& offer, const Problem& problem, std::int64_t axis) {
  if (offer.outputs[0] != Order::channels_last || offer.inputs[0] != Order::channels_last) return;
  offer.wide_inputs = ~std::uint64_t{0};
  offer.wide_outputs = true;
  offer.side_by_side = normalized_axis(axis, problem.input(0).rank(), name(problem.node.op)) == 1;
}

Answer consider_concat(const KernelInfo&, const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  // The order in which most of the bytes are.
  std::int64_t last = 0, major = 0;
  for (std::size_t i = 0; i < problem.node.inputs.size(); ++i)
    if (problem.constant(i) == nullptr)
      (problem.orders[i] == Order::channels_last ? last : major) += problem.input(i).shape().volume();
  const Order order = last > major ? Order::channels_last : Order::row_major;
  Offer offer = moving_offer(problem, order, order, problem.node.inputs.size());
  set_wide(offer, problem, std::get<Concat>(problem.node.op).axis);
  return offer;
}

Runner prepare_concat(const KernelInfo&, const Problem& problem, const Offer& offer, WeightCache&) {
  auto copies = std::make_shared<std::vector<StridedCopy>>();
  const Side y = output_side(problem);
  const int axis = normalized_axis(std::get<Concat>(problem.node.op).axis, y.shape.rank(), Concat::kName);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < problem.node.inputs.size(); ++i) {
    const Side x = input_side(problem, i);
    copies->push_back(part_copy(y, x, offer.outputs[0], axis, begin, true, element_bytes(problem.output().type)));
    begin += x.shape[axis];
  }
  return [copies](const StepArgs& args) {
    for (std::size_t i = 0; i < copies->size(); ++i) (*copies)[i].run(args.inputs[i], args.outputs[0]);
  };
}

Answer consider_split(const KernelInfo&, const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  Offer offer = moving_offer(problem, problem.orders[0], problem.orders[0]);
  if (!offer.outputs.empty()) set_wide(offer, problem, std::get<Split>(problem.node.op).axis);
  return offer;
}

Runner prepare_split(const KernelInfo&, const Problem& problem, const Offer& offer, WeightCache&) {
  auto copies = std::make_shared<std::vector<StridedCopy>>();
  const Side x = input_side(problem, 0);
  const int axis = normalized_axis(std::get<Split>(problem.node.op).axis, x.shape.rank(), Split::kName);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < problem.types.outputs.size(); ++i) {
    const TensorType& type = problem.types.outputs[i];
    const Side y = output_side(problem, i);
    copies->push_back(part_copy(x, y, offer.inputs[0], axis, begin, false, element_bytes(type.type)));
    begin += y.shape[axis];
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
