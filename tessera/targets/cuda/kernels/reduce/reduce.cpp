#include "tessera/core/error.h"
#include "tessera/targets/cuda/kernels/families.h"
#include "tessera/targets/cuda/kernels/reduce/reduce_arguments.h"
#include "tessera/targets/cuda/kernels/strides.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <string>

namespace tessera::cuda {
namespace {

Reduction reduction_of(Reduce::Kind kind) {
  switch (kind) {
    case Reduce::Kind::sum: return Reduction::sum;
    case Reduce::Kind::mean: return Reduction::mean;
    case Reduce::Kind::max: return Reduction::max;
    case Reduce::Kind::min: return Reduction::min;
    case Reduce::Kind::prod: return Reduction::prod;
    case Reduce::Kind::l1: return Reduction::l1;
    case Reduce::Kind::l2: return Reduction::l2;
    case Reduce::Kind::sum_square: return Reduction::sum_square;
    case Reduce::Kind::log_sum: return Reduction::log_sum;
    case Reduce::Kind::log_sum_exp: return Reduction::log_sum_exp;
  }
  fail(Code::internal, "a reduction that does not exist");
}

// Which axes go; none where only a run tells.
std::optional<std::vector<bool>> axes_of(const Problem& problem) {
  const auto& op = std::get<Reduce>(problem.node.op);
  const int rank = problem.input(0).rank();
  std::vector<std::int64_t> axes = op.axes;
  if (problem.has(1)) {
    if (problem.constant(1) == nullptr) return std::nullopt;
    axes = problem.constant(1)->to_int64();
  }
  std::vector<bool> gone(static_cast<std::size_t>(rank), axes.empty() && !op.no_axes_means_none);
  for (const std::int64_t axis : axes) gone[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
  return gone;
}

ReduceArguments arguments_of(const Problem& problem, Order order) {
  const Shape x = problem.input(0).shape();
  const std::vector<bool> gone = axes_of(problem).value();
  const std::vector<std::int64_t> strides = strides_of(x, order);
  // Results are row-major in what stays; what goes is read in the order in which it lies.
  std::vector<Dimension> kept, away(gone.size());
  for (int d = 0; d < x.rank(); ++d) {
    const auto i = static_cast<std::size_t>(d);
    const auto at = static_cast<std::size_t>(stored_axis(d, x.rank(), order));
    if (gone[i])
      away[at] = {x[d], {strides[i]}};
    else
      kept.push_back({x[d], {strides[i]}});
  }
  std::erase_if(away, [](const Dimension& d) { return d.strides.empty(); });
  ReduceArguments a{};
  a.kind = reduction_of(std::get<Reduce>(problem.node.op).kind);
  a.results = a.length = 1;
  const auto fill = [](std::vector<Dimension> list, std::int32_t& rank, std::uint32_t* sizes, std::int64_t* steps,
                       std::int64_t& count) {
    if (list.empty()) return;
    list = collapsed(list);
    rank = static_cast<std::int32_t>(list.size());
    for (std::size_t d = 0; d < list.size(); ++d) {
      sizes[d] = static_cast<std::uint32_t>(list[d].size);
      steps[d] = list[d].strides[0];
      count *= list[d].size;
    }
  };
  fill(kept, a.kept_rank, a.kept, a.kept_step, a.results);
  fill(away, a.gone_rank, a.gone, a.gone_step, a.length);
  return a;
}

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  if (problem.input(0).type != kernel.type || problem.output().type != kernel.type)
    return Refusal{fmt::format("is for {}, there is {}", name(kernel.type), name(problem.input(0).type))};
  if (problem.input(0).rank() > kMostReduceDimensions) return Refusal{"more than six dimensions"};
  if (problem.input(0).shape().volume() == 0) return Refusal{"nothing to add up"};
  if (!axes_of(problem)) return Refusal{"axes that only a run tells"};
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.inputs[0] = problem.orders[0];
  offer.outputs = {Order::row_major};
  offer.estimate = streaming_estimate(problem);
  return offer;
}

Launch prepare(const KernelInfo& kernel, const Problem& problem, const Offer& offer, Device& device,
               const StepAddresses& at) {
  const ReduceArguments a = arguments_of(problem, offer.inputs[0]);
  if (a.results == 0) return nothing();
  const bool lanes = a.gone_rank > 0 && a.gone_step[a.gone_rank - 1] == 1;
  return launch_of(device.library.function(Binary::reduce, fmt::format("reduce_{}_{}", short_name(kernel.type),
                                                                       lanes ? "rows" : "columns")),
                   {.blocks = blocks_for(a.results, lanes ? 8 : 32), .threads = 256, .early_start = true}, at.input(0),
                   at.outputs[0], a);
}

}  // namespace

std::vector<CudaKernel> reduce_kernels() {
  static std::list<std::string> names;  // KernelInfo keeps views
  std::vector<CudaKernel> out;
  for (const ElementType type : {ElementType::float16, ElementType::bfloat16, ElementType::float32}) {
    names.push_back(fmt::format("reduce_{}", short_name(type)));
    out.push_back(
        {.info = {.name = names.back(), .op = Reduce::kName, .type = type, .consider = consider}, .prepare = prepare});
  }
  return out;
}

}  // namespace tessera::cuda
