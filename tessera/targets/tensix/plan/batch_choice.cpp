#include "tessera/targets/tensix/plan/batch_choice.h"

#include <algorithm>
#include <map>

namespace tessera::tensix {

BatchTime batch_time(const CardPlan& plan, Objective objective) {
  const std::int64_t frames = plan.batch * plan.request.mesh;
  if (objective == Objective::device) return {frames, plan.device_ns, plan.device_ns};
  return {frames, plan.end_to_end_ns, plan.latency_ns};
}

std::optional<BoundShare> mostly_bound_by(const CardPlan& plan) {
  std::map<std::string, double> ns;
  double all = 0;
  for (const PlannedStep& step : plan.steps) {
    const tensix::StepTime& time = step.predicted.time;
    if (time.ns > 0) ns[std::string(name(time.bound_by))] += time.ns;
    all += time.ns;
    for (const PlannedMove& move : step.moves)
      if (move.ns > 0) ns["moves"] += move.ns, all += move.ns;
  }
  if (ns.empty()) return std::nullopt;
  const auto most = std::ranges::max_element(ns, {}, [](const auto& each) { return each.second; });
  return BoundShare{most->first, most->second / all};
}

}  // namespace tessera::tensix
