#include "tessera/targets/tensix/contract/card_network_plan.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/contract/card_plan_table.h"
#include "tessera/targets/tensix/contract/card_views.h"
#include "tessera/targets/tensix/plan/card_plan_file.h"
#include "tessera/targets/tensix/plan/plan_difference.h"
#include "tessera/targets/tensix/plan/step_memory.h"

#include <utility>

namespace tessera::tensix {
namespace {

constexpr double kSecondsPerNs = 1e-9;

Basis basis_of(TimeBasis basis) {
  switch (basis) {
    case TimeBasis::fitted: return Basis::fitted;
    case TimeBasis::scaled: return Basis::scaled;
    case TimeBasis::assumed: return Basis::assumed;
    case TimeBasis::bound: return Basis::bound;
  }
  return Basis::assumed;
}

tessera::Alternative alternative_view(const WeighedConfig& other) {
  tessera::Alternative out{.config = other.config, .memory_bytes = other.l1_bytes, .chosen = other.chosen};
  if (other.refusal.empty())
    out.time_s = other.ns * kSecondsPerNs;
  else
    out.refusal = Refusal{other.refusal};
  return out;
}

}  // namespace

CardPlanRequest card_request(const tessera::PlanRequest& request) {
  CardPlanRequest out;
  if (request.objective)
    out.objective = *request.objective == PlanObjective::device ? Objective::device : Objective::end_to_end;
  out.min_pcc = request.min_pcc.value_or(out.min_pcc);
  out.max_reshards = request.max_reshards;
  for (const PlanPin& pin : request.pins) out.pins.push_back({pin.nodes, pin.field, pin.value});
  out.l1_small_bytes = request.l1_small_bytes.value_or(out.l1_small_bytes);
  out.metal_trace = !request.no_trace;
  out.command_queues = request.command_queues.value_or(out.command_queues);
  out.mesh = request.mesh.value_or(out.mesh);
  out.budget_s = request.budget_s.value_or(out.budget_s);
  out.partial = request.partial;
  return out;
}

const LoweredGraph& CardNetworkPlan::network() const {
  if (!network_) fail(Code::internal, "the network of the plan for {} was not attached to it", plan_.model);
  return *network_;
}

tessera::PlanRequest CardNetworkPlan::request() const {
  const CardPlanRequest& r = plan_.request;
  tessera::PlanRequest out;
  out.objective = r.objective == Objective::device ? PlanObjective::device : PlanObjective::end_to_end;
  if (r.min_pcc > 0) out.min_pcc = r.min_pcc;
  out.max_reshards = r.max_reshards;
  for (const Pin& pin : r.pins) out.pins.push_back({pin.nodes, pin.field, pin.value});
  out.budget_s = r.budget_s;
  out.partial = r.partial;
  out.mesh = r.mesh;
  out.command_queues = r.command_queues;
  out.no_trace = !r.metal_trace;
  out.l1_small_bytes = r.l1_small_bytes;
  return out;
}

std::vector<StepView> CardNetworkPlan::steps() const {
  std::vector<StepView> out;
  for (const PlannedStep& step : plan_.steps) {
    const StepTime& time = step.predicted.time;
    StepView view{.node = step.node,
                  .op = step.op,
                  .config = step.predicted.config,
                  .result = result_text(step),
                  .why = step.why,
                  .time_s = time.ns * kSecondsPerNs,
                  .basis = basis_of(time.basis),
                  .bound = {std::string(name(time.bound_by)), time.roof_fraction()},
                  .memory_peak_bytes = step.predicted.l1_peak_bytes,
                  .pcc = step.pcc};
    for (const WeighedConfig& other : step.alternatives) view.alternatives.push_back(alternative_view(other));
    out.push_back(std::move(view));
  }
  return out;
}

std::vector<MoveView> CardNetworkPlan::moves() const {
  std::vector<MoveView> out;
  for (std::size_t s = 0; s < plan_.steps.size(); ++s)
    for (const PlannedMove& move : plan_.steps[s].moves)
      out.push_back({.before_step = s,
                     .kind = std::string(name(move.kind)),
                     .value = move.value,
                     .to = place_text(move.to),
                     .why = move.why,
                     .time_s = move.ns * kSecondsPerNs});
  return out;
}

PlanMemory CardNetworkPlan::memory() const {
  return {{.memory = "L1 of a core", .peak_bytes = plan_.l1_peak_bytes, .limit_bytes = plan_.l1_limit_bytes}};
}

tessera::PlanTotals CardNetworkPlan::totals() const {
  return {.frames = plan_.batch * plan_.request.mesh,
          .kernels_s = plan_.kernels_ns * kSecondsPerNs,
          .moves_s = static_cast<double>(plan_.passes()) * totals_of(plan_).moves_ns * kSecondsPerNs,
          .device_s = plan_.device_ns * kSecondsPerNs,
          .end_to_end_s = plan_.end_to_end_ns * kSecondsPerNs,
          .latency_s = plan_.latency_ns * kSecondsPerNs};
}

std::optional<SearchStopped> CardNetworkPlan::stopped() const {
  if (!plan_.interrupted) return std::nullopt;
  return SearchStopped{plan_.interrupted->weighed, plan_.interrupted->of};
}

View CardNetworkPlan::shown() const {
  View view;
  view.parts.push_back({.table = card_plan_table(plan_), .after = "\n" + card_plan_summary(plan_)});
  return view;
}

Table CardNetworkPlan::figures() const { return card_plan_figures(plan_); }

View CardNetworkPlan::explain(const std::string& node) const { return explain_card_step(plan_, node); }

std::string CardNetworkPlan::body() const { return encode_card_plan(plan_); }

void CardNetworkPlan::attach(const Graph& graph, const std::string& name) {
  auto network = std::make_shared<LoweredGraph>(lower(graph, {.host_fallback = true}));
  check_network(plan_, *network);
  network_ = std::move(network);
  name_ = name;
}

}  // namespace tessera::tensix
