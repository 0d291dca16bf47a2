#include "tessera/targets/tensix/plan/checklist.h"

#include "tessera/core/text.h"
#include "tessera/targets/tensix/plan/plan_difference.h"
#include "tessera/targets/tensix/plan/step_memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace tessera::tensix {
namespace {

constexpr std::size_t kColdSteps = 4;  // a value that nobody reads for so long is cold
constexpr double kSmallShare = 0.02;   // of the kernels' time: not worth a word
constexpr double kLargeShare = 0.10;   // worth planning again
constexpr double kFullShare = 0.9;     // of L1
constexpr double kMargin = 1.02;       // within it two times are the same

std::string us(double ns) { return fmt::format("{:.1f} us", ns * 1e-3); }
std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }
bool is_conv(const PlannedStep& step) { return step.role == CallRole::convolution; }
bool has_weights(const PlannedStep& step) { return is_conv(step) || step.role == CallRole::product; }

struct Checker {
  const CardPlan& plan;
  std::vector<std::vector<LiveValue>> live;
  double kernels_ns = 0;
  std::int64_t banks = 1;

  double share(double ns) const { return kernels_ns > 0 ? ns / kernels_ns : 0; }
  std::int64_t free_bytes(std::size_t s) const {
    return std::max<std::int64_t>(0, plan.l1_limit_bytes - plan.steps[s].predicted.l1_peak_bytes);
  }
  // The last step that reads a value made by step `s`; s itself if none does.
  std::size_t last_reader(std::size_t s) const {
    std::size_t last = s;
    for (std::size_t r = s + 1; r < plan.steps.size(); ++r) {
      const PlannedStep& step = plan.steps[r];
      if (std::find(step.reads.begin(), step.reads.end(), plan.steps[s].makes) != step.reads.end()) last = r;
    }
    return last;
  }
  std::size_t count(bool (*which)(const PlannedStep&)) const {
    return static_cast<std::size_t>(std::count_if(plan.steps.begin(), plan.steps.end(), which));
  }
};

// Results that the next step reads belong into L1, unless they do not fit.
CheckItem hot_paths(const Checker& c) {
  CheckItem item{.name = "hot paths in L1"};
  std::size_t hot = 0, fits = 0;
  double lost_ns = 0;
  for (std::size_t s = 0; s + 1 < c.plan.steps.size(); ++s) {
    const PlannedStep& step = c.plan.steps[s];
    const std::vector<std::string>& reads = c.plan.steps[s + 1].reads;
    if (std::find(reads.begin(), reads.end(), step.makes) == reads.end()) continue;
    ++hot;
    if (step.result.memory.is_l1()) continue;
    Placement spread = step.result;
    spread.memory = kL1MemoryConfig;
    const std::int64_t bytes = l1_bytes_of(spread, c.banks), room = std::min(c.free_bytes(s), c.free_bytes(s + 1));
    const bool would_fit = bytes > 0 && bytes <= room;
    item.findings.push_back(fmt::format("{}: {} in DRAM, {} B of each core in L1, {} B free: {}", step.node, step.makes,
                                        bytes, room, would_fit ? "it would fit" : "it does not fit"));
    if (would_fit) ++fits, lost_ns += step.predicted.time.dram_ns + c.plan.steps[s + 1].predicted.time.dram_ns;
  }
  item.evidence = fmt::format("{} of {} results that the next step reads lie in L1", hot - item.findings.size(), hot);
  if (fits > 0) item.evidence += fmt::format("; {} would fit, DRAM is busy {} for them", fits, us(lost_ns));
  if (!item.findings.empty()) item.verdict = c.share(lost_ns) > kLargeShare ? CheckVerdict::fail : CheckVerdict::warn;
  return item;
}

