#include "plan_fixture.h"

namespace tessera::tensix {
namespace {

MemoryConfig shards_on(TensorMemoryLayout layout, CoreRange cores, Extent2d shape) {
  return MemoryConfig(layout, BufferType::l1, ShardSpec{cores, shape});
}

tensix::StepTime time_of_parts(double reader, double math, double ns, tensix::TimePart bound) {
  tensix::StepTime t;
  t.reader_ns = reader;
  t.math_ns = math;
  t.ns = ns;
  t.roof_ns = ns / 4;
  t.bound_by = bound;
  t.basis = tensix::TimeBasis::fitted;
  return t;
}

tensix::PlannedStep step_of(std::string node, std::string op, std::vector<std::string> reads, std::string makes,
                            MemoryConfig memory, tensix::StepTime time) {
  tensix::PlannedStep step;
  step.node = std::move(node);
  step.op = std::move(op);
  step.role = *tensix::call_role(step.op);
  step.reads = std::move(reads);
  step.makes = std::move(makes);
  step.result = {Shape{1, 1, 3136, 64}, DType::bfloat16, Layout::tile, memory};
  step.predicted.node = step.node;
  step.predicted.op = step.op;
  step.predicted.config = "as \"planned\" & <chosen>";
  step.predicted.cores = memory.shard_spec() ? memory.shard_spec()->num_cores() : 64;
  step.predicted.programs = 1;
  step.predicted.circular_buffer_bytes = 1000;
  step.predicted.l1_peak_bytes = 9000;
  step.predicted.time = time;
  return step;
}

}  // namespace

SamplePlan::SamplePlan(const std::string& name) : machine(load_machine("wormhole_n150")) {
  const MemoryConfig height = shards_on(TensorMemoryLayout::height_sharded, CoreRange({0, 0}, {7, 6}), {64, 64});
  const MemoryConfig block = shards_on(TensorMemoryLayout::block_sharded, CoreRange({0, 0}, {1, 6}), {448, 32});
  plan.model = "net " + name;
  plan.model_inputs = {"x float32[1, 3, 56, 56]"};
  plan.network_digest = "aa";
  plan.machine = "wormhole_n150";
  plan.machine_digest = "bb";
  plan.request.min_pcc = 0.9;
  plan.request.pins = {{name, "shard", "BLOCK"}};
  plan.pcc = 0.9987654;
  plan.batch = 4;
  plan.steps.push_back(
      step_of(name, "conv2d", {"x"}, "a", height, time_of_parts(5000, 2000, 6000, tensix::TimePart::reader)));
  plan.steps.push_back(
      step_of("conv2", "conv2d", {"a"}, "b" + name, block, time_of_parts(1000, 2500, 3000, tensix::TimePart::math)));
  plan.steps[1].moves.push_back({tensix::PlannedMove::Kind::reshard, "a", block, 400, "because " + name});
  plan.steps.push_back(
      step_of("conv3", "conv2d", {"b" + name}, "c", block, time_of_parts(0, 500, 600, tensix::TimePart::math)));
  plan.steps[2].moves.push_back({tensix::PlannedMove::Kind::spill, "a", kDramMemoryConfig, 300, ""});
  plan.steps[2].predicted.l1_peak_bytes = 9500;
  plan.steps.push_back(
      step_of("add", "add", {"a", "c"}, "d", block, time_of_parts(100, 50, 200, tensix::TimePart::reader)));
  plan.steps[3].moves.push_back({tensix::PlannedMove::Kind::restore, "a", block, 500, ""});
  plan.steps[3].frees = {"a", "c"};
  plan.steps[0].pcc = 0.99991;
  plan.steps[0].alternatives = {{"too large " + name, "1,612,032 B are beyond " + name, 0, 1612032},
                                {"slower", "", 9000, 700000},
                                {"fast enough", "", 6600, 500000}};
  plan.kernels_ns = 6000 + 3000 + 600 + 200 + 400 + 300 + 500;
  plan.device_ns = plan.kernels_ns + 1400;
  plan.end_to_end_ns = plan.device_ns + 2600;
  plan.programs = 7;
  plan.l1_peak_bytes = 9500;
  plan.l1_limit_bytes = 10000;

  timeline.base_address = 1000;
  timeline.l1_small_address = 11000;
  timeline.l1_bytes = 11500;
  timeline.steps = {{"", ""},       {name, "conv2d"},    {"a", "reshard"}, {"conv2", "conv2d"},
                    {"a", "spill"}, {"conv3", "conv2d"}, {"a", "restore"}, {"add", "add"}};
  timeline.programs = {{"halo", "", 1, 500, 4000, 0},  {"conv2d", "", 1, 1000, 7000, 0},
                       {"reshard", "", 2, 0, 6000, 0}, {"conv2d", "", 3, 2000, 6000, 0},
                       {"move", "", 4, 0, 6000, 0},    {"conv2d", "", 5, 3900, 5600, 0},
                       {"move", "", 6, 0, 6000, 0},    {"add", "", 7, 100, 7000, 0}};
  constexpr std::size_t kEnd = L1Timeline::kStillThere;
  timeline.buffers = {{"halo", "", BufferType::l1, 7000, 4000, 0, 2, 1, 1},
                      {"tensor", "a", BufferType::l1, 3000, 3000, 1, 3, 1, 2},
                      {"tensor", "a", BufferType::l1, 8000, 3000, 2, 5, 2, 4},
                      {"tensor", "b" + name, BufferType::l1, 5000, 3000, 3, 6, 3, 5},
                      {"list", "", BufferType::l1_small, 11400, 100, 0, kEnd, 1, kEnd}};
}

}  // namespace tessera::tensix
