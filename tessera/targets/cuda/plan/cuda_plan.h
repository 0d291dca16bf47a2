#pragma once

// A network on a GPU, as the contract has it: kernels, orders of values, the arena.

#include "tessera/kernel_plan/plan.h"
#include "tessera/machine/machine.h"
#include "tessera/target/network_plan.h"
#include "tessera/target/target.h"
#include "tessera/targets/cuda/kernels/kernel.h"
#include "tessera/targets/cuda/program/program.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cuda {

class TSR_API CudaPlan : public NetworkPlan {
 public:
  CudaPlan(LoadedNetwork network, const Machine& machine, PlanRequest request);

  std::string_view family() const override { return "gpu"; }
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
  void attach(const tessera::Graph& graph, const std::string& name) override;

  const Plan& kernel_plan() const { return *plans_.front(); }
  ElementType storage() const;

  // On the GPU of this machine; an Error that says what is missing where there is none. The first run makes the program
  // ready. Every step of the trace was waited for; its `seconds` are those of a replay, where steps overlap.
  RunResult run(const std::vector<Array>& inputs) const;
  Program& program() const;

 private:
  std::string model_, name_, machine_, network_digest_;
  std::vector<std::string> model_inputs_;
  PlanRequest request_;
  std::int64_t batch_ = 1;
  std::vector<std::shared_ptr<const Plan>> plans_;  // one
  mutable std::mutex mutex_;
  mutable std::optional<WeightStore> weights_;
  mutable std::unique_ptr<Program> program_;
};

}  // namespace tessera::cuda
