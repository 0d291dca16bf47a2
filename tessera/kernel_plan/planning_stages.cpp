#include "tessera/kernel_plan/planning_stages.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace tessera {
namespace {

constexpr std::string_view kOrders = "order";
constexpr std::string_view kParts = "place_parts";

constexpr std::array kStages{
    PlanningStage{kFuseChains, "joins convolutions in a row into one node that runs row by row"},
    PlanningStage{kOrders, "keeps values with their channels last where kernels gain by it"},
    PlanningStage{kParts, "makes what a Concat joins where it belongs, reads what a Split gives where it lies"},
};

[[noreturn]] void fail_unknown(const std::string& name) {
  std::vector<std::string> names;
  for (const Pass& pass : all_passes()) names.emplace_back(pass.name);
  for (const PlanningStage& stage : kStages) names.emplace_back(stage.name);
  fail(Code::not_found, "there is no pass '{}'{} (there are {})", name, did_you_mean(name, names),
       fmt::join(names, ", "));
}

}  // namespace

std::span<const PlanningStage> planning_stages() { return kStages; }

Optimisations without(std::span<const std::string> names) {
  Optimisations out;
  for (const std::string& name : names) {
    if (name == kFuseChains)
      out.chains = false;
    else if (name == kOrders)
      out.orders = false;
    else if (name == kParts)
      out.parts = false;
    else if (std::ranges::find(all_passes(), name, &Pass::name) != all_passes().end())
      out.passes.off.push_back(name);
    else
      fail_unknown(name);
  }
  return out;
}

}  // namespace tessera
