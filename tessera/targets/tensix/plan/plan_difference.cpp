#include "tessera/targets/tensix/plan/plan_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tessera::tensix {
namespace {

bool same_moves(const PlannedStep& a, const PlannedStep& b) {
  return std::equal(a.moves.begin(), a.moves.end(), b.moves.begin(), b.moves.end(),
                    [](const PlannedMove& x, const PlannedMove& y) {
                      return x.kind == y.kind && x.value == y.value && x.to == y.to;
                    });
}

LayerDifference difference_of(const PlannedStep* a, const PlannedStep* b) {
  LayerDifference out{.node = a ? a->node : b->node, .steps = {a, b}};
  if (!a || !b) return out;
  out.config = a->op != b->op || layer_config_json(a->config) != layer_config_json(b->config);
  out.time = a->predicted.time.ns != b->predicted.time.ns;
  out.placement = a->result.dtype != b->result.dtype || a->result.layout != b->result.layout ||
                  !(a->result.memory == b->result.memory);
  out.moves = !same_moves(*a, *b);
  out.pcc = a->pcc != b->pcc;
  return out;
}

void remark(PlanDifference& out, std::string_view what, const std::string& first, const std::string& second) {
  if (first != second) out.remarks.push_back(fmt::format("{}: {} and {}", what, first, second));
}

}  // namespace

CardPlanTotals totals_of(const CardPlan& plan) {
  CardPlanTotals totals;
  for (const PlannedStep& step : plan.steps) {
    totals.steps_ns += step.predicted.time.ns;
    totals.inner_reshards += step.predicted.reshards_input;
    for (const PlannedMove& move : step.moves) {
      totals.moves_ns += move.ns;
      ++(move.kind == PlannedMove::Kind::reshard ? totals.reshards
         : move.kind == PlannedMove::Kind::spill ? totals.spills
         : move.kind == PlannedMove::Kind::slide ? totals.slides
                                                 : totals.restores);
    }
  }
  return totals;
}

std::size_t PlanDifference::different() const {
  return static_cast<std::size_t>(
      std::count_if(layers.begin(), layers.end(), [](const LayerDifference& layer) { return layer.differs(); }));
}

PlanDifference compare_plans(const CardPlan& first, const CardPlan& second) {
  PlanDifference out;
  out.totals = {totals_of(first), totals_of(second)};
  std::map<std::string, std::size_t> there;  // steps of the second by name; of a name twice the first
  for (std::size_t s = 0; s < second.steps.size(); ++s) there.emplace(second.steps[s].node, s);
  std::vector<bool> used(second.steps.size());
  std::size_t next = 0;  // of the second: all before it have been told, or have a partner later on
  std::map<std::string, bool> here;
  for (const PlannedStep& step : first.steps) here[step.node] = true;
  const auto lonely_before = [&](std::size_t end) {
    for (; next < end; ++next)
      if (!used[next] && !here.contains(second.steps[next].node)) {
        used[next] = true;
        out.layers.push_back(difference_of(nullptr, &second.steps[next]));
      }
  };
  for (const PlannedStep& step : first.steps) {
    const auto found = there.find(step.node);
    if (found == there.end() || used[found->second]) {
      out.layers.push_back(difference_of(&step, nullptr));
      continue;
    }
    lonely_before(found->second);
    used[found->second] = true;
    out.layers.push_back(difference_of(&step, &second.steps[found->second]));
  }
  for (std::size_t s = 0; s < second.steps.size(); ++s)
    if (!used[s]) out.layers.push_back(difference_of(nullptr, &second.steps[s]));

  remark(out, "models", first.model, second.model);
  remark(out, "networks", first.network_digest, second.network_digest);
  remark(out, "machines", first.machine, second.machine);
  if (first.machine == second.machine)
    remark(out, "numbers of the machine", first.machine_digest, second.machine_digest);
  remark(out, "batches", fmt::format("{}", first.batch), fmt::format("{}", second.batch));
  remark(out, "passes", fmt::format("{}", first.passes()), fmt::format("{}", second.passes()));
  remark(out, "images side by side in channels", fmt::format("{}", first.grouped_images),
         fmt::format("{}", second.grouped_images));
  remark(out, "objectives", std::string(name(first.request.objective)), std::string(name(second.request.objective)));
  remark(out, "least PCC asked for", fmt::format("{}", first.request.min_pcc),
         fmt::format("{}", second.request.min_pcc));
  if (!(first.request.pins == second.request.pins)) out.remarks.emplace_back("the pins differ");
  return out;
}

}  // namespace tessera::tensix
