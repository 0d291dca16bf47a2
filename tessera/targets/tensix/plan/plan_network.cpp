#include "tessera/targets/tensix/plan/plan_network.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_digest.h"
#include "tessera/targets/tensix/plan/digest.h"
#include "tessera/targets/tensix/plan/end_to_end.h"
#include "tessera/targets/tensix/plan/pins.h"
#include "tessera/targets/tensix/plan/plan_accuracy.h"
#include "tessera/targets/tensix/plan/plan_batch.h"
#include "tessera/targets/tensix/plan/plan_difference.h"
#include "tessera/targets/tensix/plan/planning.h"
#include "tessera/targets/tensix/plan/run_plan.h"
#include "tessera/targets/tensix/plan/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

namespace tessera::tensix {
namespace {

constexpr int kAttempts = 200;  // each forbids something; far more than were ever needed
constexpr std::size_t kHurriedBeam = 2;
constexpr int kRefinements = 4;

void check_supported(const tensix::LoweredGraph& network, bool partial) {
  std::string all;
  std::size_t count = 0;
  for (const tensix::LoweredNode& node : network.nodes)
    if (node.layer.is<tensix::HostLayer>()) {
      all += fmt::format("{}'{}' ({})", count++ == 0 ? "" : ", ", node.name, node.op);
    }
  check(count == 0 || partial, Code::unsupported,
        Hint{"--partial plans the others for the card and leaves these to the host"},
        "the card has no operator for {} of the network's {}: {}", count, network.nodes.size(), all);
  for (const tensix::LoweredNode& node : network.nodes)
    for (const std::vector<ValueId>* ids : {&node.inputs, &node.outputs})
      for (const ValueId id : *ids) {
        const Value& value = network.graph.value(id);
        check(value.type.is_static(), Code::unsupported,
              Hint{"give the inputs shapes, or cut the model where the shape is known; `tessera simulate --fallback "
                   "host` runs it whole"},
              "the shape of '{}' ({}), of '{}' ({}), is known only when it runs, and a plan is made before", value.name,
              value.type.to_string(), node.name, node.op);
      }
}

std::string moves_text(const std::vector<PlannedMove>& moves) {
  std::string text;
  for (const PlannedMove& move : moves) text += fmt::format(", {} of '{}'", name(move.kind), move.value);
  return text;
}

}  // namespace

Planning::Planning(const tensix::LoweredGraph& network, const Machine& machine, const CardPlanRequest& request,
                   const CardPlanHooks& hooks, const SearchSettings& settings)
    : network_(network),
      machine_(machine),
      request_(request),
      hooks_(hooks),
      search_(network, machine, request.l1_small_bytes, pinned(request.pins, network), settings),
      limits_(network.nodes.size()) {}

Result<double> Planning::fastest_start(const std::vector<StepPrecision>& precisions, std::size_t nodes) {
  return search_.fastest_start(precisions, limits_, nodes, [&](std::size_t) { weighed(0); });
}

Result<CardPlan> Planning::plan(const std::vector<StepPrecision>& precisions) {
  std::optional<CardPlan> best;
  if (hooks_.quick_first) best = hurried(precisions);
  try {
    return with_few_reshards(precisions);
  } catch (const Interrupted&) {
    if (!best) throw;
    best->interrupted = {static_cast<std::int64_t>(weighed_), static_cast<std::int64_t>(network_.nodes.size())};
    return std::move(*best);
  }
}

// A few ways are followed. That none of them is legal says nothing of all.
std::optional<CardPlan> Planning::hurried(const std::vector<StepPrecision>& precisions) {
  const std::vector<NodeLimit> limits = limits_;
  const std::size_t beam = search_.settings().beam, same_result = search_.settings().same_result;
  std::function<void(std::size_t, std::size_t, const std::string&)> on_progress;
  on_progress.swap(hooks_.on_progress);
  std::function<bool()> over;
  over.swap(hooks_.out_of_time);
  search_.begin(std::min(beam, kHurriedBeam), std::min(same_result, kHurriedBeam));
  Result<CardPlan> plan = attempts(precisions);
  limits_ = limits;
  on_progress.swap(hooks_.on_progress);
  over.swap(hooks_.out_of_time);
  search_.begin(beam, same_result);
  return plan ? std::optional(std::move(*plan)) : std::nullopt;
}

// Reshards count for more and more until there are few enough of them, and then a little less again: between the last
// weight that was too light and the first that was heavy enough there may be faster plans.
Result<CardPlan> Planning::with_few_reshards(const std::vector<StepPrecision>& precisions) {
  Result<CardPlan> first = attempts(precisions);
  if (!first || !request_.max_reshards) return first;
  CardPlan plan = std::move(*first);
  const auto reshards = [](const CardPlan& each) {
    const CardPlanTotals totals = totals_of(each);
    return totals.reshards + totals.inner_reshards;
  };
  const auto time = [&](const CardPlan& each) {
    return request_.objective == Objective::end_to_end ? each.end_to_end_ns : each.device_ns;
  };
  const double usual = search_.settings().reshard_ns;
  std::int64_t fewest = reshards(plan);
  const bool at_once = fewest <= *request_.max_reshards;
  double light_ns = usual, heavy_ns = usual;
  for (double us = 5; us <= 640 && reshards(plan) > *request_.max_reshards; us *= std::sqrt(2.0)) {
    light_ns = std::exchange(heavy_ns, us * 1e3);
    search_.weigh_reshards(heavy_ns);
    Result<CardPlan> other = attempts(precisions);
    if (!other) return other;
    plan = std::move(*other);
    fewest = std::min(fewest, reshards(plan));
  }
  for (int i = 0; i < kRefinements && !at_once && reshards(plan) <= *request_.max_reshards; ++i) {
    const double between_ns = std::sqrt(light_ns * heavy_ns);
    search_.weigh_reshards(between_ns);
    Result<CardPlan> other = attempts(precisions);
    if (!other) return other;
    const bool few = reshards(*other) <= *request_.max_reshards;
    (few ? heavy_ns : light_ns) = between_ns;
    if (few && time(*other) < time(plan)) plan = std::move(*other);
  }
  search_.weigh_reshards(usual);
  if (reshards(plan) > *request_.max_reshards)
    return Refusal{.message = fmt::format("no plan of at most {} reshards was found: the fewest were {}",
                                          *request_.max_reshards, fewest),
                   .hint = fmt::format("ask for {} or more", fewest)};
  return plan;
}

void Planning::weighed(std::size_t nodes) {
  weighed_ = nodes;
  if ((hooks_.stop && hooks_.stop()) || (hooks_.out_of_time && hooks_.out_of_time()))
    throw Interrupted(nodes == 0 ? fmt::format("planning was interrupted before the search: none of {} operators was "
                                               "placed, and there is no plan yet",
                                               network_.nodes.size())
                                 : fmt::format("planning was interrupted: {} of {} operators were placed, and there is "
                                               "no whole plan yet",
                                               nodes, network_.nodes.size()));
  if (hooks_.on_progress && nodes > 0) hooks_.on_progress(nodes, network_.nodes.size(), network_.nodes[nodes - 1].name);
}

Result<CardPlan> Planning::attempts(const std::vector<StepPrecision>& precisions) {
  const std::size_t nodes = network_.nodes.size();
  for (int i = 0; i < kAttempts; ++i) {
    const auto found = search_.run(precisions, limits_, [&](std::size_t done) { weighed(done); });
    if (!found) return found.refusal();
    const std::vector<SearchStep>& path = *found;
    CardPlan plan = written(path);
    std::size_t reached = 0;
    const auto done = attempt([&] {
      return rehearse_plan(machine_, network_, plan, {.on_step = [&](const auto& step) {
                             if (!step.move) ++reached;
                           }});
    });
    if (done) {
      fill(plan, *done);
      explain(plan, search_.alternatives(path, precisions, limits_));
      return plan;
    }
    if (reached >= nodes) return done.refusal();
    learn(reached, path[reached], plan.steps[reached], done.refusal());
  }
  return Refusal{.message = fmt::format("no plan was found in {} attempts", kAttempts), .code = Code::out_of_memory};
}

// What the exact run refused is not tried again.
void Planning::learn(std::size_t node, const SearchStep& step, const PlannedStep& planned, const Refusal& refusal) {
  NodeLimit& limit = limits_[node];
  limit.refused.push_back({fmt::format("{}{}",
                                       search_.trials().config(step.config).conv_fields.empty()
                                           ? std::string("as planned at first")
                                           : config_words(search_.trials().config(step.config)),
                                       moves_text(planned.moves)),
                           refusal.reason(), 0, step.estimate_bytes});
  if (refusal.shortage == Shortage::l1_small && !limit.lists_in_dram) {
    for (std::size_t i = node; i < limits_.size(); ++i) limits_[i].lists_in_dram = true;
    return;
  }
  check(refusal.out_of_memory() && limit.l1_bytes > 0, Code::internal,
        "a step that was possible alone is refused in the network: {}", refusal.text());
  const bool slid =
      std::ranges::any_of(step.moves, [](const SearchMove& move) { return move.kind == PlannedMove::Kind::slide; });
  limit.l1_bytes = std::min(limit.l1_bytes, step.estimate_bytes - 1);
  if (slid) limit.l1_bytes_slid = step.estimate_bytes - 1;
}

CardPlan Planning::written(const std::vector<SearchStep>& path) {
  CardPlan plan;
  const Graph& graph = network_.graph;
  for (const ValueId id : graph.inputs)
    plan.model_inputs.push_back(fmt::format("{} {}", graph.value(id).name, graph.value(id).type.to_string()));
  plan.network_digest = network_digest(network_);
  plan.machine = machine_.name;
  plan.machine_digest = machine_digest(machine_);
  plan.request = request_;
  if (!graph.inputs.empty() && graph.value(graph.inputs[0]).type.rank() > 0)
    plan.batch = graph.value(graph.inputs[0]).type.shape()[0];
  for (const ValueId id : graph.inputs)
    if (const auto memory = search_.input_memory(id); memory && *memory != kDramMemoryConfig)
      plan.placed_inputs.push_back({graph.value(id).name, *memory});
  const std::vector<std::int64_t> last = last_uses(network_);
  for (std::size_t i = 0; i < path.size(); ++i) {
    const tensix::LoweredNode& node = network_.nodes[i];
    PlannedStep step;
    step.node = node.name;
    step.op = node.op;
    step.role = *call_role(node.op);
    step.config = search_.trials().config(path[i].config);
    for (const SearchMove& move : path[i].moves)
      step.moves.push_back(
          {move.kind, graph.value(move.value).name, search_.trials().spec(move.to).memory_config(), move.ns, move.why});
    const auto is_done = [&](ValueId id) { return last[static_cast<std::size_t>(id)] <= static_cast<std::int64_t>(i); };
    for (const ValueId id : node.inputs) {
      const std::string& value = graph.value(id).name;
      step.reads.push_back(value);
      if (is_done(id) && std::find(step.frees.begin(), step.frees.end(), value) == step.frees.end())
        step.frees.push_back(value);
    }
    for (const ValueId id : node.outputs) {
      if (step.makes.empty()) step.makes = graph.value(id).name;
      if (is_done(id)) step.frees.push_back(graph.value(id).name);
    }
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

void Planning::fill(CardPlan& plan, const tensix::Simulation& done) {
  const TensixSpec& card = tensix_of(machine_);
  std::size_t at = 0;
  for (PlannedStep& step : plan.steps) {
    for (std::size_t m = 0; m <= step.moves.size(); ++m) {
      const tensix::SimulatedStep& simulated = done.steps.at(at++);
      plan.kernels_ns += simulated.time.ns;
      plan.programs += simulated.programs;
      plan.l1_peak_bytes = std::max(plan.l1_peak_bytes, simulated.l1_peak_bytes);
      if (m < step.moves.size()) {
        step.moves[m].ns = simulated.time.ns;
        step.moves[m].l1_peak_bytes = simulated.l1_peak_bytes;
      } else {
        step.predicted = simulated;
      }
    }
  }
  for (std::size_t i = 0; i < done.results.size(); ++i) {
    const std::optional<TensorSpec>& spec = done.results[i];
    if (spec) plan.steps[i].result = {spec->logical_shape(), spec->dtype(), spec->layout(), spec->memory_config()};
  }
  plan.l1_limit_bytes = done.timeline.limit_bytes();
  plan.device_ns = plan.kernels_ns + card.op_gap_ns * static_cast<double>(plan.programs);
  const tensix::PipelineWork work = pipeline_work(card, network_, done);
  const auto time_of = [&](bool trace, int queues, bool separate) {
    return end_to_end(card, work, {trace, queues, separate}, request_.mesh);
  };
  plan.metal_trace = request_.metal_trace;
  plan.command_queues = request_.command_queues;
  const tensix::EndToEnd asked = time_of(plan.metal_trace, plan.command_queues, false);
  plan.end_to_end_ns = asked.end_to_end_ns;
  plan.latency_ns = asked.latency_ns;
  if (request_.objective != Objective::end_to_end) return;
  for (const bool trace : {true, false})
    for (const auto& [queues, separate] : {std::pair{2, true}, std::pair{2, false}, std::pair{1, false}}) {
      if ((trace && !request_.metal_trace) || queues > request_.command_queues || (separate && !trace)) continue;
      const tensix::EndToEnd time = time_of(trace, queues, separate);
      if (time.end_to_end_ns >= plan.end_to_end_ns) continue;
      plan.end_to_end_ns = time.end_to_end_ns;
      plan.latency_ns = time.latency_ns;
      plan.metal_trace = trace;
      plan.command_queues = queues;
      plan.separate_transfers = separate;
    }
}

void Planning::explain(CardPlan& plan, std::vector<Search::ScoredAlternatives> weighed) {
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    PlannedStep& step = plan.steps[i];
    if (network_.nodes[i].layer.is<tensix::HostLayer>()) {
      step.why = "runs on the host: the card has no such operator";
      continue;
    }
    const WeighedConfig& taken = weighed[i].taken;
    double moves = 0;
    for (const PlannedMove& move : step.moves) moves += move.ns;
    const WeighedConfig* fastest = nullptr;
    std::size_t fit = 0;
    for (const WeighedConfig& each : weighed[i].others) {
      if (!each.refusal.empty()) continue;
      ++fit;
      if (!each.chosen && (fastest == nullptr || each.ns < fastest->ns)) fastest = &each;
    }
    if (fit <= 1)
      step.why = "the only way that fits";
    else if (fastest == nullptr || taken.ns <= fastest->ns * 1.001)
      step.why = fmt::format("the fastest way that fits: {:.1f} us, bound by {}",
                             (step.predicted.time.ns + moves) * 1e-3, name(step.predicted.time.bound_by));
    else
      step.why = fmt::format("{:.1f} us slower here than '{}', and less in what follows",
                             (taken.ns - fastest->ns) * 1e-3, fastest->config);
    step.alternatives = std::move(weighed[i].others);
  }
}

CardPlan plan_network(const tensix::LoweredGraph& network, const Machine& machine, const CardPlanRequest& request,
                      const CardPlanHooks& hooks) {
  check_supported(network, request.partial);
  std::vector<std::size_t> levels(network.nodes.size());
  if (!(request.min_pcc > 0)) {
    CardPlan plan = plan_batch(network, machine, request, hooks, precisions_of(network, levels));
    plan.network_digest = network_digest(network);
    return plan;
  }
  const auto begin = std::chrono::steady_clock::now();
  std::string_view there_is = "no operator was placed, and there is no plan yet";
  const auto late = [&] {
    if (hooks.stop && hooks.stop())
      throw Interrupted(
          fmt::format("planning was interrupted while a PCC of {} was sought: {}", request.min_pcc, there_is));
    const bool over =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > request.budget_s;
    return hooks.agree ? hooks.agree(over) : over;
  };
  const std::shared_ptr<KeptAccuracy> kept = hooks.kept ? hooks.kept : std::make_shared<KeptAccuracy>();
  const auto calibration = [&](std::int64_t images) -> const Calibration& {
    if (!hooks.calibration) images = images_of(network);
    const auto known = kept->calibrations.find(images);
    if (known != kept->calibrations.end()) return known->second;
    Calibration made = hooks.calibration ? hooks.calibration(images) : calibration_of(network);
    check(made.network->nodes.size() == network.nodes.size(), Code::invalid_argument,
          "the calibration is of a network of {} operators, the one to plan has {}", made.network->nodes.size(),
          network.nodes.size());
    return kept->calibrations.emplace(images, std::move(made)).first->second;
  };
  if (!kept->budgeted)
    kept->budgeted = hold_budget(calibration(1), machine, request.l1_small_bytes, pinned(request.pins, network),
                                 request.min_pcc, late);
  levels = kept->budgeted->levels;
  // The plan sums in an order of its own and may have other images in the blocks of block floats: it is measured too.
  for (double best = -1;;) {
    CardPlan plan = plan_batch(network, machine, request, hooks, precisions_of(network, levels));
    plan.network_digest = network_digest(network);
    if (plan.interrupted && hooks.stop && hooks.stop()) return plan;
    there_is = "there is a plan, but it was not measured";
    try {
      const NodeAccuracy accuracy =
          measure_plan(calibration(images_to_measure(network, plan)), machine, network, plan, late);
      if (accuracy.pcc >= request.min_pcc) {
        plan.pcc = accuracy.pcc;
        for (std::size_t i = 0; i < plan.steps.size(); ++i) plan.steps[i].pcc = accuracy.nodes[i];
        return plan;
      }
      best = std::max(best, accuracy.pcc);
      raise_precisions(network, tensix_of(machine), accuracy, request.min_pcc, best, levels);
      if (late()) std::fill(levels.begin(), levels.end(), precision_levels().size() - 1);
    } catch (const Interrupted&) {
      if (!hooks.quick_first) throw;
      const auto all = static_cast<std::int64_t>(network.nodes.size());
      plan.interrupted = CardPlan::Interruption{all, all};
      return plan;
    }
  }
}

}  // namespace tessera::tensix
