#include "plan_text.h"

#include "tessera/targets/tensix/plan/card_plan_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace tessera::tensix {
namespace {

using nlohmann::ordered_json;

// FNV-1a, 32 bits.
std::string checksum(const ordered_json& json) {
  std::uint32_t sum = 2166136261u;
  for (const char letter : json.dump()) sum = (sum ^ static_cast<unsigned char>(letter)) * 16777619u;
  return fmt::format("#{:08x}", sum);
}

// "L1 HEIGHT_SHARDED 96x64 on 8x4+1x1": where a tensor lies.
std::string memory_text(const MemoryConfig& memory) {
  std::string out = fmt::format("{} {}", name(memory.buffer_type()), name(memory.layout()));
  if (!memory.shard_spec()) return out;
  const ShardSpec& shards = *memory.shard_spec();
  out += fmt::format(" {}x{} on {} core{}", shards.shape.height, shards.shape.width, shards.num_cores(),
                     shards.num_cores() == 1 ? "" : "s");
  return out;
}

std::string step_line(const PlannedStep& step, const ordered_json& json) {
  const SimulatedStep& p = step.predicted;
  std::string numbers;
  if (step.config.weights_dtype) numbers += fmt::format("{} weights, ", name(*step.config.weights_dtype));
  if (step.config.fidelity) numbers += fmt::format("{}, ", name(*step.config.fidelity));
  const auto refused =
      std::ranges::count_if(step.alternatives, [](const WeighedConfig& each) { return !each.refusal.empty(); });
  std::string line = fmt::format("{}: {}", step.node, step.op);
  if (!p.config.empty()) line += fmt::format(" {}", p.config);
  line += fmt::format(" | {} -> {} {} {}, {}", fmt::join(step.reads, ", "), step.makes, name(step.result.dtype),
                      name(step.result.layout), memory_text(step.result.memory));
  if (!step.frees.empty()) line += fmt::format(" | frees {}", fmt::join(step.frees, ", "));
  line += fmt::format(" | {}{} cores, {} program{}", numbers, p.cores, p.programs, p.programs == 1 ? "" : "s");
  if (p.time.ns > 0)
    line += fmt::format(" | {:.3f} ns by {}, {}", p.time.ns, name(p.time.bound_by), name(p.time.basis));
  line += fmt::format(" | L1 {} B: buffers {}, halo {}, result {}", p.l1_peak_bytes, p.circular_buffer_bytes,
                      p.halo_bytes, p.output_bytes);
  return fmt::format("{} | of {} ways {} refused | {}\n", line, step.alternatives.size(), refused, checksum(json));
}

}  // namespace

std::string plan_text(const CardPlan& plan) {
  const ordered_json json = ordered_json::parse(encode_card_plan(plan));
  ordered_json rest = json;
  for (const char* own : {"steps", "machine_digest", "predicted"}) rest.erase(own);
  std::string out = fmt::format("{} for {}, batch {}: {} | {}\n", plan.model, plan.machine, plan.batch,
                                fmt::join(plan.model_inputs, ", "), checksum(rest));
  out += fmt::format("machine {}\n", plan.machine_digest);
  out += fmt::format("kernels {:.3f} ns, device {:.3f} ns, end to end {:.3f} ns, latency {:.3f} ns\n", plan.kernels_ns,
                     plan.device_ns, plan.end_to_end_ns, plan.latency_ns);
  out += fmt::format("{} programs, L1 {} of {} B\n", plan.programs, plan.l1_peak_bytes, plan.l1_limit_bytes);
  for (const CardPlan::Input& input : plan.placed_inputs)
    out += fmt::format("input {}: {}\n", input.value, memory_text(input.memory));
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const PlannedStep& step = plan.steps[s];
    for (std::size_t m = 0; m < step.moves.size(); ++m)
      out += fmt::format("  {} {} to {} | {:.3f} ns, L1 {} B | {} | {}\n", name(step.moves[m].kind),
                         step.moves[m].value, memory_text(step.moves[m].to), step.moves[m].ns,
                         step.moves[m].l1_peak_bytes, step.moves[m].why, checksum(json["steps"][s]["moves"][m]));
    ordered_json own = json["steps"][s];
    own.erase("moves");
    out += step_line(step, own);
  }
  return out;
}

}  // namespace tessera::tensix