CheckItem sharding_selected(const Checker& c) {
  CheckItem item{.name = "sharding selected"};
  std::map<std::string, int> layouts;
  std::size_t convs = 0;
  for (const PlannedStep& step : c.plan.steps) {
    if (!is_conv(step)) continue;
    ++convs;
    if (step.config.gives("shard_layout") && step.config.conv.shard_layout)
      ++layouts[std::string(name(*step.config.conv.shard_layout))];
    else
      item.findings.push_back(fmt::format("{}: left to the operator", step.node));
  }
  std::vector<std::string> counts;
  for (const auto& [layout, count] : layouts) counts.push_back(fmt::format("{} {}", count, layout));
  item.evidence = fmt::format("{}: {}", counted(convs, "convolution"),
                              counts.empty() ? "none is told a layout" : fmt::format("{}", fmt::join(counts, ", ")));
  if (!item.findings.empty()) item.verdict = CheckVerdict::fail;
  return item;
}

// A convolution whose input is sharded otherwise reshards it by itself: a move that no plan shows.
CheckItem sharding_matches(const Checker& c) {
  CheckItem item{.name = "sharding matches between neighbours"};
  std::size_t edges = 0;
  for (std::size_t s = 0; s < c.plan.steps.size(); ++s) {
    const PlannedStep& step = c.plan.steps[s];
    if (!is_conv(step) || !step.config.conv.shard_layout) continue;
    for (const LiveValue& value : c.live[s]) {
      if (value.role != LiveValue::Role::read || !value.memory.is_l1() || !value.memory.is_sharded()) continue;
      ++edges;
      if (value.memory.layout() != *step.config.conv.shard_layout)
        item.findings.push_back(fmt::format("{}: is {}, reads {} as {}", step.node,
                                            name(*step.config.conv.shard_layout), value.value,
                                            name(value.memory.layout())));
    }
  }
  item.evidence = fmt::format("{} of {} sharded inputs of convolutions come as they are wanted",
                              edges - item.findings.size(), edges);
  if (!item.findings.empty()) item.verdict = CheckVerdict::warn;
  return item;
}

CheckItem reshards_minimal(const Checker& c) {
  CheckItem item{.name = "reshards minimal"};
  double ns = 0, saved_ns = 0;
  std::size_t reshards = 0;
  for (const PlannedStep& step : c.plan.steps) {
    double own_ns = 0;
    for (const PlannedMove& move : step.moves)
      if (move.kind == PlannedMove::Kind::reshard) own_ns += move.ns, ++reshards;
    if (own_ns == 0) continue;
    ns += own_ns;
    const WeighedConfig* best = fastest_other(step);
    const bool worse = best != nullptr && best->ns * kMargin < weighed_ns(step);
    if (worse) saved_ns += weighed_ns(step) - best->ns;
    item.findings.push_back(fmt::format("{}: {} of resharding, {} in all; {}", step.node, us(own_ns),
                                        us(weighed_ns(step)),
                                        best == nullptr ? "no other way was found to run"
                                                        : fmt::format("{} would take {}", best->config, us(best->ns))));
  }
  item.evidence =
      fmt::format("{} of {}, {} of the kernels' time", counted(reshards, "reshard"), us(ns), percent(c.share(ns)));
  if (const std::int64_t inner = totals_of(c.plan).inner_reshards; inner > 0)
    item.evidence += fmt::format("; {} more within convolutions", inner);
  if (c.share(ns) > kLargeShare && saved_ns > 0)
    item.verdict = CheckVerdict::fail;
  else if (c.share(saved_ns) > kSmallShare || c.share(ns) > kLargeShare)
    item.verdict = CheckVerdict::warn;
  return item;
}

