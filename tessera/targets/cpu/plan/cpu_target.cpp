#include "tessera/targets/cpu/plan/cpu_target.h"

#include "tessera/core/error.h"
#include "tessera/targets/cpu/plan/cpu_plan.h"
#include "tessera/targets/cpu/plan/host.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace tessera::cpu {
namespace {

const CpuPlan& own(const NetworkPlan& plan) {
  const auto* own = dynamic_cast<const CpuPlan*>(&plan);
  if (own == nullptr) fail(Code::internal, "a plan of the {} target was given to the cpu target", plan.family());
  return *own;
}

class CpuTarget : public Target {
 public:
  std::string_view family() const override { return "cpu"; }

  void check_request(const Machine& machine, const PlanRequest& request) const override {
    check_fields(request,
                 {PlanField::threads, PlanField::isa, PlanField::storage, PlanField::weights, PlanField::exact,
                  PlanField::passes_off, PlanField::kernels_off, PlanField::kernels, PlanField::memory_limit},
                 "is for cards: --device wormhole_n150");
    if (!machine.path.empty())
      check_fields(request,
                   {PlanField::threads, PlanField::isa, PlanField::storage, PlanField::weights, PlanField::exact,
                    PlanField::passes_off, PlanField::kernels_off, PlanField::memory_limit},
                   fmt::format("is not for '{}', on which nothing is run", machine.name));
  }

  std::unique_ptr<NetworkPlan> plan(LoadedNetwork network, const Machine& machine, const PlanRequest& request,
                                    const PlanHooks&) const override {
    check_request(machine, request);
    return std::make_unique<CpuPlan>(std::move(network), machine, request);
  }

  std::unique_ptr<NetworkPlan> read(std::string_view) const override {
    fail(Code::unsupported, Hint{"tessera run, plan, explain and profile follow it with MODEL --plan FILE"},
         "this is no plan for a card but one for this machine's own processor, which is followed with its network");
  }

  void check_machine(const NetworkPlan&, const Machine&) const override {}

  RunResult run(const NetworkPlan& plan, const Machine&, const std::vector<Array>& inputs,
                const OnProgress&) const override {
    return own(plan).run(inputs);
  }

  std::unique_ptr<SimulatedRun> simulate(const LoadedNetwork&, const NetworkPlan*, const Machine& machine,
                                         const SimulateRequest&, const SimulateHooks&) const override {
    fail(Code::unsupported, Hint{"tessera run and tessera profile run a network on this machine's own processor"},
         "'{}' is a machine of the family {}: it has no memory banks that could be simulated", machine.name,
         machine.family);
  }
};

}  // namespace

Machine host_machine() {
  Machine machine;
  machine.name = "cpu";
  machine.title = "this machine's own processor";
  machine.family = "cpu";
  machine.cpu = cpu_spec(active_isa());
  return machine;
}

const Target& target() {
  static const CpuTarget target;
  return target;
}

}  // namespace tessera::cpu
