// Reduce and GlobalPool in any order, and ArgReduce.

#include "tessera/targets/cpu/kernels/reduce/reduce.h"

#include "tessera/core/parallel_for.h"
#include "tessera/targets/cpu/kernels/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

namespace tessera::cpu {
namespace {

constexpr double kEfficiency = 0.1;               // of the float peak: doubles, and two conversions each
constexpr std::int64_t kGrainElements = 1 << 15;  // less is not worth a thread

ReduceKernel function_of(Isa isa) { return TSR_FOR_ISA(isa, reduce); }

struct Kind {
  Reduction reduction;
  ReductionEnd end = ReductionEnd::none;
};

std::optional<Kind> kind_of(const Op& op) {
  if (const auto* pool = std::get_if<GlobalPool>(&op)) {
    switch (pool->kind) {
      case GlobalPool::Kind::max: return Kind{Reduction::max};
      case GlobalPool::Kind::average: return Kind{Reduction::sum, ReductionEnd::divide};
      case GlobalPool::Kind::lp: break;
    }
    if (pool->p == 1) return Kind{Reduction::sum_abs};
    if (pool->p == 2) return Kind{Reduction::sum_square, ReductionEnd::square_root};
    return std::nullopt;
  }
  switch (std::get<Reduce>(op).kind) {
    case Reduce::Kind::sum: return Kind{Reduction::sum};
    case Reduce::Kind::mean: return Kind{Reduction::sum, ReductionEnd::divide};
    case Reduce::Kind::max: return Kind{Reduction::max};
    case Reduce::Kind::min: return Kind{Reduction::min};
    case Reduce::Kind::prod: return Kind{Reduction::product};
    case Reduce::Kind::l1: return Kind{Reduction::sum_abs};
    case Reduce::Kind::l2: return Kind{Reduction::sum_square, ReductionEnd::square_root};
    case Reduce::Kind::sum_square: return Kind{Reduction::sum_square};
    case Reduce::Kind::log_sum: return Kind{Reduction::sum, ReductionEnd::log};
    case Reduce::Kind::log_sum_exp: return std::nullopt;
  }
  return std::nullopt;
}

// Which axes of the graph's shape go; none if that is known only at run time.
std::optional<std::vector<bool>> gone_axes(const Problem& problem) {
  const int rank = problem.input(0).rank();
  std::vector<bool> gone(static_cast<std::size_t>(rank), false);
  if (std::holds_alternative<GlobalPool>(problem.node.op)) {
    std::fill(gone.begin() + std::min(rank, 2), gone.end(), true);
    return gone;
  }
  if (const auto* arg = std::get_if<ArgReduce>(&problem.node.op)) {
    gone[static_cast<std::size_t>(normalized_axis(arg->axis, rank, ArgReduce::kName))] = true;
    return gone;
  }
  const Reduce& op = std::get<Reduce>(problem.node.op);
  std::vector<std::int64_t> axes = op.axes;
  if (axes.empty() && problem.has(1)) {
    if (problem.constant(1) == nullptr) return std::nullopt;
    axes = problem.constant(1)->to_int64();
  }
  if (axes.empty() && !op.no_axes_means_none) gone.assign(gone.size(), true);
  for (const std::int64_t axis : axes)
    gone[static_cast<std::size_t>(normalized_axis(axis, rank, Reduce::kName))] = true;
  return gone;
}

bool keeps_dims(const Op& op) {
  if (const auto* reduce = std::get_if<Reduce>(&op)) return reduce->keep_dims;
  if (const auto* arg = std::get_if<ArgReduce>(&op)) return arg->keep_dims;
  return true;
}

// The order of the result when the input lies in `order`: none if the axes that stay would lie in neither.
std::optional<Order> result_order(const Problem& problem, const std::vector<bool>& gone, Order order) {
  const int rank = static_cast<int>(gone.size());
  if (order == Order::row_major || keeps_dims(problem.node.op)) return order;
  std::vector<int> kept, wanted;  // axes that stay, as they lie
  for (int axis = 0; axis < rank; ++axis)
    if (!gone[static_cast<std::size_t>(axis)]) kept.push_back(axis);
  wanted = kept;
  std::sort(kept.begin(), kept.end(),
            [&](int a, int b) { return stored_axis(a, rank, order) < stored_axis(b, rank, order); });
  if (kept == wanted) return Order::row_major;
  if (wanted.size() < 3) return std::nullopt;
  std::rotate(wanted.begin() + 1, wanted.begin() + 2, wanted.end());
  return kept == wanted ? std::optional(Order::channels_last) : std::nullopt;
}

Answer offer_for(const KernelInfo& kernel, const Problem& problem, double efficiency) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  const auto gone = gone_axes(problem);
  if (!gone) return Refusal{"the axes are not constant"};
  if (problem.input(0).shape().volume() == 0) return Refusal{"there are no elements"};
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.inputs[0] = problem.orders[0];
  std::optional<Order> result = result_order(problem, *gone, problem.orders[0]);
  if (!result) offer.inputs[0] = *(result = Order::row_major);
  offer.outputs = {*result};
  const Work w = work(problem.graph, problem.node);
  offer.estimate = estimate(problem, kernel.isa, w.flops, w.read_bytes + w.write_bytes, efficiency);
  return offer;
}

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const TensorType& x = problem.input(0);
  if (x.type != kernel.type) return Refusal{fmt::format("stores {}, the input is {}", name(kernel.type), name(x.type))};
  if (!kind_of(problem.node.op)) return Refusal{"no kernel for this kind of reduction"};
  return offer_for(kernel, problem, kEfficiency);
}