// Where moving data is what a convolution waits for, and as much again of its buffers would fit.
CheckItem double_buffers(const Checker& c) {
  CheckItem item{.name = "double buffers where they pay"};
  std::size_t convs = 0, activations = 0, weights = 0;
  double waiting_ns = 0;
  for (std::size_t s = 0; s < c.plan.steps.size(); ++s) {
    const PlannedStep& step = c.plan.steps[s];
    // One that steps over single pixels runs as a product, which has no such buffers.
    if (!is_conv(step) || step.predicted.act_block_h == 0) continue;
    ++convs;
    const bool act = step.config.conv.enable_act_double_buffer, w = step.config.conv.enable_weights_double_buffer;
    activations += act, weights += w;
    const TimePart bound = step.predicted.time.bound_by;
    const bool by_reader = bound == TimePart::reader,
               by_weights = bound == TimePart::weights || bound == TimePart::multicast || bound == TimePart::dram;
    const bool fits =
        c.free_bytes(s) >= step.predicted.circular_buffer_bytes && step.predicted.circular_buffer_bytes > 0;
    if (!fits || !((by_reader && !act) || (by_weights && !w))) continue;
    waiting_ns += step.predicted.time.ns;
    item.findings.push_back(fmt::format("{}: bound by {}, {} B free, buffers take {} B", step.node, name(bound),
                                        c.free_bytes(s), step.predicted.circular_buffer_bytes));
  }
  item.evidence = fmt::format("of {} that work block by block {} double-buffer activations, {} weights",
                              counted(convs, "convolution"), activations, weights);
  if (!item.findings.empty()) item.evidence += fmt::format("; {} could for {}", item.findings.size(), us(waiting_ns));
  if (c.share(waiting_ns) > kSmallShare) item.verdict = CheckVerdict::warn;
  return item;
}

CheckItem blocks_tuned(const Checker& c) {
  CheckItem item{.name = "block sizes tuned"};
  std::size_t convs = 0, whole = 0, weighed = 0;
  double lost_ns = 0;
  for (const PlannedStep& step : c.plan.steps) {
    if (!is_conv(step)) continue;
    ++convs;
    whole += step.config.conv.act_block_h_override == 0;
    weighed += !step.alternatives.empty();
    const WeighedConfig* best = fastest_other(step);
    if (step.alternatives.empty() && step.config.conv.act_block_h_override != 0) {
      item.findings.push_back(
          fmt::format("{}: act_block_h {}, nothing else was tried", step.node, step.config.conv.act_block_h_override));
    } else if (best != nullptr && best->ns * kMargin < weighed_ns(step)) {
      lost_ns += weighed_ns(step) - best->ns;
      item.findings.push_back(
          fmt::format("{}: takes {}, {} by itself {}", step.node, us(weighed_ns(step)), best->config, us(best->ns)));
    }
  }
  item.evidence = fmt::format("{}: {} with all rows of a core in one block, {} chosen among others",
                              counted(convs, "convolution"), whole, weighed);
  if (weighed == 0 && convs > 0)
    item.verdict = CheckVerdict::fail;
  else if (c.share(lost_ns) > kSmallShare || weighed + whole < convs)
    item.verdict = CheckVerdict::warn;
  return item;
}

