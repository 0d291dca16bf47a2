#pragma once

// A network on a processor, as the contract has it: kernels, orders of values, the arena. On this machine's own it can
// be run; for that of a machine file kernels are chosen by the file's figures, and nothing else.

#include "tessera/kernel_plan/plan.h"
#include "tessera/target/network_plan.h"
#include "tessera/target/target.h"
#include "tessera/targets/cpu/plan/engine.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::cpu {

class TSR_API CpuPlan : public NetworkPlan {
 public:
  // `machine`: of the family cpu; without a path it is this machine's own processor.
  CpuPlan(LoadedNetwork network, const Machine& machine, PlanRequest request);

  std::string_view family() const override { return "cpu"; }
  const std::string& model() const override { return model_; }
  const std::string& machine() const override { return machine_; }
  std::string machine_digest() const override { return machine_digest_; }
  std::string network_digest() const override { return network_digest_; }
  std::vector<std::string> model_inputs() const override { return model_inputs_; }
  PlanRequest request() const override { return request_; }
  std::int64_t batch() const override { return batch_; }

  std::vector<StepView> steps() const override;
  std::vector<MoveView> moves() const override;
  PlanMemory memory() const override;
  PlanTotals totals() const override;
  Accuracy accuracy() const override { return {}; }

  View shown() const override;
  Table figures() const override;
  View explain(const std::string& node) const override;
  std::string body() const override;
  void attach(const Graph& graph, const std::string& name) override;

  RunResult run(const std::vector<Array>& inputs) const;

 private:
  std::string model_, name_, machine_, machine_digest_, network_digest_;
  std::vector<std::string> model_inputs_;
  PlanRequest request_;
  Options options_;
  std::int64_t batch_ = 1;
  std::shared_ptr<WeightCache> weights_ = std::make_shared<WeightCache>();
  std::unique_ptr<Engine> engine_;                  // none: of another machine
  std::vector<std::shared_ptr<const Plan>> plans_;  // of all stages, first to last
};

// What a request says to the planner over kernel tables. An Error for what a processor with `most` has not.
Options options_of(const PlanRequest& request, Isa most);

}  // namespace tessera::cpu
