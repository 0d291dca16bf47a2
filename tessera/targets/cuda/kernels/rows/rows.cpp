// Softmax and LayerNorm over rows whose elements lie side by side.

#include "tessera/core/error.h"
#include "tessera/targets/cuda/kernels/families.h"
#include "tessera/targets/cuda/kernels/rows/rows_arguments.h"

#include <fmt/format.h>

namespace tessera::cuda {
namespace {

Offer row_major_offer(const Problem& problem) {
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.outputs.assign(problem.types.outputs.size(), Order::row_major);
  offer.estimate = streaming_estimate(problem);
  return offer;
}

std::int64_t volume_from(const Shape& shape, int axis) {
  std::int64_t volume = 1;
  for (int d = axis; d < shape.rank(); ++d) volume *= shape[d];
  return volume;
}

int positive(std::int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }

Launch launch_rows(Device& device, const std::string& function, std::int64_t elements, RowsArguments a,
                   std::vector<const void*> operands, void* y) {
  if (elements == 0) return nothing();
  a.rows = elements / a.length;
  const LaunchShape shape{.blocks = blocks_for(a.rows, 1), .threads = 256, .early_start = true};
  const Function kernel = device.library.function(Binary::rows, function);
  if (operands.size() == 1) return launch_of(kernel, shape, operands[0], y, a);
  return launch_of(kernel, shape, operands[0], operands[1], operands[2], y, a);
}

Answer consider_softmax(const KernelInfo& kernel, const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  if (auto refusal = refuse_types(problem, kernel.type)) return *refusal;
  const auto& op = std::get<Softmax>(problem.node.op);
  const int rank = problem.input(0).rank();
  if (rank == 0) return Refusal{"a single number"};
  const Shape shape = problem.input(0).shape();
  if (!op.flatten && volume_from(shape, positive(op.axis, rank)) != shape[positive(op.axis, rank)])
    return Refusal{"the elements of a row do not lie side by side"};
  return row_major_offer(problem);
}

Launch prepare_softmax(const KernelInfo& kernel, const Problem& problem, const Offer&, Device& device,
                       const StepAddresses& at) {
  const auto& op = std::get<Softmax>(problem.node.op);
  const Shape shape = problem.input(0).shape();
  RowsArguments a{};
  a.length = static_cast<std::int32_t>(volume_from(shape, positive(op.axis, shape.rank())));
  a.log = op.log;
  return launch_rows(device, fmt::format("softmax_{}", short_name(kernel.type)), shape.volume(), a, {at.input(0)},
                     at.outputs[0]);
}

Answer consider_layer_norm(const KernelInfo& kernel, const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  if (auto refusal = refuse_types(problem, kernel.type)) return *refusal;
  const auto& op = std::get<LayerNorm>(problem.node.op);
  if (op.outputs != 1) return Refusal{"mean and deviation are asked for"};
  const Shape shape = problem.input(0).shape();
  const std::int64_t length = volume_from(shape, positive(op.axis, shape.rank()));
  for (std::size_t i = 1; i < problem.node.inputs.size(); ++i)
    if (problem.has(i) && (problem.input(i).shape().volume() != length || problem.input(i).type != kernel.type))
      return Refusal{"scales that are not one for each element of a row"};
  return row_major_offer(problem);
}

Launch prepare_layer_norm(const KernelInfo& kernel, const Problem& problem, const Offer&, Device& device,
                          const StepAddresses& at) {
  const auto& op = std::get<LayerNorm>(problem.node.op);
  const Shape shape = problem.input(0).shape();
  RowsArguments a{};
  a.length = static_cast<std::int32_t>(volume_from(shape, positive(op.axis, shape.rank())));
  a.epsilon = op.epsilon;
  const void *x = at.input(0), *scale = at.input(1), *bias = problem.has(2) ? at.input(2) : nullptr;
  const int pack = pack_elements(kernel.type), lane_packs = (a.length + pack * 32 - 1) / (pack * 32);
  if (a.length % pack != 0 || lane_packs > kMostPacks || shape.volume() == 0)
    return launch_rows(device, fmt::format("layer_norm_{}", short_name(kernel.type)), shape.volume(), a,
                       {x, scale, bias}, at.outputs[0]);
  a.rows = shape.volume() / a.length;
  const int packs = lane_packs <= 2 ? lane_packs : kMostPacks, all = a.length / pack;
  const int lanes = all <= 8 ? 8 : all <= 16 ? 16 : 32;
  return launch_of(
      device.library.function(Binary::rows, fmt::format("layer_norm_{}_{}x{}", short_name(kernel.type), packs, lanes)),
      {.blocks = blocks_for(a.rows, kWarpThreads / lanes), .threads = kWarpThreads, .early_start = true}, x, scale,
      bias, at.outputs[0], a);
}

}  // namespace

std::vector<CudaKernel> row_kernels() {
  struct Row {
    std::string_view softmax, layer_norm;
    ElementType type;
  };
  std::vector<CudaKernel> out;
  for (const Row& row : std::initializer_list<Row>{{"softmax_f16", "layer_norm_f16", ElementType::float16},
                                                   {"softmax_bf16", "layer_norm_bf16", ElementType::bfloat16},
                                                   {"softmax_f32", "layer_norm_f32", ElementType::float32}}) {
    out.push_back({.info = {.name = row.softmax, .op = Softmax::kName, .type = row.type, .consider = consider_softmax},
                   .prepare = prepare_softmax});
    out.push_back(
        {.info = {.name = row.layer_norm, .op = LayerNorm::kName, .type = row.type, .consider = consider_layer_norm},
         .prepare = prepare_layer_norm});
  }
  return out;
}

}  // namespace tessera::cuda
