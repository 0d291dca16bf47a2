#include "tessera/targets/tensix/plan/step_memory.h"

#include "tessera/core/refusal.h"
#include "tessera/targets/tensix/card/tensor_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tessera::tensix {
namespace {

constexpr std::int64_t kL1PageAlignment = 16;

std::string grid_text(const CoreRangeSet& grid) {
  if (grid.ranges().size() == 1) {
    const CoreRange& range = grid.ranges()[0];
    return fmt::format("{}x{} cores", range.columns(), range.rows());
  }
  return fmt::format("{} cores", grid.num_cores());
}

}  // namespace

std::string_view name(LiveValue::Role role) {
  switch (role) {
    case LiveValue::Role::waiting: return "waiting";
    case LiveValue::Role::read: return "read";
    case LiveValue::Role::made: return "made";
  }
  return "";
}

std::string place_text(const MemoryConfig& memory) {
  if (!memory.is_sharded())
    return memory.is_dram() ? "DRAM" : fmt::format("{} interleaved", name(memory.buffer_type()));
  std::string text = fmt::format("{} {}", name(memory.buffer_type()), name(memory.layout()));
  if (const auto& spec = memory.shard_spec())
    text += fmt::format(" {}x{} on {}", spec->shape.height, spec->shape.width, grid_text(spec->grid));
  else if (const auto& nd = memory.nd_shard_spec())
    text += fmt::format(" {} on {}", nd->shard_shape.to_string(), grid_text(nd->grid));
  return text;
}

std::int64_t l1_bytes_of(const Placement& placement, std::int64_t l1_banks) {
  if (!placement.memory.is_l1()) return 0;
  const auto bytes = attempt([&]() -> std::int64_t {
    const TensorSpec spec(placement.shape, placement.dtype, placement.layout, placement.memory);
    const std::int64_t page = round_up(spec.page_bytes(), kL1PageAlignment);
    if (!placement.memory.is_sharded()) return ceil_div(spec.num_pages(), std::max<std::int64_t>(1, l1_banks)) * page;
    const MemoryConfig& memory = spec.memory_config();
    const std::int64_t cores = memory.shard_spec()      ? memory.shard_spec()->num_cores()
                               : memory.nd_shard_spec() ? memory.nd_shard_spec()->num_cores()
                                                        : 0;
    return cores == 0 ? 0 : ceil_div(spec.num_shards(), cores) * spec.pages_per_shard() * page;
  });
  return bytes ? *bytes : 0;  // a plan edited by hand may say anything
}

double total_ns(const PlannedStep& step) {
  double ns = step.predicted.time.ns;
  for (const PlannedMove& move : step.moves) ns += move.ns;
  return ns;
}

double weighed_ns(const PlannedStep& step) {
  for (const WeighedConfig& other : step.alternatives)
    if (other.chosen) return std::max(other.ns, total_ns(step));
  return total_ns(step);
}

const WeighedConfig* fastest_other(const PlannedStep& step) {
  const WeighedConfig* best = nullptr;
  for (const WeighedConfig& other : step.alternatives)
    if (other.refusal.empty() && other.ns > 0 && !other.chosen && (best == nullptr || other.ns < best->ns))
      best = &other;
  return best;
}

std::vector<std::vector<LiveValue>> live_values(const CardPlan& plan, std::int64_t l1_banks) {
  // From the end: who reads a value next.
  std::vector<std::map<std::string, std::size_t>> next(plan.steps.size() + 1);
  for (std::size_t s = plan.steps.size(); s-- > 0;) {
    next[s] = next[s + 1];
    for (const std::string& value : plan.steps[s].reads) next[s][value] = s;
  }
  struct Held {
    Placement placement;
    std::int64_t l1_bytes;
    std::size_t made_by;
  };
  std::vector<std::pair<std::string, Held>> held;  // oldest first
  const auto find = [&](const std::string& value) {
    return std::find_if(held.begin(), held.end(), [&](const auto& each) { return each.first == value; });
  };
  std::vector<std::vector<LiveValue>> out;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const PlannedStep& step = plan.steps[s];
    for (const std::string& value : step.reads)
      if (find(value) == held.end()) held.push_back({value, {{}, 0, LiveValue::kNetwork}});  // an input, in DRAM
    for (const PlannedMove& move : step.moves)
      if (const auto moved = find(move.value); moved != held.end()) {
        moved->second.placement.memory = move.to;
        moved->second.l1_bytes = l1_bytes_of(moved->second.placement, l1_banks);
      }
    held.push_back({step.makes, {step.result, step.result.memory.is_l1() ? step.predicted.output_bytes : 0, s}});
    std::vector<LiveValue> live;
    for (const auto& [value, each] : held) {
      const bool made = each.made_by == s && &each == &held.back().second;
      const bool read = std::find(step.reads.begin(), step.reads.end(), value) != step.reads.end();
      const auto reader = next[s].find(value);
      live.push_back({value,
                      made   ? LiveValue::Role::made
                      : read ? LiveValue::Role::read
                             : LiveValue::Role::waiting,
                      each.placement.memory, each.l1_bytes, each.made_by,
                      reader == next[s].end() ? LiveValue::kNetwork : reader->second});
    }
    out.push_back(std::move(live));
    for (const std::string& value : step.frees)
      if (const auto gone = find(value); gone != held.end()) held.erase(gone);
  }
  return out;
}

}  // namespace tessera::tensix
