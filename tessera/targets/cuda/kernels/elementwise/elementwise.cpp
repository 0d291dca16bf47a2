// Unary, Clip and Binary: one kernel, in the order of the operand that has the result's shape.

#include "tessera/core/error.h"
#include "tessera/targets/cuda/kernels/elementwise/elementwise_arguments.h"
#include "tessera/targets/cuda/kernels/epilogue.h"
#include "tessera/targets/cuda/kernels/families.h"
#include "tessera/targets/cuda/kernels/strides.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace tessera::cuda {
namespace {

std::optional<Combination> combination_of(tessera::Binary::Kind kind) {
  switch (kind) {
    case tessera::Binary::Kind::add: return Combination::add;
    case tessera::Binary::Kind::sub: return Combination::sub;
    case tessera::Binary::Kind::mul: return Combination::mul;
    case tessera::Binary::Kind::div: return Combination::div;
    case tessera::Binary::Kind::min: return Combination::min;
    case tessera::Binary::Kind::max: return Combination::max;
    case tessera::Binary::Kind::prelu: return Combination::prelu;
    default: return std::nullopt;
  }
}

struct Read {
  Combination combination = Combination::first;
  Activation activation;
};

std::variant<Read, Refusal> read(const Problem& problem) {
  const Node& node = problem.node;
  if (!node.fused.empty()) return Refusal{"something is fused"};
  if (const auto* binary = std::get_if<tessera::Binary>(&node.op)) {
    const auto combination = combination_of(binary->kind);
    if (!combination) return Refusal{"there is no kernel for this kind of Binary"};
    return Read{.combination = *combination, .activation = {}};
  }
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    if (problem.has(i) && !problem.constant(i)) return Refusal{"bounds are no constants"};
  const auto activation = read_activation(node.op, problem.constant(1), problem.constant(2));
  if (!activation) return Refusal{"there is no kernel for this kind of Unary"};
  return Read{.combination = Combination::first, .activation = *activation};
}

std::size_t operands_of(const Problem& problem) {
  return std::holds_alternative<tessera::Binary>(problem.node.op) ? 2 : 1;
}

// That of the larger operand.
Order result_order(const Problem& problem) {
  for (std::size_t i = 0; i < operands_of(problem); ++i)
    if (!problem.constant(i) && problem.input(i).shape() == problem.output().shape()) return problem.orders[i];
  return Order::row_major;
}

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  if (auto refusal = refuse_types(problem, kernel.type)) return *refusal;
  const auto answer = read(problem);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return *refusal;
  if (problem.output().rank() > kMostDimensions) return Refusal{"more than six dimensions"};
  for (std::size_t i = 0; i < operands_of(problem); ++i)
    if (problem.input(i).type != kernel.type) return Refusal{"a constant of another type"};
  Offer offer;
  const Order order = result_order(problem);
  for (std::size_t i = 0; i < problem.node.inputs.size(); ++i) {
    const bool follows = i < operands_of(problem) && !problem.constant(i) && problem.has(i) &&
                         problem.input(i).rank() == problem.output().rank();
    offer.inputs.push_back(follows ? order : Order::row_major);
  }
  offer.outputs = {order};
  for (std::size_t i = 0; i < operands_of(problem); ++i)
    if (!problem.constant(i) && problem.input(i).shape() == problem.output().shape() && offer.may_overwrite < 0)
      offer.may_overwrite = static_cast<int>(i);
  offer.estimate = streaming_estimate(problem);
  return offer;
}

Launch prepare(const KernelInfo& kernel, const Problem& problem, const Offer& offer, Device& device,
               const StepAddresses& at) {
  const auto answer = read(problem);
  const auto& [combination, activation] = std::get<Read>(answer);
  const Shape y = problem.output().shape();
  if (y.volume() == 0) return nothing();
  // In the order in which the result lies: for every axis the steps of result, first and second operand.
  std::array<std::vector<std::int64_t>, 3> strides{strides_of(y, offer.outputs[0])};
  for (std::size_t i = 0; i < 2; ++i) {
    strides[i + 1].assign(static_cast<std::size_t>(y.rank()), 0);
    if (i >= operands_of(problem)) continue;
    const Shape x = problem.input(i).shape();
    const std::vector<std::int64_t> own = strides_of(x, offer.inputs[i]);
    for (int d = 0; d < x.rank(); ++d)
      if (x[d] != 1)
        strides[i + 1][static_cast<std::size_t>(y.rank() - x.rank() + d)] = own[static_cast<std::size_t>(d)];
  }
  std::vector<Dimension> dimensions(static_cast<std::size_t>(y.rank()));
  for (int axis = 0; axis < y.rank(); ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    dimensions[static_cast<std::size_t>(stored_axis(axis, y.rank(), offer.outputs[0]))] = {
        y[axis], {strides[0][a], strides[1][a], strides[2][a]}};
  }
  dimensions = collapsed(dimensions);
  const std::int64_t pack = pack_elements(kernel.type);
  const bool wide = has_packs(dimensions, pack);
  ElementwiseArguments arguments{};
  arguments.count = y.volume() / (wide ? pack : 1);
  arguments.rank = static_cast<int>(dimensions.size());
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    const bool innermost = d + 1 == dimensions.size();
    arguments.dimensions[d] = static_cast<std::uint32_t>(dimensions[d].size / (wide && innermost ? pack : 1));
    arguments.y[d] = dimensions[d].strides[0];
    arguments.a[d] = dimensions[d].strides[1];
    arguments.b[d] = dimensions[d].strides[2];
  }
  arguments.combination = combination;
  arguments.activation = activation;
  const void* a = at.input(0);
  const void* b = operands_of(problem) == 2 ? at.input(1) : nullptr;
  return launch_of(device.library.function(Binary::elementwise, fmt::format("elementwise_{}{}", short_name(kernel.type),
                                                                            wide ? "_wide" : "")),
                   {.blocks = blocks_for(arguments.count, 256), .threads = 256, .early_start = true}, a, b,
                   at.outputs[0], arguments);
}

}  // namespace

std::vector<CudaKernel> elementwise_kernels() {
  struct Name {
    std::string_view name, op;
    ElementType type;
  };
  std::vector<CudaKernel> out;
  for (const Name& row : std::initializer_list<Name>{{"unary_f16", Unary::kName, ElementType::float16},
                                                     {"unary_bf16", Unary::kName, ElementType::bfloat16},
                                                     {"unary_f32", Unary::kName, ElementType::float32},
                                                     {"clip_f16", Clip::kName, ElementType::float16},
                                                     {"clip_bf16", Clip::kName, ElementType::bfloat16},
                                                     {"clip_f32", Clip::kName, ElementType::float32},
                                                     {"binary_f16", tessera::Binary::kName, ElementType::float16},
                                                     {"binary_bf16", tessera::Binary::kName, ElementType::bfloat16},
                                                     {"binary_f32", tessera::Binary::kName, ElementType::float32}})
    out.push_back(
        {.info = {.name = row.name, .op = row.op, .type = row.type, .consider = consider}, .prepare = prepare});
  return out;
}

}  // namespace tessera::cuda
