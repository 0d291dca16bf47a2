#pragma once

// A network on Apple silicon as MLX would run it: its kernels under mx.compile, each by the roofline of the chip and
// the cost of a launch, and the memory that they need at once. Nothing of it was measured on such a chip.

#include "tessera/machine/machine.h"
#include "tessera/target/network_plan.h"
#include "tessera/target/target.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::apple {

struct PlannedKernel {
  std::string node;    // that it ends with
  std::string op;      // "Conv", "Binary+Unary"
  std::string what;    // "convolution", "compiled: add, relu"
  std::string result;  // name of the value, empty inside of an operator
  double flops = 0, specials = 0, read_bytes = 0, written_bytes = 0;
  double compute_s = 0, memory_s = 0, launch_s = 0;  // of all its launches
  std::int64_t launches = 1;

  double time_s() const { return (compute_s > memory_s ? compute_s : memory_s) + launch_s; }
};

struct ApplePlan {
  std::string model, machine, machine_digest, network_digest;
  std::vector<std::string> model_inputs;
  std::int64_t batch = 1;
  std::int64_t primitives = 0;
  std::vector<PlannedKernel> kernels;
  std::int64_t weight_bytes = 0, value_bytes = 0, input_bytes = 0;
  std::int64_t budget_bytes = 0, memory_bytes = 0;  // what the machine file allows a model, and what there is
};

// An Error if operators cannot be written as MLX code, or if it needs more than the largest memory of the chip.
TSR_API ApplePlan plan_for_mlx(const LoadedNetwork& network, const Machine& machine);

class TSR_API AppleNetworkPlan : public NetworkPlan {
 public:
  explicit AppleNetworkPlan(ApplePlan plan) : plan_(std::move(plan)) {}

  const ApplePlan& apple_plan() const { return plan_; }

  std::string_view family() const override { return "unified"; }
  const std::string& model() const override { return plan_.model; }
  const std::string& machine() const override { return plan_.machine; }
  std::string machine_digest() const override { return plan_.machine_digest; }
  std::string network_digest() const override { return plan_.network_digest; }
  std::vector<std::string> model_inputs() const override { return plan_.model_inputs; }
  PlanRequest request() const override { return {}; }
  std::int64_t batch() const override { return plan_.batch; }

  std::vector<StepView> steps() const override;
  std::vector<MoveView> moves() const override { return {}; }
  PlanMemory memory() const override;
  PlanTotals totals() const override;
  Accuracy accuracy() const override { return {}; }

  View shown() const override;
  Table figures() const override;
  View explain(const std::string& node) const override;
  std::string body() const override;
  void attach(const Graph& graph, const std::string& name) override;

 private:
  ApplePlan plan_;
};

// What body() wrote.
TSR_API ApplePlan parse_apple_plan(std::string_view body);

}  // namespace tessera::apple
