// Operators that only move elements: views, Cast, Concat, Split, Transpose.

#include "tessera/core/error.h"
#include "tessera/targets/cuda/kernels/families.h"
#include "tessera/targets/cuda/kernels/move/copy.h"

#include <algorithm>
#include <memory>
#include <numeric>

namespace tessera::cuda {
namespace {

int positive_axis(std::int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }

std::optional<Refusal> refuse_fused(const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  return std::nullopt;
}

Answer consider_view(const KernelInfo&, const Problem& problem) {
  if (auto refusal = refuse_fused(problem)) return *refusal;
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.outputs = {Order::row_major};
  offer.view_of = 0;
  return offer;
}

// With channels last, extents behind the channels can be joined and cut as well: N C H W is N C (H W).
Answer consider_channels_view(const KernelInfo&, const Problem& problem) {
  if (auto refusal = refuse_fused(problem)) return *refusal;
  const Shape x = problem.input(0).shape(), y = problem.output().shape();
  if (problem.orders[0] != Order::channels_last || x.rank() < 3 || y.rank() < 3 || x[0] != y[0] || x[1] != y[1])
    return Refusal{"is for values with channels last, whose channels stay"};
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.inputs[0] = Order::channels_last;
  offer.outputs = {Order::channels_last};
  offer.view_of = 0;
  return offer;
}

std::vector<std::int64_t> perm_of(const Problem& problem) {
  std::vector<std::int64_t> perm = std::get<Transpose>(problem.node.op).perm;
  const int rank = problem.input(0).rank();
  if (perm.empty()) {
    perm.resize(static_cast<std::size_t>(rank));
    std::iota(perm.rbegin(), perm.rend(), std::int64_t{0});
  }
  for (std::int64_t& axis : perm) axis = positive_axis(axis, rank);
  return perm;
}

// Axes of the graph's shape as they lie in memory, without those of 1.
std::vector<std::int64_t> stored_axes(const Shape& shape, Order order) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(shape.rank())), out;
  for (int axis = 0; axis < shape.rank(); ++axis)
    all[static_cast<std::size_t>(stored_axis(axis, shape.rank(), order))] = axis;
  for (const std::int64_t axis : all)
    if (shape[static_cast<int>(axis)] != 1) out.push_back(axis);
  return out;
}

// Between images and tokens: N C H W with channels last lies as N H W C does row by row, and the other way round.
Answer consider_transpose_view(const KernelInfo& kernel, const Problem& problem) {
  if (auto refusal = refuse_fused(problem)) return *refusal;
  const std::vector<std::int64_t> perm = perm_of(problem);
  const Shape x = problem.input(0).shape(), y = problem.output().shape();
  if (*kernel.result == Order::channels_last && y.rank() < 3) return Refusal{"fewer than 3 dimensions"};
  std::vector<std::int64_t> made = stored_axes(y, *kernel.result);
  for (std::int64_t& axis : made) axis = perm[static_cast<std::size_t>(axis)];
  if (made != stored_axes(x, problem.orders[0])) return Refusal{"elements would have to move"};
  Offer offer;
  offer.inputs = {problem.orders[0]};
  offer.outputs = {*kernel.result};
  offer.view_of = 0;
  return offer;
}

Launch prepare_view(const KernelInfo&, const Problem&, const Offer&, Device&, const StepAddresses&) {
  return nothing();
}

// The order is changed on the way: what comes in from a caller is row_major, convolutions want channels last.
Answer consider_cast(const KernelInfo& kernel, const Problem& problem) {
  if (auto refusal = refuse_fused(problem)) return *refusal;
  if (std::get<Cast>(problem.node.op).bits) return Refusal{"bits that are seen as another type"};
  if (!can_copy(problem.input(0).type, problem.output().type)) return Refusal{"there is no kernel for these types"};
  if (*kernel.result == Order::channels_last && problem.output().rank() < 3) return Refusal{"fewer than 3 dimensions"};
  Offer offer;
  offer.inputs = {problem.orders[0]};
  offer.outputs = {*kernel.result};
  offer.estimate = streaming_estimate(problem);
  return offer;
}

