#pragma once

// What operators that work element by element have in common.

#include "tessera/core/parallel_for.h"
#include "tessera/targets/cpu/kernels/kernel.h"

#include <cstdint>

namespace tessera::cpu {

// Elements for one thread at least: some microseconds of work, against as much for waking it.
constexpr std::int64_t kCheapGrain = 32768;
constexpr std::int64_t kCostlyGrain = 4096;

// One input or several of one shape, in the order of the first, and a result that may take its place if its elements
// are as large.
inline Offer elementwise_offer(const Problem& problem) {
  Offer offer;
  const Order order = problem.orders[0];
  for (std::size_t i = 0; i < problem.node.inputs.size(); ++i)
    offer.inputs.push_back(i == 0 ? order : Order::row_major);
  offer.outputs.assign(problem.types.outputs.size(), order);
  if (element_bytes(problem.output().type) == element_bytes(problem.input(0).type)) offer.may_overwrite = 0;
  return offer;
}

// Bytes that enter and leave.
inline double streamed_bytes(const Problem& problem) {
  const Work w = work(problem.graph, problem.node);
  return w.read_bytes + w.write_bytes;
}

}  // namespace tessera::cpu
