#pragma once

// Search, exact run, and what the one learns from the other.

#include "tessera/core/refusal.h"
#include "tessera/targets/tensix/plan/plan_network.h"
#include "tessera/targets/tensix/plan/search.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::tensix {

class TSR_API Planning {
 public:
  Planning(const tensix::LoweredGraph& network, const Machine& machine, const CardPlanRequest& request,
           const CardPlanHooks& hooks, const SearchSettings& settings = {});

  // One for each node. The plan has passed an exact run.
  Result<CardPlan> plan(const std::vector<StepPrecision>& precisions);
  void hear(const CardPlanHooks& hooks) { hooks_ = hooks; }
  // The time of the first nodes, at best, if they fit.
  Result<double> fastest_start(const std::vector<StepPrecision>& precisions, std::size_t nodes);
  double convolutions_ns(const std::vector<StepPrecision>& precisions) { return search_.convolutions_ns(precisions); }
  QuickEstimate convolutions(const std::vector<StepPrecision>& precisions) { return search_.convolutions(precisions); }
  std::size_t trials() { return search_.trials().count(); }

 private:
  Result<CardPlan> attempts(const std::vector<StepPrecision>& precisions);
  std::optional<CardPlan> hurried(const std::vector<StepPrecision>& precisions);
  void weighed(std::size_t nodes);
  Result<CardPlan> with_few_reshards(const std::vector<StepPrecision>& precisions);
  void learn(std::size_t node, const SearchStep& step, const PlannedStep& planned, const Refusal& refusal);
  CardPlan written(const std::vector<SearchStep>& path);
  void fill(CardPlan& plan, const tensix::Simulation& done);
  void explain(CardPlan& plan, std::vector<Search::ScoredAlternatives> weighed);

  const tensix::LoweredGraph& network_;
  const Machine& machine_;
  CardPlanRequest request_;
  CardPlanHooks hooks_;
  Search search_;
  std::vector<NodeLimit> limits_;
  std::size_t weighed_ = 0;  // nodes, by the search that is on its way
};

}  // namespace tessera::tensix
