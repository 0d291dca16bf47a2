#include "tessera/target/script_target.h"

#include "tessera/core/error.h"

namespace tessera {

void ScriptTarget::check_request(const Machine& machine, const PlanRequest&) const {
  fail(Code::unsupported, Hint{"--device cpu, or a card: tessera machines lists them"},
       "whole networks are not planned for '{}' yet: it is a machine of the family {}", machine.name, machine.family);
}

std::unique_ptr<NetworkPlan> ScriptTarget::plan(LoadedNetwork, const Machine& machine, const PlanRequest& request,
                                                const PlanHooks&) const {
  check_request(machine, request);
  return nullptr;
}

std::unique_ptr<NetworkPlan> ScriptTarget::read(std::string_view) const { refuse("a plan file"); }
void ScriptTarget::check_machine(const NetworkPlan&, const Machine&) const { refuse("a plan"); }
RunResult ScriptTarget::run(const NetworkPlan&, const Machine&, const std::vector<Array>&, const OnProgress&) const {
  refuse("a plan");
}

std::unique_ptr<SimulatedRun> ScriptTarget::simulate(const LoadedNetwork&, const NetworkPlan*, const Machine& machine,
                                                     const SimulateRequest&, const SimulateHooks&) const {
  fail(Code::unsupported, Hint{"--device wormhole_n150"},
       "'{}' is a machine of the family {}, which whole networks are not simulated on yet", machine.name,
       machine.family);
}

}  // namespace tessera