Launch prepare_cast(const KernelInfo&, const Problem& problem, const Offer& offer, Device& device,
                    const StepAddresses& at) {
  return reorder_launch(device.library, problem.output().shape(), problem.input(0).type, offer.inputs[0], at.input(0),
                        problem.output().type, offer.outputs[0], at.outputs[0]);
}

Answer consider_transpose(const KernelInfo&, const Problem& problem) {
  if (auto refusal = refuse_fused(problem)) return *refusal;
  if (problem.output().rank() > 6) return Refusal{"more than six dimensions"};
  Offer offer;
  offer.inputs = {Order::row_major};
  offer.outputs = {Order::row_major};
  offer.estimate = streaming_estimate(problem);
  return offer;
}

Launch prepare_transpose(const KernelInfo&, const Problem& problem, const Offer&, Device& device,
                         const StepAddresses& at) {
  const Shape x = problem.input(0).shape(), y = problem.output().shape();
  const std::vector<std::int64_t> perm = perm_of(problem);
  const std::vector<std::int64_t> from = strides_of(x, Order::row_major), to = strides_of(y, Order::row_major);
  std::vector<Dimension> dimensions;
  for (std::size_t d = 0; d < perm.size(); ++d)
    dimensions.push_back({y[static_cast<int>(d)], {to[d], from[static_cast<std::size_t>(perm[d])]}});
  if (dimensions.empty()) dimensions.push_back({1, {1, 1}});
  return copy_launch(device.library, problem.input(0).type, at.input(0), problem.output().type, at.outputs[0],
                     dimensions);
}

// --- Concat and Split ------------------------------------------------------------------------------------------------

struct Side {
  Shape shape;
  std::int64_t pixel = 0;
};

// The part of `whole` that begins at `begin` along `axis`, copied one way or the other; nothing is, if it lies there.
Launch part_launch(KernelLibrary& library, ElementType type, Order order, const Side& whole, const void* whole_at,
                   const Side& part, const void* part_at, int axis, std::int64_t begin, bool to_whole) {
  const std::vector<std::int64_t> of_whole = strides_of(whole.shape, order, whole.pixel),
                                  of_part = strides_of(part.shape, order, part.pixel);
  const auto* const place =
      static_cast<const std::byte*>(whole_at) + begin * of_whole[static_cast<std::size_t>(axis)] * element_bytes(type);
  if (place == part_at || part.shape.volume() == 0) return nothing();
  const int rank = part.shape.rank();
  std::vector<Dimension> dimensions(static_cast<std::size_t>(rank));
  for (int d = 0; d < rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    dimensions[static_cast<std::size_t>(stored_axis(d, rank, order))] = {
        part.shape[d], to_whole ? std::vector{of_whole[i], of_part[i]} : std::vector{of_part[i], of_whole[i]}};
  }
  const void* from = to_whole ? part_at : place;
  void* to = const_cast<void*>(static_cast<const void*>(to_whole ? place : part_at));
  return copy_launch(library, type, from, type, to, dimensions);
}

std::int64_t axis_of(const Node& node) {
  const auto* concat = std::get_if<Concat>(&node.op);
  return concat != nullptr ? concat->axis : std::get<Split>(node.op).axis;
}

Launch in_turn(std::vector<Launch> launches) {
  return [launches = std::move(launches)](const Stream& stream) {
    for (const Launch& launch : launches) launch(stream);
  };
}

