#pragma once

// Which of several batches serves best: every one has a plan of its own.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/plan/card_plan.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tessera::tensix {

enum class BatchGoal : std::uint8_t {
  throughput,  // most frames per second, of all cards
  latency,     // least time from a batch to its results
};
TSR_API std::string_view name(BatchGoal goal);

struct BatchTime {
  std::int64_t frames = 0;  // of all cards together
  double interval_ns = 0;   // from one batch to the next
  double latency_ns = 0;    // from a batch to its results

  double frames_per_s() const { return interval_ns > 0 ? static_cast<double>(frames) / interval_ns * 1e9 : 0; }
};
// On the device both times are that of kernels and gaps; end to end the host is in them.
TSR_API BatchTime batch_time(const CardPlan& plan, Objective objective);

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

// What bounds the steps that take most of the kernels' time together, and their share of it.
struct BoundShare {
  std::string by;
  double share = 0;
};
TSR_API std::optional<BoundShare> mostly_bound_by(const CardPlan& plan);

}  // namespace tessera::tensix
