#include "tessera/targets/tensix/plan/end_to_end.h"

#include "tessera/graph/zoo/zoo.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/plan/plan_network.h"
#include "tessera/targets/tensix/plan/run_plan.h"

#include <gtest/gtest.h>

namespace tessera::tensix {
namespace {

// Whoever follows a plan comes to the time that it says, on any number of cards and in whichever way it is replayed.
TEST(PlanEndToEnd, IsThatOfTheFollowedPlan) {
  const Machine machine = load_machine("wormhole_n150");
  const tensix::LoweredGraph network = tensix::lower(make_zoo_model("resnet18", 2), {.host_fallback = true});
  for (const Objective objective : {Objective::device, Objective::end_to_end}) {
    CardPlanRequest request;
    request.objective = objective;
    request.mesh = 3;
    const CardPlan plan = plan_network(network, machine, request);
    const tensix::Simulation run = rehearse_plan(machine, network, plan);
    const tensix::PipelineWork work = pipeline_work(*machine.tensix, planned_network(network, plan), run);
    std::int64_t programs = 0;
    for (const tensix::DeviceStep& step : work.steps) programs += step.programs;
    EXPECT_EQ(programs, plan.programs);
    EXPECT_EQ(work.input_bytes, 2 * 2 * 3 * 224 * 224);  // two images of bfloat16, folded or not
    EXPECT_EQ(work.output_bytes, 2 * 2 * 1000);
    const tensix::EndToEnd time = end_to_end(*machine.tensix, work, pipeline_config(plan), request.mesh);
    EXPECT_EQ(time.end_to_end_ns, plan.end_to_end_ns);
    EXPECT_EQ(time.chips, 3);
  }
}

}  // namespace
}  // namespace tessera::tensix