// Values that wait for long in L1 while others had to go or to be cut.
CheckItem cold_skips(const Checker& c) {
  CheckItem item{.name = "skips in DRAM when cold"};
  std::size_t cold = 0, in_dram = 0;
  for (std::size_t s = 0; s < c.plan.steps.size(); ++s) {
    const PlannedStep& maker = c.plan.steps[s];
    std::size_t first = s;  // that reads it after the step after
    for (std::size_t r = s + 1; r < c.plan.steps.size() && r <= c.last_reader(s); ++r) {
      const std::vector<std::string>& reads = c.plan.steps[r].reads;
      if (std::find(reads.begin(), reads.end(), maker.makes) == reads.end()) continue;
      if (r - first > kColdSteps) {
        ++cold;
        std::int64_t held = 0, fullest = 0;
        bool cramped = false;
        std::string at;
        for (std::size_t t = first + 1; t < r; ++t) {
          const auto value = std::find_if(c.live[t].begin(), c.live[t].end(),
                                          [&](const LiveValue& v) { return v.value == maker.makes; });
          if (value == c.live[t].end() || value->l1_bytes == 0) continue;
          held = value->l1_bytes;
          const PlannedStep& step = c.plan.steps[t];
          if (step.predicted.l1_peak_bytes > fullest) fullest = step.predicted.l1_peak_bytes, at = step.node;
          cramped = cramped || step.config.height_slices.has_value() ||
                    std::any_of(step.moves.begin(), step.moves.end(),
                                [](const PlannedMove& m) { return m.kind == PlannedMove::Kind::spill; });
        }
        if (held == 0) {
          ++in_dram;
          item.findings.push_back(
              fmt::format("{}: in DRAM for {} steps until {}", maker.makes, r - first - 1, c.plan.steps[r].node));
        } else {
          const bool full = static_cast<double>(fullest) > kFullShare * static_cast<double>(c.plan.l1_limit_bytes);
          item.findings.push_back(
              fmt::format("{}: {} B of each core for {} steps until {}, fullest in {} with {} of {} B{}", maker.makes,
                          held, r - first - 1, c.plan.steps[r].node, at, fullest, c.plan.l1_limit_bytes,
                          cramped ? ", where others are short of room" : ""));
          if (cramped && full) item.verdict = CheckVerdict::warn;
        }
      }
      first = r;
    }
  }
  item.evidence = cold == 0 ? fmt::format("no value waits longer than {} steps", kColdSteps)
                            : fmt::format("{} wait longer than {} steps: {} in DRAM, {} in L1", counted(cold, "value"),
                                          kColdSteps, in_dram, cold - in_dram);
  return item;
}

// Unfolded, it would be a product and a sum with constants of each channel after a convolution.
CheckItem batch_norm_folded(const Checker& c) {
  CheckItem item{.name = "batch normalisation folded"};
  double ns = 0;
  std::map<std::string, const PlannedStep*> made;
  for (const PlannedStep& step : c.plan.steps) {
    const auto source = step.reads.size() == 1 ? made.find(step.reads[0]) : made.end();
    if (step.role == CallRole::scales && source != made.end() && is_conv(*source->second)) {
      ns += step.predicted.time.ns;
      item.findings.push_back(
          fmt::format("{}: {} after {}, {}", step.node, step.op, source->second->node, us(step.predicted.time.ns)));
    }
    made[step.makes] = &step;
  }
  item.evidence = item.findings.empty()
                      ? "no step scales what a convolution made"
                      : fmt::format("{} of {}", counted(item.findings.size(), "scaling step"), us(ns));
  if (!item.findings.empty()) item.verdict = c.share(ns) > kLargeShare ? CheckVerdict::fail : CheckVerdict::warn;
  return item;
}

CheckItem weights_small(const Checker& c) {
  CheckItem item{.name = "weights bfloat8_b"};
  std::size_t layers = 0;
  std::map<std::string, int> dtypes;
  for (const PlannedStep& step : c.plan.steps) {
    if (!has_weights(step)) continue;
    ++layers;
    const std::string dtype(step.config.weights_dtype ? name(*step.config.weights_dtype) : "not said");
    ++dtypes[dtype];
    if (!step.config.weights_dtype || !is_block_float(*step.config.weights_dtype))
      item.findings.push_back(fmt::format("{}: {}", step.node, dtype));
  }
  std::vector<std::string> counts;
  for (const auto& [dtype, count] : dtypes) counts.push_back(fmt::format("{} {}", count, dtype));
  item.evidence = fmt::format("{} with weights: {}", counted(layers, "layer"), fmt::join(counts, ", "));
  if (item.findings.empty()) return item;
  // For the sake of accuracy, or because nobody asked?
  item.verdict = c.plan.request.min_pcc > 0 ? CheckVerdict::warn : CheckVerdict::fail;
  if (c.plan.request.min_pcc > 0) item.evidence += fmt::format("; a PCC of {} was asked for", c.plan.request.min_pcc);
  return item;
}