Answer consider_parts(const KernelInfo&, const Problem& problem) {
  if (auto refusal = refuse_fused(problem)) return *refusal;
  const bool joins = std::holds_alternative<Concat>(problem.node.op);
  const int rank = problem.input(0).rank();
  if (rank > 6) return Refusal{"more than six dimensions"};
  const std::size_t values = joins ? problem.node.inputs.size() : 1;
  // The order in which most of the bytes are.
  std::int64_t last = 0, major = 0;
  for (std::size_t i = 0; i < values; ++i)
    if (problem.constant(i) == nullptr)
      (problem.orders[i] == Order::channels_last ? last : major) += problem.input(i).shape().volume();
  const Order order = last > major ? Order::channels_last : Order::row_major;
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  std::fill_n(offer.inputs.begin(), values, order);
  offer.outputs.assign(problem.types.outputs.size(), order);
  if (order == Order::channels_last && !offer.outputs.empty()) {
    offer.wide_inputs = ~std::uint64_t{0};
    offer.wide_outputs = true;
    offer.side_by_side = positive_axis(axis_of(problem.node), rank) == 1;
  }
  offer.estimate = streaming_estimate(problem);
  return offer;
}

Side input_side(const Problem& problem, std::size_t i) {
  return {problem.input(i).shape(), problem.input(i).rank() < 3 ? 0 : problem.input_pixel(i)};
}
Side output_side(const Problem& problem, std::size_t i) {
  return {problem.output(i).shape(), problem.output(i).rank() < 3 ? 0 : problem.output_pixel(i)};
}

Launch prepare_concat(const KernelInfo&, const Problem& problem, const Offer& offer, Device& device,
                      const StepAddresses& at) {
  const Side y = output_side(problem, 0);
  const int axis = positive_axis(axis_of(problem.node), y.shape.rank());
  std::vector<Launch> launches;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < problem.node.inputs.size(); ++i) {
    const Side x = input_side(problem, i);
    launches.push_back(part_launch(device.library, problem.output().type, offer.outputs[0], y, at.outputs[0], x,
                                   at.input(i), axis, begin, true));
    begin += x.shape[axis];
  }
  return in_turn(std::move(launches));
}

Launch prepare_split(const KernelInfo&, const Problem& problem, const Offer& offer, Device& device,
                     const StepAddresses& at) {
  const Side x = input_side(problem, 0);
  const int axis = positive_axis(axis_of(problem.node), x.shape.rank());
  std::vector<Launch> launches;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < problem.types.outputs.size(); ++i) {
    const Side y = output_side(problem, i);
    if (at.outputs[i] != nullptr)
      launches.push_back(part_launch(device.library, problem.input(0).type, offer.inputs[0], x, at.input(0), y,
                                     at.outputs[i], axis, begin, false));
    begin += y.shape[axis];
  }
  return in_turn(std::move(launches));
}

}  // namespace

std::vector<CudaKernel> move_kernels() {
  std::vector<CudaKernel> out;
  for (const std::string_view op : {Reshape::kName, Flatten::kName, Squeeze::kName, Unsqueeze::kName})
    for (const auto& [label, consider] :
         {std::pair{"view", &consider_view}, {"view_channels", &consider_channels_view}})
      out.push_back({.info = {.name = label, .op = op, .role = KernelRole::views, .consider = consider},
                     .prepare = prepare_view});
  for (const auto& [label, order] :
       {std::pair{"transpose_view", Order::row_major}, {"transpose_view_channels", Order::channels_last}})
    out.push_back({.info = {.name = label,
                            .op = Transpose::kName,
                            .result = order,
                            .role = KernelRole::views,
                            .consider = consider_transpose_view},
                   .prepare = prepare_view});
  out.push_back(
      {.info = {.name = "cast_row_major", .op = Cast::kName, .result = Order::row_major, .consider = consider_cast},
       .prepare = prepare_cast});
  out.push_back({.info = {.name = "cast_channels_last",
                          .op = Cast::kName,
                          .result = Order::channels_last,
                          .consider = consider_cast},
                 .prepare = prepare_cast});
  out.push_back({.info = {.name = "transpose", .op = Transpose::kName, .consider = consider_transpose},
                 .prepare = prepare_transpose});
  out.push_back(
      {.info = {.name = "concat", .op = Concat::kName, .consider = consider_parts}, .prepare = prepare_concat});
  out.push_back({.info = {.name = "split", .op = Split::kName, .consider = consider_parts}, .prepare = prepare_split});
  return out;
}

}  // namespace tessera::cuda
