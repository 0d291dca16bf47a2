#include "tessera/backends/sim/tensix/host_model.h"
#include "tessera/planner/run_plan.h"
#include "tessera/report/plan_report.h"

#include <cmath>

namespace tessera {
namespace {

constexpr int kRehearsedBatches = 32;      // as the planner counts end-to-end time
constexpr std::int64_t kElementBytes = 2;  // bfloat16 on its way
constexpr double kSameTime = 1e-6;         // relative: sums in another order

std::int64_t transfer_bytes(const Graph& graph, const std::vector<ValueId>& values) {
  std::int64_t elements = 0;
  for (const ValueId id : values) elements += graph.value(id).type.shape().volume();
  return elements * kElementBytes;
}

tensix::EndToEnd end_to_end(const planner::CardPlan& plan, const TensixSpec& card, const tensix::LoweredGraph& network,
                            const tensix::Simulation& run) {
  tensix::PipelineWork work{.input_bytes = transfer_bytes(network.graph, network.graph.inputs),
                            .output_bytes = transfer_bytes(network.graph, network.graph.outputs)};
  for (const tensix::SimulatedStep& step : run.steps) {
    if (step.programs <= 0) continue;
    tensix::DeviceStep one{.name = step.node, .op = step.op, .kernel_ns = step.time.ns};
    one.programs = static_cast<int>(step.programs);
    work.steps.push_back(std::move(one));
  }
  work.output_move_ns = tensix::dram_move_ns(card, work.output_bytes);
  const tensix::Executor executor =
      tensix::executor_of({.use_trace = plan.metal_trace,
                           .num_command_queues = plan.command_queues,
                           .all_transfers_on_separate_command_queue = plan.separate_transfers});
  return tensix::run_pipeline(tensix::host_model(card), work, executor, kRehearsedBatches,
                              static_cast<int>(plan.request.mesh))
      .time;
}

}  // namespace

PlanReport rehearsed_plan_report(const planner::CardPlan& plan, const Machine& machine,
                                 const tensix::LoweredGraph& network) {
  const tensix::Simulation run = planner::rehearse_plan(machine, network, plan);
  const tensix::LoweredGraph pass = planner::pass_network(network, plan);
  const tensix::EndToEnd time = end_to_end(plan, tensix_of(machine), planner::planned_network(network, plan), run);
  // Operations are those that were asked for: where the host folds an input, some of the card's are by zeros.
  // The parts of another time would not be those of the plan's.
  const double planned_ns = plan.end_to_end_ns / static_cast<double>(plan.passes());
  const bool same = std::abs(time.end_to_end_ns - planned_ns) <= kSameTime * planned_ns;
  return plan_report({plan, machine, &pass, &run.timeline, same ? &time : nullptr});
}

}  // namespace tessera
