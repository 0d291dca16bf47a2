#include "tessera/targets/tensix/plan/end_to_end.h"

#include "tessera/targets/tensix/time/host_model.h"

#include <utility>

namespace tessera::tensix {
namespace {

constexpr int kBatches = 32;               // that the time of one is the average of
constexpr std::int64_t kElementBytes = 2;  // bfloat16 on its way

std::int64_t transfer_bytes(const Graph& graph, const std::vector<ValueId>& values) {
  std::int64_t elements = 0;
  for (const ValueId id : values) elements += graph.value(id).type.shape().volume();
  return elements * kElementBytes;
}

}  // namespace

tensix::PipelineWork pipeline_work(const TensixSpec& card, const tensix::LoweredGraph& network,
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
  return work;
}

tensix::EndToEnd end_to_end(const TensixSpec& card, const tensix::PipelineWork& work,
                            const tensix::PipelineConfig& config, std::int64_t cards) {
  return tensix::run_pipeline(tensix::host_model(card), work, tensix::executor_of(config), kBatches,
                              static_cast<int>(cards))
      .time;
}

tensix::PipelineConfig pipeline_config(const CardPlan& plan) {
  return {.use_trace = plan.metal_trace,
          .num_command_queues = plan.command_queues,
          .all_transfers_on_separate_command_queue = plan.separate_transfers};
}

}  // namespace tessera::tensix
