// Where, comparisons and logic of Binary, and what Unary asks: is it NaN, is it infinite, is it not true.

#include "tessera/core/error.h"
#include "tessera/targets/cuda/kernels/choice/choice_arguments.h"
#include "tessera/targets/cuda/kernels/families.h"
#include "tessera/targets/cuda/kernels/strides.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace tessera::cuda {
namespace {

std::optional<Question> question_of(const Op& op) {
  if (const auto* unary = std::get_if<Unary>(&op)) {
    switch (unary->kind) {
      case Unary::Kind::logical_not: return Question::no;
      case Unary::Kind::is_nan: return Question::nan;
      case Unary::Kind::is_inf:
        if (unary->alpha != 0 && unary->beta != 0) return Question::infinity;
        if (unary->alpha != 0) return Question::negative_infinity;
        if (unary->beta != 0) return Question::positive_infinity;
        return std::nullopt;
      default: return std::nullopt;
    }
  }
  switch (std::get<tessera::Binary>(op).kind) {
    case tessera::Binary::Kind::equal: return Question::equal;
    case tessera::Binary::Kind::less: return Question::less;
    case tessera::Binary::Kind::less_equal: return Question::less_equal;
    case tessera::Binary::Kind::greater: return Question::greater;
    case tessera::Binary::Kind::greater_equal: return Question::greater_equal;
    case tessera::Binary::Kind::logical_and: return Question::both;
    case tessera::Binary::Kind::logical_or: return Question::either;
    case tessera::Binary::Kind::logical_xor: return Question::one;
    default: return std::nullopt;
  }
}

// As names of kernels have it; empty for types that none is for.
std::string_view asked_name(ElementType type) {
  switch (type) {
    case ElementType::float16: return "f16";
    case ElementType::bfloat16: return "bf16";
    case ElementType::float32: return "f32";
    case ElementType::int32: return "i32";
    case ElementType::int64: return "i64";
    case ElementType::boolean: return "bool";
    default: return {};
  }
}

// That of a value with the result's shape.
Order result_order(const Problem& problem) {
  for (std::size_t i = 0; i < problem.node.inputs.size(); ++i)
    if (!problem.constant(i) && problem.input(i).shape() == problem.output().shape()) return problem.orders[i];
  return Order::row_major;
}

Offer offer_of(const Problem& problem) {
  Offer offer;
  const Order order = result_order(problem);
  for (std::size_t i = 0; i < problem.node.inputs.size(); ++i)
    offer.inputs.push_back(
        !problem.constant(i) && problem.input(i).rank() == problem.output().rank() ? order : Order::row_major);
  offer.outputs = {order};
  offer.estimate = streaming_estimate(problem);
  return offer;
}

std::optional<Refusal> refuse(const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  if (problem.output().rank() > kMostChoiceDimensions) return Refusal{"more than six dimensions"};
  return std::nullopt;
}

Answer consider_question(const KernelInfo& kernel, const Problem& problem) {
  if (auto refusal = refuse(problem)) return *refusal;
  if (!question_of(problem.node.op)) return Refusal{"is not asked with a yes or no"};
  for (std::size_t i = 0; i < problem.node.inputs.size(); ++i)
    if (problem.input(i).type != kernel.type)
      return Refusal{fmt::format("is for {}, there is {}", name(kernel.type), name(problem.input(i).type))};
  return offer_of(problem);
}

Answer consider_where(const KernelInfo&, const Problem& problem) {
  if (auto refusal = refuse(problem)) return *refusal;
  return offer_of(problem);
}

// Where element by element the result and the operands lie; `operands` are inputs in the order a, b, c.
ChoiceArguments arguments_of(const Problem& problem, const Offer& offer, const std::vector<std::size_t>& operands) {
  const Shape y = problem.output().shape();
  std::vector<std::vector<std::int64_t>> strides{strides_of(y, offer.outputs[0])};
  for (const std::size_t input : operands) {
    const Shape x = problem.input(input).shape();
    const std::vector<std::int64_t> own = strides_of(x, offer.inputs[input]);
    std::vector<std::int64_t>& to = strides.emplace_back(static_cast<std::size_t>(y.rank()), 0);
    for (int d = 0; d < x.rank(); ++d)
      if (x[d] != 1) to[static_cast<std::size_t>(y.rank() - x.rank() + d)] = own[static_cast<std::size_t>(d)];
  }
  std::vector<Dimension> dimensions(static_cast<std::size_t>(y.rank()));
  for (int axis = 0; axis < y.rank(); ++axis) {
    Dimension& dimension = dimensions[static_cast<std::size_t>(stored_axis(axis, y.rank(), offer.outputs[0]))];
    dimension.size = y[axis];
    for (const auto& of_operand : strides) dimension.strides.push_back(of_operand[static_cast<std::size_t>(axis)]);
  }
  if (dimensions.empty()) dimensions.push_back({1, std::vector<std::int64_t>(strides.size(), 0)});
  dimensions = collapsed(dimensions);
  ChoiceArguments arguments{};
  arguments.count = y.volume();
  arguments.rank = static_cast<int>(dimensions.size());
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    arguments.dimensions[d] = static_cast<std::uint32_t>(dimensions[d].size);
    arguments.y[d] = dimensions[d].strides[0];
    arguments.a[d] = dimensions[d].strides[1];
    if (operands.size() > 1) arguments.b[d] = dimensions[d].strides[2];
    if (operands.size() > 2) arguments.c[d] = dimensions[d].strides[3];
  }
  return arguments;
}

