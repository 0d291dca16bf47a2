#include "tessera/targets/tensix/contract/card_target.h"

#include "tessera/core/error.h"
#include "tessera/core/sha256.h"
#include "tessera/machine/machine_digest.h"
#include "tessera/targets/tensix/card/device.h"
#include "tessera/targets/tensix/contract/card_network_plan.h"
#include "tessera/targets/tensix/contract/card_simulation.h"
#include "tessera/targets/tensix/contract/card_views.h"
#include "tessera/targets/tensix/emit/ttnn.h"
#include "tessera/targets/tensix/plan/card_plan_file.h"
#include "tessera/targets/tensix/plan/digest.h"
#include "tessera/targets/tensix/plan/plan_network.h"
#include "tessera/targets/tensix/plan/run_plan.h"
#include "tessera/targets/tensix/views/plan_report.h"

#include <array>
#include <memory>
#include <span>
#include <utility>

namespace tessera::tensix {
namespace {

constexpr std::array kCardLanguages = {Language{.name = "ttnn",
                                                .follows_plan = true,
                                                .needs = "writes a plan for a card: which one is not said",
                                                .device = "wormhole_n150"}};

struct CardPlanningState : PlanningState {
  std::shared_ptr<KeptAccuracy> kept = std::make_shared<KeptAccuracy>();
};

const CardNetworkPlan& card_plan_of(const NetworkPlan& plan) {
  const auto* card = dynamic_cast<const CardNetworkPlan*>(&plan);
  if (card == nullptr) fail(Code::internal, "a plan of the {} target was given to the tensix target", plan.family());
  return *card;
}

// What an accuracy budget is measured by: a few images, and what float32 makes of them.
Calibration calibration_by(const tessera::PlanHooks& hooks, std::int64_t images) {
  LoadedNetwork sample = hooks.sample(images);
  Calibration out;
  out.network = std::make_shared<LoweredGraph>(lower(sample.graph, {.host_fallback = true}));
  out.inputs = std::move(sample.inputs);
  ReferenceValues expected = hooks.reference(out.network->graph, out.inputs, ReferenceDepth::values);
  out.outputs = std::move(expected.outputs);
  out.values = std::move(expected.values);
  return out;
}

CardPlanHooks hooks_of(const tessera::PlanHooks& given) {
  CardPlanHooks hooks;
  hooks.on_progress = given.on_progress;
  if (given.sample && given.reference)
    hooks.calibration = [&given](std::int64_t images) { return calibration_by(given, images); };
  if (const auto* state = dynamic_cast<const CardPlanningState*>(given.state.get())) hooks.kept = state->kept;
  hooks.stop = given.stop;
  hooks.quick_first = given.quick_first;
  hooks.out_of_time = given.out_of_time;
  hooks.score = given.share;
  hooks.agree = given.agree;
  return hooks;
}

class CardTarget : public Target {
 public:
  std::string_view family() const override { return "tensix"; }

  void check_request(const Machine& machine, const tessera::PlanRequest& request) const override {
    tensix_of(machine);
    check_fields(request,
                 {PlanField::objective, PlanField::min_pcc, PlanField::max_reshards, PlanField::pins, PlanField::budget,
                  PlanField::partial, PlanField::mesh, PlanField::command_queues, PlanField::no_trace,
                  PlanField::l1_small, PlanField::batches, PlanField::goal, PlanField::max_latency, PlanField::report},
                 "is for this machine's own processor; what a card does is set with --pin");
  }

  std::unique_ptr<NetworkPlan> plan(LoadedNetwork network, const Machine& machine, const tessera::PlanRequest& request,
                                    const tessera::PlanHooks& hooks) const override {
    check_request(machine, request);
    auto lowered = std::make_shared<LoweredGraph>(lower(network.graph, {.host_fallback = true}));
    if (hooks.same) {
      hooks.same("the network", network_digest(*lowered));
      hooks.same("the machine", machine_digest(machine));
    }
    CardPlan plan = plan_network(*lowered, machine, card_request(request), hooks_of(hooks));
    plan.model = network.model;
    if (hooks.same) {
      const std::string text = encode_card_plan(plan);
      hooks.same("the plan", sha256_hex(std::as_bytes(std::span(text)), 16));
    }
    return std::make_unique<CardNetworkPlan>(std::move(plan), std::move(lowered), std::move(network.name));
  }

  std::shared_ptr<PlanningState> planning_state() const override { return std::make_shared<CardPlanningState>(); }

  std::unique_ptr<NetworkPlan> read(std::string_view body) const override {
    return std::make_unique<CardNetworkPlan>(parse_card_plan(body));
  }

  void check_machine(const NetworkPlan& plan, const Machine& machine) const override {
    tensix::check_machine(card_plan_of(plan).card_plan(), machine);
  }

  RunResult run(const NetworkPlan& plan, const Machine& machine, const std::vector<Array>& inputs,
                const OnProgress& on_progress) const override {
    const CardNetworkPlan& card = card_plan_of(plan);
    const std::shared_ptr<Device> device =
        Device::open(machine, {.l1_small_bytes = card.card_plan().request.l1_small_bytes});
    std::size_t steps = 0;
    RunPlanHooks hooks;
    if (on_progress)
      hooks.on_step = [&](const SimulatedStep& step) {
        on_progress(++steps, card.card_plan().steps.size(), step.node);
      };
    Simulation done = run_plan(device, card.network(), card.card_plan(), inputs, hooks);
    return {.outputs = std::move(done.outputs), .trace = run_trace_of(done.steps)};
  }

  std::unique_ptr<SimulatedRun> simulate(const LoadedNetwork& network, const NetworkPlan* plan, const Machine& machine,
                                         const SimulateRequest& request, const SimulateHooks& hooks) const override {
    return simulate_on_card(network, plan == nullptr ? nullptr : &card_plan_of(*plan), machine, request, hooks);
  }

  std::span<const Language> languages() const override { return kCardLanguages; }

  emit::Script emit(const NetworkPlan& plan, std::string_view, const std::string& weights_file) const override {
    const CardNetworkPlan& card = card_plan_of(plan);
    CardPlan named = card.card_plan();
    named.model = card.network_name();
    return ttnn_script(card.network(), named, weights_file);
  }
  using Target::emit;

  void check_report(const std::filesystem::path& file) const override { check_plan_report_name(file); }

  void write_reports(const NetworkPlan& plan, const Machine& machine,
                     std::span<const std::filesystem::path> files) const override {
    const CardNetworkPlan& card = card_plan_of(plan);
    const PlanReport report = rehearsed_plan_report(card.card_plan(), machine, card.network());
    for (const std::filesystem::path& file : files) write_plan_report(file, report);
  }

  Checked check_plan(const NetworkPlan& plan, const std::string& file) const override {
    return check_card_plan(card_plan_of(plan).card_plan(), file);
  }

  View compare(const std::array<NamedPlan, 2>& plans) const override {
    return compare_card_plans(card_plan_of(plans[0].plan).card_plan(), card_plan_of(plans[1].plan).card_plan(),
                              {plans[0].file, plans[1].file});
  }

  View compare_arithmetic(LoadedNetwork network, const Machine& machine, const ArithmeticRequest& request,
                          const SimulateHooks& hooks) const override {
    return compare_card_arithmetic(std::move(network), machine, request, hooks);
  }
};

}  // namespace

const Target& target() {
  static const CardTarget target;
  return target;
}

}  // namespace tessera::tensix
