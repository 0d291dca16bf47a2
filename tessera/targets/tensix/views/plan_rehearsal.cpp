#include "tessera/targets/tensix/plan/end_to_end.h"
#include "tessera/targets/tensix/plan/run_plan.h"
#include "tessera/targets/tensix/views/plan_report.h"

#include <cmath>

namespace tessera::tensix {

namespace {
constexpr double kSameTime = 1e-6;  // relative: files have fewer digits
}

PlanReport rehearsed_plan_report(const tensix::CardPlan& plan, const Machine& machine,
                                 const tensix::LoweredGraph& network) {
  const TensixSpec& card = tensix_of(machine);
  const tensix::Simulation run = tensix::rehearse_plan(machine, network, plan);
  const tensix::LoweredGraph pass = tensix::pass_network(network, plan);
  const tensix::PipelineWork work = tensix::pipeline_work(card, tensix::planned_network(network, plan), run);
  const tensix::EndToEnd time = tensix::end_to_end(card, work, tensix::pipeline_config(plan), plan.request.mesh);
  // Operations are those that were asked for: where the host folds an input, some of the card's are by zeros.
  // The parts of another time would not be those of the plan's.
  const double planned_ns = plan.end_to_end_ns / static_cast<double>(plan.passes());
  const bool same = std::abs(time.end_to_end_ns - planned_ns) <= kSameTime * planned_ns;
  return plan_report({plan, machine, &pass, &run.timeline, same ? &time : nullptr});
}

}  // namespace tessera::tensix