// Stored dimensions with neighbours of the same fate made one.
struct Group {
  std::int64_t extent = 1, stride = 1;
  bool gone = false;
};

std::vector<Group> groups_of(const Shape& shape, Order order, const std::vector<bool>& gone) {
  const Shape stored = stored_shape(shape, order);
  std::vector<bool> stored_gone(gone.size());
  for (int axis = 0; axis < shape.rank(); ++axis)
    stored_gone[static_cast<std::size_t>(stored_axis(axis, shape.rank(), order))] =
        gone[static_cast<std::size_t>(axis)];
  std::vector<Group> groups;
  std::int64_t stride = shape.volume();
  for (int d = 0; d < stored.rank(); ++d) {
    stride /= stored[d];
    if (stored[d] == 1) continue;
    const bool is_gone = stored_gone[static_cast<std::size_t>(d)];
    if (!groups.empty() && groups.back().gone == is_gone) {
      groups.back().extent *= stored[d];
      groups.back().stride = stride;
    } else {
      groups.push_back({stored[d], stride, is_gone});
    }
  }
  return groups;
}

// Offsets of every combination of positions in these groups, in order.
std::vector<std::int64_t> offsets_of(const std::vector<Group>& groups) {
  std::vector<std::int64_t> out{0};
  for (const Group& group : groups) {
    std::vector<std::int64_t> next;
    for (const std::int64_t at : out)
      for (std::int64_t i = 0; i < group.extent; ++i) next.push_back(at + i * group.stride);
    out = std::move(next);
  }
  return out;
}

struct Layout {
  std::int64_t outer = 1, length = 1, inner = 1;
  std::vector<std::int64_t> outer_at, parts_at;  // empty: as they follow each other
};

Layout layout_of(std::vector<Group> groups) {
  Layout layout;
  if (!groups.empty() && !groups.back().gone) {
    layout.inner = groups.back().extent;
    groups.pop_back();
  }
  if (!groups.empty()) {
    layout.length = groups.back().extent;
    groups.pop_back();
  }
  std::vector<Group> outer, parts;
  for (const Group& group : groups) (group.gone ? parts : outer).push_back(group);
  for (const Group& group : outer) layout.outer *= group.extent;
  if (!parts.empty()) {
    layout.parts_at = offsets_of(parts);
    layout.outer_at = offsets_of(outer);
  }
  return layout;
}

Runner prepare(const KernelInfo& kernel, const Problem& problem, const Offer& offer, WeightCache&) {
  struct State {
    ReduceJob job;
    Layout layout;
    std::int64_t grain = 1;
    ReduceKernel run = nullptr;
  };
  auto state = std::make_shared<State>();
  const Shape x = problem.input(0).shape();
  state->layout = layout_of(groups_of(x, offer.inputs[0], *gone_axes(problem)));
  const Layout& layout = state->layout;
  const Kind kind = *kind_of(problem.node.op);
  ReduceJob& job = state->job;
  job.kind = kind.reduction;
  job.end = kind.end;
  job.bf16 = kernel.type == ElementType::bfloat16;
  job.outer = layout.outer;
  job.length = layout.length;
  job.inner = layout.inner;
  if (!layout.parts_at.empty()) {
    job.outer_at = layout.outer_at.data();
    job.parts_at = layout.parts_at.data();
    job.parts = static_cast<std::int64_t>(layout.parts_at.size());
  }
  job.divisor = static_cast<double>(job.length * job.parts);
  job.blocks = ceil_div(job.inner, kReduceBlock);
  state->run = function_of(kernel.isa);
  state->grain =
      std::max<std::int64_t>(1, kGrainElements / (job.length * job.parts * std::min(job.inner, kReduceBlock)));
  return [state](const StepArgs& args) {
    ReduceJob mine = state->job;
    mine.x = args.inputs[0];
    mine.y = args.outputs[0];
    parallel_for(mine.outer * mine.blocks, state->grain,
                 [&](std::int64_t begin, std::int64_t end) { state->run(mine, begin, end); });
  };
}

// ArgReduce: which element of the axis is the largest or smallest.

