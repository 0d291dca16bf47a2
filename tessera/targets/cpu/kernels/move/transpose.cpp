// Operators whose result is one strided copy of their input: Transpose, Slice, Expand, Tile, DepthToSpace,
// SpaceToDepth.

#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/move/moving.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

namespace tessera::cpu {
namespace {

using Dims = std::vector<std::int64_t>;

struct Moves {
  std::vector<CopyDim> dims;
  std::int64_t from_offset = 0;
};

std::size_t at(int axis) { return static_cast<std::size_t>(axis); }

Moves moves_of(const Transpose& op, const Problem& problem, Order in, Order out) {
  const Shape y = problem.output().shape();
  const Dims from = strides_of(problem.input(0).shape(), in), to = strides_of(y, out);
  Moves moves;
  for (int d = 0; d < y.rank(); ++d) {
    const std::size_t source = op.perm.empty() ? at(y.rank() - 1 - d) : static_cast<std::size_t>(op.perm[at(d)]);
    moves.dims.push_back({y[d], from[source], to[at(d)]});
  }
  return moves;
}

// The first element that a slice takes, by the rules of the operator.
std::int64_t slice_start(std::int64_t start, std::int64_t step, std::int64_t extent) {
  if (start < 0) start += extent;
  return step > 0 ? std::clamp<std::int64_t>(start, 0, extent) : std::clamp<std::int64_t>(start, 0, extent - 1);
}

Moves moves_of(const Slice&, const Problem& problem, Order in, Order out) {
  const Shape x = problem.input(0).shape(), y = problem.output().shape();
  const Dims from = strides_of(x, in), to = strides_of(y, out);
  Moves moves;
  for (int d = 0; d < y.rank(); ++d) moves.dims.push_back({y[d], from[at(d)], to[at(d)]});
  if (y.volume() == 0) return moves;
  const Dims starts = problem.constant(1)->to_int64();
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t named = problem.has(3) ? problem.constant(3)->to_int64()[i] : static_cast<std::int64_t>(i);
    const int axis = normalized_axis(named, x.rank(), Slice::kName);
    const std::int64_t step = problem.has(4) ? problem.constant(4)->to_int64()[i] : 1;
    moves.from_offset += slice_start(starts[i], step, x[axis]) * from[at(axis)];
    // A step beyond the extent takes one element, and its product with a stride must not overflow.
    moves.dims[at(axis)].from *= std::clamp(step, -x[axis], x[axis]);
  }
  return moves;
}

Moves moves_of(const Expand&, const Problem& problem, Order in, Order out) {
  const Shape x = problem.input(0).shape(), y = problem.output().shape();
  const Dims from = strides_of(x, in), to = strides_of(y, out);
  const int missing = y.rank() - x.rank();
  Moves moves;
  for (int d = 0; d < y.rank(); ++d)
    moves.dims.push_back({y[d], d < missing || x[d - missing] == 1 ? 0 : from[at(d - missing)], to[at(d)]});
  return moves;
}

Moves moves_of(const TileRepeat&, const Problem& problem, Order in, Order out) {
  const Shape x = problem.input(0).shape(), y = problem.output().shape();
  const Dims from = strides_of(x, in), to = strides_of(y, out);
  Moves moves;
  for (int d = 0; d < y.rank(); ++d) {
    moves.dims.push_back({x[d] == 0 ? 0 : y[d] / x[d], 0, to[at(d)] * x[d]});  // which copy
    moves.dims.push_back({x[d], from[at(d)], to[at(d)]});                      // where in it
  }
  return moves;
}

// Between the deep tensor [N, depth, H, W] and the wide one [N, C, H * b, W * b].
Moves block_moves(const Shape& deep, const Dims& of_deep, const Shape& wide, const Dims& of_wide, std::int64_t b,
                  bool column_row_depth, bool to_wide) {
  const std::int64_t depth = of_deep[1];
  const std::int64_t channel = column_row_depth ? depth * b * b : depth;
  const std::int64_t column = column_row_depth ? depth : depth * wide[1];
  Moves moves;
  const auto add = [&](std::int64_t extent, std::int64_t in_deep, std::int64_t in_wide) {
    moves.dims.push_back({extent, to_wide ? in_deep : in_wide, to_wide ? in_wide : in_deep});
  };
  add(deep[0], of_deep[0], of_wide[0]);
  add(wide[1], channel, of_wide[1]);
  add(deep[2], of_deep[2], of_wide[2] * b);
  add(b, column * b, of_wide[2]);
  add(deep[3], of_deep[3], of_wide[3] * b);
  add(b, column, of_wide[3]);
  return moves;
}

Moves moves_of(const DepthToSpace& op, const Problem& problem, Order in, Order out) {
  const Shape x = problem.input(0).shape(), y = problem.output().shape();
  return block_moves(x, strides_of(x, in), y, strides_of(y, out), op.block, op.column_row_depth, true);
}

Moves moves_of(const SpaceToDepth& op, const Problem& problem, Order in, Order out) {
  const Shape x = problem.input(0).shape(), y = problem.output().shape();
  return block_moves(y, strides_of(y, out), x, strides_of(x, in), op.block, false, false);
}

template <class X>
StridedCopy copy_of(const Problem& problem, Order in, Order out) {
  Moves moves = moves_of(std::get<X>(problem.node.op), problem, in, out);
  return {std::move(moves.dims), moves.from_offset, 0, element_bytes(problem.output().type)};
}

std::optional<Refusal> refusal(const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  if (std::holds_alternative<Slice>(problem.node.op))
    for (std::size_t i = 1; i < problem.node.inputs.size(); ++i)
      if (problem.has(i) && problem.constant(i) == nullptr) return Refusal{"the positions are not constant"};
  return std::nullopt;
}

template <class X>
Answer consider(const KernelInfo&, const Problem& problem) {
  if (auto no = refusal(problem)) return *no;
  const TensorType &x = problem.input(0), &y = problem.output();
  const Order in = problem.orders[0];
  if (x.rank() != y.rank()) return moving_offer(problem, Order::row_major, Order::row_major);
  if constexpr (std::is_same_v<X, Transpose>) {
    // A change of axes may be nothing but another order of the same bytes; if not, the larger pieces are faster.
    Offer best = moving_offer(problem, in, Order::row_major);
    std::int64_t largest = 0;
    for (const Order out : {Order::row_major, Order::channels_last}) {
      if (out == Order::channels_last && y.rank() < 3) continue;
      const StridedCopy copy = copy_of<X>(problem, in, out);
      if (y.shape().volume() > 0 && copy.is_one_block()) {
        Offer view = moving_offer(problem, in, out);
        view.view_of = 0;
        view.estimate = {0, "overhead"};
        return view;
      }
      if (copy.block_bytes() > largest) {
        largest = copy.block_bytes();
        best = moving_offer(problem, in, out);
      }
    }
    return best;
  }
  return moving_offer(problem, in, in);
}

template <class X>
Runner prepare(const KernelInfo&, const Problem& problem, const Offer& offer, WeightCache&) {
  auto copy = std::make_shared<const StridedCopy>(copy_of<X>(problem, offer.inputs[0], offer.outputs[0]));
  return [copy](const StepArgs& args) {
    if (args.inputs[0] != args.outputs[0]) copy->run(args.inputs[0], args.outputs[0]);  // else it is a view
  };
}

template <class X>
constexpr CpuKernel kernel(std::string_view name) {
  return {{.name = name, .op = X::kName, .consider = consider<X>}, prepare<X>};
}

constexpr CpuKernel kKernels[] = {
    kernel<Transpose>("transpose"),
    kernel<Slice>("slice"),
    kernel<Expand>("expand"),
    kernel<TileRepeat>("tile_repeat"),
    kernel<DepthToSpace>("depth_to_space"),
    kernel<SpaceToDepth>("space_to_depth"),
};

}  // namespace

std::span<const CpuKernel> transpose_kernels() { return kKernels; }

}  // namespace tessera::cpu
