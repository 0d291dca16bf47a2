#pragma once

// NumPy's broadcasting over operands in any order, brought down to as few loops as it takes.

#include "tessera/core/parallel_for.h"
#include "tessera/core/shape.h"
#include "tessera/kernel_plan/kernel_info.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace tessera::cpu {

// How far apart neighbours along each axis of `to` lie in an operand of shape `from`: 0 where it repeats. The axes are
// those of `to` in the order `to_order`.
inline std::vector<std::int64_t> broadcast_strides(const Shape& from, Order from_order, const Shape& to,
                                                   Order to_order) {
  const int rank = to.rank(), missing = rank - from.rank();
  const Shape stored = stored_shape(from, from_order);
  std::vector<std::int64_t> own(static_cast<std::size_t>(from.rank()), 1);
  for (int d = from.rank() - 2; d >= 0; --d)
    own[static_cast<std::size_t>(d)] = own[static_cast<std::size_t>(d) + 1] * stored[d + 1];
  std::vector<std::int64_t> strides(static_cast<std::size_t>(rank), 0);
  for (int d = 0; d < from.rank(); ++d)
    if (from[d] != 1)
      strides[static_cast<std::size_t>(stored_axis(missing + d, rank, to_order))] =
          own[static_cast<std::size_t>(stored_axis(d, from.rank(), from_order))];
  return strides;
}

// True where channels last and first are the same bytes.
inline bool has_one_order(const Shape& shape) {
  if (shape.rank() < 3 || shape[1] == 1) return true;
  for (int d = 2; d < shape.rank(); ++d)
    if (shape[d] != 1) return false;
  return true;
}

// Of a result of N operands: channels last if an operand as large as the result, or else any of its rank, has that.
inline Order broadcast_order(const Problem& problem, std::size_t operands, const Shape& to) {
  bool large = false;
  Order order = Order::row_major;
  for (std::size_t i = 0; i < operands; ++i) {
    const Shape shape = problem.input(i).shape();
    if (shape.rank() != to.rank() || to.rank() < 3 || problem.constant(i) != nullptr) continue;
    const bool full = shape.volume() == to.volume();
    if (full && !large) order = Order::row_major, large = true;
    if (full == large && problem.orders[i] == Order::channels_last) order = Order::channels_last;
  }
  return order;
}

// Orders to ask for: as they are where a stride can take care of it, those of the result where bytes would be
// scattered.
inline std::vector<Order> broadcast_inputs(const Problem& problem, std::size_t operands, const Shape& to, Order order) {
  std::vector<Order> orders(problem.node.inputs.size(), Order::row_major);
  for (std::size_t i = 0; i < operands; ++i) {
    const Shape shape = problem.input(i).shape();
    const bool as_it_is = shape.rank() != to.rank() || has_one_order(shape);
    orders[i] = as_it_is ? problem.orders[i] : order;
  }
  return orders;
}

// The operand that a result of the same size may replace: one that a step made rather than one that stays.
inline int overwritable(const Problem& problem, const std::vector<Order>& orders, std::size_t operands, const Shape& to,
                        Order order, std::int64_t element) {
  int found = -1;
  for (std::size_t i = 0; i < operands; ++i) {
    const TensorType& type = problem.input(i);
    if (type.shape() != to || element_bytes(type.type) != element || problem.constant(i) != nullptr ||
        (orders[i] != order && !has_one_order(to)))
      continue;
    const auto& inputs = problem.graph.inputs;
    const bool stays = std::find(inputs.begin(), inputs.end(), problem.node.inputs[i]) != inputs.end();
    if (found < 0 || !stays) found = static_cast<int>(i);
    if (!stays) break;
  }
  return found;
}

template <std::size_t N>
struct BroadcastLoop {
  int outer = 0;  // loops around the innermost
  std::array<std::int64_t, Shape::kMaxRank> extents{};
  std::array<std::array<std::int64_t, N>, Shape::kMaxRank> strides{};  // by axis
  std::int64_t inner = 1;
  std::array<std::int64_t, N> inner_strides{};
  std::int64_t rows = 1;

  // Axes along which every operand goes on as it would within one become one; axes of extent 1 vanish.
  BroadcastLoop(const Shape& to, const std::array<std::vector<std::int64_t>, N>& by_operand) {
    int rank = 0;
    for (int d = 0; d < to.rank(); ++d) {
      const std::int64_t extent = to[d];
      if (extent == 1) continue;
      std::array<std::int64_t, N> stride{};
      for (std::size_t n = 0; n < N; ++n) stride[n] = by_operand[n][static_cast<std::size_t>(d)];
      bool joins = rank > 0;
      if (rank > 0)
        for (std::size_t n = 0; n < N; ++n)
          joins = joins && strides[static_cast<std::size_t>(rank) - 1][n] == stride[n] * extent;
      if (joins) {
        extents[static_cast<std::size_t>(rank) - 1] *= extent;
        strides[static_cast<std::size_t>(rank) - 1] = stride;
      } else {
        extents[static_cast<std::size_t>(rank)] = extent;
        strides[static_cast<std::size_t>(rank)] = stride;
        ++rank;
      }
    }
    if (rank == 0) {
      inner_strides.fill(1);
      inner = to.volume();
      return;
    }
    outer = rank - 1;
    inner = extents[static_cast<std::size_t>(outer)];
    inner_strides = strides[static_cast<std::size_t>(outer)];
    for (int d = 0; d < outer; ++d) rows *= extents[static_cast<std::size_t>(d)];
  }

  // visit(offsets of the operands, offset of the result, elements) for runs along the innermost axis that together
  // cover all, `grain` elements and more for one thread.
  template <class Visit>
  void run(std::int64_t grain, Visit&& visit) const {
    if (rows == 0 || inner == 0) return;
    const std::int64_t chunk = inner <= 2 * grain ? inner : grain, chunks = ceil_div(inner, chunk);
    parallel_for(rows * chunks, std::max<std::int64_t>(1, grain / chunk), [&](std::int64_t begin, std::int64_t end) {
      std::array<std::int64_t, Shape::kMaxRank> position{};
      std::array<std::int64_t, N> offsets{};
      std::int64_t rest = begin / chunks;
      for (int d = outer - 1; d >= 0; --d) {
        const std::size_t at = static_cast<std::size_t>(d);
        position[at] = rest % extents[at];
        rest /= extents[at];
        for (std::size_t n = 0; n < N; ++n) offsets[n] += position[at] * strides[at][n];
      }
      std::int64_t row = begin / chunks, part = begin % chunks;
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t first = part * chunk, count = std::min(chunk, inner - first);
        std::array<std::int64_t, N> from = offsets;
        for (std::size_t n = 0; n < N; ++n) from[n] += first * inner_strides[n];
        visit(from, row * inner + first, count);
        if (++part < chunks) continue;
        part = 0;
        ++row;
        for (int d = outer - 1; d >= 0; --d) {
          const std::size_t at = static_cast<std::size_t>(d);
          for (std::size_t n = 0; n < N; ++n) offsets[n] += strides[at][n];
          if (++position[at] < extents[at]) break;
          position[at] = 0;
          for (std::size_t n = 0; n < N; ++n) offsets[n] -= strides[at][n] * extents[at];
        }
      }
    });
  }
};

}  // namespace tessera::cpu
