#include "tessera/session/compare_machines.h"

#include "tessera/core/error.h"
#include "tessera/core/refusal.h"
#include "tessera/machine/fleet_spec.h"
#include "tessera/machine/machine_file.h"
#include "tessera/session/reference.h"
#include "tessera/targets/registry.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// By the clock, the median of runs behind a first one; none where its target does not run here.
std::optional<double> measured(const Target& target, const NetworkPlan& plan, const Machine& machine,
                               const std::vector<Array>& inputs) {
  constexpr int kMostRuns = 9;
  constexpr double kMostSeconds = 2;
  if (!machine.path.empty()) return std::nullopt;
  const Clock::time_point begin = Clock::now();
  std::vector<double> seconds;
  target.run(plan, machine, inputs);
  while (seconds.size() < kMostRuns && (seconds.empty() || since(begin) < kMostSeconds)) {
    const RunResult run = target.run(plan, machine, inputs);
    if (!run.trace.measured) return std::nullopt;
    seconds.push_back(run.trace.seconds);
  }
  std::ranges::nth_element(seconds, seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2));
  return seconds[seconds.size() / 2];
}

MachineRow row_of(const std::function<LoadedNetwork()>& load, const Machine& machine, double budget_s,
                  const MachineComparisonRequest& request) {
  const Target& target = target_of(machine);
  const Clock::time_point begin = Clock::now();
  PlanHooks hooks;
  hooks.reference = session_reference();
  hooks.sample = [&](std::int64_t) { return load(); };
  hooks.quick_first = true;
  hooks.stop = request.stop;
  hooks.out_of_time = [&] { return since(begin) > budget_s; };
  Result<MachineRow> row = attempt([&] {
    LoadedNetwork network = load();
    const std::vector<Array> inputs = network.inputs;
    const auto plan = target.plan(std::move(network), machine, {}, hooks);
    return machine_row(machine.name, machine.title, *plan, measured(target, *plan, machine, inputs));
  });
  MachineRow out = row ? *std::move(row)
                       : MachineRow{.machine = machine.name, .title = machine.title, .refusal = row.refusal().reason()};
  out.planning_s = since(begin);
  return out;
}

}  // namespace

std::vector<std::string> comparable_machines() {
  std::vector<std::string> out{"cpu"};
  for (const std::string& name : machine_names())
    if (const auto fleet = fleet_of(load_machine(name)); !fleet || !fleet->hosts) out.push_back(name);
  return out;
}

std::vector<MachineRow> compare_machines(const std::function<LoadedNetwork()>& load,
                                         std::span<const std::string> machines,
                                         const MachineComparisonRequest& request) {
  check(!machines.empty(), Code::invalid_argument, "there is no machine to compare");
  std::vector<Machine> all;
  for (const std::string& name : machines) all.push_back(find_machine(name));
  for (const auto& [name, price] : request.prices)
    check(std::ranges::any_of(all, [&](const Machine& each) { return each.name == name; }), Code::not_found,
          "there is a price for '{}', which is not compared", name);
  const auto searches = [](const Machine& machine) { return machine.tensix.has_value(); };
  // Those that do not search take little time: they come first and leave the others what is left.
  std::ranges::stable_partition(all, [&](const Machine& machine) { return !searches(machine); });
  const Clock::time_point begin = Clock::now();
  std::vector<MachineRow> rows;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (request.stop && request.stop()) break;
    if (request.on_progress) request.on_progress(i, all.size(), all[i].name);
    const double left = std::max(0.0, request.budget_s - since(begin));
    rows.push_back(row_of(load, all[i], left / static_cast<double>(all.size() - i), request));
    const auto price = request.prices.find(all[i].name);
    if (price != request.prices.end()) rows.back().price_per_hour = price->second;
  }
  sort_by_rate(rows);
  return rows;
}

}  // namespace tessera