CheckItem activations_chosen(const Checker& c) {
  CheckItem item{.name = "activation types chosen by layer"};
  std::map<std::string, int> kinds;
  for (const PlannedStep& step : c.plan.steps)
    ++kinds[fmt::format("{}{}", name(step.result.dtype),
                        step.config.fidelity ? fmt::format(" {}", name(*step.config.fidelity)) : "")];
  std::vector<std::string> counts;
  for (const auto& [kind, count] : kinds) counts.push_back(fmt::format("{} {}", count, kind));
  item.evidence = fmt::format("{}: {}", counted(c.plan.steps.size(), "result"), fmt::join(counts, ", "));
  if (!c.plan.pcc) {
    item.evidence += "; what they cost in accuracy was not measured";
    item.verdict = CheckVerdict::warn;
  } else {
    item.evidence += fmt::format("; PCC of the outputs {:.6f}", *c.plan.pcc);
    if (*c.plan.pcc < c.plan.request.min_pcc) item.verdict = CheckVerdict::fail;
  }
  return item;
}

CheckItem conversions_handled(const Checker& c) {
  CheckItem item{.name = "conversions handled"};
  double ns = 0;
  std::size_t host = 0;
  for (std::size_t s = 0; s < c.plan.steps.size(); ++s) {
    const PlannedStep& step = c.plan.steps[s];
    const bool on_host = step.role == CallRole::host;
    if (!on_host && step.role != CallRole::converts) continue;
    ns += step.predicted.time.ns;
    host += on_host;
    const bool edge = s == 0 || s + 1 == c.plan.steps.size();
    if (!edge || on_host)
      item.findings.push_back(fmt::format("{}: {} in the middle, {}", step.node, step.op, us(step.predicted.time.ns)));
  }
  item.evidence = item.findings.empty()
                      ? fmt::format("nothing is converted between {}; inputs go in and outputs come out once",
                                    counted(c.plan.steps.size(), "step"))
                      : fmt::format("{}, {} of the kernels' time", counted(item.findings.size(), "conversion"),
                                    percent(c.share(ns)));
  if (host > 0)
    item.verdict = CheckVerdict::fail, item.evidence += fmt::format("; {} on the host", counted(host, "step"));
  else if (c.share(ns) > kSmallShare)
    item.verdict = CheckVerdict::warn;
  return item;
}

CheckItem memory_profiled(const Checker& c) {
  CheckItem item{.name = "memory profiled"};
  const PlannedStep* fullest = nullptr;
  for (const PlannedStep& step : c.plan.steps)
    if (fullest == nullptr || step.predicted.l1_peak_bytes > fullest->predicted.l1_peak_bytes) fullest = &step;
  item.evidence = fmt::format("at most {} of {} B of a core{}", c.plan.l1_peak_bytes, c.plan.l1_limit_bytes,
                              fullest == nullptr ? "" : fmt::format(", in {}", fullest->node));
  if (c.plan.l1_peak_bytes > c.plan.l1_limit_bytes) item.verdict = CheckVerdict::fail;
  if (c.plan.l1_peak_bytes == 0) item.verdict = CheckVerdict::warn;
  return item;
}

}  // namespace

std::string_view name(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::pass: return "pass";
    case CheckVerdict::warn: return "warn";
    case CheckVerdict::fail: return "fail";
  }
  return "";
}

std::vector<CheckItem> check_plan(const CardPlan& plan, std::int64_t l1_banks) {
  const CardPlanTotals totals = totals_of(plan);
  const Checker c{plan, live_values(plan, l1_banks), totals.steps_ns + totals.moves_ns, l1_banks};
  return {hot_paths(c),      sharding_selected(c),  sharding_matches(c),    reshards_minimal(c),
          double_buffers(c), blocks_tuned(c),       cold_skips(c),          batch_norm_folded(c),
          weights_small(c),  activations_chosen(c), conversions_handled(c), memory_profiled(c)};
}

}  // namespace tessera::tensix
