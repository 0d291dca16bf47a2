#include "tessera/targets/tensix/plan/plan_batch.h"

#include "tessera/core/refusal.h"
#include "tessera/targets/tensix/network/batch_groups.h"
#include "tessera/targets/tensix/network/batch_passes.h"
#include "tessera/targets/tensix/network/fold_input.h"
#include "tessera/targets/tensix/plan/plan_difference.h"
#include "tessera/targets/tensix/plan/planning.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

namespace tessera::tensix {
namespace {

constexpr std::size_t kStem = 3;  // operators from the first on that tell whether folding pays

// How the host had better write the inputs: the first operators are fastest so. What was tried on the way to know it
// serves the plan as well.
struct Arrival {
  std::vector<std::string> folded;  // convolutions whose image is folded
  std::unique_ptr<tensix::LoweredGraph> network;
  std::unique_ptr<Planning> planning;
  double ns = 0;
};
Arrival fastest_arrival(const tensix::LoweredGraph& network, const Machine& machine, const CardPlanRequest& request,
                        const CardPlanHooks& hooks, const std::vector<StepPrecision>& precisions) {
  const auto tried = [&](const std::vector<std::string>& folded, bool sharded) {
    Arrival one{folded, std::make_unique<tensix::LoweredGraph>(tensix::fold_inputs(network, folded)), nullptr, 0};
    one.planning =
        std::make_unique<Planning>(*one.network, machine, request, hooks,
                                   SearchSettings{.candidates = {}, .score = hooks.score, .sharded_inputs = sharded});
    const Result<double> ns = one.planning->fastest_start(precisions, kStem);
    one.ns = ns ? *ns : std::numeric_limits<double>::max();
    return one;
  };
  Arrival best = tried(tensix::foldable_inputs(network), false);
  if (!best.folded.empty())
    if (Arrival plain = tried({}, false); plain.ns <= best.ns) best = std::move(plain);
  if (Arrival sharded = tried(best.folded, true); sharded.ns < best.ns) best = std::move(sharded);
  return best;
}

Result<CardPlan> plan_arrival(const tensix::LoweredGraph& network, const Machine& machine,
                              const CardPlanRequest& request, const CardPlanHooks& hooks,
                              const std::vector<StepPrecision>& precisions) {
  const CardPlanHooks quiet{.on_progress = {}, .calibration = {}, .kept = {}, .stop = hooks.stop, .score = hooks.score};
  const Arrival arrival = fastest_arrival(network, machine, request, quiet, precisions);
  arrival.planning->hear(hooks);
  Result<CardPlan> plan = arrival.planning->plan(precisions);
  if (plan) plan->folded_inputs = arrival.folded;
  return plan;
}

double time_of(const CardPlan& plan) {
  return plan.request.objective == Objective::end_to_end ? plan.end_to_end_ns : plan.device_ns;
}

constexpr double kClose = 1.25;           // of the least time at a glance: worth a search too
constexpr double kAlike = 1.1;            // the same of times within L1, which are closer to those of plans
constexpr double kMostFilled = 4.0 / 3;   // images that passes have room for, of those that there are
constexpr double kNoticeable = 0.1;       // of the kernels' time, spent on values in DRAM
constexpr std::size_t kPassSearches = 3;  // at most, for passes

// Of a batch.
struct Division {
  std::int64_t pass_images = 0;  // 0: all at once
  std::int64_t grouped_images = 1;
  double ns = 0;                 // of all passes' convolutions, at a glance
  std::size_t without_room = 0;  // convolutions for which L1 is too small
  double free_ns = 0;            // of convolutions as if L1 had no end
};

// Values go through DRAM between the steps that make and read them, and that takes a noticeable part of the time.
bool leaves_l1(const CardPlan& plan) {
  std::map<std::string_view, std::size_t> in_dram;  // made there, by which step
  std::set<std::size_t> slowed;
  double moves_ns = 0;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const PlannedStep& step = plan.steps[s];
    for (const std::string& value : step.reads)
      if (const auto made = in_dram.find(value); made != in_dram.end()) slowed.insert({s, made->second});
    for (const PlannedMove& move : step.moves)
      if (move.kind == PlannedMove::Kind::spill) moves_ns += move.ns;
    if (step.result.memory.is_dram()) in_dram.emplace(step.makes, s);
  }
  double ns = moves_ns;
  for (const std::size_t s : slowed) ns += plan.steps[s].predicted.time.ns;
  const CardPlanTotals totals = totals_of(plan);
  return ns > kNoticeable * (totals.steps_ns + totals.moves_ns);
}

class BatchPlanning {
 public:
  BatchPlanning(const tensix::LoweredGraph& network, const Machine& machine, const CardPlanRequest& request,
                const CardPlanHooks& hooks, const std::vector<StepPrecision>& precisions)
      : network_(network),
        machine_(machine),
        request_(request),
        hooks_(hooks),
        precisions_(precisions),
        images_(tensix::independent_images(network).value_or(1)) {}

