// Operators whose result is elements of a value at places that are known before the run: Slice, Expand, Tile, Gather
// with constant positions.

#include "tessera/core/error.h"
#include "tessera/targets/cuda/kernels/families.h"
#include "tessera/targets/cuda/kernels/move/copy.h"
#include "tessera/targets/cuda/kernels/move/gather_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <variant>

namespace tessera::cuda {
namespace {

// Where a result's elements come from: a first one, and steps along the result's dimensions.
struct Part {
  std::int64_t offset = 0;
  std::vector<Dimension> dimensions;
};

std::vector<std::int64_t> row_major_steps(const Shape& shape) { return strides_of(shape, Order::row_major); }

std::optional<std::vector<std::int64_t>> list_of(const Problem& problem, std::size_t i) {
  if (problem.constant(i) == nullptr) return std::nullopt;
  return problem.constant(i)->to_int64();
}

std::variant<Part, Refusal> slice_part(const Problem& problem) {
  const Shape x = problem.input(0).shape(), y = problem.output().shape();
  const auto starts = list_of(problem, 1);
  if (!starts) return Refusal{"places that only a run tells"};
  std::vector<std::int64_t> axes, steps(starts->size(), 1);
  for (std::size_t i = 0; i < starts->size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  for (const std::size_t i : {std::size_t{3}, std::size_t{4}}) {
    if (!problem.has(i)) continue;
    const auto given = list_of(problem, i);
    if (!given) return Refusal{"places that only a run tells"};
    (i == 3 ? axes : steps) = *given;
  }
  const std::vector<std::int64_t> from = row_major_steps(x), to = row_major_steps(y);
  Part part;
  for (int d = 0; d < x.rank(); ++d) {
    const auto i = static_cast<std::size_t>(d);
    part.dimensions.push_back({y[d], {to[i], from[i]}});
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<int>(axes[i] < 0 ? axes[i] + x.rank() : axes[i]);
    const auto d = static_cast<std::size_t>(axis);
    const std::int64_t start = (*starts)[i] < 0 ? (*starts)[i] + x[axis] : (*starts)[i];
    part.offset += std::clamp(start, std::int64_t{0}, std::max<std::int64_t>(0, x[axis] - 1)) * from[d];
    part.dimensions[d].strides[1] = from[d] * steps[i];
  }
  return part;
}

// Repeated from the last dimension on: whole (Tile) or where it has one element (Expand).
std::variant<Part, Refusal> repeated_part(const Problem& problem) {
  const Shape x = problem.input(0).shape(), y = problem.output().shape();
  const std::vector<std::int64_t> from = row_major_steps(x), to = row_major_steps(y);
  Part part;
  for (int d = 0; d < y.rank(); ++d) {
    const int own = d - (y.rank() - x.rank());
    const std::int64_t extent = own < 0 ? 1 : x[own], step = own < 0 ? 0 : from[static_cast<std::size_t>(own)],
                       out = to[static_cast<std::size_t>(d)];
    if (extent == y[d]) {
      part.dimensions.push_back({y[d], {out, step}});
    } else if (extent <= 1) {
      part.dimensions.push_back({y[d], {out, 0}});
    } else {
      part.dimensions.push_back({y[d] / extent, {out * extent, 0}});
      part.dimensions.push_back({extent, {out, step}});
    }
  }
  return part;
}

// A transpose of x seen with other extents: the result's dimensions, in order, as extents and axes of those.
Part turned_part(const std::vector<std::int64_t>& extents, const std::vector<std::size_t>& perm) {
  std::vector<std::int64_t> from(extents.size(), 1);
  for (std::size_t d = extents.size() - 1; d-- > 0;) from[d] = from[d + 1] * extents[d + 1];
  Part part;
  std::int64_t to = 1;
  for (std::size_t d = perm.size(); d-- > 0;) {
    part.dimensions.insert(part.dimensions.begin(), {extents[perm[d]], {to, from[perm[d]]}});
    to *= extents[perm[d]];
  }
  return part;
}

Part depth_to_space_part(const Problem& problem, const DepthToSpace& op) {
  const Shape x = problem.input(0).shape();
  const std::int64_t b = op.block, channels = x[1] / (b * b);
  if (op.column_row_depth) return turned_part({x[0], channels, b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3});
  return turned_part({x[0], b, b, channels, x[2], x[3]}, {0, 3, 4, 1, 5, 2});
}

Part space_to_depth_part(const Problem& problem, const SpaceToDepth& op) {
  const Shape x = problem.input(0).shape();
  return turned_part({x[0], x[1], x[2] / op.block, op.block, x[3] / op.block, op.block}, {0, 3, 5, 1, 2, 4});
}

std::variant<Part, Refusal> read(const Problem& problem) {
  if (std::holds_alternative<Slice>(problem.node.op)) return slice_part(problem);
  if (const auto* op = std::get_if<DepthToSpace>(&problem.node.op)) return depth_to_space_part(problem, *op);
  if (const auto* op = std::get_if<SpaceToDepth>(&problem.node.op)) return space_to_depth_part(problem, *op);
  return repeated_part(problem);
}

Offer row_major_offer(const Problem& problem) {
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.outputs = {Order::row_major};
  // What is left out is not read.
  const double bytes = 2.0 * static_cast<double>(problem.output().shape().volume()) *
                       static_cast<double>(element_bytes(problem.output().type));
  offer.estimate = streaming_estimate(problem.machine.gpu(), bytes);
  return offer;
}

Answer consider_part(const KernelInfo&, const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  const auto answer = read(problem);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return *refusal;
  if (problem.output().shape().volume() > 0 && collapsed(std::get<Part>(answer).dimensions).size() > 6)
    return Refusal{"more than six dimensions"};
  return row_major_offer(problem);
}

Launch prepare_part(const KernelInfo&, const Problem& problem, const Offer&, Device& device, const StepAddresses& at) {
  const auto answer = read(problem);
  const Part& part = std::get<Part>(answer);
  if (problem.output().shape().volume() == 0) return nothing();
  const ElementType type = problem.output().type;
  const auto* const from = static_cast<const std::byte*>(at.input(0)) + part.offset * element_bytes(type);
  std::vector<Dimension> dimensions = part.dimensions;
  if (dimensions.empty()) dimensions.push_back({1, {1, 1}});
  return copy_launch(device.library, type, from, type, at.outputs[0], dimensions);
}

// --- Gather ----------------------------------------------------------------------------------------------------------

int gather_axis(const Problem& problem) {
  const std::int64_t axis = std::get<Gather>(problem.node.op).axis;
  return static_cast<int>(axis < 0 ? axis + problem.input(0).rank() : axis);
}

Answer consider_gather(const KernelInfo&, const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  if (problem.constant(1) == nullptr) return Refusal{"positions that only a run tells"};
  return row_major_offer(problem);
}

Launch prepare_gather(const KernelInfo&, const Problem& problem, const Offer&, Device& device,
                      const StepAddresses& at) {
  const Shape x = problem.input(0).shape();
  if (problem.output().shape().volume() == 0) return nothing();
  const int axis = gather_axis(problem);
  GatherArguments a{};
  a.extent = x[axis];
  a.inner = 1;
  for (int d = axis + 1; d < x.rank(); ++d) a.inner *= x[d];
  a.picked = problem.input(1).shape().volume();
  a.count = problem.output().shape().volume();
  // 16 bytes at a time where rows are whole ones.
  std::int64_t bytes = element_bytes(problem.output().type);
  if (a.inner * bytes % 16 == 0) {
    a.inner /= 16 / bytes;
    a.count /= 16 / bytes;
    bytes = 16;
  }
  const auto positions = device.weights.get(problem.graph.value(problem.node.inputs[1]).constant,
                                            fmt::format("positions of {}", a.extent), [&](const Array& array) {
                                              std::vector<std::int64_t> list = array.to_int64();
                                              for (std::int64_t& each : list) each += each < 0 ? a.extent : 0;
                                              const auto raw = std::as_bytes(std::span(list));
                                              return std::vector<std::byte>(raw.begin(), raw.end());
                                            });
  const void* const where = positions->data();
  const Launch launch = launch_of(device.library.function(Binary::gather, fmt::format("gather_{}", bytes)),
                                  {.blocks = blocks_for(a.count, 256), .threads = 256, .early_start = true},
                                  at.input(0), where, at.outputs[0], a);
  return [launch, positions](const Stream& stream) { launch(stream); };
}

}  // namespace

std::vector<CudaKernel> part_kernels() {
  std::vector<CudaKernel> out;
  for (const auto& [label, op] : {std::pair{"slice", Slice::kName},
                                  {"expand", Expand::kName},
                                  {"tile", TileRepeat::kName},
                                  {"depth_to_space", DepthToSpace::kName},
                                  {"space_to_depth", SpaceToDepth::kName}})
    out.push_back({.info = {.name = label, .op = op, .consider = consider_part}, .prepare = prepare_part});
  out.push_back(
      {.info = {.name = "gather", .op = Gather::kName, .consider = consider_gather}, .prepare = prepare_gather});
  return out;
}

}  // namespace tessera::cuda
