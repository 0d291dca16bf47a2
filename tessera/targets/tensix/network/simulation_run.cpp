#include "tessera/targets/tensix/network/simulation_run.h"

#include "tessera/targets/tensix/time/kernel_time.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::tensix {
namespace {

std::string place_text(const DeviceTensor& x) {
  const MemoryConfig& memory = x.spec().memory_config();
  if (memory.shard_spec())
    return fmt::format("{} {}x{}", name(memory.layout()), memory.shard_spec()->shape.height,
                       memory.shard_spec()->shape.width);
  return fmt::format("{} {}", name(memory.buffer_type()), name(memory.layout()));
}

}  // namespace

void SimulationRun::begin(const std::string& node, const std::string& op) {
  recorder.begin_step(node, op);
  reset(node, op);
}

void SimulationRun::begin(const std::string& value, MoveKind move) {
  recorder.begin_step(value, move);
  reset(value, std::string(name(move)));
  step.move = move;
}

void SimulationRun::reset(const std::string& node, const std::string& op) {
  first_record = device->trace().size();
  conv_plan.reset();
  step = {};
  step.node = node;
  step.op = op;
}

void SimulationRun::note(const std::string& text) { step.note += (step.note.empty() ? "" : "; ") + text; }

void SimulationRun::finish(const DeviceTensor* result) {
  step.circular_buffer_bytes = recorder.step_circular_buffer_bytes();
  step.l1_peak_bytes = recorder.step_peak_bytes();
  step.l1_small_bytes = recorder.l1_small_bytes();
  const L1Timeline& timeline = recorder.timeline();
  for (auto buffer = timeline.buffers.rbegin(); buffer != timeline.buffers.rend(); ++buffer) {
    if (buffer->step + 1 != timeline.steps.size()) break;
    if (buffer->label == "halo") step.halo_bytes = std::max(step.halo_bytes, buffer->bytes);
  }
  if (result != nullptr) {
    const TensorSpec& spec = result->spec();
    const MemoryConfig& memory = spec.memory_config();
    step.result = fmt::format("{} {} {}", spec.logical_shape().to_string(), name(spec.dtype()), name(spec.layout()));
    if (memory.is_l1()) step.output_bytes = DeviceTensor::request(*device, spec).bytes_per_bank;
    if (step.config.empty()) step.config = place_text(*result);
    if (step.cores == 0)
      step.cores = memory.shard_spec() ? memory.shard_spec()->num_cores() : device->grid().x * device->grid().y;
  }
  const auto programs = std::span(device->trace()).subspan(std::min(first_record, device->trace().size()));
  step.programs = std::ranges::count_if(programs, is_program);
  if (costs) step.time = time_of(programs, device->card(), costs);
  steps.push_back(step);
  if (options.on_step) options.on_step(step);
}

bool SimulationRun::room_would_help(const Refusal& refusal) {
  return refusal.out_of_memory() && refusal.shortage != Shortage::program && refusal.shortage != Shortage::l1_small;
}

bool SimulationRun::make_room(std::span<const ValueId> keep, const Refusal& because) {
  const SimulatedStep waiting = step;
  recorder.begin_step("", MoveKind::spill);
  const std::optional<SimulatedValues::Spilled> spilled = values.spill(keep);
  if (spilled) {
    step = {};
    step.node = spilled->name;
    step.op = name(MoveKind::spill);
    step.move = MoveKind::spill;
    step.config = "L1 to DRAM";
    step.note = fmt::format("{} B of each core, next read by '{}', to make room for '{}': {}", spilled->bytes_per_core,
                            spilled->next, waiting.node, because.reason());
    finish(nullptr);
    first_record = device->trace().size();
  }
  recorder.begin_step(waiting.node, waiting.op);
  step = waiting;
  return spilled.has_value();
}

}  // namespace tessera::tensix
