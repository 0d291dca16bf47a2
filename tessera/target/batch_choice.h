#pragma once

// Which of several batches serves best: every one has a plan of its own.

#include "tessera/core/export.h"
#include "tessera/target/network_plan.h"
#include "tessera/target/plan_request.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tessera {

struct BatchTime {
  std::int64_t frames = 0;  // of all devices together
  double interval_ns = 0;   // from one batch to the next
  double latency_ns = 0;    // from a batch to its results

  double frames_per_s() const { return interval_ns > 0 ? static_cast<double>(frames) / interval_ns * 1e9 : 0; }
};
// On the device both times are that of kernels and gaps; end to end the host is in them.
TSR_API BatchTime batch_time(const PlanTotals& totals, PlanObjective objective);

struct BatchChoice {
  std::optional<std::size_t> best;     // of those within the bound; none: there is none
  std::optional<std::size_t> nearest;  // to the bound, where none is within it
};
// Of equals the one with fewer frames. Without a bound there is a best one, unless there are none at all.
TSR_API BatchChoice choose_batch(std::span<const BatchTime> batches, BatchGoal goal,
                                 std::optional<double> max_latency_ns = {});

// Whether larger batches than these, in rising order, are worth a plan: they might come within the bound, and of the
// last few one brought something.
TSR_API bool larger_may_serve(std::span<const BatchTime> batches, BatchGoal goal,
                              std::optional<double> max_latency_ns = {});

}  // namespace tessera
