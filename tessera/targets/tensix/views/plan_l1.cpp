#include "tessera/targets/tensix/views/plan_l1.h"

#include "tessera/core/shape.h"

#include <algorithm>
#include <map>
#include <set>

namespace tessera::tensix {
namespace {

using tensix::CardPlan;

std::size_t kept_once(std::vector<CoreShares>& all, const std::vector<int>& percent) {
  CoreShares runs;
  for (const int p : percent) {
    if (runs.empty() || runs.back().second != p) runs.emplace_back(0, p);
    ++runs.back().first;
  }
  const auto found = std::find(all.begin(), all.end(), runs);
  if (found != all.end()) return static_cast<std::size_t>(found - all.begin());
  all.push_back(std::move(runs));
  return all.size() - 1;
}

class CoreMap {
 public:
  explicit CoreMap(PlanReport& report) : report_(report) {}

  // The part of each core's bytes that is filled.
  std::size_t of(const Shape& shape, const MemoryConfig& memory) {
    if (!memory.is_l1()) return PlanReport::kNone;
    std::vector<int> percent = empty();
    if (!memory.shard_spec()) {  // dealt page by page
      std::fill(percent.begin(), percent.end(), 100);
      return kept_once(report_.shares, percent);
    }
    const ShardSpec& shards = *memory.shard_spec();
    if (shape.rank() == 0 || shards.shape.height <= 0 || shards.shape.width <= 0) return PlanReport::kNone;
    const std::int64_t columns = shape[shape.rank() - 1], rows = columns > 0 ? shape.volume() / columns : 0;
    const std::int64_t across = ceil_div(columns, shards.shape.width), down = ceil_div(rows, shards.shape.height);
    const bool row_wise = shards.orientation == ShardOrientation::row_major;
    const bool block = memory.layout() == TensorMemoryLayout::block_sharded;
    const std::vector<CoreCoord> cores = shards.grid.cores(row_wise);
    const CoreRange box = shards.grid.bounding_box();
    for (std::int64_t i = 0; i < across * down; ++i) {
      const std::int64_t r = i / across, c = i % across;
      CoreCoord core;
      if (block)
        core = row_wise ? CoreCoord{box.start.x + static_cast<int>(c), box.start.y + static_cast<int>(r)}
                        : CoreCoord{box.start.x + static_cast<int>(r), box.start.y + static_cast<int>(c)};
      else if (i < static_cast<std::int64_t>(cores.size()))
        core = cores[static_cast<std::size_t>(i)];
      else
        break;
      const double filled = static_cast<double>(std::min(shards.shape.height, rows - r * shards.shape.height)) *
                            static_cast<double>(std::min(shards.shape.width, columns - c * shards.shape.width)) /
                            static_cast<double>(shards.shape.height * shards.shape.width);
      if (inside(core)) percent[index(core)] = std::max(1, static_cast<int>(100 * filled));
    }
    return kept_once(report_.shares, percent);
  }

  std::size_t of_cores(const CoreRangeSet& cores) {
    std::vector<int> percent = empty();
    for (const CoreCoord& core : cores.cores(true))
      if (inside(core)) percent[index(core)] = 100;
    return kept_once(report_.shares, percent);
  }
  std::size_t of_first(std::int64_t count) {
    std::vector<int> percent = empty();
    for (std::size_t i = 0; i < percent.size() && static_cast<std::int64_t>(i) < count; ++i) percent[i] = 100;
    return kept_once(report_.shares, percent);
  }
  std::int64_t cores() const { return std::int64_t{report_.grid_x} * report_.grid_y; }

 private:
  std::vector<int> empty() const { return std::vector<int>(static_cast<std::size_t>(cores()), 0); }
  bool inside(const CoreCoord& core) const { return core.x < report_.grid_x && core.y < report_.grid_y; }
  std::size_t index(const CoreCoord& core) const { return static_cast<std::size_t>(core.y * report_.grid_x + core.x); }

  PlanReport& report_;
};

void add_working_cores(const CardPlan& plan, PlanReport& report, CoreMap& map) {
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    PlanReport::Step& step = report.steps[i];
    if (step.cores <= 0) continue;
    const std::optional<ShardSpec>& shards = plan.steps[i].result.memory.shard_spec();
    const bool own = shards && plan.steps[i].result.memory.is_l1() && shards->num_cores() == step.cores;
    step.working_known = own || step.cores >= map.cores();
    step.working = own ? map.of_cores(shards->grid) : map.of_first(step.cores);
  }
}

// Steps of the device beside those of the plan: what the device does on the way to a step belongs to it.
std::vector<std::size_t> owners(const L1Timeline& timeline, const CardPlan& plan) {
  std::vector<std::size_t> out(timeline.steps.size(), 0);
  std::size_t next = 0;
  for (std::size_t t = 1; t < timeline.steps.size(); ++t) {
    if (plan.steps.empty()) break;
    out[t] = std::min(next, plan.steps.size() - 1);
    const L1Timeline::Step& step = timeline.steps[t];
    const auto is = [&](std::size_t i) { return step.name == plan.steps[i].node && step.op == plan.steps[i].op; };
    if (next < plan.steps.size() && is(next))
      ++next;
    else if (next > 0 && is(next - 1))
      out[t] = next - 1;  // goes on after what made room for it
  }
  return out;
}

struct Lying {
  std::size_t step = 0;  // from the moves before this one on
  Shape shape;
  MemoryConfig memory;
};

std::map<std::string, std::vector<Lying>> places_over_time(const CardPlan& plan) {
  std::map<std::string, std::vector<Lying>> out;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    for (const tensix::PlannedMove& move : plan.steps[i].moves) {
      std::vector<Lying>& known = out[move.value];
      known.push_back({i, known.empty() ? Shape{} : known.back().shape, move.to});
    }
    out[plan.steps[i].makes].push_back({i, plan.steps[i].result.shape, plan.steps[i].result.memory});
  }
  return out;
}

