#pragma once

#include "tessera/target/target.h"

#include <memory>
#include <string_view>
#include <vector>

namespace tessera {

// A target that writes networks in its languages and does not plan them yet.
class TSR_API ScriptTarget : public Target {
 public:
  void check_request(const Machine& machine, const PlanRequest& request) const override;
  std::unique_ptr<NetworkPlan> plan(LoadedNetwork network, const Machine& machine, const PlanRequest& request,
                                    const PlanHooks& hooks) const override;
  std::unique_ptr<NetworkPlan> read(std::string_view body) const override;
  void check_machine(const NetworkPlan& plan, const Machine& machine) const override;
  RunResult run(const NetworkPlan& plan, const Machine& machine, const std::vector<Array>& inputs,
                const OnProgress& on_progress) const override;
  std::unique_ptr<SimulatedRun> simulate(const LoadedNetwork& network, const NetworkPlan* plan, const Machine& machine,
                                         const SimulateRequest& request, const SimulateHooks& hooks) const override;
};

}  // namespace tessera
