#pragma once

// A network on this machine's own processor, as the contract has it: kernels, orders of values, the arena.

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
  CpuPlan(LoadedNetwork network, PlanRequest request);

  std::string_view family() const override { return "cpu"; }
  const std::string& model() const override { return model_; }
  const std::string& machine() const override { return machine_; }
  std::string machine_digest() const override { return {}; }
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
  std::string model_, name_, machine_ = "cpu", network_digest_;
  std::vector<std::string> model_inputs_;
  PlanRequest request_;
  Options options_;
  std::int64_t batch_ = 1;
  std::shared_ptr<WeightCache> weights_ = std::make_shared<WeightCache>();
  std::unique_ptr<Engine> engine_;
  std::vector<std::shared_ptr<const Plan>> plans_;  // of all stages, first to last
};

// What a request says to the planner over kernel tables. An Error for what this processor has not.
Options options_of(const PlanRequest& request);

}  // namespace tessera::cpu