void add_free_space(PlanReport& report) {
  PlanReport::L1& l1 = report.l1;
  std::vector<std::vector<std::size_t>> begins(l1.programs.size());
  for (std::size_t b = 0; b < l1.buffers.size(); ++b)
    if (l1.buffers[b].kind != PlanReport::L1Buffer::Kind::small && l1.buffers[b].first < l1.programs.size())
      begins[l1.buffers[b].first].push_back(b);
  std::set<std::pair<std::int64_t, std::size_t>> live;  // by address
  for (std::size_t p = 0; p < l1.programs.size(); ++p) {
    std::erase_if(live, [&](const auto& each) { return l1.buffers[each.second].end <= p; });
    for (const std::size_t b : begins[p])
      if (l1.buffers[b].end > p) live.emplace(l1.buffers[b].address, b);
    PlanReport::L1Program& program = l1.programs[p];
    std::int64_t at = l1.base_address + program.circular_buffer_bytes, free = 0, largest = 0;
    const auto gap = [&](std::int64_t end) {
      if (end > at) free += end - at, largest = std::max(largest, end - at);
    };
    for (const auto& [address, b] : live) {
      gap(address);
      at = std::max(at, address + l1.buffers[b].bytes);
    }
    gap(l1.limit_address);
    program.free_bytes = free;
    program.largest_free_bytes = largest;
  }
}

}  // namespace

void add_l1(const PlanReportSources& sources, PlanReport& report) {
  CoreMap map(report);
  add_working_cores(sources.plan, report, map);
  if (sources.timeline == nullptr) return;
  const L1Timeline& timeline = *sources.timeline;
  const std::vector<std::size_t> owner = owners(timeline, sources.plan);
  PlanReport::L1& l1 = report.l1;
  l1.base_address = timeline.base_address;
  l1.limit_address = timeline.l1_small_address;
  l1.end_address = timeline.l1_bytes;
  for (const L1Timeline::Program& program : timeline.programs) {
    l1.programs.push_back({owner[program.step], program.op, program.circular_buffer_bytes, program.l1_bytes,
                           program.l1_small_bytes, 0, 0});
    const std::size_t at = l1.programs.size() - 1;
    if (l1.peak == PlanReport::kNone || program.total_bytes() > timeline.programs[l1.peak].total_bytes()) l1.peak = at;
    if (report.steps.empty()) continue;
    std::size_t& fullest = report.steps[owner[program.step]].fullest;
    if (fullest == PlanReport::kNone || program.total_bytes() > timeline.programs[fullest].total_bytes()) fullest = at;
  }
  const auto places = places_over_time(sources.plan);
  for (const L1Timeline::Buffer& buffer : timeline.buffers) {
    PlanReport::L1Buffer out;
    out.kind = buffer.type == BufferType::l1_small ? PlanReport::L1Buffer::Kind::small
               : buffer.gone_in_its_step()         ? PlanReport::L1Buffer::Kind::working
                                                   : PlanReport::L1Buffer::Kind::tensor;
    out.value = buffer.name;
    out.label = buffer.label;
    out.address = buffer.address;
    out.bytes = buffer.bytes;
    out.first = std::min(buffer.first, timeline.programs.size());
    out.end = std::min(buffer.end, timeline.programs.size());
    out.step = owner[buffer.step];
    const auto found = places.find(buffer.name);
    if (out.kind == PlanReport::L1Buffer::Kind::tensor && found != places.end()) {
      // What lay here when it was made; else what came to lie here later, in place of another value.
      const std::size_t end = buffer.end_step < owner.size() ? owner[buffer.end_step] : sources.plan.steps.size();
      const Lying* last = nullptr;
      for (const Lying& each : found->second)
        if (each.memory.is_l1() && (each.step <= out.step || (last == nullptr && each.step <= end))) last = &each;
      if (last != nullptr) {
        out.place = place_of(last->memory);
        out.shares = map.of(last->shape, last->memory);
      }
    }
    if (out.end > out.first) l1.buffers.push_back(std::move(out));
  }
  add_free_space(report);
}

}  // namespace tessera::tensix
