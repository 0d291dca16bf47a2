#include "tessera/targets/tensix/time/conv2d_trial_time.h"

#include "tessera/targets/tensix/ops/conv2d/conv2d_work.h"

#include <algorithm>
#include <memory>

namespace tessera::tensix {

std::optional<TrialTime> time_of_trial(const Conv2dTrial& trial, const TensixSpec& card, const TensixCosts& costs) {
  if (!trial.plan) return std::nullopt;
  std::vector<std::shared_ptr<const ProgramWork>> programs = trial.programs;
  if (programs.empty())
    for (const ProgramWork& work : conv2d_programs(*trial.plan))
      programs.push_back(std::make_shared<const ProgramWork>(work));
  TrialTime out;
  double longest = 0;
  for (const auto& work : programs) {
    const StepTime t = time_of({work->kind, "", {}, work}, card, costs);
    out.ns += t.ns;
    out.basis = std::max(out.basis, t.basis);
    if (work->matmul_tiles == 0) continue;
    out.conv_ns += t.ns;
    out.roof_ns += t.roof_ns;
    if (t.ns > longest) longest = t.ns, out.bound_by = t.bound_by;
  }
  return out;
}

std::optional<std::size_t> fastest_trial(const std::vector<Conv2dTrial>& trials,
                                         const std::vector<std::optional<TrialTime>>& times) {
  std::optional<std::size_t> best = best_trial(trials);
  for (std::size_t i = 0; i < trials.size(); ++i)
    if (trials[i].fits() && times[i] && (!best || !times[*best] || times[i]->ns < times[*best]->ns)) best = i;
  return best;
}

}  // namespace tessera::tensix
