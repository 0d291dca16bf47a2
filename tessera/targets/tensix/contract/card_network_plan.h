#pragma once

// A plan for a card, as the contract has it.

#include "tessera/target/network_plan.h"
#include "tessera/target/target.h"
#include "tessera/targets/tensix/network/lower.h"
#include "tessera/targets/tensix/plan/card_plan.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::tensix {

class TSR_API CardNetworkPlan : public NetworkPlan {
 public:
  explicit CardNetworkPlan(CardPlan plan) : plan_(std::move(plan)) {}
  CardNetworkPlan(CardPlan plan, std::shared_ptr<const LoweredGraph> network, std::string name)
      : plan_(std::move(plan)), network_(std::move(network)), name_(std::move(name)) {}

  const CardPlan& card_plan() const { return plan_; }
  // What is attached to it; an Error if nothing is.
  const LoweredGraph& network() const;
  const std::string& network_name() const { return name_; }

  std::string_view family() const override { return "tensix"; }
  const std::string& model() const override { return plan_.model; }
  const std::string& machine() const override { return plan_.machine; }
  std::string machine_digest() const override { return plan_.machine_digest; }
  std::string network_digest() const override { return plan_.network_digest; }
  std::vector<std::string> model_inputs() const override { return plan_.model_inputs; }
  tessera::PlanRequest request() const override;
  std::int64_t batch() const override { return plan_.batch; }

  std::vector<StepView> steps() const override;
  std::vector<MoveView> moves() const override;
  PlanMemory memory() const override;
  tessera::PlanTotals totals() const override;
  tessera::Accuracy accuracy() const override { return {plan_.pcc}; }
  std::optional<SearchStopped> stopped() const override;

  View shown() const override;
  Table figures() const override;
  View explain(const std::string& node) const override;
  std::string body() const override;
  void attach(const Graph& graph, const std::string& name) override;

 private:
  CardPlan plan_;
  std::shared_ptr<const LoweredGraph> network_;
  std::string name_;
};

// What is asked of a card, where nothing else is said as plans for cards have it.
CardPlanRequest card_request(const tessera::PlanRequest& request);

}  // namespace tessera::tensix