  CardPlan run() && {
    const std::vector<Division> whole = wholes();
    std::optional<std::vector<Division>> passes;
    const auto may_pass = [&]() -> const std::vector<Division>& {
      return passes ? *passes : passes.emplace(several());
    };
    const bool has_room = std::ranges::any_of(whole, [](const Division& d) { return d.without_room == 0; });
    // Convolutions that fetch every operand from DRAM do not catch up with passes that stay in L1.
    const bool passes_first = !has_room && !may_pass().empty() && may_pass().front().without_room == 0;
    if (!passes_first) search_wholes(whole);
    if (!best_ && refused_ && refused_->code == Code::invalid_argument) raise(*refused_);  // pins
    if (!done_ && images_ > 1) {
      const bool slow = !best_ || leaves_l1(*best_) ||
                        (whole.size() > 1 && !may_pass().empty() && kClose * may_pass().front().ns < best_division_.ns);
      if (slow) search_passes(may_pass());
    }
    if (!done_ && passes_first && (!best_ || leaves_l1(*best_))) search_wholes(whole);
    if (!best_) raise(*refused_);
    best_->model_inputs.clear();
    for (const ValueId id : network_.graph.inputs)
      best_->model_inputs.push_back(
          fmt::format("{} {}", network_.graph.value(id).name, network_.graph.value(id).type.to_string()));
    return std::move(*best_);
  }

 private:
  std::vector<std::int64_t> groups_of(const tensix::LoweredGraph& network) const {
    std::vector<std::int64_t> groups = tensix::image_groups(network);
    groups.insert(groups.begin(), 1);
    return groups;
  }

  // Fastest first at a glance. Nothing is looked at where there is nothing to choose.
  std::vector<Division> wholes() const {
    const std::vector<std::int64_t> groups = groups_of(network_);
    if (groups.size() == 1) return {Division{}};
    std::vector<Division> out;
    for (const std::int64_t images : groups) {
      const tensix::LoweredGraph together = tensix::group_images(network_, images);
      Planning planning(together, machine_, request_, {});
      const QuickEstimate glance = planning.convolutions(precisions_);
      out.push_back({0, images, glance.ns, glance.without_room, planning.convolutions_ns(precisions_)});
    }
    std::ranges::stable_sort(out, {}, &Division::free_ns);
    return out;
  }

  // Sizes of passes, smallest first. Those that tiles are made of may take a few more images than there are.
  std::set<std::int64_t> sizes() const {
    std::set<std::int64_t> out;
    for (std::int64_t passes = 1; passes <= images_; ++passes)
      for (const std::int64_t multiple : {1, 2, 4}) {
        const std::int64_t size = round_up(ceil_div(images_, passes), multiple);
        const std::int64_t room = size * ceil_div(images_, size);
        if (size != images_ && static_cast<double>(room) <= kMostFilled * static_cast<double>(images_))
          out.insert(size);
      }
    return out;
  }