LaunchShape shape_of(const ChoiceArguments& arguments) {
  return {.blocks = blocks_for(arguments.count, 256), .threads = 256, .early_start = true};
}

Launch prepare_question(const KernelInfo& kernel, const Problem& problem, const Offer& offer, Device& device,
                        const StepAddresses& at) {
  if (problem.output().shape().volume() == 0) return nothing();
  const bool two = problem.node.inputs.size() > 1;
  ChoiceArguments arguments =
      arguments_of(problem, offer, two ? std::vector<std::size_t>{0, 1} : std::vector<std::size_t>{0});
  arguments.question = *question_of(problem.node.op);
  const void* const other = two ? at.input(1) : nullptr;
  return launch_of(device.library.function(Binary::choice, fmt::format("ask_{}", asked_name(kernel.type))),
                   shape_of(arguments), at.input(0), other, at.outputs[0], arguments);
}

Launch prepare_where(const KernelInfo&, const Problem& problem, const Offer& offer, Device& device,
                     const StepAddresses& at) {
  if (problem.output().shape().volume() == 0) return nothing();
  const ChoiceArguments arguments = arguments_of(problem, offer, {1, 2, 0});
  return launch_of(
      device.library.function(Binary::choice, fmt::format("choose_{}", element_bytes(problem.output().type))),
      shape_of(arguments), at.input(0), at.input(1), at.input(2), at.outputs[0], arguments);
}

}  // namespace

std::vector<CudaKernel> choice_kernels() {
  struct Row {
    std::string_view name;
    ElementType type;
  };
  std::vector<CudaKernel> out;
  for (const Row& row : std::initializer_list<Row>{{"ask_f16", ElementType::float16},
                                                   {"ask_bf16", ElementType::bfloat16},
                                                   {"ask_f32", ElementType::float32},
                                                   {"ask_i32", ElementType::int32},
                                                   {"ask_i64", ElementType::int64},
                                                   {"ask_bool", ElementType::boolean}})
    for (const std::string_view op : {tessera::Binary::kName, Unary::kName})
      out.push_back({.info = {.name = row.name, .op = op, .type = row.type, .consider = consider_question},
                     .prepare = prepare_question});
  out.push_back({.info = {.name = "where", .op = Where::kName, .consider = consider_where}, .prepare = prepare_where});
  return out;
}

}  // namespace tessera::cuda
