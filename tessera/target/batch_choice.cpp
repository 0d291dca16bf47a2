#include "tessera/target/batch_choice.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr std::size_t kWithoutGain = 2;  // batches in a row that bring nothing: larger ones will not either
constexpr double kGain = 1.01;           // of the rate: less is nothing

bool better(const BatchTime& a, const BatchTime& b, BatchGoal goal) {
  const double gain = goal == BatchGoal::throughput ? a.frames_per_s() - b.frames_per_s() : b.latency_ns - a.latency_ns;
  return gain != 0 ? gain > 0 : a.frames < b.frames;
}

}  // namespace

BatchTime batch_time(const PlanTotals& totals, PlanObjective objective) {
  const double device_ns = totals.device_s * 1e9;
  if (objective == PlanObjective::device) return {totals.frames, device_ns, device_ns};
  return {totals.frames, totals.end_to_end_s * 1e9, totals.latency_s * 1e9};
}

BatchChoice choose_batch(std::span<const BatchTime> batches, BatchGoal goal, std::optional<double> max_latency_ns) {
  BatchChoice out;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (!out.nearest || better(batches[i], batches[*out.nearest], BatchGoal::latency)) out.nearest = i;
    if (max_latency_ns && batches[i].latency_ns > *max_latency_ns) continue;
    if (!out.best || better(batches[i], batches[*out.best], goal)) out.best = i;
  }
  if (out.best) out.nearest.reset();
  return out;
}

bool larger_may_serve(std::span<const BatchTime> batches, BatchGoal goal, std::optional<double> max_latency_ns) {
  if (batches.empty()) return true;
  if (goal == BatchGoal::latency || (max_latency_ns && batches.back().latency_ns > *max_latency_ns)) return false;
  if (batches.size() <= kWithoutGain) return true;
  const std::span<const BatchTime> before = batches.first(batches.size() - kWithoutGain);
  const auto rate = [](const BatchTime& time) { return time.frames_per_s(); };
  const double known = rate(*std::ranges::max_element(before, {}, rate));
  return std::ranges::any_of(batches.last(kWithoutGain),
                             [&](const BatchTime& time) { return rate(time) > kGain * known; });
}

}  // namespace tessera