  // Passes in which every convolution has room in L1, fastest first at a glance; if there are none, those of an image.
  std::vector<Division> several() const {
    std::vector<Division> out;
    for (const std::int64_t size : sizes()) {
      const tensix::LoweredGraph pass = tensix::with_images(network_, size);
      const auto count = static_cast<double>(ceil_div(images_, size));
      std::vector<Division> of_size;
      for (const std::int64_t images : groups_of(pass)) {
        const tensix::LoweredGraph together = tensix::group_images(pass, images);
        const QuickEstimate glance = Planning(together, machine_, request_, {}).convolutions(precisions_);
        of_size.push_back({size, images, count * glance.ns, glance.without_room, 0});
      }
      const auto has_room = [](const Division& d) { return d.without_room == 0; };
      const bool any = std::ranges::any_of(of_size, has_room);
      if (any) std::erase_if(of_size, std::not_fn(has_room));
      if (any || out.empty()) out.insert(out.end(), of_size.begin(), of_size.end());
      if (!any) break;  // larger ones have none either
    }
    std::ranges::stable_sort(out, {}, &Division::ns);
    return out;
  }

  void search_wholes(const std::vector<Division>& divisions) {
    bool found = false;
    for (const Division& each : divisions) {
      if (done_ || (found && each.free_ns > kClose * divisions.front().free_ns)) return;
      found |= search(each);
    }
  }

  void search_passes(const std::vector<Division>& divisions) {
    std::size_t searches = 0;
    std::optional<double> stays;  // at a glance, of the first that stays in L1
    for (const Division& each : divisions) {
      if (done_ || searches == kPassSearches || (stays && each.ns > kAlike * *stays)) return;
      if (best_ && each.ns >= time_of(*best_)) return;
      ++searches;
      if (search(each) && !stays && !leaves_l1(*last_)) stays = each.ns;
    }
  }

  // Whether there is such a plan.
  bool search(const Division& division) {
    try {
      const tensix::LoweredGraph pass =
          division.pass_images == 0 ? network_ : tensix::with_images(network_, division.pass_images);
      Result<CardPlan> found =
          plan_arrival(tensix::group_images(pass, division.grouped_images), machine_, request_, hooks_, precisions_);
      if (!found) {
        if (!refused_ || (division.pass_images == 0 && division.grouped_images == 1)) refused_ = found.refusal();
        return false;
      }
      CardPlan plan = std::move(*found);
      plan.grouped_images = division.grouped_images;
      plan.pass_images = division.pass_images;
      if (images_ > 1) plan.batch = images_;
      const auto passes = plan.passes();
      plan.programs *= passes;
      plan.latency_ns += static_cast<double>(passes - 1) * plan.end_to_end_ns;
      for (double* ns : {&plan.kernels_ns, &plan.device_ns, &plan.end_to_end_ns}) *ns *= static_cast<double>(passes);
      const auto interrupted = plan.interrupted;
      last_ = plan;
      if (!best_ || time_of(plan) < time_of(*best_)) {
        best_ = std::move(plan);
        best_division_ = division;
      }
      best_->interrupted = interrupted;
      done_ = interrupted.has_value();
      return true;
    } catch (const Interrupted&) {
      if (!best_) throw;
      best_->interrupted = CardPlan::Interruption{0, static_cast<std::int64_t>(network_.nodes.size())};
      done_ = true;
    }
    return false;
  }

  const tensix::LoweredGraph& network_;
  const Machine& machine_;
  const CardPlanRequest& request_;
  const CardPlanHooks& hooks_;
  const std::vector<StepPrecision>& precisions_;
  std::int64_t images_;
  std::optional<CardPlan> best_, last_;
  Division best_division_;
  std::optional<Refusal> refused_;  // of the whole batch as it is, if that was tried
  bool done_ = false;               // interrupted
};

}  // namespace

CardPlan plan_batch(const tensix::LoweredGraph& network, const Machine& machine, const CardPlanRequest& request,
                    const CardPlanHooks& hooks, const std::vector<StepPrecision>& precisions) {
  return BatchPlanning(network, machine, request, hooks, precisions).run();
}

}  // namespace tessera::tensix
