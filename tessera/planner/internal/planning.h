#pragma once

// Search, exact run, and what the one learns from the other.

#include "tessera/core/error.h"
#include "tessera/planner/internal/search.h"
#include "tessera/planner/plan_network.h"

#include <string>
#include <vector>

namespace tessera::planner {

class TSR_API Planning {
 public:
  Planning(const tensix::LoweredGraph& network, const Machine& machine, const PlanRequest& request,
           const PlanHooks& hooks, const SearchSettings& settings = {});

  // One for each node. The plan has passed an exact run.
  CardPlan plan(const std::vector<Precision>& precisions);
  // The time of the first nodes, at best; none: they do not fit.
  double fastest_start(const std::vector<Precision>& precisions, std::size_t nodes) {
    return search_.fastest_start(precisions, limits_, nodes);
  }
  std::size_t trials() { return search_.trials().count(); }

 private:
  void learn(std::size_t node, const SearchStep& step, const PlannedStep& planned, const Error& error);
  CardPlan written(const std::vector<SearchStep>& path);
  void fill(CardPlan& plan, const tensix::Simulation& done);
  void explain(CardPlan& plan, std::vector<std::vector<Alternative>> others);

  const tensix::LoweredGraph& network_;
  const Machine& machine_;
  PlanRequest request_;
  const PlanHooks& hooks_;
  Search search_;
  std::vector<NodeLimit> limits_;
};

}  // namespace tessera::planner