Answer consider_arg(const KernelInfo& kernel, const Problem& problem) {
  const ElementType type = problem.input(0).type;
  if (type != ElementType::float32 && type != ElementType::bfloat16 && type != ElementType::int32 &&
      type != ElementType::int64)
    return Refusal{fmt::format("for float32, bfloat16, int32 and int64, not {}", name(type))};
  return offer_for(kernel, problem, 0.05);
}

struct ArgJob {
  std::int64_t length = 1, inner = 1;
  bool min = false, last = false;
};

template <class T>
bool beats(T a, T b, const ArgJob& job) {
  if constexpr (is_floating_v<T>)
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && (job.last || !std::isnan(b));
  return job.last ? (job.min ? a <= b : a >= b) : (job.min ? a < b : a > b);
}

// Results [begin, end), each the place in its column.
template <class T>
void arg_reduce(const ArgJob& job, const T* x, std::int64_t* y, std::int64_t begin, std::int64_t end) {
  using V = std::conditional_t<std::is_same_v<T, BFloat16>, float, T>;
  constexpr std::int64_t kColumns = 64;
  for (std::int64_t i = begin; i < end;) {
    const std::int64_t column = i % job.inner, count = std::min({kColumns, job.inner - column, end - i});
    const T* from = x + i / job.inner * job.length * job.inner + column;
    V best[kColumns];
    for (std::int64_t c = 0; c < count; ++c) {
      best[c] = static_cast<V>(from[c]);
      y[i + c] = 0;
    }
    for (std::int64_t k = 1; k < job.length; ++k)
      for (std::int64_t c = 0; c < count; ++c) {
        const V value = static_cast<V>(from[k * job.inner + c]);
        if (!beats(value, best[c], job)) continue;
        best[c] = value;
        y[i + c] = k;
      }
    i += count;
  }
}

Runner prepare_arg(const KernelInfo&, const Problem& problem, const Offer& offer, WeightCache&) {
  const ArgReduce& op = std::get<ArgReduce>(problem.node.op);
  const Shape shape = problem.input(0).shape(), stored = stored_shape(shape, offer.inputs[0]);
  const int axis = stored_axis(normalized_axis(op.axis, shape.rank(), ArgReduce::kName), shape.rank(), offer.inputs[0]);
  ArgJob job{stored[axis], 1, op.min, op.last_index};
  for (int d = axis + 1; d < stored.rank(); ++d) job.inner *= stored[d];
  const std::int64_t results = shape.volume() / job.length;
  const std::int64_t grain = round_up(std::max<std::int64_t>(1, kGrainElements / job.length), 64);
  return [job, results, grain, type = problem.input(0).type](const StepArgs& args) {
    parallel_for(results, grain, [&](std::int64_t begin, std::int64_t end) {
      const auto run = [&]<class T>(TypeTag<T>) {
        arg_reduce(job, args.input<T>(0), args.output<std::int64_t>(), begin, end);
      };
      switch (type) {
        case ElementType::float32: return run(TypeTag<float>{});
        case ElementType::bfloat16: return run(TypeTag<BFloat16>{});
        case ElementType::int32: return run(TypeTag<std::int32_t>{});
        default: return run(TypeTag<std::int64_t>{});
      }
    });
  };
}

constexpr CpuKernel kernel(std::string_view name, std::string_view op, Isa isa, ElementType type) {
  return {{.name = name, .op = op, .isa = isa, .type = type, .consider = consider}, prepare};
}

constexpr CpuKernel kKernels[] = {
#if defined(__x86_64__)
    kernel("reduce_f32_avx512", Reduce::kName, Isa::avx512, ElementType::float32),
    kernel("reduce_bf16_avx512", Reduce::kName, Isa::avx512, ElementType::bfloat16),
    kernel("global_pool_f32_avx512", GlobalPool::kName, Isa::avx512, ElementType::float32),
    kernel("global_pool_bf16_avx512", GlobalPool::kName, Isa::avx512, ElementType::bfloat16),
    kernel("reduce_f32_avx2", Reduce::kName, Isa::avx2, ElementType::float32),
    kernel("reduce_bf16_avx2", Reduce::kName, Isa::avx2, ElementType::bfloat16),
    kernel("global_pool_f32_avx2", GlobalPool::kName, Isa::avx2, ElementType::float32),
    kernel("global_pool_bf16_avx2", GlobalPool::kName, Isa::avx2, ElementType::bfloat16),
#endif
    kernel("reduce_f32", Reduce::kName, Isa::portable, ElementType::float32),
    kernel("reduce_bf16", Reduce::kName, Isa::portable, ElementType::bfloat16),
    kernel("global_pool_f32", GlobalPool::kName, Isa::portable, ElementType::float32),
    kernel("global_pool_bf16", GlobalPool::kName, Isa::portable, ElementType::bfloat16),
    {{.name = "arg_reduce", .op = ArgReduce::kName, .consider = consider_arg}, prepare_arg},
};

}  // namespace

std::span<const CpuKernel> reduce_kernels() { return kKernels; }

}  // namespace tessera::cpu
